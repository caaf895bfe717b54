"""When a job was at work: its training loop, its working samples, and what was not recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import Instants, merge_intervals
from reportgen.profile import SpanTable, SystemTable
from reportgen.profile.system import Floats
from reportgen.units import NS_PER_MINUTE

EDGE_AT_MOST_RATIO = 0.25
"""An idle start or end that is longer than a quarter of the job is lost time, not an edge."""
LEAST_PAUSE_NS = 3 * NS_PER_MINUTE
LEAST_PAUSE_INTERVALS = 5
"""Samples that are absent for longer than both are a pause, not jitter. The reader behind
SageMaker's dashboard uses the same limits (docs/formats.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRange:
    """Half-open range of samples, ``first`` to ``stop``, in which a device was meant to work."""

    first: int
    stop: int

    @property
    def n_samples(self) -> int:
        """Return how many samples lie in the range."""
        return self.stop - self.first


def training_loop_ns(spans: SpanTable) -> tuple[int, int] | None:
    """Return first start and last end over all step events, or ``None`` without steps."""
    steps = spans.steps()
    if steps.n_spans == 0:
        return None
    return int(steps.start_ns.min()), int(steps.end_ns.max())


def work_range(
    time_ns: NDArray[np.int64],
    values: Floats,
    *,
    idle_below: float,
    loop_ns: tuple[int, int] | None,
) -> WorkRange:
    """Return the samples by which the use of a device is judged.

    With steps these are the samples of the training loop; without, all samples but the idle ones
    at the start and at the end, so that waiting for data before the first step and for an upload
    after the last does not count. An idle edge longer than ``EDGE_AT_MOST_RATIO`` stays in.

    Args:
        time_ns: (n,) int64, sorted.
        values: (n,) float64 without NaN.
        idle_below: a sample below this value is idle.
        loop_ns: start and end of the training loop, if known.

    Edge cases: never at work, or no sample inside the loop: all samples.
    """
    n_samples = values.size
    first, stop = 0, n_samples
    if loop_ns is not None:
        first, stop = np.searchsorted(time_ns, [loop_ns[0], loop_ns[1] + 1]).tolist()
    else:
        busy = np.flatnonzero(values >= idle_below)
        if busy.size:
            longest = EDGE_AT_MOST_RATIO * n_samples
            first = int(busy[0]) if busy[0] <= longest else 0
            stop = int(busy[-1]) + 1 if n_samples - 1 - busy[-1] <= longest else n_samples
    return WorkRange(first=first, stop=stop) if stop > first else WorkRange(first=0, stop=n_samples)


def idle_edges(values: Floats, *, idle_below: float) -> tuple[int, int]:
    """Return how many samples a device idles before its first work, and after its last.

    Args:
        values: (n,) float64 without NaN.
        idle_below: a sample below this value is idle, unless it is half of the largest.

    Edge cases: a device that never works has no edges: (0, 0).
    """
    largest = float(values.max(initial=0.0))
    busy = np.flatnonzero((values > 0) & (values >= min(idle_below, largest / 2)))
    if not busy.size:
        return 0, 0
    return int(busy[0]), int(values.size - 1 - busy[-1])


def least_pause_ns(interval_ns: int | None) -> int:
    """Return the length above which a gap between samples is a pause."""
    return max(LEAST_PAUSE_NS, LEAST_PAUSE_INTERVALS * (interval_ns or 0))


def sampling_pauses(system: SystemTable) -> tuple[Instants, Instants]:
    """Return (n,) start and end of each pause in a node's samples: its last tick and its next."""
    rows = np.flatnonzero(np.diff(system.tick_ns) > least_pause_ns(system.interval_ns))
    return system.tick_ns[rows], system.tick_ns[rows + 1]


def unrecorded_ns(system: SystemTable, spans: SpanTable) -> tuple[Instants, Instants]:
    """Return (n,) start and end of each stretch with neither samples nor events of a node.

    A job that was interrupted and resumed, as on spot instances, did nothing in them: they belong
    to no loop. Where only the samples pause, events show that the job went on.
    """
    pauses = sampling_pauses(system)
    if not pauses[0].size:
        return pauses
    starts: list[int] = []
    ends: list[int] = []
    least_ns = least_pause_ns(system.interval_ns)
    busy_start, busy_end = merge_intervals(spans.start_ns, spans.end_ns)
    first = np.searchsorted(busy_end, pauses[0], side="right")
    stop = np.searchsorted(busy_start, pauses[1], side="left")
    for first_ns, last_ns, low, high in zip(*pauses, first, stop, strict=True):
        free_start = np.append(first_ns, np.maximum(busy_end[low:high], first_ns))
        free_end = np.append(np.minimum(busy_start[low:high], last_ns), last_ns)
        is_long = free_end - free_start > least_ns
        starts += free_start[is_long].tolist()
        ends += free_end[is_long].tolist()
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
