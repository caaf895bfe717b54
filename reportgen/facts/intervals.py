"""Time intervals: union, overlap, gaps, cover, neighbours, runs, nesting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Instants, Integers, Mask, select
from reportgen.merging import rows_by_code, sums_by_code

NONE = -1
"""The parent of an event that nothing encloses."""
ROUNDING_NS = 250
"""Largest distance of starts and ends that were equal before rounding: the spacing of float64 at
microseconds since 1970, which PyTorch 2.3 writes; ends are sums of two such numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Disjoint intervals in order; touching ones are one.

    Attributes:
        start_ns, end_ns: (m,) int64, start_ns[i] <= end_ns[i] < start_ns[i + 1].
    """

    start_ns: Instants
    end_ns: Instants

    @property
    def length_ns(self) -> int:
        """Return the total length."""
        return int((self.end_ns - self.start_ns).sum())


NOTHING = Union(start_ns=np.empty(0, dtype=np.int64), end_ns=np.empty(0, dtype=np.int64))


def union_of(start_ns: Instants, end_ns: Instants) -> Union:
    """Return the union of (n,) closed intervals in any order, end_ns >= start_ns."""
    if start_ns.size == 0:
        return Union(start_ns=start_ns, end_ns=end_ns)
    if (start_ns[1:] < start_ns[:-1]).any():  # events of a table are in order
        order = np.argsort(start_ns, kind="stable")
        start_ns, end_ns = start_ns[order], end_ns[order]
    reach_ns = np.maximum.accumulate(end_ns)
    last = np.flatnonzero(start_ns[1:] > reach_ns[:-1])
    return Union(start_ns=start_ns[np.append(0, last + 1)], end_ns=reach_ns[np.append(last, -1)])


def join(unions: Sequence[Union]) -> Union:
    """Return the union of unions."""
    starts = np.concatenate([item.start_ns for item in unions])
    return union_of(starts, np.concatenate([item.end_ns for item in unions]))


def clip(union: Union, low_ns: int, high_ns: int) -> Union:
    """Return the part of a union inside a window."""
    is_inside = (union.end_ns > low_ns) & (union.start_ns < high_ns)
    return Union(
        start_ns=np.maximum(union.start_ns[is_inside], low_ns),
        end_ns=np.minimum(union.end_ns[is_inside], high_ns),
    )


def union_by_code_ns(
    code: Integers, start_ns: Instants, end_ns: Instants, n_codes: int
) -> Instants:
    """Return (n_codes,) the length of the union of the (n,) intervals of each code."""
    order = np.lexsort((start_ns, code))
    code, start_ns, end_ns = code[order], start_ns[order], end_ns[order]
    # Ranks are small however long the recording is: those of a code are higher than all before.
    by_end, base = np.argsort(end_ns, kind="stable"), code * code.size
    reached = np.maximum.accumulate(base + np.argsort(by_end)) - base
    latest_ns = end_ns[by_end][reached]
    before_ns = np.append(start_ns[:1], latest_ns[:-1])[: code.size]
    before_ns = np.where(np.diff(code, prepend=code[:1]) > 0, start_ns, before_ns)
    covered_ns = latest_ns - np.maximum(before_ns, start_ns).clip(max=latest_ns)
    return sums_by_code(code, covered_ns, n_codes)


def longest_of(union: Union) -> Union:
    """Return the longest interval of a union, the first of equal ones; of none, none."""
    length_ns = union.end_ns - union.start_ns
    is_longest = np.arange(length_ns.size) == (length_ns.argmax() if length_ns.size else -1)
    return select(union, is_longest)


def gaps_of(union: Union, low_ns: int, high_ns: int) -> Union:
    """Return the part of a window outside a union; gaps have a length above 0."""
    inside = clip(union, low_ns, high_ns)
    starts = np.append(low_ns, inside.end_ns)
    ends = np.append(inside.start_ns, high_ns)
    is_open = ends > starts
    return Union(start_ns=starts[is_open], end_ns=ends[is_open])


def minus(union: Union, other: Union) -> Union:
    """Return the part of a union that another does not cover."""
    if overlap_ns(union, other) == 0:
        return union
    edges = np.concatenate([union.start_ns, union.end_ns, other.start_ns, other.end_ns])
    edges.sort()
    is_kept = _goes_on(union, edges[:-1]) & ~_goes_on(other, edges[:-1])
    return union_of(edges[:-1][is_kept], edges[1:][is_kept])


def _goes_on(union: Union, at_ns: Instants) -> Mask:
    """Return (m,) whether a union covers what follows each of (m,) instants."""
    place = np.searchsorted(union.start_ns, at_ns, side="right") - 1
    return np.asarray((place >= 0) & (union.end_ns[np.maximum(place, 0)] > at_ns))


def overlap_ns(one: Union, other: Union) -> int:
    """Return the length of the intersection of two unions."""
    return int(covered_each(other, one.start_ns, one.end_ns).sum())


def covered_each(union: Union, low_ns: Instants, high_ns: Instants) -> Instants:
    """Return (n,) ns: how much of each range [low, high] lies in a union."""
    before = np.append(0, np.cumsum(union.end_ns - union.start_ns))
    return _covered_until(union, before, high_ns) - _covered_until(union, before, low_ns)


def _covered_until(union: Union, before: Instants, at_ns: Instants) -> Instants:
    """Return (m,) the length of the part of a union before each of (m,) instants.

    ``before`` is the length before each of its intervals, and of all.
    """
    if union.start_ns.size == 0:
        return np.zeros(at_ns.shape, dtype=np.int64)
    place = np.searchsorted(union.start_ns, at_ns, side="right")
    beyond = np.maximum(union.end_ns[np.maximum(place - 1, 0)] - at_ns, 0)
    return np.where(place == 0, 0, before[place] - beyond)


def overlaps_any(
    start_ns: Instants, end_ns: Instants, other_start_ns: Instants, other_end_ns: Instants
) -> Mask:
    """Return an (n,) mask of the intervals that meet one of the others (closed on both sides).

    A moment is an interval that begins and ends with it.
    """
    others = union_of(other_start_ns, other_end_ns)
    if others.start_ns.size == 0:
        return np.zeros(start_ns.shape, dtype=bool)
    nearest = np.searchsorted(others.start_ns, end_ns, side="right") - 1
    return np.asarray((nearest >= 0) & (others.end_ns[np.maximum(nearest, 0)] >= start_ns))


def runs_of(places: Instants, *, max_step: int) -> Integers:
    """Merge sorted places (rows, minutes or instants) that lie at most ``max_step`` apart.

    Returns:
        (2, n_runs) in order: positions in the input of the first and of the last member.
    """
    breaks = np.flatnonzero(np.diff(places) > max_step)
    runs = np.array([np.append(0, breaks + 1), np.append(breaks, places.size - 1)])
    return runs if places.size else runs[:, :0]


# Events inside events


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Events of one thread, sorted by (start, -end), and the event around each or ``NONE``.

    ``end_ns`` is where each leaves the events that are open.
    """

    start_ns: Instants
    end_ns: Instants
    parent: Instants


