"""From a job or trace to a timeline in one file, for Perfetto or ``chrome://tracing``."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import IO

from reportgen.errors import ConfigError, LocationError, writing
from reportgen.intake import discover, read
from reportgen.pipeline.compare import report_of
from reportgen.pipeline.options import ReadingProgress, Watcher
from reportgen.pipeline.places import check_output, saved_report
from reportgen.pipeline.ranges import Wanted, apply_range, wanted_range
from reportgen.pipeline.timing import timed
from reportgen.profile import JobProfile, PartRef, RankTrace, TimeRange
from reportgen.report import RankedFinding
from reportgen.storage import is_job_name, training_job
from reportgen.store import load, open_staging, refuse
from reportgen.text import format_count
from reportgen.timeline.chrome_json import ChromeWriter
from reportgen.timeline.drawn import Clocks, Writer, Written
from reportgen.timeline.markers import marker_times, only_markers, with_markers
from reportgen.timeline.of_part import lanes_of
from reportgen.timeline.perfetto import PerfettoWriter
from reportgen.timeline.shadows import with_shadows
from reportgen.units import NS_PER_S

STDOUT = "-"


class TimelineFormat(StrEnum):
    """What a timeline is written as."""

    PERFETTO = "perfetto"
    JSON = "json"


_WRITERS: dict[TimelineFormat, type[PerfettoWriter] | type[ChromeWriter]] = {
    TimelineFormat.PERFETTO: PerfettoWriter,
    TimelineFormat.JSON: ChromeWriter,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineOptions:
    """One run of ``reportgen timeline``.

    Attributes:
        path: a job or kernel traces.
        output: the file to write; ``-`` is standard output.
        format: what to write; ``None`` goes by the name of the file.
        since, until, steps: the range to show, as the user wrote it.
        ranks: the ranks to show; empty means all.
        around: the id of the finding around which to show.
        report: where the saved report with the findings lies, if not beside the job.
        is_raw: copy the events of one kernel trace instead.
        force: replace a file.
    """

    path: str
    output: str
    format: TimelineFormat | None = None
    since: str | None = None
    until: str | None = None
    steps: str | None = None
    ranks: frozenset[int] = frozenset()
    around: str | None = None
    report: str | None = None
    is_raw: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTimeline:
    """What a run wrote, and what a reader of it should know."""

    written: Written
    remarks: tuple[str, ...] = ()


def make_timeline(options: TimelineOptions, watcher: Watcher) -> MadeTimeline:
    """Write the timeline of a job.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    wanted = wanted_range(options.since, options.until, options.steps)
    if options.around is not None and wanted is not None:
        raise ConfigError(
            "--around cannot be combined with --from, --to and --steps.", hint="Pass one of them."
        )
    _check_output(options)
    with timed(watcher, "listing") as step:
        job = _of_ranks(_listed(options.path), options.ranks)
        step.text = f"listed {len(job.parts)} nodes or ranks"
    findings = _findings(options, job, watcher)
    if options.around is not None:
        wanted = Wanted(time=_around(options.around, findings))
    if wanted is not None:
        with timed(watcher, "range") as step:
            job, step.text = apply_range(job, wanted)
    with _opened(options) as stream, timed(watcher, "writing") as step:
        if options.is_raw:
            made = _copy(job, stream)
        else:
            made = _write(job, _writer(options)(stream), findings, watcher)
        step.text = f"wrote {made.written.n_slices} slices"
    return made


def _listed(path: str) -> JobProfile:
    if is_job_name(path):
        named = training_job(path)
        return discover(named.profiler_path, name=named.name)
    return discover(path)


def _of_ranks(job: JobProfile, ranks: frozenset[int]) -> JobProfile:
    """Return a job with only some of its ranks; nodes stay."""
    if not ranks:
        return job
    there = {part.rank for part in job.parts if part.rank is not None}
    missing = sorted(ranks - there)
    if missing:
        said = ", ".join(map(str, sorted(there))) or "no kernel traces"
        raise ConfigError(
            f"--ranks names rank {missing[0]}, which is not there.", hint=f"There are: {said}."
        )
    kept = tuple(part for part in job.parts if part.rank is None or part.rank in ranks)
    return replace(job, parts=kept)


