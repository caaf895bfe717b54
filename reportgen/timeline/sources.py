"""Numbers of events, and arrows from forward to backward, of a kernel trace for other programs."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import RankTrace
from reportgen.profile.trace_tables import NONE, HostSlices, Numbers
from reportgen.timeline.lanes import Argument, Arrows, Codes, Lane, PartLanes, Times


def numbers_of(trace: RankTrace) -> tuple[Argument, ...]:
    """Return the ids by which events were joined, and what copies moved, as the profiler names it.

    The bandwidth is in whole MB/s, since arguments are whole numbers.
    """
    slices, calls, ops = trace.slices, trace.calls, trace.gpu_ops
    moves = (ops.bytes > 0) & (ops.duration_ns > 0)
    n_bytes = np.where(moves, ops.bytes, NONE)
    mb_per_s = np.where(moves, n_bytes * 1_000 // np.maximum(ops.duration_ns, 1), NONE)
    first_op = slices.start_ns.size + calls.start_ns.size
    found = (
        ("correlation", slices.start_ns.size, (calls.correlation, ops.correlation)),
        ("External id", 0, (slices.external_id, calls.external_id, ops.external_id)),
        ("bytes", first_op, (n_bytes,)),
        ("bandwidth (MB/s)", first_op, (mb_per_s,)),
    )
    return tuple(
        Argument(name=name, first=first, values=_narrow(np.concatenate(parts)))
        for name, first, parts in found
        if any((part != NONE).any() for part in parts)
    )


def _narrow(values: Numbers) -> NDArray[np.integer]:
    is_small = values.max(initial=0) <= np.iinfo(np.int32).max
    return values.astype(np.int32) if is_small else values


def with_backward(part: PartLanes, trace: RankTrace) -> PartLanes:
    """Return the lanes of a trace with an arrow from each forward operator to its backward ones.

    An operator from which arrows lead has none that lead to it.
    """
    flows, slices = trace.flows, trace.slices
    leaves = _rows_at(trace.slices, flows.start_ns, flows.from_thread)
    arrives = _rows_at(trace.slices, flows.end_ns, flows.to_thread)
    is_found = (leaves != NONE) & (arrives != NONE)
    leaves, arrives = leaves[is_found], arrives[is_found]
    if not leaves.size:
        return part
    flow = np.unique(leaves, return_inverse=True)[1] + int(part.arrows.flow.max(initial=0)) + 1
    flow_of = np.zeros(slices.start_ns.size, dtype=np.int32)
    flow_of[arrives] = flow
    flow_of[leaves] = flow
    lane_of = np.full(flow_of.size, NONE, dtype=np.int32)
    lanes = [_with_flows(lane, place, flow_of, lane_of) for place, lane in enumerate(part.lanes)]
    is_kept = flow_of[arrives] == flow
    leaves, arrives, flow = leaves[is_kept], arrives[is_kept], flow[is_kept]
    added = Arrows(
        flow=flow.astype(np.int32),
        from_lane=lane_of[leaves],
        from_start_ns=slices.start_ns[leaves],
        to_lane=lane_of[arrives],
        to_start_ns=slices.start_ns[arrives],
    )
    both = {
        item.name: np.concatenate([getattr(part.arrows, item.name), getattr(added, item.name)])
        for item in fields(Arrows)
    }
    return replace(part, lanes=tuple(lanes), arrows=Arrows(**both))


def _with_flows(lane: Lane, place: int, flow_of: Codes, lane_of: Codes) -> Lane:
    """Return a lane whose slices have the flows of their rows; mark where the rows are."""
    strips = lane.strips
    if strips is None or strips.source is None:
        return lane
    is_slice = (strips.source >= 0) & (strips.source < flow_of.size)
    rows = strips.source[is_slice]
    lane_of[rows] = place
    if not flow_of[rows].any():
        return lane
    flow = strips.flow.copy()
    flow[is_slice] = flow_of[rows]
    return replace(lane, strips=replace(strips, flow=flow))


def _rows_at(slices: HostSlices, time_ns: Times, thread: Codes) -> Numbers:
    """Return the outermost slice that begins at each time on a thread, ``NONE`` without one."""
    near = np.flatnonzero(np.isin(slices.start_ns, time_ns))[::-1]
    keys = zip(slices.start_ns[near].tolist(), slices.thread[near].tolist(), strict=True)
    row_of = dict(zip(keys, near.tolist(), strict=True))
    wanted = zip(time_ns.tolist(), thread.tolist(), strict=True)
    return np.array([row_of.get(key, NONE) for key in wanted], dtype=np.int64)
