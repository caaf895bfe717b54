"""Pairs of events in a kernel trace: launch and GPU op, forward and backward."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Column, Columns
from reportgen.profile.trace_tables import FlowKind


def launches(gpu: Columns, calls: Columns, launch_ends: Columns) -> NDArray[np.int32]:
    """Return the row of the call that launched each GPU op, ``ABSENT`` for orphans.

    They share their correlation; of calls inside one another the outermost is taken. Ops without
    correlation are found by the arrow that ends where they start.
    """
    if not calls:
        return np.full(len(gpu["start_ns"]), ABSENT, dtype=np.int32)
    found = _first_match(gpu["correlation"], calls["correlation"])
    _tell_repeated_apart(found, gpu, calls)
    is_blind = gpu["correlation"] == ABSENT
    if launch_ends and is_blind.any():
        blind = np.flatnonzero(is_blind)
        found[blind] = _along_arrows(gpu["start_ns"][blind], calls["start_ns"], launch_ends)
    return found


def _tell_repeated_apart(found: NDArray[np.int32], gpu: Columns, calls: Columns) -> None:
    """Give ops whose correlation comes again the last call before them, in place.

    Programs that follow each other in one file count from the same number. An op before all its
    calls keeps the first.
    """
    ordered = np.sort(calls["correlation"])
    repeated = np.unique(ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] != ABSENT)])
    if not len(repeated):
        return
    ops = np.flatnonzero(np.isin(gpu["correlation"], repeated))
    rows = _outermost(np.flatnonzero(np.isin(calls["correlation"], repeated)), calls)
    key = np.concatenate([calls["correlation"][rows], gpu["correlation"][ops]])
    time_ns = np.concatenate([calls["start_ns"][rows], gpu["start_ns"][ops]])
    order = np.lexsort((np.arange(len(key)), time_ns, key))  # of equal times calls come first
    is_op = order >= len(rows)
    before = np.maximum.accumulate(np.where(is_op, ABSENT, np.arange(len(key))))
    is_told = is_op & (before != ABSENT) & (key[order[before]] == key[order])
    found[ops[order[is_told] - len(rows)]] = rows[order[before[is_told]]]


def _outermost(rows: NDArray[np.int64], calls: Columns) -> NDArray[np.int64]:
    """Return calls without those that lie in the one before of the same correlation."""
    start_ns, end_ns, key = (calls[name][rows] for name in ("start_ns", "end_ns", "correlation"))
    order = np.lexsort((-end_ns, start_ns, key))
    is_inner = np.zeros(len(rows), dtype=np.bool_)
    is_same = np.diff(key[order]) == 0
    is_inner[order[1:]] = is_same & (np.diff(end_ns[order]) <= 0)
    return rows[~is_inner]


def _along_arrows(gpu_start_ns: Column, call_start_ns: Column, ends: Columns) -> NDArray[np.int32]:
    """Return the row of the call at whose start an arrow leaves that ends where an op starts."""
    is_start = ends["is_start"]
    arrival = _first_match(gpu_start_ns, ends["start_ns"][~is_start])
    arrow = np.where(arrival == ABSENT, ABSENT, _taken(ends["id"][~is_start], arrival))
    departure = _first_match(arrow, ends["id"][is_start])
    left_ns = _taken(ends["start_ns"][is_start], departure)
    return _first_match(np.where(departure == ABSENT, ABSENT, left_ns), call_start_ns)


def _taken(column: Column, rows: NDArray[np.int32]) -> Column:
    """Return some rows of a column, anything for absent ones."""
    return np.append(column, column.dtype.type(ABSENT))[rows]


def bytes_of_calls(gpu: Columns, calls: Columns) -> NDArray[np.int64]:
    """Return the bytes of GPU ops; HIP writes them on the call instead."""
    known = np.where(gpu["bytes"] < 0, ABSENT, gpu["bytes"])
    if not calls:
        return known
    from_call = np.where(gpu["launch"] == ABSENT, ABSENT, calls["bytes"][gpu["launch"]])
    return np.where(known == ABSENT, from_call, known)


def pair_flows(ends: Columns) -> Columns:
    """Return the arrows whose two ends are there, sorted by start."""
    if not ends:
        return {}
    is_start = ends["is_start"]
    starts, arrivals = np.flatnonzero(is_start), np.flatnonzero(~is_start)
    place = _first_match(ends["id"][starts], ends["id"][arrivals])
    starts, place = starts[place != ABSENT], place[place != ABSENT]
    arrivals = arrivals[place] if len(place) else arrivals[:0]
    return {
        "kind": np.full(len(starts), FlowKind.FORWARD_BACKWARD, dtype=np.int8),
        "start_ns": ends["start_ns"][starts],
        "end_ns": ends["start_ns"][arrivals],
        "from_thread": ends["thread"][starts],
        "to_thread": ends["thread"][arrivals],
    }


def _first_match(wanted: Column, keys: Column) -> NDArray[np.int32]:
    """Return the first row of each wanted key, ``ABSENT`` where the key is absent or not there."""
    if not len(keys):
        return np.full(len(wanted), ABSENT, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    place = np.minimum(np.searchsorted(ordered, wanted), len(keys) - 1)
    is_there = (ordered[place] == wanted) & (wanted != ABSENT)
    return np.where(is_there, order[place], ABSENT).astype(np.int32)