def parents_of(start_ns: Instants, end_ns: Instants, group: Instants) -> Instants:
    """Return for each event the row of the innermost event around it, -1 for outermost ones.

    Events come in any order; only those of one group (one thread) enclose each other.

    Edge cases: of two equal intervals the earlier row is the outer one; an event that begins
    where another ends is its neighbour, not its child. Instants have no parent. Events that
    overlap in part, which one thread cannot do, get the earlier one as parent.
    """
    parent = np.full(start_ns.shape, NONE, dtype=np.int64)
    lasting = np.flatnonzero(end_ns > start_ns)
    for _, places in rows_by_code(group[lasting]):
        rows = lasting[places]
        rows = rows[np.lexsort((-end_ns[rows], start_ns[rows]))]
        inside = _parents(start_ns[rows], end_ns[rows])
        is_inner = inside != NONE
        parent[rows[is_inner]] = rows[inside[is_inner]]
    return parent


def self_times_ns(start_ns: Instants, end_ns: Instants, group: Instants) -> Instants:
    """Return each event's duration less that of the events directly inside it, >= 0.

    Over properly nested events they add up to the time in which any was open.
    """
    nesting = Nesting(start_ns=start_ns, end_ns=end_ns, parent=parents_of(start_ns, end_ns, group))
    return self_ns(nesting, end_ns - start_ns, rounding_ns=0)


def nest(start_ns: Instants, end_ns: Instants) -> Nesting:
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


def self_ns(nesting: Nesting, duration_ns: Instants, *, rounding_ns: int = ROUNDING_NS) -> Instants:
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


def innermost_at(nesting: Nesting, time_ns: Instants) -> Instants:
    """Return (m,) the innermost event around each moment, ``NONE`` where no event is open.

    An event is open from its start until its end, at which the one around it is again.
    """
    rows = np.flatnonzero(nesting.end_ns > nesting.start_ns)
    if rows.size == 0:
        return np.full(time_ns.shape, NONE, dtype=np.int64)
    # Of events that end together the outermost is the last to do so.
    by_end = rows[::-1][np.argsort(nesting.end_ns[rows][::-1], kind="stable")]
    start_ns, end_ns = nesting.start_ns[rows], nesting.end_ns[by_end]
    begun = np.searchsorted(start_ns, time_ns, side="right") - 1
    ended = np.searchsorted(end_ns, time_ns, side="right") - 1
    found, last = rows[np.maximum(begun, 0)], by_end[np.maximum(ended, 0)]
    has_left = (ended >= 0) & (nesting.end_ns[last] > nesting.start_ns[found])
    found[has_left] = nesting.parent[last[has_left]]
    found[begun < 0] = NONE
    return found


def _without_rounding(start_ns: Instants, end_ns: Instants) -> Instants:
    """Return ends, those that rounding has put behind the start of the next event moved there."""
    if not start_ns.size:
        return end_ns
    last = np.searchsorted(start_ns, end_ns, side="left") - 1
    next_ns = start_ns[np.maximum(last, 0)]
    is_late = (next_ns > start_ns) & (end_ns - next_ns <= ROUNDING_NS) & (end_ns[last] > end_ns)
    return np.where(is_late, next_ns, end_ns)


def _parents(start_ns: Instants, end_ns: Instants) -> Instants:
    """Return the event around each, of one thread, sorted by (start, -end).

    It is the last one before it that is one level further out; the level is the number of events
    still open when one begins. That is exact where any two are apart or one is inside the other.
    """
    n = start_ns.size
    has_length = end_ns > start_ns
    begun: Instants = np.cumsum(has_length) - has_length
    depth = begun - np.searchsorted(np.sort(end_ns[has_length]), start_ns, side="right")
    place = np.arange(n, dtype=np.int64)
    keys = np.sort((depth * n + place)[has_length])
    inner = np.flatnonzero(depth > 0)
    found = keys[np.searchsorted(keys, (depth[inner] - 1) * n + inner) - 1]
    parent = np.full(n, NONE, dtype=np.int64)
    parent[inner] = np.where(found // n == depth[inner] - 1, found % n, NONE)
    return parent


def _walked(start_ns: Instants, end_ns: Instants) -> Nesting:
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
