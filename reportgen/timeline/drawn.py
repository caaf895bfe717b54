"""What is written of parts: where their times start, both ends of their arrows, arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace_tables import NONE
from reportgen.timeline.lanes import Arrows, Lane, LaneKind, PartLanes, Strips


@dataclass(slots=True, kw_only=True)
class Written:
    """Content of a file; ``n_arrows_left_out``: a graph ran, as its clock says, before its call."""

    n_slices: int = 0
    n_arrows: int = 0
    n_arrows_left_out: int = 0
    n_values: int = 0
    n_parts: int = 0


@dataclass(slots=True, kw_only=True)
class Clocks:
    """Puts parts on one axis; ``unlike``: parts whose clock cannot be compared with the first's."""

    first_ns: int | None = None
    is_unix: bool = True
    unlike: list[str] = field(default_factory=list)

    def zero_of(self, part: PartLanes) -> int:
        """Return the origin of a part; one with a clock of another kind begins with the first."""
        if self.first_ns is None:
            self.first_ns, self.is_unix = part.origin_ns, part.is_unix
        if part.is_unix == self.is_unix:
            return part.origin_ns
        self.unlike.append(part.node)
        return self.first_ns


class ArrowEnds:
    """The ends of the arrows of a part, from a call to its work.

    The earlier of call and operation is the start of the arrow: programs drop arrows that lead back
    in time. Where such a call started other work too, its arrow is left out.
    """

    def __init__(self, arrows: Arrows) -> None:
        self._n_flows = int(arrows.flow.max(initial=0)) + 1
        n_of_flow = np.bincount(arrows.flow, minlength=self._n_flows)
        is_back = arrows.to_start_ns < arrows.from_start_ns
        self._is_turned = np.zeros(self._n_flows, dtype=np.bool_)
        self._is_turned[arrows.flow[is_back]] = n_of_flow[arrows.flow[is_back]] == 1
        is_lost = is_back & (n_of_flow[arrows.flow] > 1)
        self.n_left_out = int(is_lost.sum())
        self._is_drawn = n_of_flow > 0
        self._call_ns = np.zeros(self._n_flows, dtype=np.int64)
        self._call_ns[arrows.flow] = arrows.from_start_ns

    def of(self, lane: Lane, strips: Strips) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the flow of each strip, 0 for none, and whether its arrows begin there."""
        flow = np.where(self._is_drawn[strips.flow], strips.flow, 0)
        is_turned = self._is_turned[flow]
        is_call = (strips.start_ns == self._call_ns[flow]) & (lane.kind is not LaneKind.STREAM)
        is_early = (strips.start_ns < self._call_ns[flow]) & ~is_turned
        flow = np.where(is_early, 0, flow)
        return flow.astype(np.int32), is_turned ^ is_call


def arguments_of(part: PartLanes, strips: Strips) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Yield the name of each argument, and its value of each strip, ``NONE`` where it has none."""
    if strips.source is None:
        return
    for argument in part.arguments:
        row = strips.source - argument.first
        is_there = (row >= 0) & (row < argument.values.size)
        yield argument.name, np.where(is_there, argument.values[row * is_there], NONE)
