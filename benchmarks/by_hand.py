"""Analyse a job by hand with reportgen; print the seconds and the rows as JSON.

``by_hand.py frames JOB`` makes the frames of the whole job; ``metric`` the frame of one metric;
``causes`` compares what ran at 10,000 moments with what ran at 10,000 others, events read before.
"""

from __future__ import annotations

import json
import resource
import sys
import time

N_MOMENTS = 10_000


def main() -> None:
    import numpy as np
    import pandas as pd  # noqa: F401  # imported before the clock starts, as for the incumbent

    import reportgen
    from reportgen.explore import at_moments, compare, functions_at

    what, path = sys.argv[1:3]
    job = reportgen.open(path)
    spans = list(job.spans()) if what == "causes" else []
    n_samples = n_events = 0
    began = time.perf_counter()
    if what == "frames":
        system, framework = job.system_metrics(), job.framework_metrics()
        n_samples, n_events = len(system), len(framework)
    elif what == "metric":
        n_samples = len(job.system_metrics(metrics="gpu0", dimensions="GPUUtilization"))
    else:
        (table,) = spans
        first_ns, last_ns = int(table.start_ns.min()), int(table.end_ns.max())
        times_ns = np.linspace(first_ns, last_ns, 2 * N_MOMENTS).astype(np.int64)
        sides = [
            functions_at(table, at_moments(chosen)) for chosen in (times_ns[::2], times_ns[1::2])
        ]
        assert len(compare(*sides))
        n_events = table.n_spans
    seconds = time.perf_counter() - began
    helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    answer = {"seconds": seconds, "samples": n_samples, "events": n_events}
    print(json.dumps(answer | {"helper_bytes": helpers.ru_maxrss * unit}))


if __name__ == "__main__":
    main()
