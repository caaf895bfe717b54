"""Seconds in which loaders were at work: AWS's measure of how many there are (oracle §8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SpanTable
from reportgen.units import NS_PER_S

LEAST_SECONDS = 10
"""Judged from more than ten busy seconds on. Source: oracle §8."""
SECONDS_PER_MINUTE = 60

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """One-second buckets with loader activity: (n,) Unix second, and loaders at work in it."""

    second: Integers
    n_loaders: Integers


def busy_seconds(spans: SpanTable, rows: Mask) -> Seconds:
    """Return how many loader processes began something in each second.

    Args:
        spans: events of one node.
        rows: (n,) mask of its fetches and loader processes.

    Edge cases: an event without a process id stands for its worker's own process.
    """
    its_pid = spans.os_pid[rows]
    loader = np.where(its_pid >= 0, its_pid, -1 - spans.worker[rows].astype(np.int64))
    second = spans.start_ns[rows] // NS_PER_S
    order = np.lexsort((loader, second))
    second, loader = second[order], loader[order]
    is_new = np.ones(second.shape, dtype=bool)
    is_new[1:] = (second[1:] != second[:-1]) | (loader[1:] != loader[:-1])
    found, count = np.unique(second[is_new], return_counts=True)
    return Seconds(second=found, n_loaders=count.astype(np.int64))


def join_seconds(parts: Sequence[Seconds]) -> Seconds:
    """Return the busy seconds of the job; of several nodes the one with most loaders counts.

    Cores are per node, so loaders of different nodes are never added up.
    """
    if not parts:
        return Seconds(second=np.empty(0, dtype=np.int64), n_loaders=np.empty(0, dtype=np.int64))
    second = np.concatenate([part.second for part in parts])
    n_loaders = np.concatenate([part.n_loaders for part in parts])
    order = np.argsort(second, kind="stable")
    found, first = np.unique(second[order], return_index=True)
    most = np.maximum.reduceat(n_loaders[order], first) if first.size else n_loaders
    return Seconds(second=found, n_loaders=most)


def median_loaders(busy: Seconds) -> float:
    """Return the median number of loaders over all busy seconds, 0 without any."""
    return _median(np.bincount(busy.n_loaders)) if busy.n_loaders.size else 0.0


def minutes_out_of_range(busy: Seconds, *, fewest: float, most: float) -> int:
    """Return how often the median so far was out of range in a minute with loader events.

    Args:
        busy: seconds of the job.
        fewest, most: the range; on its edges all is well.

    The median is truncated like AWS's before it is compared. Source: oracle §8 and §11; each
    second counts once.
    """
    violations = 0
    n_seen = 0
    by_value = np.zeros(int(busy.n_loaders.max(initial=0)) + 1, dtype=np.int64)
    _, first = np.unique(busy.second // SECONDS_PER_MINUTE, return_index=True)
    for values in np.split(busy.n_loaders, first[1:]):
        by_value += np.bincount(values, minlength=by_value.size)
        n_seen += values.size
        if n_seen > LEAST_SECONDS:
            n_loaders = int(_median(by_value))
            violations += int(n_loaders < fewest) + int(n_loaders > most)
    return violations


def _median(by_value: NDArray[np.int64]) -> float:
    """Return the median of whole numbers counted by value."""
    so_far = np.cumsum(by_value)
    n = int(so_far[-1])
    if n == 0:
        return 0.0
    lower = int(np.searchsorted(so_far, (n - 1) // 2, side="right"))
    upper = int(np.searchsorted(so_far, n // 2, side="right"))
    return (lower + upper) / 2
