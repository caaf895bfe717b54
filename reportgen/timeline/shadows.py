"""Lanes of what repeats other events: annotations as the GPU saw them, the profiler's own spans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reportgen.profile import RankTrace
from reportgen.timeline.lanes import Lane, LaneKind, PartLanes, strips_of


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
