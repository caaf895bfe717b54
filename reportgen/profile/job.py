"""A job as it was read: who it is, where its parts lie, and what went wrong on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

from reportgen.profile.memo import Memo
from reportgen.profile.monitoring import Monitoring
from reportgen.profile.python import PythonTable, empty_python
from reportgen.profile.spans import SpanTable
from reportgen.profile.system import SystemTable
from reportgen.profiler_config import Profiling
from reportgen.recorded_job import RecordedNode, Recording
from reportgen.units import iso_utc

NodeId = NewType("NodeId", str)
_ALWAYS_NS = (1 << 63) - 1
"""The latest time that int64 holds, in the year 2262."""


class Clock(StrEnum):
    """Whether times are wall-clock times or only differences."""

    UNIX = "unix"
    RELATIVE = "relative"


class Quality(StrEnum):
    """Counters about the input; the keys of ``data_quality`` in ``report.json``."""

    FILES_READ = "files_read"
    FILES_SKIPPED = "files_skipped"
    LINES_BROKEN = "lines_broken"
    VALUES_BROKEN = "values_broken"
    LINES_DUPLICATE = "lines_duplicate"
    SAMPLES_OUT_OF_RANGE = "samples_out_of_range"
    SAMPLES_OUT_OF_MINUTE = "samples_out_of_minute"
    EVENTS_UNMATCHED = "events_unmatched"
    EVENTS_DROPPED = "events_dropped"
    BYTES_LOST = "bytes_lost"
    PLACES_REPAIRED = "places_repaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNote:
    """One remark about the input: shown in the report and in ``report.json``.

    Attributes:
        text: The observation and its consequence, one sentence.
        path: The file, relative to the job; empty when it is about the whole job.
        counts: Increments of the counters of ``data_quality``.
    """

    text: str
    path: str = ""
    counts: Mapping[Quality, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInfo:
    """Facts about a job that are known before its files are read.

    Attributes:
        name: The folder above ``profiler-output``, or what the user said.
        source: The path or URL as the user gave it.
        clock: Whether its times are wall-clock times.
        is_finished: Whether an end marker was found; without one the job may still run.
    """

    name: str
    source: str
    clock: Clock = Clock.UNIX
    is_finished: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """One file of a part: its key below the job's root, its size, and what claimed it.

    ``version`` is its ETag when it was listed; empty where files have no versions. ``times_key`` is
    the key of the file whose name says when this one began, and on which node; empty without.
    """

    key: str
    size_bytes: int
    format_id: str
    version: str = ""
    times_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A range of time, ns UTC, both ends included; ``None`` is open."""

    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def text(self) -> str:
        """Return the range in words: ``2026-07-01T10:00:00.000000Z to the end``."""
        begin = "the start" if self.from_ns is None else iso_utc(self.from_ns)
        end = "the end" if self.to_ns is None else iso_utc(self.to_ns)
        return f"{begin} to {end}"

    def meets(self, start_ns: Any, end_ns: Any) -> Any:
        """Return whether each stretch of time lies in it at least in part; an instant has one end.

        Edge cases: numbers give a truth value, (n,) arrays a mask.
        """
        low_ns = -_ALWAYS_NS if self.from_ns is None else self.from_ns
        return (end_ns >= low_ns) & (start_ns <= (_ALWAYS_NS if self.to_ns is None else self.to_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRef:
    """Where one part of a job lies: small and picklable, so that it can travel to a worker."""

    node: NodeId
    root: str
    files: Sequence[FileRef]
    job: JobInfo
    kept: TimeRange | None = None
    """Only this range is read; ``None`` means all."""
    rank: int | None = None
    """The rank whose kernel trace this is; ``None`` for a node."""
    is_rank_known: bool = True
    """Whether the rank was recorded; else it is the file's place in order."""
    process: int | None = None
    """Which process of its file a rank is, where one file may hold several."""
    utc_offset_s: int | None = None
    """How far the local times of its files are ahead of UTC; ``None`` where nobody said it."""
    recorded: RecordedNode | None = None
    """Statement of ``reportgen record`` about the node; ``None`` when something else recorded
    it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProfile:
    """One node's data, and what was noted while reading them."""

    node: NodeId
    job: JobInfo
    system: SystemTable
    spans: SpanTable
    python: PythonTable = field(default_factory=empty_python)
    recorded: RecordedNode | None = None
    monitoring: Monitoring | None = None
    notes: tuple[SourceNote, ...] = ()
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProfile:
    """A job: its parts in numeric order of their nodes, and notes about the whole of it.

    ``profiling`` is the configuration of its profiler, ``None`` where it is unknown;
    ``recording`` is how ``reportgen record`` recorded it, ``None`` when something else did.
    """

    info: JobInfo
    parts: tuple[PartRef, ...]
    notes: tuple[SourceNote, ...] = ()
    profiling: Profiling | None = None
    recording: Recording | None = None
