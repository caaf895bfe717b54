"""Pairs of events in a kernel trace: launch and GPU op, forward and backward."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Column, Columns


def launches(gpu: Columns, calls: Columns, launch_ends: Columns) -> NDArray[np.int32]:
    """Return the row of the call that launched each GPU op, ``ABSENT`` for orphans.

    They share their correlation; of calls inside one another the outermost is taken. Ops without
    correlation are found by the arrow that ends where they start.
    """
    if not calls:
        return np.full(len(gpu["start_ns"]), ABSENT, dtype=np.int32)
    found = _first_match(gpu["correlation"], calls["correlation"])
    is_blind = gpu["correlation"] == ABSENT
    if launch_ends and is_blind.any():
        blind = np.flatnonzero(is_blind)
        found[blind] = _along_arrows(gpu["start_ns"][blind], calls["start_ns"], launch_ends)
    return found


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
