"""The file of the timeline: whole where it fits, else coarse, and in full around what matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.byte_planes import differences
from reportgen.facts.device_busy import is_far_apart
from reportgen.results import timeline_file
from reportgen.results.timeline_file import Family
from reportgen.text import format_count
from reportgen.timeline.lanes import MOST_ROWS, LaneKind, strips_of
from reportgen.timeline.moments import FindingMark, moments_of
from reportgen.timeline.packing import Block, Blocks, PackedPart
from reportgen.timeline.runs import coarser, count_runs, runs_of, thinned
from reportgen.timeline.shown import MOST_PARTS, lanes_of_each, shown_lanes
from reportgen.timeline.staged import Staged, StagedPart

BUDGET_BYTES = 950_000
"""The page carries the file as text, a third larger: 4 MB with it, 2.7 MB without."""

_LEAST_EVENT_BYTES = 2
"""Packed, with its arrow: more events than the budget allows are not even packed."""
_BYTES_OF_RUN, _BYTES_OF_VALUE, _BYTES_OF_ARROW, _BYTES_OF_BLOCKS = 8, 4, 1, 150
"""Approximate bytes of a run, a value of a counter, an arrow, and the header of a lane's blocks."""
_COARSE_SHARE, _EVENTS_SHARE = 0.4, 0.85
"""Coarse lanes take the first share of the file, events the second share of the rest: some events
pack worse than those that were packed to learn their size."""
_SAMPLED = 2_048
"""Events of a lane that are packed for that."""
MOST_WINDOWS, _MOST_MOMENTS = 8, 64
"""Windows of a file, and moments that are tried for them: a thousand ranks have very many."""
_CUT = " (its begin)"
_SPREAD = 1_024

Range = tuple[int, int]
"""Begin and end in the time of a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The time of the file: ``shifts_ns`` makes it of each part's time."""

    start_ns: int
    length_ns: int
    is_unix: bool
    shifts_ns: tuple[int, ...]


def axis_of(parts: Sequence[Staged]) -> Axis:
    """Return one axis: that of the clock all parts share, else each begins at 0."""
    reaches = [
        (part.about.origin_ns + part.about.first_ns, part.about.origin_ns + part.about.last_ns)
        for part in parts
    ]
    is_unix = all(part.about.is_unix for part in parts)
    if len(parts) == 1 or (is_unix and not is_far_apart(reaches)):
        start_ns = min(begin for begin, _ in reaches)
        return Axis(
            start_ns=start_ns,
            length_ns=max(end for _, end in reaches) - start_ns,
            is_unix=is_unix,
            shifts_ns=tuple(part.about.origin_ns - start_ns for part in parts),
        )
    return Axis(
        start_ns=0,
        length_ns=max(end - begin for begin, end in reaches),
        is_unix=False,
        shifts_ns=tuple(-part.about.first_ns for part in parts),
    )


@dataclass(frozen=True, slots=True)
class KeptWindow:
    """A range of the file in which every event is kept: of all parts, or only of some nodes."""

    start_ns: int
    end_ns: int
    why: str
    nodes: frozenset[str] | None = None

    def holds(self, node: str) -> bool:
        """Return whether the events of a node are kept in it."""
        return self.nodes is None or node in self.nodes

    def said(self) -> dict[str, Any]:
        """Return its entry in the header."""
        said = {"start": self.start_ns, "end": self.end_ns, "why": self.why}
        return said if self.nodes is None else {**said, "nodes": sorted(self.nodes)}


