"""A process that runs cases in its folder for temporary files: JSON in, JSON out, line by line."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

_MEMORY_BYTES = 6 << 30
"""Address space of the worker; what needs more is an attack that worked."""

_RESET_ABOVE_MIB = 1024.0


def main() -> int:
    """Answer one line per case until the input ends."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # nothing else may speak on the channel of the answers
    from tests.fuzz.case import Depth, Told, run_case

    folder = Path(tempfile.gettempdir()) / "case"  # the same: equal inputs make equal reports
    for line in sys.stdin:
        name, seed, depth = json.loads(line)
        began, cpu_s = time.perf_counter(), _cpu_s()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            outcome = run_case(name, seed, folder, depth=Depth(depth))
        except Exception:  # noqa: BLE001  # a broken case is told like a broken program
            outcome = Told(wrong=["the case itself: " + traceback.format_exc()])
        answer = {
            "wrong": outcome.wrong,
            "has_report": outcome.has_report,
            "seconds": time.perf_counter() - began,
            "cpu_s": _cpu_s() - cpu_s,
            "mib": _peak_mib(),
        }
        json.dump(answer, answers)
        answers.write("\n")
    return 0


def _cpu_s() -> float:
    return sum(os.times()[:4])


def _peak_mib() -> float:
    """Return the most memory that this process ever held, until it was too much once."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
        mib = int(found[1]) / 1024 if found else 0.0
        if mib > _RESET_ABOVE_MIB:
            Path("/proc/self/clear_refs").write_text("5")
        return mib
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
