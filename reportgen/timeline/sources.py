"""What only other programs show of a kernel trace: numbers of events, and events repeated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import RankTrace
from reportgen.profile.trace_tables import NONE, Numbers
from reportgen.timeline.lanes import Argument, Lane, LaneKind, PartLanes, strips_of


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


def with_shadows(part: PartLanes, trace: RankTrace) -> PartLanes:
    """Return the lanes of a trace and, at their end, one for each stream and thread of shadows."""
    shadows = trace.shadows
    codes, name = np.unique(shadows.name, return_inverse=True)
    names = (*part.names, *(trace.names[code] for code in codes.tolist()))
    name += len(part.names)
    gpus = {
        lane.label.split(" · ")[0]: place
        for place, lane in enumerate(part.lanes)
        if lane.kind is LaneKind.GPU
    }
    lanes = list(part.lanes)
    for number in np.unique(shadows.thread).tolist():
        thread = trace.threads[number]
        rows = np.flatnonzero(shadows.thread == number)
        gpu = gpus.get(f"GPU {thread.pid}")
        label = f"{thread.tid} of {thread.pid}" if gpu is None else f"annotations, {thread.tid}"
        strips = strips_of(shadows.start_ns[rows], shadows.duration_ns[rows], name[rows])
        parent = 0 if gpu is None else gpu
        lanes.append(Lane(kind=LaneKind.ANNOTATIONS, label=label, parent=parent, strips=strips))
    return replace(part, lanes=tuple(lanes), names=names)
