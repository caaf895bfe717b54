"""Events inside events: who encloses whom, which ran at a moment, what an event did itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code, sums_by_code

Integers = NDArray[np.int64]

NONE = -1
"""The parent of an event that nothing encloses."""

ROUNDING_NS = 250
"""Largest distance of starts and ends that were equal before rounding: the spacing of float64 at
microseconds since 1970, which PyTorch 2.3 writes; ends are sums of two such numbers."""

_MOMENTS_AT_ONCE = 65_536
"""Moments that are looked up together: half a MB for each array that is needed meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Events of one thread, sorted by (start, -end), and the event around each or ``NONE``.

    ``end_ns`` is where each leaves the events that are open.
    """

    start_ns: Integers
    end_ns: Integers
    parent: Integers


def parents_of(start_ns: Integers, end_ns: Integers, group: Integers) -> Integers:
    """Return for each event the row of the innermost event around it, -1 for outermost ones.

    Events come in any order; only those of one group (one thread) enclose each other.

    Edge cases: of two equal intervals the earlier row is the outer one; an event that begins
    where another ends is its neighbour, not its child. Instants have no parent. Events that
    overlap in part, which one thread cannot do, get the earlier one as parent.
    """
    parent = np.full(start_ns.shape, NONE, dtype=np.int64)
    lasting = np.flatnonzero(end_ns > start_ns)
    for _, its in rows_by_code(group[lasting]):
        rows = lasting[its]
        rows = rows[np.lexsort((-end_ns[rows], start_ns[rows]))]
        inside = _parents(start_ns[rows], end_ns[rows])
        is_inner = inside != NONE
        parent[rows[is_inner]] = rows[inside[is_inner]]
    return parent


def self_times_ns(start_ns: Integers, end_ns: Integers, group: Integers) -> Integers:
    """Return each event's duration less that of the events directly inside it, >= 0.

    Over properly nested events they add up to the time in which any was open.
    """
    parent = parents_of(start_ns, end_ns, group)
    nesting = Nesting(start_ns=start_ns, end_ns=end_ns, parent=parent)
    return self_ns(nesting, end_ns - start_ns, rounding_ns=0)


def nest(start_ns: Integers, end_ns: Integers) -> Nesting:
    """Return the nesting of (n,) events of one thread, sorted by (start, -end).

    Edge cases: starts and ends that rounding has put up to ``ROUNDING_NS`` apart are equal. An
    event that ends after the one around it still counts as inside it, which then ends with it;
    one that begins in the last moment of another follows it. Nothing is inside an event without
    a length. Any depth takes the same time.
    """
    end_ns = _without_rounding(start_ns, end_ns)
    parent = _parents(start_ns, end_ns)
    inner = np.flatnonzero(parent != NONE)
    if (end_ns[inner] > end_ns[parent[inner]] + ROUNDING_NS).any():
        return _walked(start_ns, end_ns)
    return Nesting(start_ns=start_ns, end_ns=end_ns, parent=parent)


def self_ns(nesting: Nesting, duration_ns: Integers, *, rounding_ns: int = ROUNDING_NS) -> Integers:
    """Return (n,) ns of each event without what is directly inside it, never below 0.

    Durations are exact where ends are rounded sums; ends at most ``rounding_ns`` apart are equal.
    """
    inner = np.flatnonzero(nesting.parent != NONE)
    around = nesting.parent[inner]
    open_ns = nesting.end_ns - nesting.start_ns
    taken_ns = np.where(open_ns > duration_ns + rounding_ns, open_ns, duration_ns)[inner]
    left_ns = nesting.start_ns[around] + duration_ns[around] - nesting.start_ns[inner]
    held_ns = np.where(taken_ns > left_ns + rounding_ns, np.maximum(left_ns, 0), taken_ns)
    inside_ns = sums_by_code(around, held_ns, duration_ns.size)
    return np.asarray(np.maximum(duration_ns - inside_ns, 0))


def innermost_at(nesting: Nesting, time_ns: Integers) -> Integers:
    """Return (m,) the innermost event around each moment, ``NONE`` where none is open.

    An event is open from its start on until its end, at which the one around it is again.
    """
    rows = np.flatnonzero(nesting.end_ns > nesting.start_ns)
    if rows.size == 0:
        return np.full(time_ns.shape, NONE, dtype=np.int64)
    # Of events that end together the outermost is the last to do so.
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


def _without_rounding(start_ns: Integers, end_ns: Integers) -> Integers:
    """Return ends, those that rounding has put behind the start of the next event moved there."""
    if not start_ns.size:
        return end_ns
    last = np.searchsorted(start_ns, end_ns, side="left") - 1
    next_ns = start_ns[np.maximum(last, 0)]
    is_late = (next_ns > start_ns) & (end_ns - next_ns <= ROUNDING_NS) & (end_ns[last] > end_ns)
    return np.where(is_late, next_ns, end_ns)


def _parents(start_ns: Integers, end_ns: Integers) -> Integers:
    """Return the event around each, of one thread, sorted by (start, -end).

    It is the last one before it that is one level further out; the level is the number of events
    still open when one begins. That is exact where any two are apart or one is inside the other.
    """
    n = start_ns.size
    has_length = end_ns > start_ns
    begun: Integers = np.cumsum(has_length) - has_length
    depth = begun - np.searchsorted(np.sort(end_ns[has_length]), start_ns, side="right")
    place = np.arange(n, dtype=np.int64)
    keys = np.sort((depth * n + place)[has_length])
    inner = np.flatnonzero(depth > 0)
    found = keys[np.searchsorted(keys, (depth[inner] - 1) * n + inner) - 1]
    parent = np.full(n, NONE, dtype=np.int64)
    parent[inner] = np.where(found // n == depth[inner] - 1, found % n, NONE)
    return parent


def _walked(start_ns: Integers, end_ns: Integers) -> Nesting:
    """Return the nesting where events overlap, which takes a walk over all of them."""
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
