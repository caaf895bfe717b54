"""From a job or trace to a timeline in one file, for Perfetto and ``chrome://tracing``."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from reportgen.errors import ConfigError, LocationError, PlaceError, WouldOverwriteError, writing
from reportgen.intake import discover, read
from reportgen.pipeline.options import ReadingProgress, Watcher, timed
from reportgen.pipeline.places import check_output
from reportgen.pipeline.ranges import apply_range
from reportgen.pipeline.wanted import Wanted
from reportgen.profile import JobProfile, PartRef, RankTrace, SourceNote
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, is_job_name, is_remote, open_location, training_job
from reportgen.store import open_staging, refuse
from reportgen.text import format_count
from reportgen.timeline import lanes_of
from reportgen.timeline.chrome_json import ChromeWriter, Clocks, Written
from reportgen.timeline.lanes import PartLanes
from reportgen.timeline.sources import numbers_of, with_shadows

STDOUT = "-"

_OTHER_FILE = "Choose another file with --output."


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineOptions:
    """One run of ``reportgen timeline``.

    Attributes:
        path: a job or kernel traces.
        output: the file or object to write; ``-`` is standard output.
        wanted: the range to show; ``None`` for the whole job.
        cycle: which cycle of a profiler with a schedule, 1 is the newest.
        ranks: the ranks to show; ``None`` means all.
        force: replace a file.
    """

    path: str
    output: str
    wanted: Wanted | None = None
    cycle: int = 1
    ranks: frozenset[int] | None = None
    force: bool = False


def make_timeline(options: TimelineOptions, watcher: Watcher) -> tuple[Written, list[str]]:
    """Write the timeline of a job; return what was written, and remarks for its readers.

    Raises:
        ReportgenError: with the exit code that the command will return.
    """
    _check_output(options)
    with timed(watcher, "listing") as step:
        job = _of_ranks(_listed(options.path, options.cycle), options.ranks)
        step.text = f"listed {len(job.parts)} nodes or ranks"
    if options.wanted is not None:
        with timed(watcher, "range") as step:
            job, step.text = apply_range(job, options.wanted)
    with _opened(options.output) as stream, timed(watcher, "writing") as step:
        writer = ChromeWriter(stream)
        remarks = write_parts(job, writer, watcher)
        step.text = f"wrote {writer.written.n_slices} slices"
    return writer.written, remarks


def _listed(path: str, cycle: int) -> JobProfile:
    if is_job_name(path):
        named = training_job(path)
        return discover(named.profiler_path, name=named.name, cycle=cycle)
    return discover(path, cycle=cycle)


def _of_ranks(job: JobProfile, ranks: frozenset[int] | None) -> JobProfile:
    """Return a job with only some of its ranks; nodes stay."""
    if ranks is None:
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
    if is_remote(options.output):
        folder, _, name = options.output.rpartition("/")
        if not options.force and _is_there(open_location(folder), name):
            raise WouldOverwriteError(
                f"{options.output} exists already; it would be overwritten.",
                hint="Pass --force to replace it, or another name with --output.",
                path=options.output,
            )
        return
    output = Path(options.output)
    check_output(output.parent)
    if output.exists() and not (options.force and output.is_file()):
        refuse(output, "exists already" if output.is_file() else "is no plain file")


def _is_there(place: Location, name: str) -> bool:
    try:
        place.read_range(name, 0, 1)
    except PlaceError:
        raise
    except LocationError:
        return False
    return True


@contextmanager
def _opened(output: str) -> Iterator[IO[bytes]]:
    """Yield the stream to write to; a file or object takes its place when all of it is there."""
    if output == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if is_remote(output):
        from reportgen.storage.s3 import S3Location

        folder, _, name = output.rpartition("/")
        with scratch_folder() as scratch:
            with _opened(str(scratch / name)) as stream:
                yield stream
            S3Location(folder).write_bytes(name, (scratch / name).read_bytes())
        return
    target = Path(output)
    with open_staging(target.parent) as staging, writing(target, hint=_OTHER_FILE):
        staged = staging.folder / target.name
        with staged.open("wb") as file:
            if target.suffix == ".gz":
                with gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield file
        staged.replace(target)


def write_parts(job: JobProfile, writer: ChromeWriter, watcher: Watcher) -> list[str]:
    """Write a job part by part, of which one is held at a time; return the facts about it.

    Raises:
        LocationError: there is nothing to write.
    """
    clocks = Clocks()
    remarks = _on_notes(job.notes)
    progress = ReadingProgress(watcher)
    for ref in job.parts:
        part, notes = _lanes(ref, progress)
        writer.add(part, zero_ns=clocks.zero_of(part))
        remarks += _on_notes(notes)
    if not (writer.written.n_slices or writer.written.n_values):
        raise LocationError(
            f"{job.info.source} holds no event and no sample to show.",
            hint="Check the range that was asked for, and that the files were copied whole.",
            path=job.info.source,
        )
    writer.close()
    return [*remarks, *_on_writing(writer, clocks)]


def _lanes(ref: PartRef, progress: ReadingProgress) -> tuple[PartLanes, Sequence[SourceNote]]:
    """Return the lanes of a part and what was noted while reading."""
    part = read(ref, is_whole=True, on_progress=progress)
    if not isinstance(part, RankTrace):
        return lanes_of(part), part.notes
    return replace(with_shadows(lanes_of(part), part), arguments=numbers_of(part)), part.notes


def _on_notes(notes: Sequence[SourceNote]) -> list[str]:
    return [f"{note.path}: {note.text}" if note.path else note.text for note in notes if note.text]


def _on_writing(writer: ChromeWriter, clocks: Clocks) -> Iterator[str]:
    if clocks.unlike:
        names = ", ".join(clocks.unlike)
        yield f"{names}: another kind of clock; placed where the first part begins."
    if writer.written.n_arrows_left_out:
        said = format_count(writer.written.n_arrows_left_out)
        yield f"{said} operations of graphs begin before their launch and have no arrow from it."
