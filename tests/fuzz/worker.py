"""A process that runs cases: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import tempfile
import time
import traceback
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
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="reportgen-fuzz-") as folder:
            try:
                wrong = run_case(name, seed, Path(folder), draws_page=draws_page)
            except Exception:  # noqa: BLE001  # a broken case is told like a broken program
                wrong = ["the case itself: " + traceback.format_exc()]
        json.dump({"wrong": wrong, "seconds": time.perf_counter() - began}, answers)
        answers.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
