"""The lanes of parts in a folder: written where a part was read, read where the file is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.timeline.lanes import (
    Arrows,
    Counter,
    Lane,
    LaneKind,
    PartLanes,
    StepTexts,
    StepTimes,
    Strips,
    Track,
)
from reportgen.timeline.runs import Pieces, coarse_pieces, runs_of

_INTERVALS, _LEAST_INTERVALS = 32_768, 64
"""Of the finest coarse pictures of all parts together, and of each: a screen has 2,000 points,
and coarser ones are made of these."""
_MOST_INTERVALS = 16_384
_ABOUT, _COLUMNS = "about.json", "columns"
_WORD_BYTES = 8
_LEAST_MAPPED_BYTES = 1 << 16


class StagedLane(msgspec.Struct, kw_only=True):
    """A lane; its strips are rows ``[first, first + n_events)`` of the columns.

    The times of a counter begin at row ``first_time``: counters of equal times share them.
    """

    kind: str
    label: str
    parent: int | None
    n_events: int
    rows: int
    first: int
    first_time: int = 0
    unit: str = ""
    family: str = ""
    least: float = 0.0
    most: float = 0.0


class StagedPart(msgspec.Struct, kw_only=True):
    """A part, without its columns; times are ns after ``origin_ns``.

    ``columns`` are the type of each, where it begins in the file of all columns, and its length.
    """

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
    columns: dict[str, tuple[str, int, int]]


class TypicalStep(msgspec.Struct, kw_only=True):
    """A step that is shown in full: the median one or the slowest one."""

    what: str
    number: int
    start_ns: int
    end_ns: int


def stage(part: PartLanes, folder: Path, *, n_parts: int = 1) -> None:
    """Write the lanes of one part of ``n_parts`` into a new folder."""
    folder.mkdir(parents=True)
    strips = [lane.strips for lane in part.lanes if lane.strips is not None]
    tracks = [lane.track for lane in part.lanes if lane.track is not None]
    first_ns, last_ns = _extent(strips, tracks)
    n_intervals = min(max(_INTERVALS // n_parts, _LEAST_INTERVALS), _MOST_INTERVALS)
    finest_ns = (last_ns - first_ns) // n_intervals + 1
    pieces = [
        coarse_pieces(lane.strips, number, finest_ns)
        for number, lane in enumerate(part.lanes)
        if lane.strips is not None
    ]
    first_times, timed = _first_times(tracks)
    numbered = [part.details] if isinstance(part.details, StepTexts) else []
    with (folder / _COLUMNS).open("wb") as file:
        columns = {
            **_save(file, "detail", _columns(StepTexts), numbered),
            **_save(file, "strip", _columns(Strips), strips),
            **_save(file, "track", ["time_ns"], timed),
            **_save(file, "track", ["value"], tracks),
            **_save(file, "arrow", _columns(Arrows), [part.arrows]),
            **_save(file, "piece", _columns(Pieces), pieces),
        }
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
        details=[] if isinstance(part.details, StepTexts) else list(part.details),
        lanes=list(_staged_lanes(part.lanes, first_times)),
        n_steps=part.steps.number.size,
        typical=list(_typical(part.steps)),
        columns=columns,
    )
    (folder / _ABOUT).write_bytes(msgspec.json.encode(about))


def _typical(steps: StepTimes) -> Iterator[TypicalStep]:
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


def _staged_lanes(lanes: Sequence[Lane], first_times: Sequence[int]) -> Iterator[StagedLane]:
    n_strips = n_values = 0
    next_first_time = iter(first_times)
    for lane in lanes:
        strips, track = lane.strips, lane.track
        value = np.empty(0) if track is None else track.value
        yield StagedLane(
            kind=lane.kind,
            label=lane.label,
            parent=lane.parent,
            n_events=lane.n_events,
            rows=int(strips.row.max(initial=-1)) + 1 if strips is not None else 0,
            first=n_values if track is not None else n_strips,
            first_time=next(next_first_time) if track is not None else 0,
            unit=track.unit if track is not None else "",
            family=track.family if track is not None else "",
            least=float(value.min(initial=0.0)),
            most=float(value.max(initial=0.0)),
        )
        n_strips += strips.n if strips is not None else 0
        n_values += track.time_ns.size if track is not None else 0


def _first_times(tracks: Sequence[Counter]) -> tuple[list[int], list[Counter]]:
    """Return where the times of each counter begin, and the counters whose times are written.

    A counter with the times of the one before it shares them: those of a long job are many.
    """
    firsts: list[int] = []
    written: list[Counter] = []
    time_ns, n_rows = np.empty(0, dtype=np.int64), 0
    for track in tracks:
        if not written or not np.array_equal(track.time_ns, time_ns):
            n_rows += time_ns.size
            time_ns = track.time_ns
            written.append(track)
        firsts.append(n_rows)
    return firsts, written


def _extent(strips: Sequence[Strips], tracks: Sequence[Counter]) -> tuple[int, int]:
    """Return when the first event of a part begins, and the last one ends."""
    starts = [int(item.start_ns[0]) for item in strips if item.n]
    starts += [int(item.time_ns[0]) for item in tracks if item.time_ns.size]
    ends = [int((item.start_ns + item.duration_ns).max()) for item in strips if item.n]
    ends += [int(item.time_ns[-1]) for item in tracks if item.time_ns.size]
    return min(starts, default=0), max(ends, default=0) + 1


def _save(
    file: IO[bytes], name: str, names: Sequence[str], tables: Sequence[Any]
) -> dict[str, tuple[str, int, int]]:
    """Add the columns of tables to the one file: some systems take long to remove each."""
    found = {}
    for column in names:
        file.write(bytes(-file.tell() % _WORD_BYTES))
        first, size, dtype = file.tell(), 0, np.dtype(np.float64)
        for table in tables:
            part = getattr(table, column)
            part.tofile(file)
            size, dtype = size + part.size, part.dtype
        found[f"{name}.{column}"] = (dtype.str, first, size)
    return found


def _columns(kind: type[Any]) -> list[str]:
    return [item.name for item in fields(kind) if item.name not in {"unit", "family", "source"}]


class Staged:
    """The lanes of a part as ``stage`` wrote them; columns are mapped, not read."""

    def __init__(self, folder: Path) -> None:
        """Read what the part is.

        Raises:
            OSError: it is not there.
        """
        self._folder = folder
        self._runs: tuple[int, Pieces] | None = None
        self.about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=StagedPart)

    def begins_ns(self, lane: StagedLane) -> NDArray[np.int64]:
        """Return when the strips of a lane begin, or the times of a counter."""
        if lane.kind == LaneKind.COUNTER:
            return self._times_ns[lane.first_time : lane.first_time + lane.n_events]
        return self.strips.start_ns[lane.first : lane.first + lane.n_events]

    def values(self, lane: StagedLane, start_ns: int, end_ns: int) -> Track:
        """Return the values of a counter in a range, and the one that holds at its begin."""
        low, high = np.searchsorted(self.begins_ns(lane), (start_ns, end_ns)).tolist()
        first, n_rows = max(low - 1, 0), high - max(low - 1, 0)
        return Track(
            time_ns=self._read("track.time_ns", lane.first_time + first, n_rows),
            value=self._read("track.value", lane.first + first, n_rows),
        )

    @cached_property
    def details(self) -> Sequence[str]:
        """Return the meanings of the codes of details."""
        return self.about.details or StepTexts(**self._columns("detail", StepTexts))

    @cached_property
    def strips(self) -> Strips:
        """Return the strips of all lanes, one lane after the other."""
        return Strips(**self._columns("strip", Strips))

    @cached_property
    def _times_ns(self) -> NDArray[np.int64]:
        """Return the times of counters, each once, one after the other."""
        return self._column("track.time_ns")

    @cached_property
    def arrows(self) -> Arrows:
        """Return the arrows."""
        return Arrows(**self._columns("arrow", Arrows))

    @property
    def pieces(self) -> Pieces:
        """Return the pieces of the finest coarse picture, read each time."""
        return Pieces(**self._columns("piece", Pieces))

    def runs(self, resolution_ns: int) -> Pieces:
        """Return the runs of a resolution; the last ones are kept, as a file is tried often."""
        if self._runs is None or self._runs[0] != resolution_ns:
            self._runs = resolution_ns, runs_of(self.pieces, resolution_ns)
        return self._runs[1]

    def _columns(self, name: str, kind: type[Any]) -> dict[str, NDArray[Any]]:
        return {column: self._column(f"{name}.{column}") for column in _columns(kind)}

    def _column(self, name: str) -> NDArray[Any]:
        path, (kind, first, size) = self._folder / _COLUMNS, self.about.columns[name]
        if size * np.dtype(kind).itemsize < _LEAST_MAPPED_BYTES:  # no rows cannot be mapped
            return np.fromfile(path, kind, count=size, offset=first)
        return np.memmap(path, kind, "r", offset=first, shape=(size,))

    def _read(self, name: str, first_row: int, n_rows: int) -> NDArray[Any]:
        kind, first, _ = self.about.columns[name]
        first += first_row * np.dtype(kind).itemsize
        return np.fromfile(self._folder / _COLUMNS, kind, count=n_rows, offset=first)
