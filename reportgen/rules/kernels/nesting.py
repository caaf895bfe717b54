"""How the slices of one thread nest: which is inside which, and which ran at a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import sums_by_code
from reportgen.profile.trace_tables import NONE, Times

Rows = NDArray[np.int64]

ROUNDING_NS = 250
"""What starts and ends lie apart that were the same. Source: the spacing of float64 at microseconds
since 1970, which PyTorch 2.3 writes; ends are sums of two such numbers."""

_MOMENTS_AT_ONCE = 65_536
"""Moments that are looked up together, which bounds the memory. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Slices of one thread, sorted by (start, -end).

    Attributes:
        start_ns: (n,) int64.
        end_ns: (n,) int64 where each leaves the slices that are open.
        parent: (n,) int64 the slice around each, ``NONE`` where there is none.
    """

    start_ns: Times
    end_ns: Times
    parent: Rows


def nest(start_ns: Times, end_ns: Times) -> Nesting:
    """Return the nesting of (n,) slices sorted by (start, -end).

    Edge cases: a slice that ends after the one around it still counts as inside it, which then
    ends with it; one that begins in the last moment of another follows it. Nothing is inside a
    slice without a length. Any depth takes the same time.
    """
    end_ns = _without_rounding(start_ns, end_ns)
    parent = _parents(start_ns, end_ns)
    inner = np.flatnonzero(parent != NONE)
    if (end_ns[inner] > end_ns[parent[inner]] + ROUNDING_NS).any():
        return _walked(start_ns, end_ns)
    return Nesting(start_ns=start_ns, end_ns=end_ns, parent=parent)


def _without_rounding(start_ns: Times, end_ns: Times) -> Times:
    """Return ends, those that rounding has put behind the start of the next slice moved there."""
    if not start_ns.size:
        return end_ns
    last = np.searchsorted(start_ns, end_ns, side="left") - 1
    next_ns = start_ns[np.maximum(last, 0)]
    is_late = (next_ns > start_ns) & (end_ns - next_ns <= ROUNDING_NS) & (end_ns[last] > end_ns)
    return np.where(is_late, next_ns, end_ns)


def _parents(start_ns: Times, end_ns: Times) -> Rows:
    """Return the slice around each where any two are apart or one is inside the other."""
    n = start_ns.size
    has_length = end_ns > start_ns
    begun: Rows = np.cumsum(has_length) - has_length
    depth = begun - np.searchsorted(np.sort(end_ns[has_length]), start_ns, side="right")
    # The slice around one is the last before it that is open one level above.
    place = np.arange(n, dtype=np.int64)
    keys = np.sort((depth * n + place)[has_length])
    inner = np.flatnonzero(depth > 0)
    found = keys[np.searchsorted(keys, (depth[inner] - 1) * n + inner) - 1]
    parent = np.full(n, NONE, dtype=np.int64)
    parent[inner] = np.where(found // n == depth[inner] - 1, found % n, NONE)
    return parent


def _walked(start_ns: Times, end_ns: Times) -> Nesting:
    """Return the nesting where slices overlap, which takes a walk over all of them."""
    parent = np.full(start_ns.size, NONE, dtype=np.int64)
    is_open: list[int] = []
    for row, start in enumerate(start_ns):
        while is_open and end_ns[is_open[-1]] <= start:
            is_open.pop()
        if is_open:
            parent[row] = is_open[-1]
        if end_ns[row] > start:
            is_open.append(row)
    end_ns = end_ns.copy()
    for row in np.flatnonzero(parent != NONE)[::-1]:
        end_ns[parent[row]] = max(end_ns[parent[row]], end_ns[row])
    return Nesting(start_ns=start_ns, end_ns=end_ns, parent=parent)


def self_ns(nesting: Nesting, duration_ns: Times) -> Times:
    """Return (n,) int64 ns of each slice without what is inside it, never below 0.

    ``duration_ns`` is exact where ends are rounded sums.
    """
    inner = np.flatnonzero(nesting.parent != NONE)
    around = nesting.parent[inner]
    taken_ns = nesting.end_ns - nesting.start_ns
    taken_ns = np.where(taken_ns > duration_ns + ROUNDING_NS, taken_ns, duration_ns)[inner]
    left_ns = nesting.start_ns[around] + duration_ns[around] - nesting.start_ns[inner]
    length = np.where(taken_ns > left_ns + ROUNDING_NS, left_ns, taken_ns)
    called_ns = sums_by_code(around, length, duration_ns.size)
    return np.asarray(np.maximum(duration_ns - called_ns, 0))


def innermost_at(nesting: Nesting, time_ns: Times) -> Rows:
    """Return (m,) the innermost slice around each moment, ``NONE`` where none is open.

    A slice is open from its start on until its end, at which the one around it is again.
    """
    rows = np.flatnonzero(nesting.end_ns > nesting.start_ns)
    if rows.size == 0:
        return np.full(time_ns.shape, NONE, dtype=np.int64)
    # Of slices that end together the outermost is the last to do so.
    by_end = rows[::-1][np.argsort(nesting.end_ns[rows][::-1], kind="stable")]
    start_ns, end_ns = nesting.start_ns[rows], nesting.end_ns[by_end]
    found = np.empty(time_ns.shape, dtype=np.int64)
    for first in range(0, time_ns.size, _MOMENTS_AT_ONCE):
        some_ns = time_ns[first : first + _MOMENTS_AT_ONCE]
        begun = np.searchsorted(start_ns, some_ns, side="right") - 1
        ended = np.searchsorted(end_ns, some_ns, side="right") - 1
        inside, last = rows[np.maximum(begun, 0)], by_end[np.maximum(ended, 0)]
        has_left = (ended >= 0) & (nesting.end_ns[last] > nesting.start_ns[inside])
        inside[has_left] = nesting.parent[last[has_left]]
        inside[begun < 0] = NONE
        found[first : first + some_ns.size] = inside
    return found
