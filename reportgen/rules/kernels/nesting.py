"""How the slices of one thread nest: which is inside which, and which ran at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace_tables import NONE
from reportgen.rules.kernels.unions import Floats

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Slices of one thread, sorted by (start, -end).

    Attributes:
        start_us, end_us: (n,) float64.
        parent: (n,) int64 the slice around each, ``NONE`` where there is none.
    """

    start_us: Floats
    end_us: Floats
    parent: Rows


def nest(start_us: Floats, end_us: Floats) -> Nesting:
    """Return the nesting of (n,) slices sorted by (start, -end).

    Edge cases: a slice that ends after the one around it still counts as inside it; of several
    without a length at one moment, each is inside the one before it.
    """
    depth = _depths(start_us, end_us)
    parent = np.full(start_us.shape, NONE, dtype=np.int64)
    outer = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        inner = np.flatnonzero(depth == level)
        parent[inner] = outer[np.searchsorted(outer, inner) - 1]
        outer = inner
    return Nesting(start_us=start_us, end_us=end_us, parent=parent)


def _depths(start_us: Floats, end_us: Floats) -> Rows:
    """Return how many slices are open when each begins."""
    has_length = end_us > start_us
    closed = np.searchsorted(np.sort(end_us[has_length]), start_us, side="right")
    instants = np.searchsorted(start_us[~has_length], start_us, side="left")
    return np.arange(start_us.size, dtype=np.int64) - closed - instants


def self_us(nesting: Nesting, duration_us: Floats) -> Floats:
    """Return (n,) float64 µs of each slice without what is inside it, never below 0.

    ``duration_us`` is exact where ends are rounded sums.
    """
    inner = np.flatnonzero(nesting.parent != NONE)
    around = nesting.parent[inner]
    end_us = nesting.end_us[around]
    length = np.where(
        nesting.end_us[inner] <= end_us, duration_us[inner], end_us - nesting.start_us[inner]
    )
    called_us = np.bincount(around, weights=length, minlength=duration_us.size)
    return np.asarray(np.maximum(duration_us - called_us, 0.0))


def innermost_at(nesting: Nesting, time_us: Floats) -> Rows:
    """Return (m,) the innermost slice around each moment, ``NONE`` where none is open."""
    found = np.searchsorted(nesting.start_us, time_us, side="right") - 1
    while True:
        is_over = found >= 0
        is_over[is_over] = nesting.end_us[found[is_over]] < time_us[is_over]
        if not is_over.any():
            return np.asarray(found, dtype=np.int64)
        found[is_over] = nesting.parent[found[is_over]]
