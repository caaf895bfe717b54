"""What SageMaker's Dataloader counts and writes, from the same loader events as our rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reportgen.arrays import Instants
from reportgen.facts.loader import LEAST_SECONDS, SECONDS_PER_MINUTE
from reportgen.results import Counters, JsonValue
from reportgen.rules.aws.details import Counted
from reportgen.units import NS_PER_S

AWS_BINS = 100


def counted_loaders(
    busy: Mapping[int, int],
    wait_ns: Instants,
    setup: Mapping[str, JsonValue],
    *,
    n_events: int,
    limits: tuple[float, float] | None,
) -> Counted:
    """Return AWS's counters and details.

    Args:
        busy: the number of loaders in each second that has any.
        wait_ns: all waits of the job.
        setup: the settings and numbers that AWS's details begin with.
        n_events: loader events; without any there are no details.
        limits: the range of loaders that fits the cores, ``None`` without known cores.
    """
    n_minutes = minutes_out_of_range(busy, fewest=limits[0], most=limits[1]) if limits else 0
    return {
        "counters": Counters(
            rule_triggered=int(n_minutes > 0), violations=n_minutes, datapoints=n_events
        ),
        "details": {**setup, "dataloading_time": _times(wait_ns)} if n_events else {},
    }


def _times(wait_ns: Instants) -> dict[str, JsonValue]:
    wait_s = wait_ns / NS_PER_S
    if not wait_s.size:
        return {}
    p25, p50, p95 = np.percentile(wait_s, (25, 50, 95)).tolist()
    counts, edges = (of.tolist() for of in np.histogram(wait_s, bins=AWS_BINS))
    return {"p25": p25, "p50": p50, "p95": p95, "probs": counts, "binedges": edges}


def minutes_out_of_range(busy: Mapping[int, int], *, fewest: float, most: float) -> int:
    """Return how often the median so far was out of range in a minute with loader events.

    The median is truncated like SageMaker's before it is compared (docs/rules.md, Dataloader).
    """
    second, n_loaders = np.array([*busy.items()], dtype=np.int64).reshape(-1, 2).T
    _, minute = np.unique(second // SECONDS_PER_MINUTE, return_inverse=True)
    shape = (minute.max(initial=-1) + 1, n_loaders.max(initial=0) + 1)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (minute, n_loaders), 1)
    so_far = counts.cumsum(axis=0).cumsum(axis=1)
    n_seen = so_far[:, -1:]
    lower, upper = ((so_far <= at).sum(axis=1) for at in ((n_seen - 1) // 2, n_seen // 2))
    median = ((lower + upper) // 2)[n_seen[:, 0] > LEAST_SECONDS]
    return int((median < fewest).sum() + (median > most).sum())
