"""Analyse a kernel trace with reportgen, all panels; print seconds and GPU events as JSON."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    from reportgen.intake import discover, read
    from reportgen.rules.base import Need
    from reportgen.rules.registry import BUILTIN_RULES
    from reportgen.rules.runner import judge_all, measure_part
    from reportgen.rules.settings import resolve_params

    rules = [rule for rule in BUILTIN_RULES if Need.KERNELS in rule.needs]
    params = resolve_params(BUILTIN_RULES, {})
    began = time.perf_counter()
    (part,) = discover(sys.argv[1]).parts
    trace = read(part)
    judge_all([measure_part(trace, rules, params)], rules, params)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "gpu_events": len(trace.gpu_ops.name)}))


if __name__ == "__main__":
    main()
