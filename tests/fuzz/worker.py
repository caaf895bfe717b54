"""A process that runs cases: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

_MEMORY_BYTES = 6 << 30
"""Address space of the worker; what needs more is an attack that worked."""


def main() -> int:
    """Answer one line per case until the input ends."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # nothing else may speak on the channel of the answers
    from tests.fuzz.case import run_case

    for line in sys.stdin:
        name, seed, draws_page = json.loads(line)
        began, cpu_s = time.perf_counter(), _cpu_s()
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew
        with tempfile.TemporaryDirectory(prefix="reportgen-fuzz-") as folder:
            try:
                wrong = run_case(name, seed, Path(folder), draws_page=draws_page)
            except Exception:  # noqa: BLE001  # a broken case is told like a broken program
                wrong = ["the case itself: " + traceback.format_exc()]
        answer = {
            "wrong": wrong,
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
    with suppress(OSError):
        found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
