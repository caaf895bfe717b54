"""Runs of neighbours: merge single moments into intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs in order.

    Attributes:
        first, last: (n_runs,) int64 positions in the input of the first and last member.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @property
    def n_runs(self) -> int:
        """Return the number of runs."""
        return int(self.first.size)

    @property
    def n_members(self) -> NDArray[np.int64]:
        """Return (n_runs,) how many members each run has."""
        return self.last - self.first + 1


def runs_of(places: NDArray[np.int64], *, max_step: int) -> Runs:
    """Merge places that lie at most ``max_step`` apart.

    Args:
        places: (n,) int64, sorted: row numbers, minutes or instants.
        max_step: neighbours have a difference of at most this.
    """
    if places.size == 0:
        return Runs(first=np.empty(0, dtype=np.int64), last=np.empty(0, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(places) > max_step)
    return Runs(
        first=np.concatenate(([0], breaks + 1)).astype(np.int64),
        last=np.append(breaks, places.size - 1).astype(np.int64),
    )
