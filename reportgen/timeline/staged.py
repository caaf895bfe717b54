"""The lanes of parts in files: written where a part was read, read where the timeline is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.timeline.lanes import (
    Arrows,
    Counter,
    CounterTrack,
    LaneSteps,
    PartLanes,
    Strips,
)
from reportgen.timeline.runs import Pieces, coarser, pieces_of

_INTERVALS, _LEAST_INTERVALS = 32_768, 64
"""Intervals of the finest overview of all parts together, and of each part at least. A screen has
2,000 points, and coarser overviews are made of these intervals."""
_MOST_INTERVALS = 16_384
_ABOUT = "about.json"

Table = TypeVar("Table")


class StagedLane(msgspec.Struct, kw_only=True):
    """A lane; its strips are rows ``[first, first + n_events)`` of the columns of strips.

    ``times``: the number of the lane that holds the times of a counter, its own or one before it
    that has the same times.
    """

    kind: str
    label: str
    parent: int | None
    n_events: int
    rows: int = 0
    first: int = 0
    times: int = 0
    unit: str = ""
    family: str = ""
    least: float = 0.0
    most: float = 0.0


class StagedPart(msgspec.Struct, kw_only=True):
    """A part, without its columns; times are ns after ``origin_ns``."""

    node: str
    host: str
    n_counters: int
    origin_ns: int
    is_unix: bool
    first_ns: int
    last_ns: int
    finest_ns: int
    names: list[str]
    families: list[str]
    details: list[str]
    lanes: list[StagedLane]
    n_steps: int
    typical: list[TypicalStep]


class TypicalStep(msgspec.Struct, kw_only=True):
    """A step that is shown in full: the median one or the slowest one."""

    what: str
    number: int
    start_ns: int
    end_ns: int


def stage(part: PartLanes, path: Path, *, n_parts: int = 1) -> None:
    """Write the lanes of one part of ``n_parts`` into a file, column by column.

    The file is there when it is complete: a process may be killed meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    strips = [lane.strips for lane in part.lanes if lane.strips is not None]
    first_ns, last_ns = _extent(strips, [lane.track for lane in part.lanes if lane.track])
    n_intervals = min(max(_INTERVALS // n_parts, _LEAST_INTERVALS), _MOST_INTERVALS)
    finest_ns = (last_ns - first_ns) // n_intervals + 1
    pieces = [
        coarser(pieces_of(lane.strips, number), finest_ns)
        for number, lane in enumerate(part.lanes)
        if lane.strips is not None
    ]
    unfinished = path.with_suffix(".tmp")
    with ZipFile(unfinished, "w") as file:
        _save_table(file, Strips, strips)
        _save_table(file, Arrows, [part.arrows])
        _save_table(file, Pieces, pieces)
        about = StagedPart(
            node=part.node,
            host=part.host,
            n_counters=part.n_counters,
            origin_ns=part.origin_ns,
            is_unix=part.is_unix,
            first_ns=first_ns,
            last_ns=last_ns,
            finest_ns=finest_ns,
            names=list(part.names),
            families=list(part.families),
            details=list(part.details),
            lanes=list(_staged_lanes(part, file)),
            n_steps=part.steps.number.size,
            typical=list(_typical(part.steps)),
        )
        file.writestr(_ABOUT, msgspec.json.encode(about))
    unfinished.replace(path)


def _typical(steps: LaneSteps) -> Iterator[TypicalStep]:
    """Yield the median and the slowest step."""
    by_length = np.argsort(steps.end_ns - steps.start_ns, kind="stable")
    if not by_length.size:
        return
    chosen = {int(by_length[-1]): "slowest step"}
    chosen[int(by_length[by_length.size // 2])] = "median step"
    for row, what in reversed(chosen.items()):
        columns = (steps.number, steps.start_ns, steps.end_ns)
        number, start_ns, end_ns = (int(column[row]) for column in columns)
        yield TypicalStep(what=what, number=number, start_ns=start_ns, end_ns=end_ns)


def _staged_lanes(part: PartLanes, file: ZipFile) -> Iterator[StagedLane]:
    """Yield the lanes, and add the columns of counters to the file: one is held at a time."""
    n_strips, times, time_ns = 0, 0, np.empty(0, dtype=np.int64)
    for number, lane in enumerate(part.lanes):
        staged = StagedLane(
            kind=lane.kind, label=lane.label, parent=lane.parent, n_events=lane.n_events
        )
        if lane.strips is not None:
            staged.rows, staged.first = int(lane.strips.row.max(initial=-1)) + 1, n_strips
            n_strips += lane.strips.n
        if lane.track is not None:
            value = lane.track.value
            if not times or not np.array_equal(lane.track.time_ns, time_ns):
                times, time_ns = number, lane.track.time_ns
                _save(file, f"time {number}", [time_ns])
            _save(file, f"value {number}", [value])
            staged.times, staged.unit, staged.family = times, lane.track.unit, lane.track.family
            staged.least, staged.most = float(value.min(initial=0)), float(value.max(initial=0))
        yield staged


def _extent(strips: Sequence[Strips], tracks: Sequence[Counter]) -> tuple[int, int]:
    """Return when the first event of a part begins, and the last one ends."""
    starts = [int(item.start_ns[0]) for item in strips if item.n]
    starts += [int(item.time_ns[0]) for item in tracks if item.time_ns.size]
    ends = [int((item.start_ns + item.duration_ns).max()) for item in strips if item.n]
    ends += [int(item.time_ns[-1]) for item in tracks if item.time_ns.size]
    return min(starts, default=0), max(ends, default=0) + 1


def _save_table(file: ZipFile, kind: type[Any], tables: Sequence[Any]) -> None:
    """Add the columns of tables, one table after the other."""
    for column in _columns(kind):
        _save(file, f"{kind.__name__}.{column}", [getattr(table, column) for table in tables])


def _save(file: ZipFile, name: str, columns: Sequence[NDArray[Any]]) -> None:
    """Add a column as ``numpy.savez`` does, which would hold all of them at once."""
    whole = columns[0] if len(columns) == 1 else np.concatenate(columns or [np.empty(0)])
    with file.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, whole, allow_pickle=False)


def _columns(kind: Any) -> list[str]:
    return [item.name for item in fields(kind) if item.name != "source"]


class Staged:
    """The lanes of a part as ``stage`` wrote them; columns are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Read what the part is.

        Raises:
            OSError: it is not there.
        """
        self._path = path
        with ZipFile(path) as file:
            self.about = msgspec.json.decode(file.read(_ABOUT), type=StagedPart)

    def track(self, number: int) -> CounterTrack:
        """Return a counter."""
        time_ns = self._read([f"time {self.about.lanes[number].times}"])[0]
        return CounterTrack(time_ns=time_ns, value=self._read([f"value {number}"])[0])

    def strips(self) -> Strips:
        """Return the strips of all lanes, one lane after the other."""
        return self._table(Strips)

    def arrows(self) -> Arrows:
        """Return the arrows."""
        return self._table(Arrows)

    def pieces(self) -> Pieces:
        """Return the pieces of the finest coarse picture."""
        return self._table(Pieces)

    def _table(self, kind: Callable[..., Table]) -> Table:
        columns = _columns(kind)
        read = self._read([f"{kind.__name__}.{column}" for column in columns])
        return kind(**dict(zip(columns, read, strict=True)))

    def _read(self, names: Sequence[str]) -> list[NDArray[Any]]:
        with np.load(self._path, allow_pickle=False) as file:
            return [file[name] for name in names]
