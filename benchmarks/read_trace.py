"""Analyse a kernel trace with reportgen, all panels; print seconds and GPU events as JSON.

With ``--one-core`` the process, and whoever it starts, run on one core.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import suppress


def main() -> None:
    if sys.argv[2:] == ["--one-core"]:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from reportgen.intake import discover, read
    from reportgen.pipeline.sharing import measure_shared
    from reportgen.rules.base import Need
    from reportgen.rules.registry import BUILTIN_RULES
    from reportgen.rules.runner import judge_all
    from reportgen.rules.settings import resolve_params

    rules = [rule for rule in BUILTIN_RULES if Need.KERNELS in rule.needs]
    params = resolve_params(BUILTIN_RULES, {})
    began = time.perf_counter()
    (part,) = discover(sys.argv[1]).parts
    trace = read(part)
    judge_all([measure_shared(trace, rules, params)], rules, params)
    seconds = time.perf_counter() - began
    with suppress(ChildProcessError):
        while True:
            os.wait()  # what a copy took is known when it is gone
    unit = 1 if sys.platform == "darwin" else 1024
    helper_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    found = {"gpu_events": len(trace.gpu_ops.name), "helper_bytes": helper_bytes}
    print(json.dumps({"seconds": seconds, **found}))


if __name__ == "__main__":
    main()
