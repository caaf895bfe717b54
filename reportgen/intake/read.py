"""One part of a job: its files to its tables."""

from __future__ import annotations

from dataclasses import replace

from reportgen.formats import Diagnostics, EventFile, FileRole, claim, format_of, role_of
from reportgen.formats.format import Progress
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.intake.found import claim_of
from reportgen.intake.monitoring import is_monitored, read_monitored
from reportgen.intake.node_clocks import ahead_of, moved_spans, moved_system, on_own_clock
from reportgen.intake.open_part import open_part, remark_changes
from reportgen.intake.python_profiles import read_python
from reportgen.intake.recordings import of_job, with_whole_steps, without_profiled
from reportgen.intake.spans import read_spans
from reportgen.intake.system import read_system
from reportgen.intake.time_range import cut_spans, uncut_extent
from reportgen.profile import NodeProfile, PartRef, RankTrace, SpanTable
from reportgen.profile.system import empty_system
from reportgen.storage import Location


def read(
    ref: PartRef, *, is_whole: bool = False, on_progress: Progress | None = None
) -> NodeProfile | RankTrace:
    """Read one part: a node's metrics, timelines and Python profiles, or a rank's kernel trace.

    Its notes say what was read (``files_read``), skipped and broken; ``on_progress`` gets rows
    and bytes. A part with a range is cut to it: samples inside, events that overlap it in full
    length. With ``is_whole`` a kernel trace is read for a timeline (``read_trace``).

    Edge cases: a node without system files has an empty system table, one without timelines an
    empty span table; a file that cannot be read is a note.
    """
    if ref.rank is None:
        return read_node(ref, on_progress=on_progress)
    from reportgen.intake.traces import read_rank

    return read_rank(ref, is_whole=is_whole, on_progress=on_progress)


def read_node(ref: PartRef, *, on_progress: Progress | None = None) -> NodeProfile:
    """Read one node; see ``read``."""
    if is_monitored(ref):
        return read_monitored(ref, on_progress=on_progress)
    ref = on_own_clock(ref)
    location = open_part(ref)
    problems = Diagnostics()
    minutes = system_files(ref, location)
    timelines = _event_files(ref, location)
    kept = ref.kept
    system = read_system(minutes, problems, kept=kept, on_progress=on_progress)
    system = of_job(system, ref.recorded)
    whole = system if kept is None else uncut_extent(system, minutes)
    clock = ref.job.clock
    spans = read_spans(timelines, problems, system=whole, clock=clock, on_progress=on_progress)
    spans = _from_first_event(spans, ref)
    spans = cut_spans(spans, kept)
    system, spans = without_profiled(system, with_whole_steps(spans, ref.recorded), ref.recorded)
    python = read_python(ref, location, problems)
    ahead_ns = ahead_of(ref)
    remark_changes(location, problems)
    return NodeProfile(
        node=ref.node,
        job=ref.job,
        system=moved_system(system, ahead_ns),
        spans=moved_spans(spans, ahead_ns),
        python=python,
        recorded=ref.recorded,
        notes=problems.notes(),
    )


def read_events(ref: PartRef, problems: Diagnostics | None = None) -> SpanTable:
    """Read one node's timelines alone; when the job ran is taken from the files' names.

    A range is applied as in ``read``; ``problems`` gets what is wrong with the files.
    """
    ref = on_own_clock(ref)
    location, problems = open_part(ref), problems or Diagnostics()
    extent = uncut_extent(empty_system(), system_files(ref, location))
    spans = read_spans(_event_files(ref, location), problems, system=extent, clock=ref.job.clock)
    spans = _from_first_event(spans, ref)
    spans = cut_spans(spans, ref.kept)
    return moved_spans(spans, ahead_of(ref))


def _event_files(ref: PartRef, location: Location) -> list[EventFile]:
    return [
        EventFile(location=location, key=file.key, size_bytes=file.size_bytes, claim=found)
        for file in ref.files
        if (found := claim_of(file, ref.node)) and role_of(found) is FileRole.EVENTS
    ]


def system_files(ref: PartRef, location: Location | None = None) -> list[SystemFile]:
    """Return the minute files of a part, in the order in which they were listed."""
    place = location or open_part(ref)
    return [
        SystemFile(
            location=place,
            key=file.key,
            size_bytes=file.size_bytes,
            node=found.node,
            minute_s=found.stamp,
        )
        for file in ref.files
        if (found := claim(file.key)) and role_of(found) is FileRole.SAMPLES
    ]


def _from_first_event(spans: SpanTable, ref: PartRef) -> SpanTable:
    """Return a part's events, counted from the first where their clock means nothing else."""
    is_counted_so = any(format_of(file.format_id).counts_from_first for file in ref.files)
    if not is_counted_so or not spans.n_spans:
        return spans
    first_ns = spans.start_ns.min()
    return replace(spans, start_ns=spans.start_ns - first_ns, end_ns=spans.end_ns - first_ns)
