"""Lanes from afar: events of a row that begin close to one another are one strip, a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Mask, select
from reportgen.merging import sums_by_code
from reportgen.timeline.lanes import Codes, CounterTrack, Numbers, Strips, Times


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
    time_ns = track.time_ns
    if not time_ns.size:
        return track
    is_kept = np.append(np.diff(time_ns // resolution_ns) != 0, True)
    last = np.flatnonzero(is_kept)
    first, value = np.append(0, last[:-1] + 1), np.abs(track.value)
    most = np.repeat(np.maximum.reduceat(value, first), last - first + 1)
    largest = np.flatnonzero(value == most)
    is_kept[largest[np.searchsorted(largest, last, side="right") - 1]] = True
    return replace(track, time_ns=time_ns[is_kept], value=track.value[is_kept])
