"""Which job lies under a path, and which of its files belong to which node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from reportgen.errors import LocationError
from reportgen.formats import Diagnostics, FileRole, format_of
from reportgen.intake.found import OF_NODES, Found, files_of, node_parts
from reportgen.intake.listing import MAX_LOOKED_INTO, Listing, list_files
from reportgen.intake.monitoring import monitored_job
from reportgen.intake.one_job import one_job
from reportgen.intake.profiler_settings import read_settings
from reportgen.intake.recordings import read_recording
from reportgen.profile import Clock, JobInfo, JobProfile, PartRef, Quality
from reportgen.profile.job import FileRef

_HEAD_BYTES = 4_096
_MAX_HEADS = 50
_SAY_REPORTS = (
    "{n} [report|reports] of Nsight Systems [lies|lie] beside kernel traces of PyTorch and "
    "[was|were] left out: pass [it|them] alone"
)
_SAY_TOO_MANY = (
    f"{{n}} [file is|files are] beyond the {MAX_LOOKED_INTO:,} that are opened to be recognized: "
    "pass a folder that holds the job alone, or name kernel traces *.pt.trace.json"
)
_SAY_OTHERS = (
    "{n} [file|files] of other monitors [lies|lie] beside it and [was|were] left out: "
    "pass [it|them] alone"
)
_SAY_UNKNOWN = "{n} [file is|files are] not of a known format and [was|were] skipped"


def discover(
    place: str | Listing,
    *,
    name: str | None = None,
    source: str | None = None,
    cycle: int = 1,
    utc_offset_s: int | None = None,
) -> JobProfile:
    """Find the job under a path; of kernel traces the first bytes are read for that.

    Args:
        place: the job's folder, its ``profiler-output``, the folder that holds ``system/`` and/or
            ``framework/``, a folder of kernel traces, or one kernel trace; or the listing of it.
        name: what to call the job instead of its folder's name.
        source: where the job lies, if ``place`` is a copy.
        cycle: which of the cycles that a profiler recorded, 1 is the newest.
        utc_offset_s: how far local times without a zone are ahead of UTC.

    Returns:
        The job with one part per node, in numeric order, then one part per rank with a trace.

    Raises:
        LocationError: no such folder, nothing in it, no job in it, or a job in a format that
            this version does not read; the message says which.
        AmbiguousJobError: several jobs lie under the path; the message lists them.
        ConfigError: this cycle was not recorded.
    """
    listing = list_files(place) if isinstance(place, str) else place
    found = files_of(one_job(listing), listing)
    info = JobInfo(
        name=name or found.job.name,
        source=source or listing.path,
        clock=_clock_of(found),
        is_finished=not found.roles & OF_NODES or FileRole.END in found.roles,
    )
    problems = Diagnostics()
    _note_unread(found, problems)
    if found.monitored:
        return monitored_job(found, info, problems, utc_offset_s=utc_offset_s)
    nodes, timelines = node_parts(found.nodes, listing.location, info), _timelines(found, info)
    profiling = read_settings(found, problems)
    recording = read_recording(listing, found.job.prefix, problems)
    if recording is not None:
        nodes = tuple(replace(part, recorded=recording.node(part.node)) for part in nodes)
    for file, claim in found.timelines:
        problems.remark(format_of(claim.format_id).clock_note, path=file.key)
    parts = (*nodes, *timelines, *_rank_parts(found, info, problems, cycle=cycle))
    return JobProfile(
        info=info, parts=parts, notes=problems.notes(), profiling=profiling, recording=recording
    )


def _timelines(found: Found, job: JobInfo) -> tuple[PartRef, ...]:
    """Return timelines on a clock of their own as parts of a job, one for each writer."""
    by_node: Mapping[str, list[FileRef]] = defaultdict(list)
    for file, claim in found.timelines:
        by_node[claim.node].append(file)
    return node_parts(by_node, found.listing.location, replace(job, clock=Clock.RELATIVE))


def _clock_of(found: Found) -> Clock:
    """Return the clock of a job's nodes; ``UNIX`` for kernel traces alone.

    They are ``RELATIVE`` when there are no samples and no timeline says when it began. Python
    profiles alone say it in their names.
    """
    if not found.roles & OF_NODES:
        return Clock.RELATIVE if found.timelines else Clock.UNIX
    files = [file for node in found.nodes.values() for file in node if file.size_bytes]
    events = [file for file in files if format_of(file.format_id).role is FileRole.EVENTS]
    notes = {format_of(file.format_id).clock_note for file in events} - {""}
    if FileRole.SAMPLES in found.roles or notes:
        return Clock.UNIX
    for file in events[:_MAX_HEADS]:
        try:
            head = found.listing.location.read_range(file.key, 0, _HEAD_BYTES)
            if format_of(file.format_id).has_base(head):
                return Clock.UNIX
        except LocationError:
            continue
    return Clock.RELATIVE if events else Clock.UNIX


def _note_unread(found: Found, problems: Diagnostics) -> None:
    """Count the files that nothing reads: too many, in a job's folders, of other monitors."""
    for info in found.listing.not_looked_into:
        problems.add(Quality.FILES_SKIPPED, info.key, what=_SAY_TOO_MANY)
    broken = [info for info in found.unread if info.problem]
    for info in broken:
        what = f"{{n}} [file|files] cannot be read: {info.problem}"
        problems.add(Quality.FILES_SKIPPED, info.key, what=what)
    n_unknown = len(found.unread) - len(broken)
    problems.add(Quality.FILES_SKIPPED, "", n_unknown, what=_SAY_UNKNOWN)
    problems.add(Quality.FILES_SKIPPED, "", found.job.n_other_monitors, what=_SAY_OTHERS)


def _rank_parts(
    found: Found, info: JobInfo, problems: Diagnostics, *, cycle: int
) -> tuple[PartRef, ...]:
    """Return kernel traces as parts; without any their readers are not imported.

    Where PyTorch's traces and reports of Nsight Systems lie together only the traces are read:
    they hold more, and two recordings of one run would be counted twice.
    """
    location = found.listing.location
    if found.traces:
        from reportgen.intake.ranks import rank_parts

        problems.add(Quality.FILES_SKIPPED, "", len(found.reports), what=_SAY_REPORTS)
        return rank_parts(location, found.traces, info, problems, cycle=cycle)
    if found.reports:
        from reportgen.intake.nsight_reports import report_parts

        return report_parts(location, found.reports, found.listing.objects, info, problems)
    return ()
