"""What SageMaker's CPUBottleneck and IOBottleneck count and write of the bottlenecks of a job."""

from __future__ import annotations

import numpy as np

from reportgen.facts.bottlenecks import Bottlenecks
from reportgen.results import Counters, Details, JsonValue
from reportgen.rules.aws.breakdown import breakdown_details
from reportgen.rules.aws.details import Counted
from reportgen.units import NS_PER_MINUTE, NS_PER_US, seconds_key


def counted_bottlenecks(job: Bottlenecks, *, share_pct: float, patience: int) -> Counted:
    """Return AWS's counters and details (docs/rules.md).

    A minute triggers if more than ``share_pct`` of all ticks up to its end are bottlenecks, once
    there are more than ``patience`` ticks.
    """
    minutes, n_ticks = job.ticks_by_minute.T
    ticks = np.cumsum(n_ticks)
    times = np.sort(np.concatenate([np.empty(0, np.int64), *(node.time_ns for node in job.nodes)]))
    found = np.searchsorted(times, minutes + NS_PER_MINUTE)
    n_minutes = int(((ticks > patience) & (100 * found > share_pct * ticks)).sum())
    details: Details = {"low_gpu_utilization": job.n_low_ticks, "bottlenecks": _by_time(job)}
    if n_minutes:
        details |= breakdown_details(job.breakdown, with_others=False)
    counters = Counters(rule_triggered=n_minutes, violations=job.n_found, datapoints=job.n_ticks)
    return {"counters": counters, "details": details}


def _by_time(job: Bottlenecks) -> dict[str, JsonValue]:
    """Return every bottleneck by its time.

    Two nodes may share an instant to the microsecond; the later key then moves on by one
    (docs/rules.md, Keys of bottlenecks).
    """
    rows = [
        (time_ns // NS_PER_MINUTE, place, time_ns, n_gpus, n_cores)
        for place, node in enumerate(job.nodes)
        for time_ns, n_gpus, n_cores in zip(
            node.time_ns.tolist(), node.n_gpus_low.tolist(), node.n_cores_hot.tolist(), strict=True
        )
    ]
    found: dict[str, JsonValue] = {}
    for _, _, time_ns, n_gpus, n_cores in sorted(rows):
        free_ns = time_ns
        while seconds_key(free_ns) in found:
            free_ns += NS_PER_US
        found[seconds_key(free_ns)] = {"GPUs": n_gpus, "CPUs": n_cores}
    return found
