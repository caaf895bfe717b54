"""The file of the timeline: whole where it fits, else coarse, and in full around what matters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import is_far_apart
from reportgen.results import timeline_file
from reportgen.results.timeline_file import Family
from reportgen.text import format_count
from reportgen.timeline.lanes import MOST_ROWS, LaneKind, strips_of
from reportgen.timeline.moments import Mark, moments_of
from reportgen.timeline.packing import Block, Blocks, PackedPart
from reportgen.timeline.runs import coarser, count_runs, thinned
from reportgen.timeline.shown import MOST_PARTS, lanes_of_each
from reportgen.timeline.staged import Staged

BUDGET_BYTES = 950_000
"""Of the file, of which the page carries four thirds: all of it has 4 MB, 2.7 MB without."""

_BYTES_OF_EVENT, _BYTES_OF_EVENT_AT_MOST = 2, 4
"""Packed, with its arrow: blocks with more events than the budget allows are not even packed."""
_BYTES_OF_RUN, _BYTES_OF_LANE = 8, 160
"""Approximate; of a lane without the content of its blocks."""
_COARSE_SHARE = 0.4
_FAR_OVER = 2.0
"""A file this many times its budget holds only coarse lanes: each attempt packs all ranks again."""
MOST_WINDOWS, _MOST_MOMENTS = 8, 64
"""Windows of a file, and moments that are tried for them: a thousand ranks have very many."""
_MOST_JOINED = 1 << 20
"""As many begins take 8 MB."""
_CUT = " (its begin)"
_HALVINGS = 12
"""After this many halvings the room that is left is a small part of the whole."""


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
        shifts = tuple(part.about.origin_ns - start_ns for part in parts)
        return Axis(
            start_ns=start_ns,
            length_ns=max(end for _, end in reaches) - start_ns,
            is_unix=is_unix,
            shifts_ns=shifts,
        )
    return Axis(
        start_ns=0,
        length_ns=max(end - begin for begin, end in reaches),
        is_unix=False,
        shifts_ns=tuple(-part.about.first_ns for part in parts),
    )


@dataclass(frozen=True, slots=True)
class Window:
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
    folders: Sequence[Path], marks: Sequence[Mark], *, budget_bytes: int | None = BUDGET_BYTES
) -> list[bytes]:
    """Return the pieces of the file of the timeline.

    Args:
        folders: where the lanes of each part were staged, in the order of the report.
        marks: the findings that say when, most important first.
        budget_bytes: of the file; ``None`` keeps every event.
    """
    most = None if budget_bytes is None else lanes_of_each(len(folders))
    n_shown = len(folders) if budget_bytes is None else min(len(folders), MOST_PARTS)
    parts = by_machine([Staged(folder) for folder in folders[:n_shown]])
    axis = axis_of(parts)
    n_events = sum(lane.n_events for part in parts for lane in part.about.lanes)
    whole = Window(0, axis.length_ns, "everything")
    if budget_bytes is None or n_events * _BYTES_OF_EVENT <= budget_bytes:
        pieces = _File(parts, axis, marks, most).made([whole], n_parts=len(folders))
        if budget_bytes is None or _size(pieces) <= budget_bytes:
            return pieces
    n_lanes = sum(min(len(part.about.lanes), most or 0) for part in parts)
    resolution_ns = _resolution_ns(parts, int(budget_bytes * _COARSE_SHARE) // _BYTES_OF_RUN)
    left = int(budget_bytes * (1 - _COARSE_SHARE)) - n_lanes * _BYTES_OF_LANE
    n_events = max(left, 0) // _BYTES_OF_EVENT_AT_MOST
    begins, pieces, made_of = Begins(parts, axis), [], None
    while True:
        windows = planned(parts, axis, marks, n_events, begins)
        if made_of != (windows, resolution_ns):  # else a smaller number gave the same windows
            made_of = windows, resolution_ns
            pieces = _File(parts, axis, marks, most).made(
                windows, resolution_ns=resolution_ns, n_parts=len(folders)
            )
        if _size(pieces) <= budget_bytes or resolution_ns > axis.length_ns:
            return pieces
        over = _size(pieces) / budget_bytes
        if windows:  # events of many names take more bytes than was guessed
            n_events = int(n_events * min(0.75, 0.9 / over)) if over < _FAR_OVER else 0
        else:
            resolution_ns *= 1 << max(math.ceil(math.log2(over)), 1)


def _size(pieces: Sequence[bytes]) -> int:
    return sum(map(len, pieces))


def _resolution_ns(parts: Sequence[Staged], most_runs: int) -> int:
    """Return the finest resolution at which there are no more runs."""
    resolution_ns = max(part.about.finest_ns for part in parts)
    pieces = [part.pieces for part in parts]
    while True:
        n_runs = sum(count_runs(item, resolution_ns) for item in pieces)
        if n_runs <= most_runs or resolution_ns > 1 << 60:
            return resolution_ns
        resolution_ns *= 2
        pieces = [coarser(item, resolution_ns) for item in pieces]


class _File:
    """The file while it is made."""

    def __init__(
        self, parts: Sequence[Staged], axis: Axis, marks: Sequence[Mark], most: int | None
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
        self, windows: Sequence[Window], *, resolution_ns: int | None = None, n_parts: int
    ) -> list[bytes]:
        """Return the pieces of the file with some windows, and runs where there is a resolution.

        ``n_parts``: how many parts the job has, in the file or not.
        """
        in_order = sorted(windows, key=lambda item: item.start_ns)
        for part in self.parts:
            if resolution_ns is not None:
                self._add_runs(part, resolution_ns)
            ranges_ns = [
                (window.start_ns - part.shift_ns, window.end_ns - part.shift_ns)
                for window in in_order
                if window.holds(part.about.node)
            ]
            for number in range(len(ranges_ns)):
                self._add_window(part, ranges_ns[: number + 1])
        header = self._header(in_order, resolution_ns)
        if n_parts > len(self.parts):
            shown, every = format_count(len(self.parts)), format_count(n_parts)
            header["left_out"] = f"Of {every} nodes or ranks the first {shown} are shown."
        return timeline_file.assemble(header, self.blocks.packed)

    def _add_runs(self, part: PackedPart, resolution_ns: int) -> None:
        start_ns, end_ns = -part.shift_ns, self.axis.length_ns - part.shift_ns
        runs = part.staged.runs(resolution_ns)
        for number, lane in enumerate(part.lanes, start=part.lane):
            blocks = self.of_lane[number]
            if lane.kind == LaneKind.COUNTER:
                track = thinned(part.values(lane, start_ns, end_ns), resolution_ns)
                blocks.append(part.pack_values(track, 1, start_ns, end_ns))
            elif lane.n_events:
                blocks.append(part.pack_runs(lane, runs, start_ns, end_ns))

    def _add_window(self, part: PackedPart, ranges_ns: Sequence[tuple[int, int]]) -> None:
        """Add what a part has in the last of some ranges, and not in those before."""
        start_ns, end_ns = ranges_ns[-1]
        after_ns = ranges_ns[-2][1] if len(ranges_ns) > 1 else -(1 << 62)
        for number, lane in enumerate(part.lanes, start=part.lane):
            blocks = self.of_lane[number]
            if lane.kind == LaneKind.COUNTER:
                track = part.values(lane, start_ns, end_ns)
                if track.time_ns.size:
                    blocks.append(part.pack_values(track, 0, start_ns, end_ns))
            else:
                strips = part.events(lane, start_ns, end_ns, after_ns)
                blocks.extend(part.pack_events(strips, start_ns, end_ns))
        rows = part.arrow_rows(ranges_ns)
        if rows.size:
            self.arrows.append(part.pack_arrows(rows, start_ns, end_ns))

    def _header(self, windows: Sequence[Window], resolution_ns: int | None) -> dict[str, Any]:
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
        titles = [self.blocks.names.of(mark.title, _family_of(mark)) for mark in self.marks]
        rules = [self.blocks.details.of(mark.said_by) for mark in self.marks]
        columns: list[NDArray[Any]] = [
            timeline_file.differences(strips.start_ns, 0),
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


def _family_of(mark: Mark) -> Family:
    return Family(mark.severity or Family.CRITICAL)


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


def _placed(marks: Sequence[Mark], parts: Sequence[Staged], axis: Axis) -> list[Mark]:
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
    parts: Sequence[Staged],
    axis: Axis,
    marks: Sequence[Mark],
    most_events: int,
    begins: Begins,
) -> list[Window]:
    """Return the windows that fit into this many events, most important first, without overlaps."""
    clocks = clocks_of(parts, axis)
    windows: list[Window] = []
    for moment in islice(moments_of([part.about for part in parts], marks), _MOST_MOMENTS):
        if len(windows) == MOST_WINDOWS or most_events <= 0:
            break
        zero_ns = clocks.get(moment.node or "", clocks[""])
        start_ns = max(moment.start_ns - zero_ns, 0)
        end_ns = min(moment.end_ns - zero_ns, axis.length_ns)
        for other in windows:
            if start_ns < other.end_ns and other.start_ns < end_ns:
                start_ns, end_ns = _outside(start_ns, end_ns, other)
        if start_ns >= end_ns:
            continue
        wanted = Window(start_ns, end_ns, moment.why)
        node = moment.node or parts[0].about.node
        window, n_events = _fitted(wanted, node, begins, most_events // 2)
        if window is not None:
            windows.append(window)
            most_events -= n_events
    if windows:
        windows[0] = _grown(windows[0], windows[1:], begins, axis.length_ns, most_events)
    return windows


def _grown(
    window: Window, others: Sequence[Window], begins: Begins, length_ns: int, most_events: int
) -> Window:
    """Return a window with as much around it as further events allow, up to its neighbours."""
    before = max((item.end_ns for item in others if item.end_ns <= window.start_ns), default=0)
    after = min(
        (item.start_ns for item in others if item.start_ns >= window.end_ns), default=length_ns
    )
    most_events += begins.n_in(window)
    grown, fits_ns, fails_ns = window, 0, length_ns + 1
    for _ in range(_HALVINGS):
        margin_ns = (fits_ns + fails_ns) // 2
        wider = replace(
            window,
            start_ns=max(window.start_ns - margin_ns, before),
            end_ns=min(window.end_ns + margin_ns, after),
            why=f"around the {window.why.removesuffix(_CUT)}",
        )
        if begins.n_in(wider) <= most_events:
            grown, fits_ns = wider, margin_ns
        else:
            fails_ns = margin_ns
    return grown


def _outside(start_ns: int, end_ns: int, other: Window) -> tuple[int, int]:
    """Return the longer part of a range that lies before or after another window."""
    before, after = other.start_ns - start_ns, end_ns - other.end_ns
    return (start_ns, other.start_ns) if before > after else (other.end_ns, end_ns)


def _fitted(
    wanted: Window, node: str, begins: Begins, most_events: int
) -> tuple[Window | None, int]:
    """Return a window of no more events, and how many: of all parts, else of one, else shorter."""
    for is_all, least in ((True, 4), (False, 1 << 20)):
        shorter = 1
        while shorter <= least:
            end_ns = wanted.start_ns + (wanted.end_ns - wanted.start_ns) // shorter
            why = wanted.why if shorter == 1 else f"{wanted.why}{_CUT}"
            nodes = None if is_all else frozenset([node])
            window = Window(wanted.start_ns, end_ns, why, nodes)
            n_events = begins.n_in(window)
            if n_events <= most_events:
                return (window, n_events) if end_ns > wanted.start_ns else (None, 0)
            shorter *= 2
    return None, 0


class Begins:
    """The events of all parts by their begin: how many are in a window is asked hundreds of times.

    Those of many parts are joined, unless they are so many that they are better left mapped.
    """

    def __init__(self, parts: Sequence[Staged], axis: Axis) -> None:
        self._of: dict[str, list[tuple[int, NDArray[np.int64]]]] = {}
        for part, shift_ns in zip(parts, axis.shifts_ns, strict=True):
            lanes = [(shift_ns, part.begins_ns(lane)) for lane in part.about.lanes]
            self._of.setdefault(part.about.node, []).extend(lanes)
        self._every = list(chain.from_iterable(self._of.values()))
        if sum(begins_ns.size for _, begins_ns in self._every) <= _MOST_JOINED:
            shifted = [begins_ns + shift_ns for shift_ns, begins_ns in self._every]
            self._every = [(0, np.sort(np.concatenate(shifted)))]

    def n_in(self, window: Window) -> int:
        """Return how many events begin in a window."""
        lanes: Iterable[tuple[int, NDArray[np.int64]]] = self._every
        if window.nodes is not None:
            lanes = chain.from_iterable(self._of.get(node, ()) for node in window.nodes)
        n_events = 0
        for shift_ns, begins_ns in lanes:
            ends = (window.start_ns - shift_ns, window.end_ns - shift_ns)
            low, high = np.searchsorted(begins_ns, ends)
            n_events += int(high - low)
        return n_events
