"""Long idle stretches of one GPU within the training loop, and what went on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import runs_of
from reportgen.profile.system import Instants

LEAST_TICKS = 2
"""One idle sample does not tell how long a GPU idled. Source: ours."""
MOST_STRETCHES = 200
"""The longest of each node are kept; all count. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One GPU that idles without a pause.

    Attributes:
        start_ns, end_ns: from its first idle sample to the next sample that is not.
        cause: code of the part that took most of it; ``cause_ns`` of its time.
    """

    device: str
    start_ns: int
    end_ns: int
    cause: int
    cause_ns: int

    @property
    def duration_ns(self) -> int:
        """Return how long it idles."""
        return self.end_ns - self.start_ns


def idle_stretches(
    device: str,
    codes: NDArray[np.int8],
    *,
    idle_codes: Sequence[int],
    tick_ns: Instants,
    length_ns: Instants,
    least_ns: float,
) -> list[Stretch]:
    """Return the stretches of at least some length, in order of time.

    Args:
        codes: (n_ticks,) what the GPU did at each tick.
        idle_codes: those that are idling.
        tick_ns, length_ns: (n_ticks,) int64, when a tick was and how long it stands for.
        least_ns: shorter stretches are left out.

    Edge cases: a gap in the sampling ends a stretch.
    """
    idle = np.flatnonzero(np.isin(codes, list(idle_codes)))
    if idle.size == 0:
        return []
    is_after_gap = np.concatenate(([False], tick_ns[1:] > tick_ns[:-1] + length_ns[:-1]))
    runs = runs_of(idle + np.cumsum(is_after_gap)[idle], max_step=1)
    first, last = idle[runs.first], idle[runs.last]
    end_ns = tick_ns[last] + length_ns[last]
    is_long = (end_ns - tick_ns[first] >= least_ns) & (last - first + 1 >= LEAST_TICKS)
    found = []
    for begin, end in zip(first[is_long].tolist(), last[is_long].tolist(), strict=True):
        spent_ns = np.bincount(codes[begin : end + 1], weights=length_ns[begin : end + 1])
        cause = int(spent_ns.argmax())
        found.append(
            Stretch(
                device=device,
                start_ns=int(tick_ns[begin]),
                end_ns=int(tick_ns[end] + length_ns[end]),
                cause=cause,
                cause_ns=int(spent_ns[cause]),
            )
        )
    return found
