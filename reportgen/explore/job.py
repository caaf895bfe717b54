"""A job opened for analysis by hand: its frames, read when they are asked for."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from reportgen.errors import AmbiguousJobError, ConfigError, LocationError, PlaceError
from reportgen.explore.frames import (
    DATALOADER_COLUMNS,
    FRAMEWORK_COLUMNS,
    SYSTEM_COLUMNS,
    dataloader_frame,
    framework_frame,
    join_frames,
    system_frame,
)
from reportgen.explore.increments import Increments
from reportgen.explore.profiles import PythonProfiles
from reportgen.explore.selection import Instant, Names, name_filter, spans_wanted, time_range
from reportgen.formats import Diagnostics, FileRole, claim, role_of
from reportgen.intake import discover, read_events, read_samples
from reportgen.intake.time_range import cut_spans
from reportgen.profile import JobProfile, PartRef, Quality, Series, SourceNote, SpanTable, TimeRange
from reportgen.profile.job import FileRef
from reportgen.storage import is_job_name, training_job
from reportgen.text import format_duration
from reportgen.units import NS_PER_S, NS_PER_US, iso_utc, minute_start_us

logger = logging.getLogger(__name__)

_PartKey = tuple[str, tuple[FileRef, ...]]
WAIT_S, _POLL_S = 3_600.0, 5.0
"""A job of SageMaker that waits for its machines begins within the hour, or not soon."""
_MOST_KEPT_SPANS = 4_000_000
"""Events kept in memory for the next look at them: 25 bytes each, so 100 MB at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """Data that a running job wrote since the last look: SYSTEM and FRAMEWORK frames."""

    system: pd.DataFrame
    framework: pd.DataFrame