def timeline_of(
    files: Sequence[Path], marks: Sequence[FindingMark], *, budget_bytes: int | None = BUDGET_BYTES
) -> list[bytes]:
    """Return the pieces of the file of the timeline.

    Args:
        files: where the lanes of each part were staged, in the order of the report.
        marks: the findings that say when, most important first.
        budget_bytes: of the file; ``None`` keeps every event.
    """
    most = None if budget_bytes is None else lanes_of_each(len(files))
    n_shown = len(files) if budget_bytes is None else min(len(files), MOST_PARTS)
    parts = by_machine([Staged(path) for path in files[:n_shown]])
    axis = axis_of(parts)

    def made(windows: Sequence[KeptWindow], resolution_ns: int | None = None) -> list[bytes]:
        file = _TimelineFile(parts, axis, marks, most)
        return file.made(windows, resolution_ns=resolution_ns, n_parts=len(files))

    n_events = sum(lane.n_events for part in parts for lane in part.about.lanes)
    whole = KeptWindow(0, axis.length_ns, "everything")
    if budget_bytes is None or n_events * _LEAST_EVENT_BYTES <= budget_bytes:
        pieces = made([whole])
        if budget_bytes is None or _size(pieces) <= budget_bytes:
            return pieces
    resolution_ns = _resolution_ns(parts, int(budget_bytes * _COARSE_SHARE))
    coarse = made((), resolution_ns)
    left_bytes = budget_bytes - _size(coarse)
    if left_bytes < 0:  # names without end
        return made((), resolution_ns * 2 * _size(coarse) // budget_bytes)
    n_lanes = sum(len(shown_lanes(part.about.lanes, most)) for part in parts)
    left_bytes -= min(n_lanes * _BYTES_OF_BLOCKS, left_bytes // 2)
    n_events = int(left_bytes * _EVENTS_SHARE / _event_bytes(parts))
    pieces = made(planned(parts, axis, marks, n_events), resolution_ns)
    return pieces if _size(pieces) <= budget_bytes else coarse


def _size(pieces: Sequence[bytes]) -> int:
    return sum(map(len, pieces))


def _event_bytes(parts: Sequence[Staged]) -> float:
    """Return how many bytes an event takes with its texts and arrow, as some of a part pack."""
    part = max(parts, key=lambda item: sum(lane.n_events for lane in item.about.lanes))
    blocks = Blocks()
    packed = PackedPart(part, blocks, shift_ns=0, lane=0, most=None)
    packed.open()
    n_events = sum(packed.pack_sample(at, _SAMPLED) for at in range(len(part.about.lanes)))
    for vocabulary in (blocks.names, blocks.details):
        blocks.texts(vocabulary.texts)
    return blocks.n_bytes / max(n_events, 1) + _BYTES_OF_ARROW


def _resolution_ns(parts: Sequence[Staged], most_bytes: int) -> int:
    """Return the finest resolution at which runs, and the values of counters, take no more."""
    resolution_ns = max(part.about.finest_ns for part in parts)
    pieces = [part.pieces() for part in parts]
    while True:
        n_runs = sum(count_runs(item, resolution_ns) for item in pieces)
        n_values = sum(_n_values(part.about, resolution_ns) for part in parts)
        if n_runs * _BYTES_OF_RUN + n_values * _BYTES_OF_VALUE <= most_bytes:
            return resolution_ns
        resolution_ns *= 2
        pieces = [coarser(item, resolution_ns) for item in pieces]


def _n_values(about: StagedPart, resolution_ns: int) -> int:
    """Return how many values of counters a part has at a resolution: two of each interval."""
    n_intervals = (about.last_ns - about.first_ns) // resolution_ns + 1
    counters = (lane for lane in about.lanes if lane.kind == LaneKind.COUNTER)
    return sum(min(lane.n_events, 2 * n_intervals) for lane in counters)


class _TimelineFile:
    """The file while it is made."""

    def __init__(
        self, parts: Sequence[Staged], axis: Axis, marks: Sequence[FindingMark], most: int | None
    ) -> None:
        self.axis = axis
        self.blocks = Blocks()
        self.marks = _placed(marks, parts, axis)
        first = 1 if self.marks else 0
        self.parts: list[PackedPart] = []
        self.machines: dict[int, str] = {}
        hosts = machines_of(parts)
        for part, shift_ns in zip(parts, axis.shifts_ns, strict=True):
            if hosts and (not self.parts or part.about.host != self.parts[-1].about.host):
                self.machines[first] = part.about.host
                first += 1
            packed = PackedPart(part, self.blocks, shift_ns=shift_ns, lane=first, most=most)
            self.parts.append(packed)
            first += len(packed.lanes)
        self.of_lane: list[list[Block]] = [[] for _ in range(first)]
        self.arrows: list[Block] = []

    def made(
        self, windows: Sequence[KeptWindow], *, resolution_ns: int | None = None, n_parts: int
    ) -> list[bytes]:
        """Return the pieces of the file with some windows, and runs where there is a resolution.

        ``n_parts``: how many parts the job has, in the file or not.
        """
        in_order = sorted(windows, key=lambda item: item.start_ns)
        for part in self.parts:
            ranges_ns = [
                (window.start_ns - part.shift_ns, window.end_ns - part.shift_ns)
                for window in in_order
                if window.holds(part.about.node)
            ]
            if ranges_ns:
                part.open()
            self._add_lanes(part, ranges_ns, resolution_ns)
            for number in range(len(ranges_ns)):
                rows = part.arrow_rows(ranges_ns[: number + 1])
                if rows.size:
                    self.arrows.append(part.pack_arrows(rows, *ranges_ns[number]))
            if ranges_ns:
                part.close()
        header = self._header(in_order, resolution_ns)
        if n_parts > len(self.parts):
            shown, every = format_count(len(self.parts)), format_count(n_parts)
            header["left_out"] = f"Of {every} nodes or ranks the first {shown} are shown."
        return timeline_file.assemble(header, self.blocks.packed)

    def _add_lanes(
        self, part: PackedPart, ranges_ns: Sequence[Range], resolution_ns: int | None
    ) -> None:
        """Add the runs of all lanes of a part where there is a resolution, and what is in ranges.

        An event that reaches from one range into the next is in the first.
        """
        whole_ns = (-part.shift_ns, self.axis.length_ns - part.shift_ns)
        runs = None if resolution_ns is None else runs_of(part.staged.pieces(), resolution_ns)
        for number, lane in enumerate(part.lanes, start=part.lane):
            blocks = self.of_lane[number]
            if lane.kind == LaneKind.COUNTER:
                track = part.staged.track(lane.members[0][0])
                if resolution_ns is not None:
                    blocks.append(part.pack_values(thinned(track, resolution_ns), 1, *whole_ns))
                found = [part.pack_values(track, 0, *range_ns) for range_ns in ranges_ns]
                blocks += [block for block in found if block["n"]]
                continue
            if runs is not None and lane.n_events:
                blocks.append(part.pack_runs(lane, runs, *whole_ns))
            after_ns = -(1 << 62)
            for range_ns in ranges_ns:
                blocks += part.pack_events(part.events(lane, *range_ns, after_ns), *range_ns)
                after_ns = range_ns[1]

    def _header(self, windows: Sequence[KeptWindow], resolution_ns: int | None) -> dict[str, Any]:
        lanes = list(self._lanes())
        return {
            "start_ns": str(self.axis.start_ns),
            "is_unix": self.axis.is_unix,
            "length_ns": self.axis.length_ns,
            "resolution_ns": resolution_ns,
            "n_counters": sum(part.about.n_counters for part in self.parts),
            "names": self.blocks.texts(self.blocks.names.texts),
            "families": self.blocks.texts(self.blocks.names.families),
            "details": self.blocks.texts(self.blocks.details.texts),
            "lanes": lanes,
            "windows": [window.said() for window in windows],
            "arrows": self.arrows,
        }

    def _lanes(self) -> Iterator[dict[str, Any]]:
        if self.marks:
            yield self._findings()
        machine = None
        for part in self.parts:
            if part.lane - 1 in self.machines:
                machine = part.lane - 1
                yield _group(machine, self.machines[machine])
            for number, lane in enumerate(part.lanes, start=part.lane):
                parent = machine if lane.parent is None else lane.parent + part.lane
                staged = part.about.lanes[lane.members[0][0]]
                of_counter = {
                    "unit": staged.unit,
                    "family": staged.family,
                    "least": staged.least,
                    "most": staged.most,
                }
                yield {
                    "id": number,
                    "parent": parent,
                    "kind": lane.kind,
                    "label": lane.label,
                    "n_events": lane.n_events,
                    "rows": min(lane.rows, MOST_ROWS),
                    "node": part.about.node,
                    "blocks": self.of_lane[number],
                    **(of_counter if lane.kind == LaneKind.COUNTER else {}),
                }

    def _findings(self) -> dict[str, Any]:
        """Return the lane of findings, which is whole in any file."""
        start_ns, duration_ns = (
            np.array(times, dtype=np.int64)
            for times in zip(
                *((mark.start_ns, mark.end_ns - mark.start_ns) for mark in self.marks), strict=True
            )
        )
        strips = strips_of(start_ns, duration_ns, np.arange(start_ns.size))
        titles = [
            self.blocks.names.of(mark.title, mark.severity or Family.CRITICAL)
            for mark in self.marks
        ]
        rules = [self.blocks.details.of(mark.said_by) for mark in self.marks]
        columns: list[NDArray[Any]] = [
            differences(strips.start_ns),
            strips.duration_ns,
            strips.row,
            np.array(titles)[strips.name],
            np.array(rules)[strips.name],
            strips.flow,
        ]
        at = self.blocks.add(timeline_file.pack_columns(columns))
        block = {"level": 0, "from": 0, "to": self.axis.length_ns, "n": strips.n, "at": at}
        return {
            "id": 0,
            "parent": None,
            "kind": LaneKind.FINDINGS,
            "label": "findings",
            "n_events": strips.n,
            "rows": int(strips.row.max()) + 1,
            "node": "",
            "blocks": [block],
        }


def _group(number: int, label: str) -> dict[str, Any]:
    """Return the lane of a machine, which groups its ranks."""
    kind, nothing = LaneKind.NODE, {"n_events": 0, "rows": 0, "node": "", "blocks": []}
    return {"id": number, "parent": None, "kind": kind, "label": label, **nothing}


def machines_of(parts: Sequence[Staged]) -> list[str]:
    """Return the machines of the parts, none unless some have several parts and all are known."""
    hosts = list(dict.fromkeys(part.about.host for part in parts))
    return hosts if 1 < len(hosts) < len(parts) and all(hosts) else []


def by_machine(parts: Sequence[Staged]) -> list[Staged]:
    """Return the parts, those of one machine beside each other."""
    hosts = machines_of(parts)
    return sorted(parts, key=lambda part: hosts.index(part.about.host)) if hosts else list(parts)


def _placed(marks: Sequence[FindingMark], parts: Sequence[Staged], axis: Axis) -> list[FindingMark]:
    """Return the marks in the time of the file; those that lie outside it are left out."""
    clocks = clocks_of(parts, axis)
    found = []
    for mark in marks:
        zero_ns = clocks.get(mark.node or "", clocks[""])
        start_ns, end_ns = (
            max(mark.start_ns - zero_ns, 0),
            min(mark.end_ns - zero_ns, axis.length_ns),
        )
        if start_ns <= end_ns:
            found.append(replace(mark, start_ns=start_ns, end_ns=end_ns))
    return found


def clocks_of(parts: Sequence[Staged], axis: Axis) -> dict[str, int]:
    """Return the time of each node's clock at the zero of the file, and "" for any clock."""
    clocks = {
        part.about.node: part.about.origin_ns - shift_ns
        for part, shift_ns in zip(parts, axis.shifts_ns, strict=True)
    }
    return {**clocks, "": clocks[parts[0].about.node]}


def planned(
    parts: Sequence[Staged], axis: Axis, marks: Sequence[FindingMark], most_events: int
) -> list[KeptWindow]:
    """Return the windows that fit into this many events, most important first, without overlaps."""
    clocks = clocks_of(parts, axis)
    place = {part.about.node: at for at, part in enumerate(parts)}

    @cache
    def curve_of(node: str) -> EventCurve:
        at = place[node]
        return EventCurve.of(parts[at : at + 1], axis.shifts_ns[at : at + 1])

    of_all = EventCurve.of(parts, axis.shifts_ns)
    windows: list[KeptWindow] = []
    for moment in islice(moments_of([part.about for part in parts], marks), _MOST_MOMENTS):
        if len(windows) == MOST_WINDOWS or most_events <= 0:
            break
        zero_ns = clocks.get(moment.node or "", clocks[""])
        start_ns = max(moment.start_ns - zero_ns, 0)
        end_ns = min(moment.end_ns - zero_ns, axis.length_ns)
        for other in windows:
            if start_ns < other.end_ns and other.start_ns < end_ns:
                start_ns, end_ns = _outside(start_ns, end_ns, other)
        node = moment.node if moment.node in place else parts[0].about.node
        for nodes, least in ((None, 4), (frozenset([node]), 1 << 20)):
            curve = of_all if nodes is None else curve_of(node)
            first = curve.n_before(start_ns)
            until_ns = min(end_ns, curve.time_of(first + most_events // 2))
            if start_ns < until_ns and (until_ns - start_ns) * least >= end_ns - start_ns:
                why = moment.why if until_ns == end_ns else f"{moment.why}{_CUT}"
                windows.append(KeptWindow(start_ns, until_ns, why, nodes))
                most_events -= curve.n_before(until_ns) - first
                break
    if windows:
        curve = of_all if windows[0].nodes is None else curve_of(*windows[0].nodes)
        windows[0] = _grown(windows[0], windows[1:], curve, axis.length_ns, most_events)
    return windows


def _grown(
    window: KeptWindow,
    others: Sequence[KeptWindow],
    curve: EventCurve,
    length_ns: int,
    n_events: int,
) -> KeptWindow:
    """Return a window with so many events more around it, up to its neighbours."""
    low_ns = max((item.end_ns for item in others if item.end_ns <= window.start_ns), default=0)
    high_ns = min(
        (item.start_ns for item in others if item.start_ns >= window.end_ns), default=length_ns
    )
    begin_ns = curve.time_of(curve.n_before(window.start_ns) - n_events // 2)
    until_ns = curve.time_of(curve.n_before(window.end_ns) + n_events // 2)
    return replace(
        window,
        start_ns=min(max(begin_ns, low_ns), window.start_ns),
        end_ns=max(min(until_ns, high_ns), window.end_ns),
        why=f"around the {window.why.removesuffix(_CUT)}",
    )


def _outside(start_ns: int, end_ns: int, other: KeptWindow) -> tuple[int, int]:
    """Return the longer part of a range that lies before or after another window."""
    before, after = other.start_ns - start_ns, end_ns - other.end_ns
    return (start_ns, other.start_ns) if before > after else (other.end_ns, end_ns)


@dataclass(frozen=True, slots=True)
class EventCurve:
    """How many events of some parts begin before a time of the file, as their pieces tell it."""

    time_ns: NDArray[np.int64]
    n_events: NDArray[np.float64]

    @classmethod
    def of(cls, parts: Sequence[Staged], shifts_ns: Sequence[int]) -> EventCurve:
        """Return the curve of some parts; the values of a counter are spread evenly."""
        times_ns, counts = list[NDArray[np.int64]](), list[NDArray[Any]]()
        for part, shift_ns in zip(parts, shifts_ns, strict=True):
            pieces, about = part.pieces(), part.about
            n_values = sum(lane.n_events for lane in about.lanes if lane.kind == LaneKind.COUNTER)
            evenly_ns = np.linspace(about.first_ns, about.last_ns, _SPREAD).astype(np.int64)
            times_ns += [pieces.start_ns + shift_ns, evenly_ns + shift_ns]
            counts += [pieces.count, np.full(_SPREAD, n_values / _SPREAD)]
        time_ns = np.concatenate(times_ns)
        order = np.argsort(time_ns, kind="stable")
        return cls(time_ns[order], np.cumsum(np.concatenate(counts)[order]))

    def n_before(self, time_ns: int) -> int:
        """Return how many events begin before a time."""
        return int(np.interp(time_ns, self.time_ns, self.n_events, left=0))

    def time_of(self, n_events: int) -> int:
        """Return the time before which so many events begin; one after all where all do."""
        is_less = n_events < self.n_events[-1]
        return int(np.interp(n_events, self.n_events, self.time_ns)) if is_less else 1 << 62
