"""The parts of a job to the slices, arrows and counters of one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reportgen.errors import LocationError
from reportgen.intake import read
from reportgen.pipeline.options import ReadingProgress, Watcher
from reportgen.profile import JobProfile, PartRef, RankTrace, SourceNote
from reportgen.text import format_count
from reportgen.timeline.chrome_json import ChromeWriter
from reportgen.timeline.drawn import Clocks
from reportgen.timeline.lanes import PartLanes
from reportgen.timeline.of_part import lanes_of
from reportgen.timeline.shadows import with_shadows
from reportgen.timeline.sources import numbers_of


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
    lanes = with_shadows(lanes_of(part), part)
    return replace(lanes, arguments=numbers_of(part)), part.notes


def _on_notes(notes: Sequence[SourceNote]) -> list[str]:
    return [f"{note.path}: {note.text}" if note.path else note.text for note in notes if note.text]


def _on_writing(writer: ChromeWriter, clocks: Clocks) -> Iterator[str]:
    if clocks.unlike:
        names = ", ".join(clocks.unlike)
        yield f"{names}: another kind of clock; placed where the first part begins."
    if writer.written.n_arrows_left_out:
        said = format_count(writer.written.n_arrows_left_out)
        yield f"{said} operations of graphs begin before their launch and have no arrow from it."