class Job:
    """A training job on disk or in a bucket; nothing is read before it is asked for.

    Every frame has the columns of smdebug's; ``origin_us`` is the origin of their microseconds.
    """

    def __init__(self, path: str, *, name: str | None = None) -> None:
        """Find the job.

        Args:
            path: the job's folder or ``s3://`` address, at any of the levels the command takes; or
                ``sagemaker:REGION/JOB-NAME``.
            name: what to call it.

        Raises:
            LocationError: there is no job; the message says what was seen.
            PlaceError: SageMaker or the bucket cannot be asked.
            ConfigError: it has kernel traces alone, which have no frames.
        """
        self._path, self._name = str(path), name
        if is_job_name(self._path):
            described = training_job(self._path)
            self._path, self._name = described.profiler_path, name or described.name
        self._profile = _nodes_of(discover(self._path, name=self._name))
        self._increments = Increments()
        self._spans: dict[_PartKey, SpanTable] = {}

    def __repr__(self) -> str:
        return f"Job({self.name!r}, nodes={list(self.nodes)})"

    @property
    def name(self) -> str:
        """Return the job's name."""
        return self._profile.info.name

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of its nodes in numeric order."""
        return tuple(part.node for part in self._profile.parts)

    @property
    def notes(self) -> tuple[SourceNote, ...]:
        """Return remarks on the files as a whole."""
        return self._profile.notes

    @property
    def is_finished(self) -> bool:
        """Return whether the job left its end marker."""
        return self._profile.info.is_finished

    @property
    def is_empty(self) -> bool:
        """Return whether none of its files holds a byte."""
        return not any(file.size_bytes for part in self._profile.parts for file in part.files)

    @cached_property
    def origin_us(self) -> int:
        """Return where the microseconds of the frames begin, µs UTC.

        It is the minute of the first system file, as in smdebug; without system files the minute
        of the first event. The job's first sample may lie up to 60 s later.
        """
        if minutes_s := self._minutes_s():
            return min(minutes_s) // 60 * 60_000_000
        starts = [int(spans.start_ns.min()) for spans in self.spans_on_its_clock() if spans.n_spans]
        return minute_start_us(min(starts)) if starts else 0

    def system_metrics(
        self,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        metrics: Names = None,
        dimensions: Names = None,
        types: Names = None,
        nodes: Names = None,
    ) -> pd.DataFrame:
        """Return the samples as a frame, sorted by node, time and series.

        Args:
            since, until: the range of time, both ends included.
            metrics: names or patterns such as ``"gpu0"``, ``"cpu.*"``, ``"IOPS"``.
            dimensions: such as ``"GPUUtilization"``, ``"GPUMemoryUtilization"``: ``gpu0`` alone
                gives both.
            types: ``"gpu"``, ``"cpu"``, ``"memory"``, ``"i/o"``, ``"network"``.
            nodes: names or patterns such as ``"algo-1"``.

        Returns:
            One row per distinct sample: ``timestamp`` (UTC text), ``timestamp_us`` (since
            ``origin_us``), ``value`` (percent, bytes/s or 1/s), ``system_metric``, ``dimension``,
            ``nodeID``, ``type``. Only what is asked for is held in memory.

        Raises:
            ConfigError: a range or pattern that is none.
        """
        by_name = name_filter(metrics, option="metrics")
        by_dimension = name_filter(dimensions, option="dimensions")
        by_type = name_filter(types, option="types")

        kept = self._range(since, until)

        def wants(series: Series) -> bool:
            return by_name(series.name) and by_dimension(series.dimension) and by_type(series.type)

        frames = [
            system_frame(read_samples(part, wants=wants), part.node, origin_us=self.origin_us)
            for part in self._parts(nodes, kept)
        ]
        found = join_frames(frames, SYSTEM_COLUMNS)
        if found.empty and _is_cut(kept, metrics, dimensions, types, nodes):
            logger.warning("%s", self._no_samples())
        return found

    def framework_metrics(
        self,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        steps: tuple[int, int] | None = None,
        names: Names = None,
        processes: Names = None,
        nodes: Names = None,
    ) -> pd.DataFrame:
        """Return the framework's events as a frame, sorted by node, start and end.

        Args:
            since, until: events that overlap this range, each in full length.
            steps: least and greatest step number of the events, both included.
            names: event names or patterns such as ``"aten::conv.*"``.
            processes: phases such as ``"Step:ModeKeys.TRAIN"``, ``"DataLoaderIter"``.
            nodes: names or patterns of nodes.

        Returns:
            One row per distinct event: ``start_time``, ``end_time`` (UTC texts),
            ``start_time_us``, ``end_time_us`` (since ``origin_us``), ``tid``, ``pid`` (0 where
            unknown), ``framework_metric``, ``step`` and ``bytes`` (-1 where unknown),
            ``process`` (the phase), ``nodeID`` (the worker, ``algo-1-27``).

        Raises:
            ConfigError: a range or pattern that is none.
        """
        frames = [
            framework_frame(spans, origin_us=self.origin_us)
            for spans in self.spans(
                since=since, until=until, steps=steps, names=names, processes=processes, nodes=nodes
            )
        ]
        found = join_frames(frames, FRAMEWORK_COLUMNS)
        if found.empty and _is_cut(since, until, steps, names, processes, nodes):
            logger.warning("%s", self._no_events())
        return found

    def dataloader_metrics(
        self, *, since: Instant | None = None, until: Instant | None = None, nodes: Names = None
    ) -> pd.DataFrame:
        """Return the events of PyTorch's data loader as a frame.

        Returns:
            As ``framework_metrics`` with ``duration_us``, ``worker_id``, ``num_workers``,
            ``pin_memory`` (text) and ``node_id``.
        """
        frames = [
            dataloader_frame(spans, origin_us=self.origin_us)
            for spans in self.spans(since=since, until=until, nodes=nodes)
        ]
        return join_frames(frames, DATALOADER_COLUMNS)

    def spans(
        self,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        steps: tuple[int, int] | None = None,
        names: Names = None,
        processes: Names = None,
        nodes: Names = None,
    ) -> Iterator[SpanTable]:
        """Yield each node's events as columns; arguments as in ``framework_metrics``."""
        by_name = name_filter(names, option="names")
        by_phase = name_filter(processes, option="processes")
        for part in self._parts(nodes, self._range(since, until)):
            spans = self._events_of(part)
            if steps is not None or names is not None or processes is not None:
                spans = spans.where(
                    spans_wanted(spans, names=by_name, phases=by_phase, steps=steps)
                )
            yield spans

    def spans_on_its_clock(self) -> Iterator[SpanTable]:
        """Yield each node's events whose times can be laid beside the job's.

        Timelines that Horovod wrote itself have separate clocks.
        """
        clock = self._profile.info.clock
        return (self._events_of(part) for part in self._profile.parts if part.job.clock is clock)

    def events_extent_us(self) -> tuple[int, int] | None:
        """Return first start and last end of the job's events, µs UTC; ``None`` without any.

        Events with a clock of their own do not count, unless there are no others.
        """
        spans = [table for table in self.spans_on_its_clock() if table.n_spans]
        if not spans:
            return None
        first_ns = min(int(table.start_ns.min()) for table in spans)
        last_ns = max(int(table.end_ns.max()) for table in spans)
        return first_ns // NS_PER_US, -(-last_ns // NS_PER_US)

    def python_profiles(self) -> PythonProfiles:
        """Return the Python profiles (cProfile, pyinstrument) that lie in the job."""
        return PythonProfiles(self._path)

    def latest(self) -> Latest:
        """Return the data written since the last call; the first call returns all.

        Files that were read and have not changed are not read again, but for timelines in which an
        event began that has not ended. Rows that were returned once are not returned again.
        """
        self._profile = _nodes_of(discover(self._path, name=self._name))
        self._spans.clear()
        system, framework = [], []
        for part in self._increments.parts(self._profile):
            problems = Diagnostics()
            rows, spans = read_samples(part), read_events(part, problems)
            self._increments.left_open(part, problems.files_with(Quality.EVENTS_UNMATCHED))
            samples = system_frame(rows, part.node, origin_us=self.origin_us)
            events = framework_frame(spans, origin_us=self.origin_us)
            system.append(self._increments.unseen(samples, "system"))
            framework.append(self._increments.unseen(events, "framework"))
        self._increments.done()
        return Latest(
            system=join_frames(system, SYSTEM_COLUMNS),
            framework=join_frames(framework, FRAMEWORK_COLUMNS),
        )

    def _no_samples(self) -> str:
        """Return why an answer has no samples."""
        if not (stamps_s := self._minutes_s()):
            return "No samples: none were recorded."
        first, last = (iso_utc(second * NS_PER_S) for second in (min(stamps_s), max(stamps_s)))
        return f"No sample fits: the job has files of samples for the minutes {first} to {last}."

    def _no_events(self) -> str:
        """Return why an answer has no events."""
        edges_us = self.events_extent_us()
        if edges_us is None:
            return "No events: none were recorded."
        first, last = (iso_utc(edge_us * NS_PER_US) for edge_us in edges_us)
        n_events = sum(table.n_spans for table in self.spans_on_its_clock())
        return f"No event fits: the job has {n_events:,} from {first} to {last}."

    def _minutes_s(self) -> list[int]:
        """Return the starts of the minutes of which there are files of samples, Unix seconds."""
        return [
            claimed.stamp
            for part in self._profile.parts
            for file in part.files
            if (claimed := claim(file.key)) and role_of(claimed) is FileRole.SAMPLES
        ]

    def _range(self, since: Instant | None, until: Instant | None) -> TimeRange | None:
        if since is None and until is None:
            return None
        return time_range(since, until, origin_us=self.origin_us)

    def _parts(self, nodes: Names, kept: TimeRange | None) -> tuple[PartRef, ...]:
        wanted = name_filter(nodes, option="nodes")
        parts = (part for part in self._profile.parts if wanted(part.node))
        return tuple(part if kept is None else replace(part, kept=kept) for part in parts)

    def _events_of(self, part: PartRef) -> SpanTable:
        # A timeline of Horovod's may be called like a node.
        key = (part.node, tuple(part.files[:1]))
        spans = self._spans.get(key)
        if spans is None:
            spans = read_events(replace(part, kept=None))
            n_kept = sum(other.n_spans for other in self._spans.values())
            if n_kept + spans.n_spans <= _MOST_KEPT_SPANS:
                self._spans[key] = spans
        return cut_spans(spans, part.kept)


