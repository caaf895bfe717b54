"""When a device was at work: its samples without the idle start and the idle end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SpanTable
from reportgen.profile.system import Floats

EDGE_AT_MOST_RATIO = 0.25
"""An idle start or end longer than a quarter of the job is lost time, not an edge. Source: ours."""


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
    """Return first start and last end over all step events, or ``None`` without steps.

    Source: DESIGN §8, the loop of a job.
    """
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
    """Return the samples that tell how well a device worked.

    With steps these are the samples of the training loop; without, all samples but the idle ones
    at the start and at the end, so that waiting for data before the first step and for an upload
    after the last is no fault. An idle edge longer than ``EDGE_AT_MOST_RATIO`` stays in.

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
