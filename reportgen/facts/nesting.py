"""Events inside events: who encloses whom, and what an event did itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code

Integers = NDArray[np.int64]


def parents_of(start_ns: Integers, end_ns: Integers, group: Integers) -> Integers:
    """Return for each event the row of the innermost event around it, -1 for outermost ones.

    Args:
        start_ns, end_ns: (n,) int64, any order.
        group: (n,) int64; only events of one group (one thread) enclose each other.

    Edge cases: of two equal intervals the earlier row is the outer one; an event that begins
    where another ends is its neighbour, not its child. Instants have no parent. Events that
    overlap in part, which one thread cannot do, get the earlier one as parent.
    """
    parent = np.full(start_ns.shape, -1, dtype=np.int64)
    lasting = np.flatnonzero(end_ns > start_ns)
    for _, its in rows_by_code(group[lasting]):
        rows = lasting[its]
        rows = rows[np.lexsort((-end_ns[rows], start_ns[rows]))]
        inside = _parents_in_order(start_ns[rows], end_ns[rows])
        is_inner = inside >= 0
        parent[rows[is_inner]] = rows[inside[is_inner]]
    return parent


def self_times_ns(start_ns: Integers, end_ns: Integers, group: Integers) -> Integers:
    """Return each event's duration less that of the events directly inside it, >= 0.

    Args:
        start_ns, end_ns, group: as in ``parents_of``.

    Returns:
        (n,) int64; over properly nested events they add up to the time in which any was open.
    """
    parent = parents_of(start_ns, end_ns, group)
    inner = np.flatnonzero(parent >= 0)
    around = parent[inner]
    covered = np.minimum(end_ns[inner], end_ns[around]) - start_ns[inner]
    inside = np.zeros(start_ns.shape, dtype=np.int64)
    np.add.at(inside, around, np.maximum(covered, 0))
    return np.asarray(np.maximum(end_ns - start_ns - inside, 0))


def _parents_in_order(start_ns: Integers, end_ns: Integers) -> Integers:
    """Return the parent's place for events of one thread, sorted by start, longest first.

    An event's parent is the last one before it that began one level higher; its level is the
    number of events still open when it begins.
    """
    place = np.arange(start_ns.shape[0])
    level = place - np.searchsorted(np.sort(end_ns), start_ns, side="right")
    parent = np.full(start_ns.shape, -1, dtype=np.int64)
    outer = place[level == 0]
    for number in range(1, int(level.max(initial=0)) + 1):
        inner = place[level == number]
        parent[inner] = outer[np.searchsorted(outer, inner) - 1]
        outer = inner
    return parent
