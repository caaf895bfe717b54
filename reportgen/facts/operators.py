"""Which operator launched a GPU operation: by the ids that join them, else by where it stood."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.nesting import ROUNDING_NS, innermost_at, nest
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind

Rows = NDArray[np.int64]


@fact
def launching_operators(trace: RankTrace) -> Rows:
    """Return the operator that launched each GPU operation.

    Some versions write the number of the launch where the operator's should stand; there, where
    there is no number, and where several operators have it, as of programs that follow each other
    in one file, it is the innermost operator of the thread at the moment of the call.

    Returns:
        (n_ops,) int64 rows of ``slices``; ``NONE`` where nothing tells it.
    """
    found, launch = _by_id(trace), trace.gpu_ops.launch
    is_open = (found == NONE) & (launch != NONE)
    found[is_open] = _by_place(trace, launch[is_open])
    return found


def _by_id(trace: RankTrace) -> Rows:
    ops, slices = trace.gpu_ops, trace.slices
    external = ops.external_id.copy()
    by_call = (external == NONE) & (ops.launch != NONE)
    external[by_call] = trace.calls.external_id[ops.launch[by_call]]
    external[external == ops.correlation] = NONE
    known = np.flatnonzero(_are_operators(trace) & (slices.external_id != NONE))
    found = np.full(external.shape, NONE, dtype=np.int64)
    if known.size == 0:
        return found
    order = np.argsort(slices.external_id[known], kind="stable")
    ids = slices.external_id[known][order]
    is_last = np.append(ids[1:] != ids[:-1], True)
    nearest = np.minimum(np.searchsorted(ids, external), ids.size - 1)
    is_found = (ids[nearest] == external) & (external != NONE) & is_last[nearest]
    found[is_found] = known[order][nearest[is_found]]
    return found


def _by_place(trace: RankTrace, calls: NDArray[np.int32]) -> Rows:
    found = np.full(calls.shape, NONE, dtype=np.int64)
    thread, start_ns = trace.calls.thread[calls], trace.calls.start_ns[calls]
    is_operator = _are_operators(trace)
    for one in np.unique(thread).tolist():
        own = np.flatnonzero(is_operator & (trace.slices.thread == one))
        here = thread == one
        nesting = nest(trace.slices.start_ns[own], trace.slices.end_ns[own])
        # No operator ends, or is called, within the time by which starts and ends are rounded.
        inside = innermost_at(nesting, start_ns[here] + ROUNDING_NS)
        found[here] = np.where(inside == NONE, NONE, own[inside] if own.size else NONE)
    return found


def _are_operators(trace: RankTrace) -> NDArray[np.bool_]:
    return np.asarray(trace.slices.kind == SliceKind.OPERATOR)
