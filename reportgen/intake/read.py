"""One part of a job: its files to its tables."""

from __future__ import annotations

from reportgen.formats import Claim, FormatId, SystemFile, Tally, claim
from reportgen.intake.cut import cut_spans, uncut_extent
from reportgen.intake.spans import EventFile, read_spans
from reportgen.intake.system import Progress, read_system
from reportgen.intake.traces import SAY_CHANGED, read_rank
from reportgen.profile import NodeProfile, PartRef, RankTrace
from reportgen.profile.job import FileRef
from reportgen.storage import Location, open_location


def read(ref: PartRef, *, on_progress: Progress | None = None) -> NodeProfile | RankTrace:
    """Read one part: a node's system metrics and timelines, or a rank's kernel trace.

    Args:
        ref: which part, and its files.
        on_progress: told the rows and bytes that were read since the last call.

    Returns:
        The part. Its notes say what was read (``files_read``), skipped and broken.

    A node with a range is cut to it: samples inside, events that overlap it in full length.

    Edge cases: a node without system files has an empty system table, one without timelines an
    empty span table; a file that cannot be read is a note.
    """
    return (
        read_node(ref, on_progress=on_progress)
        if ref.rank is None
        else read_rank(ref, on_progress=on_progress)
    )


def read_node(ref: PartRef, *, on_progress: Progress | None = None) -> NodeProfile:
    """Read one node; see ``read``."""
    versions = {file.key: file.version for file in ref.files if file.version}
    location = open_location(ref.root, versions=versions)
    tally = Tally()
    claims = [(file, told) for file in ref.files if (told := claim(file.key))]
    minutes = [
        _system_file(location, file, told)
        for file, told in claims
        if told.format_id is FormatId.SYSTEM
    ]
    timelines = [
        EventFile(location=location, key=file.key, size_bytes=file.size_bytes, claim=told)
        for file, told in claims
        if told.format_id is FormatId.EVENTS
    ]
    kept = ref.kept
    system = read_system(minutes, tally, kept=kept, on_progress=on_progress)
    whole = system if kept is None else uncut_extent(system, minutes)
    spans = read_spans(timelines, tally, system=whole, job=ref.job, on_progress=on_progress)
    if kept is not None:
        spans = cut_spans(spans, kept)
    for key in location.changed():
        tally.remark(SAY_CHANGED, path=key)
    return NodeProfile(node=ref.node, job=ref.job, system=system, spans=spans, notes=tally.notes())


def _system_file(location: Location, file: FileRef, told: Claim) -> SystemFile:
    return SystemFile(
        location=location,
        key=file.key,
        size_bytes=file.size_bytes,
        node=told.node,
        minute_s=told.stamp,
    )
