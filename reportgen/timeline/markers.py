"""Findings as strips: in the part that they name, or in a separate part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen.timeline.lanes import Lane, LaneKind, PartLanes, strips_of
from reportgen.timeline.moments import Mark


def with_markers(part: PartLanes, marks: Sequence[Mark]) -> PartLanes:
    """Return the lanes of a part and, at their end, one of findings if there are any."""
    if not marks:
        return part
    start_ns = np.array([mark.start_ns - part.origin_ns for mark in marks], dtype=np.int64)
    length_ns = np.array([max(mark.end_ns - mark.start_ns, 0) for mark in marks], dtype=np.int64)
    place = np.arange(len(marks))
    strips = strips_of(
        start_ns, length_ns, place + len(part.names), detail=place + len(part.details)
    )
    return replace(
        part,
        lanes=(
            *part.lanes,
            Lane(kind=LaneKind.FINDINGS, label="findings", parent=0, strips=strips),
        ),
        names=(*part.names, *(mark.title for mark in marks)),
        details=(*part.details, *(mark.said_by for mark in marks)),
    )


def only_markers(marks: Sequence[Mark], *, is_unix: bool) -> PartLanes:
    """Return the lanes of findings that name no part."""
    group = Lane(kind=LaneKind.NODE, label="whole job")
    origin_ns = min((mark.start_ns for mark in marks), default=0)
    part = PartLanes(node="whole job", origin_ns=origin_ns, is_unix=is_unix, lanes=(group,))
    return with_markers(part, marks)
