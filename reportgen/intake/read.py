"""One part of a job: its files to its tables."""

from __future__ import annotations

from reportgen.formats import Claim, FormatId, SystemFile, Tally, claim
from reportgen.intake.spans import EventFile, read_spans
from reportgen.intake.system import Progress, read_system
from reportgen.profile import NodeProfile, PartRef
from reportgen.profile.job import FileRef
from reportgen.storage import Location, open_location


def read(ref: PartRef, *, on_progress: Progress | None = None) -> NodeProfile:
    """Read one node's system metrics and timelines.

    Args:
        ref: which node, and its files.
        on_progress: told the rows and bytes that were read since the last call.

    Returns:
        The node. Its notes say what was read (``files_read``), skipped and broken.

    Edge cases: a node without system files has an empty system table, one without timelines an
    empty span table; a file that cannot be read is a note.
    """
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
    system = read_system(minutes, tally, on_progress=on_progress)
    spans = read_spans(timelines, tally, system=system, job=ref.job, on_progress=on_progress)
    for key in location.changed():
        tally.remark(_SAY_CHANGED, path=key)
    return NodeProfile(node=ref.node, job=ref.job, system=system, spans=spans, notes=tally.notes())


_SAY_CHANGED = "This file changed after it was listed; its newer content was read."


def _system_file(location: Location, file: FileRef, told: Claim) -> SystemFile:
    return SystemFile(
        location=location,
        key=file.key,
        size_bytes=file.size_bytes,
        node=told.node,
        minute_s=told.stamp,
    )