def _check_output(options: TimelineOptions) -> None:
    if options.output == STDOUT:
        return
    output = Path(options.output)
    check_output(output.parent, job_root=None)
    if output.exists() and not (options.force and output.is_file()):
        refuse(output, "exists already" if output.is_file() else "is no plain file")


def _findings(
    options: TimelineOptions, job: JobProfile, watcher: Watcher
) -> Sequence[RankedFinding]:
    """Return the findings of the saved report of a job; of a new one where one is asked for."""
    for place in (options.report,) if options.report is not None else (options.path, "."):
        with suppress(LocationError), saved_report(place) as saved:
            if saved is None:
                continue
            report = load(saved)
            if place != "." or report.job.source == job.info.source:
                return report.findings
    if options.report is not None:
        raise LocationError(
            f"There is no saved report at {options.report}.",
            hint="Pass the folder profiler-report/ with --report.",
            path=options.report,
        )
    return report_of(options.path, watcher).findings if options.around is not None else ()


def _around(finding_id: str, findings: Sequence[RankedFinding]) -> TimeRange:
    """Return the time of a finding, and as much again before and after it."""
    found = next((item.finding for item in findings if item.finding.id == finding_id), None)
    if found is None:
        timed = [item.finding.id for item in findings if marker_times(item.finding)]
        there = ", ".join(timed) or "none with a time"
        raise ConfigError(
            f"--around {finding_id} names no finding of the report.", hint=f"There are: {there}."
        )
    times = marker_times(found)
    if times is None:
        raise ConfigError(
            f"--around {finding_id}: the finding is about the whole job and has no time.",
            hint="Pass --from and --to, or --steps.",
        )
    start_ns, end_ns = times
    margin_ns = max(end_ns - start_ns, NS_PER_S // 1000)
    return TimeRange(from_ns=start_ns - margin_ns, to_ns=end_ns + margin_ns)


def _writer(options: TimelineOptions) -> type[PerfettoWriter] | type[ChromeWriter]:
    named = options.output.lower().removesuffix(".gz")
    by_name = TimelineFormat.JSON if named.endswith(".json") else TimelineFormat.PERFETTO
    return _WRITERS[options.format or by_name]


@contextmanager
def _opened(options: TimelineOptions) -> Iterator[IO[bytes]]:
    """Yield the stream to write to; a file takes its place when all of it is there."""
    if options.output == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    output = Path(options.output)
    hint = "Choose another file with --output."
    with open_staging(output.parent) as staging, writing(output, hint=hint):
        staged = staging.folder / output.name
        with staged.open("wb") as file:
            if output.suffix == ".gz":
                with gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as packed:
                    yield packed
            else:
                yield file
        staged.replace(output)


def _write(
    job: JobProfile, writer: Writer, findings: Sequence[RankedFinding], watcher: Watcher
) -> MadeTimeline:
    clocks, notes = Clocks(), _Notes()
    progress = ReadingProgress(watcher)
    nodes = {part.node for part in job.parts}
    for part in job.parts:
        own = [item.finding for item in findings if item.finding.where.node == part.node]
        _write_part(part, writer, clocks, own, notes, progress)
    others = [item.finding for item in findings if item.finding.where.node not in nodes]
    markers = only_markers(others)
    if markers is not None and writer.written.n_parts:
        writer.add(markers, zero_ns=clocks.zero_of(markers))
    writer.close()
    if not (writer.written.n_slices or writer.written.n_values):
        raise LocationError(
            f"{job.info.source} holds no event and no sample to show.",
            hint="Look at the range that was asked for; without one all of the job is shown.",
            path=job.info.source,
        )
    return MadeTimeline(written=writer.written, remarks=(*notes.texts, *_remarks(writer, clocks)))
