"""Definition of a format: the files it claims, how they are recognized, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.monitoring import Monitored
from reportgen.formats.trace_events.file_events import FileEvents
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Device, PartRef, SpanSource
from reportgen.storage import Location

if TYPE_CHECKING:
    from reportgen.formats.kernel_trace.tables import TraceTables


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """The statements of a trace about itself; ``None`` where it makes none.

    ``base_ns`` is the origin of times, ns since 1970; ``versions`` are those of runtime,
    driver, profiler and NCCL.
    """

    rank: int | None = None
    world_size: int | None = None
    base_ns: int | None = None
    devices: tuple[Device, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


class FileRole(StrEnum):
    """Roles of a format's files in a job."""

    SAMPLES = "system metrics of a node"
    MONITORING = "samples of a node that another program wrote"
    EVENTS = "events of a node, its timelines"
    PYTHON = "Python profiles of a node"
    KERNELS = "the kernel trace of a rank"
    TIMES = "a file whose name says when the timeline beside it began"
    SETTINGS = "the configuration of the profiler"
    END = "a sign that the job has ended"
    NOTHING = "known, and nothing more to read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Facts on a file before it is read.

    Attributes:
        format_id: the one format that reads it.
        job_prefix: the path before ``system/`` or ``framework/``; empty or ends in ``/``.
        node: the node whose data it holds; empty for end markers.
        worker: ``algo-1-27`` for event files, else empty.
        source: the writer of an event file.
        stamp: the number in the name: seconds of the minute for system files, microseconds of
            the last event for event files; 0 for files that were never closed.
        start_us: when the trace began that a ``.metadata`` file stands for; else 0.
    """

    format_id: str
    job_prefix: str = ""
    node: str = ""
    worker: str = ""
    source: SpanSource = SpanSource.OTHER
    stamp: int = 0
    start_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """One timeline of a node: where it lies and what is known of it."""

    location: Location
    key: str
    size_bytes: int
    claim: Claim


class EventReader(Protocol):
    """Reads a timeline."""

    def __call__(
        self,
        file: EventFile,
        blocks: Iterable[bytes],
        *,
        problems: Diagnostics,
        vocabulary: Vocabulary,
    ) -> FileEvents:
        """Return the events of a file, whose ``blocks`` are bytes in pieces of any size.

        ``problems`` counts what cannot be read; ``vocabulary`` is extended by what is found.
        """


class MonitoringReader(Protocol):
    """Reads a file of another monitoring program."""

    def __call__(
        self, file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics
    ) -> Monitored:
        """Return the samples of a file, and what it says of its program and its GPUs."""


Progress = Callable[[int, int], None]
"""Told the rows and bytes that were read since the last call."""


class TraceReader(Protocol):
    """Reads the kernel trace of a rank."""

    def __call__(
        self,
        ref: PartRef,
        location: Location,
        problems: Diagnostics,
        *,
        is_whole: bool = False,
        on_progress: Progress | None = None,
    ) -> tuple[TraceHeader, TraceTables]:
        """Return what the files of a part hold; ``is_whole``: for a timeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of files. A file belongs to the first format that claims its key.

    Attributes:
        id: its name in a part's files.
        role: the role of its files in a job.
        claims: returns the facts on a file from its key; ``None`` for a file of another format.
        may_be: matches the keys of unclaimed files that are opened to look at their beginning.
        looks_like: whether a file that begins so, unpacked, is of this format.
        claim_named: the claim of a file that its content shows to be of this format; it is given
            the file's name without endings, or the name of the node.
        read: reads a file of its role: an ``EventReader``, ``MonitoringReader`` or ``TraceReader``;
            ``None`` where nothing is read, and where ``intake`` knows the reader.
        is_small: whether the files are small and read as a whole, many at a time.
        has_base: whether a timeline that begins so says when it began.
        clock_note: a remark for readers of the report on times that are no wall-clock times;
            empty where the files say when they began.
        counts_from_first: whether times are counted from the first event of the file.
    """

    id: str
    role: FileRole
    claims: Callable[[str], Claim | None] = lambda _: None
    may_be: re.Pattern[str] | None = None
    looks_like: Callable[[bytes], bool] = lambda _: False
    claim_named: Callable[[str], Claim] | None = None
    read: Callable[..., Any] | None = None
    is_small: bool = False
    has_base: Callable[[bytes], bool] = lambda _: True
    clock_note: str = ""
    counts_from_first: bool = False


def of_job(format_id: str, role: FileRole, pattern: re.Pattern[str]) -> Format:
    """Return a format whose keys match a pattern: ``job``, and maybe ``node`` and ``stamp``."""

    def claims(key: str) -> Claim | None:
        match = pattern.fullmatch(key)
        said = match.groupdict() if match else {}
        node, stamp = said.get("node", ""), int(said.get("stamp", 0))
        return match and Claim(format_id=format_id, job_prefix=match["job"], node=node, stamp=stamp)

    return Format(id=format_id, role=role, claims=claims)


_WORKER = re.compile(r"(?P<pid>\d+)[-_](?P<node>.+)")


def worker_of(node_id: str) -> tuple[str, str]:
    """Return (node, worker) of the id in a file's name: ``27-algo-1`` → ``algo-1, algo-1-27``.

    Edge cases: very old names without a process id (``0001``) are node and worker at once;
    ``4487_0000`` is process 4487 of node ``0000``. A local host name is the node.
    """
    match = _WORKER.fullmatch(node_id)
    if match is None:
        return node_id, node_id
    return match["node"], f"{match['node']}-{match['pid']}"
