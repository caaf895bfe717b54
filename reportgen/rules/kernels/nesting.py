"""How the slices of one thread nest: which is inside which, and which ran at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace_tables import NONE
from reportgen.rules.kernels.unions import Floats

Rows = NDArray[np.int64]

_MOMENTS_AT_ONCE = 65_536
"""Moments that are looked up together, which bounds the memory. Source: ours."""


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

    Edge cases: a slice that ends after the one around it still counts as inside it; nothing is
    inside one without a length. Any depth takes the same time.
    """
    n = start_us.size
    has_length = end_us > start_us
    begun: Rows = np.cumsum(has_length) - has_length
    depth = begun - np.searchsorted(np.sort(end_us[has_length]), start_us, side="right")
    # The slice around one is the last before it that is open one level above.
    place = np.arange(n, dtype=np.int64)
    keys = np.sort((depth * n + place)[has_length])
    inner = np.flatnonzero(depth > 0)
    found = keys[np.searchsorted(keys, (depth[inner] - 1) * n + inner) - 1]
    parent = np.full(n, NONE, dtype=np.int64)
    parent[inner] = np.where(found // n == depth[inner] - 1, found % n, NONE)
    return Nesting(start_us=start_us, end_us=end_us, parent=parent)


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
    """Return (m,) the innermost slice around each moment, ``NONE`` where none is open.

    A slice is open from its start on until its end, at which the one around it is again.
    """
    rows = np.flatnonzero(nesting.end_us > nesting.start_us)
    if rows.size == 0:
        return np.full(time_us.shape, NONE, dtype=np.int64)
    # Of slices that end together the outermost is the last to do so.
    by_end = rows[::-1][np.argsort(nesting.end_us[rows][::-1], kind="stable")]
    start_us, end_us = nesting.start_us[rows], nesting.end_us[by_end]
    found = np.empty(time_us.shape, dtype=np.int64)
    for first in range(0, time_us.size, _MOMENTS_AT_ONCE):
        some_us = time_us[first : first + _MOMENTS_AT_ONCE]
        begun = np.searchsorted(start_us, some_us, side="right") - 1
        ended = np.searchsorted(end_us, some_us, side="right") - 1
        inside, last = rows[np.maximum(begun, 0)], by_end[np.maximum(ended, 0)]
        has_left = (ended >= 0) & (nesting.end_us[last] > nesting.start_us[inside])
        inside[has_left] = nesting.parent[last[has_left]]
        inside[begun < 0] = NONE
        found[first : first + some_us.size] = inside
    return found
