"""Lanes from afar: events of a row that begin close to one another are one strip, a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Mask, join, select
from reportgen.merging import sums_by_code
from reportgen.timeline.lanes import Codes, CounterTrack, Numbers, Strips, Times

_AT_ONCE = 1 << 16
"""Values of a counter."""
_EVENTS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Parts of runs: the events of one name in an interval of a row of a lane, (n,) each.

    Sorted by (lane, row, start). Coarser runs are made of the pieces of finer ones, exactly.
    """

    lane: Codes
    row: Codes
    start_ns: Times
    end_ns: Times
    name: Codes
    count: Numbers
    busy_ns: Times

    @property
    def n(self) -> int:
        """Return how many pieces there are."""
        return int(self.lane.size)


def pieces_of(strips: Strips, lane: int) -> Pieces:
    """Return every event of a lane as a separate piece."""
    order = np.lexsort((strips.start_ns, strips.row))
    start_ns, duration_ns = strips.start_ns[order], strips.duration_ns[order]
    return Pieces(
        lane=np.full(strips.n, lane, dtype=np.int32),
        row=strips.row[order],
        start_ns=start_ns,
        end_ns=start_ns + duration_ns,
        name=strips.name[order],
        count=np.ones(strips.n, dtype=np.int64),
        busy_ns=duration_ns,
    )


def coarse_pieces(strips: Strips, lane: int, resolution_ns: int) -> Pieces:
    """Return the pieces of a lane at a resolution, made of some events at a time."""
    found: list[Pieces] = []
    begin = 0
    while begin < strips.n or not found:
        end = min(begin + _EVENTS_AT_ONCE, strips.n)
        if end < strips.n:  # all of an interval together
            until_ns = (strips.start_ns[end - 1] // resolution_ns + 1) * resolution_ns
            end = int(np.searchsorted(strips.start_ns, until_ns))
        found.append(coarser(pieces_of(select(strips, slice(begin, end)), lane), resolution_ns))
        begin = end
    whole = join(found)
    return select(whole, np.lexsort((whole.start_ns, whole.row))) if len(found) > 1 else whole


def coarser(pieces: Pieces, resolution_ns: int) -> Pieces:
    """Return the pieces of intervals of a resolution; what lasts longer stays as it is."""
    key, _ = _keyed(pieces, _begins(pieces, resolution_ns))
    order = np.argsort(key, kind="stable")
    joined = _summed(select(pieces, order), np.diff(key[order], prepend=-1) > 0)
    return select(joined, np.lexsort((joined.start_ns, joined.row, joined.lane)))


def runs_of(pieces: Pieces, resolution_ns: int) -> Pieces:
    """Return the runs of a resolution; each has the name in which most of its time was spent."""
    begins = _begins(pieces, resolution_ns)
    key, n_names = _keyed(pieces, begins)
    named, code = np.unique(key, return_inverse=True)
    spent_ns = sums_by_code(code, pieces.busy_ns, named.size)
    run = named // n_names
    by_time = np.lexsort((-named, spent_ns, run))
    is_most = np.append(np.diff(run[by_time]) > 0, True)[: named.size]
    name = (named[by_time[is_most]] % n_names).astype(np.int32)
    return replace(_summed(pieces, begins), name=name)


def count_runs(pieces: Pieces, resolution_ns: int) -> int:
    """Return how many runs there are."""
    return int(_begins(pieces, resolution_ns).sum())


def _begins(pieces: Pieces, resolution_ns: int) -> Mask:
    """Return which pieces begin a run; an event that is as long as the resolution is one alone."""
    is_long = (pieces.count == 1) & (pieces.busy_ns >= resolution_ns)
    begins = np.ones(pieces.n, dtype=np.bool_)
    begins[1:] = is_long[1:] | is_long[:-1] | (np.diff(pieces.start_ns // resolution_ns) != 0)
    begins[1:] |= (np.diff(pieces.row) != 0) | (np.diff(pieces.lane) != 0)
    return begins


def _keyed(pieces: Pieces, begins: Mask) -> tuple[Numbers, int]:
    """Return a number for the run and name of each piece, and how many names there are."""
    n_names = int(pieces.name.max(initial=0)) + 1
    return (np.cumsum(begins) - 1) * n_names + pieces.name, n_names


def _summed(pieces: Pieces, begins: Mask) -> Pieces:
    """Return one piece for those from one that begins to the next."""
    first = np.flatnonzero(begins)
    if not first.size:
        return pieces
    return replace(
        select(pieces, first),
        end_ns=np.maximum.reduceat(pieces.end_ns, first),
        count=np.add.reduceat(pieces.count, first),
        busy_ns=np.add.reduceat(pieces.busy_ns, first),
    )


def thinned(track: CounterTrack, resolution_ns: int) -> CounterTrack:
    """Return the value farthest from 0 and the last one of each interval of a resolution."""
    keep, begin, time_ns = [np.empty(0, dtype=np.int64)], 0, track.time_ns
    while begin < time_ns.size:
        last_ns = int(time_ns[min(begin + _AT_ONCE, time_ns.size) - 1])
        end = int(np.searchsorted(time_ns, (last_ns // resolution_ns + 1) * resolution_ns))
        is_last = np.append(np.diff(time_ns[begin:end] // resolution_ns) != 0, True)
        last = np.flatnonzero(is_last)
        first, value = np.append(0, last[:-1] + 1), np.abs(track.value[begin:end])
        most = np.repeat(np.maximum.reduceat(value, first), last - first + 1)
        largest = np.flatnonzero(value == most)
        is_last[largest[np.searchsorted(largest, last, side="right") - 1]] = True
        keep.append(begin + np.flatnonzero(is_last))
        begin = end
    kept = np.concatenate(keep)
    return replace(track, time_ns=time_ns[kept], value=track.value[kept])
