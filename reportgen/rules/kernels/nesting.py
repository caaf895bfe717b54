"""How the slices of one thread nest: which is inside which, and which ran at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace_tables import NONE
from reportgen.rules.kernels.unions import Floats

Rows = NDArray[np.int64]

ROUNDING_US = 0.25
"""What starts and ends lie apart that were the same. Source: the spacing of float64 at microseconds
since 1970, which PyTorch 2.3 writes; ends are sums of two such numbers."""

_MOMENTS_AT_ONCE = 65_536
"""Moments that are looked up together, which bounds the memory. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Slices of one thread, sorted by (start, -end).

    Attributes:
        start_us: (n,) float64.
        end_us: (n,) float64 where each leaves the slices that are open.
        parent: (n,) int64 the slice around each, ``NONE`` where there is none.
    """

    start_us: Floats
    end_us: Floats
    parent: Rows


def nest(start_us: Floats, end_us: Floats) -> Nesting:
    """Return the nesting of (n,) slices sorted by (start, -end).

    Edge cases: a slice that ends after the one around it still counts as inside it, which then
    ends with it; one that begins in the last moment of another follows it. Nothing is inside a
    slice without a length. Any depth takes the same time.
    """
    end_us = _without_rounding(start_us, end_us)
    parent = _parents(start_us, end_us)
    inner = np.flatnonzero(parent != NONE)
    if (end_us[inner] > end_us[parent[inner]] + ROUNDING_US).any():
        return _walked(start_us, end_us)
    return Nesting(start_us=start_us, end_us=end_us, parent=parent)


def _without_rounding(start_us: Floats, end_us: Floats) -> Floats:
    """Return ends, those that rounding has put behind the start of the next slice moved there."""
    if not start_us.size:
        return end_us
    last = np.searchsorted(start_us, end_us, side="left") - 1
    next_us = start_us[np.maximum(last, 0)]
    is_late = (next_us > start_us) & (end_us - next_us <= ROUNDING_US) & (end_us[last] > end_us)
    return np.where(is_late, next_us, end_us)


def _parents(start_us: Floats, end_us: Floats) -> Rows:
    """Return the slice around each where any two are apart or one is inside the other."""
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
    return parent


def _walked(start_us: Floats, end_us: Floats) -> Nesting:
    """Return the nesting where slices overlap, which takes a walk over all of them."""
    parent = np.full(start_us.size, NONE, dtype=np.int64)
    is_open: list[int] = []
    for row, start in enumerate(start_us):
        while is_open and end_us[is_open[-1]] <= start:
            is_open.pop()
        if is_open:
            parent[row] = is_open[-1]
        if end_us[row] > start:
            is_open.append(row)
    end_us = end_us.copy()
    for row in np.flatnonzero(parent != NONE)[::-1]:
        end_us[parent[row]] = max(end_us[parent[row]], end_us[row])
    return Nesting(start_us=start_us, end_us=end_us, parent=parent)


def self_us(nesting: Nesting, duration_us: Floats) -> Floats:
    """Return (n,) float64 µs of each slice without what is inside it, never below 0.

    ``duration_us`` is exact where ends are rounded sums.
    """
    inner = np.flatnonzero(nesting.parent != NONE)
    around = nesting.parent[inner]
    taken_us = nesting.end_us - nesting.start_us
    taken_us = np.where(taken_us > duration_us + ROUNDING_US, taken_us, duration_us)[inner]
    left_us = nesting.start_us[around] + duration_us[around] - nesting.start_us[inner]
    length = np.where(taken_us > left_us + ROUNDING_US, left_us, taken_us)
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
