"""Read a whole job with reportgen; print the seconds of reading and the rows as JSON.

``read_ours.py JOB [MODULE …]``: modules are the engines that this job needs; like everything else
they are imported before the clock starts. ``helper_bytes`` is the peak memory of the largest
process that helped, 0 without.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time


def main() -> None:
    for module in sys.argv[2:]:
        importlib.import_module(module)

    from reportgen.intake import discover, read

    used, began = time.process_time(), time.perf_counter()
    parts = [read(ref) for ref in discover(sys.argv[1]).parts]
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - used
    helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    answer = {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds + helpers.ru_utime + helpers.ru_stime,
        "samples": sum(part.system.n_samples for part in parts),
        "events": sum(part.spans.n_spans for part in parts),
        "helper_bytes": helpers.ru_maxrss * unit,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