def _is_cut(*asked: object) -> bool:
    """Return whether a part was asked for; nothing, by an empty list of nodes, is none."""
    wants_none = isinstance(asked[-1], list | tuple) and not asked[-1]
    return any(part is not None for part in asked) and not wants_none


def _nodes_of(job: JobProfile) -> JobProfile:
    """Return a job without its kernel traces.

    Raises:
        ConfigError: it has nothing else.
    """
    nodes = tuple(part for part in job.parts if part.rank is None)
    if job.parts and not nodes:
        raise ConfigError(
            f"{job.info.source} holds kernel traces alone; frames are made of samples and events "
            "of nodes.",
            hint="Report the traces, and take tables with views.frame; or write them with "
            "`reportgen timeline`, and ask Perfetto's trace processor with SQL.",
        )
    return replace(job, parts=nodes)


def open_job(path: str, *, name: str | None = None) -> Job:
    """Open a job for analysis; see ``Job``."""
    return Job(path, name=name)


def wait_for_job(
    path: str, *, timeout_s: float = WAIT_S, poll_s: float = _POLL_S, name: str | None = None
) -> Job:
    """Wait until a job has written its first files, then open it.

    Args:
        path: where the job writes; need not exist yet.
        timeout_s: how long to wait, seconds; a warning says that it waits.
        poll_s: pause between two looks.
        name: what to call the job.

    Raises:
        LocationError: nothing arrived in time; the message says what was seen last.
        AmbiguousJobError: several jobs lie there.
        PlaceError: the bucket cannot be used, which waiting does not mend.
    """
    ends_at, is_told = time.monotonic() + timeout_s, False
    while True:
        try:
            return _begun(path, name=name)
        except (AmbiguousJobError, PlaceError):
            raise
        except LocationError as err:
            rest_s = ends_at - time.monotonic()
            if rest_s > 0 and not is_told:
                text = "Waiting up to %s for the first profiler files under %s."
                logger.warning(text, format_duration(timeout_s), path)
                is_told = True
            if rest_s <= 0:
                raise LocationError(
                    f"No profiler files arrived under {path!r} in {timeout_s:g} s. {err.message}",
                    hint="Check the path, and that the job profiles; or wait longer.",
                    path=path,
                ) from err
            time.sleep(min(poll_s, rest_s))


def _begun(path: str, *, name: str | None) -> Job:
    """Open a job of whose files one holds something, or which has ended.

    Raises:
        LocationError: all its files are empty: they were opened and not yet written.
    """
    job = Job(path, name=name)
    if not job.is_finished and job.is_empty:
        raise LocationError("Its files are still empty.", path=path)
    return job
