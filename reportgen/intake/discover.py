"""Which job lies under a path, and which of its files belong to which node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import PurePosixPath

from reportgen.errors import LocationError
from reportgen.formats import Claim, Diagnostics, FileRole, format_of, printable, role_of
from reportgen.formats.kineto.detection import KERNEL_TRACES
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.formats.tensorboard_events import TENSORBOARD_EVENTS
from reportgen.intake.listing import (
    MAX_LOOKED_INTO,
    Claimed,
    Listing,
    file_ref,
    look,
    several,
    stem_of,
)
from reportgen.intake.monitoring import SAY_OTHERS, monitored_job
from reportgen.intake.profiler_settings import read_settings
from reportgen.intake.recordings import read_recording
from reportgen.profile import Clock, JobInfo, JobProfile, NodeId, PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.profile.system import device_order
from reportgen.recorded_job import Recording
from reportgen.storage import Location

_OUTPUT_FOLDER = "profiler-output"
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
_SAY_UNKNOWN = "{n} [file is|files are] not of a known format and [was|were] skipped"
_OF_NODES = frozenset({FileRole.SAMPLES, FileRole.EVENTS, FileRole.PYTHON})
"""The roles of files that make up a node."""


def discover(
    path: str,
    *,
    name: str | None = None,
    source: str | None = None,
    cycle: int = 1,
    utc_offset_s: int | None = None,
) -> JobProfile:
    """Find the job under a path; of kernel traces the first bytes are read for that.

    Args:
        path: the job's folder, its ``profiler-output``, the folder that holds ``system/`` and/or
            ``framework/``, a folder of kernel traces, or one kernel trace.
        name: what to call the job instead of its folder's name.
        source: where the job lies, if ``path`` is a copy.
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
    listing = look(path)
    location, chosen = listing.location, listing.chosen
    has_nodes = any(found.node for found in listing.claims)
    monitored = listing.apart_as(FileRole.MONITORING)
    if not has_nodes and len(monitored) == len(listing.apart):
        info = JobInfo(name=name or "", source=source or path)
        return monitored_job(path, location, monitored, info, utc_offset_s=utc_offset_s)
    problems = Diagnostics()
    prefix = _only_prefix(path, listing.claims) if has_nodes else ""
    placed = _placed(listing, prefix)
    roles = {role_of(found) for found in listing.claims if found.job_prefix == prefix}
    info = JobInfo(
        name=name or (stem_of(chosen.key) or "job" if chosen else _job_name(location, prefix)),
        source=source or path,
        clock=_clock_of(listing, prefix, roles),
        is_finished=not roles & _OF_NODES or FileRole.END in roles,
    )
    _note_unclaimed(listing, prefix, problems)
    beside = [info for info, found in monitored if found.format_id != TENSORBOARD_EVENTS.id]
    problems.add(Quality.FILES_SKIPPED, "", len(beside), what=SAY_OTHERS)
    profiling = read_settings(listing, prefix, problems)
    recording = read_recording(location, listing.objects, prefix, problems)
    parts = (
        *_recorded(_parts(listing, prefix, info, placed), recording),
        *_own_parts(location, listing.apart_as(FileRole.EVENTS), info, problems),
        *_rank_parts(listing, info, problems, cycle=cycle),
    )
    return JobProfile(
        info=info, parts=parts, notes=problems.notes(), profiling=profiling, recording=recording
    )


def _recorded(parts: Iterable[PartRef], recording: Recording | None) -> Iterator[PartRef]:
    for part in parts:
        yield part if recording is None else replace(part, recorded=recording.node(part.node))


def _rank_parts(
    listing: Listing, info: JobInfo, problems: Diagnostics, *, cycle: int
) -> tuple[PartRef, ...]:
    """Return kernel traces as parts; without any their readers are not imported.

    Where PyTorch's traces and reports of Nsight Systems lie together only the traces are read:
    they hold more, and two recordings of one run would be counted twice.
    """
    location, traces = listing.location, listing.of_format(KERNEL_TRACES.id)
    reports = listing.of_format(NSIGHT_REPORTS.id)
    if traces:
        from reportgen.intake.ranks import rank_parts

        problems.add(Quality.FILES_SKIPPED, "", len(reports), what=_SAY_REPORTS)
        return rank_parts(location, traces, info, problems, cycle=cycle)
    if reports:
        from reportgen.intake.nsight_reports import report_parts

        return report_parts(location, reports, listing.objects, info, problems)
    return ()


def _only_prefix(path: str, claims: Iterable[Claim]) -> str:
    prefixes = sorted({found.job_prefix for found in claims if found.node})
    if len(prefixes) == 1:
        return prefixes[0]
    what = f"{len(prefixes)} jobs lie under {path!r}: {{listed}}."
    hint = "Pass the folder of one of them, or report each: reportgen index FOLDER --make"
    raise several(what, path, prefixes, hint=hint)


def _job_name(location: Location, prefix: str) -> str:
    folder = PurePosixPath(location.root) / prefix
    if folder.name == _OUTPUT_FOLDER:
        folder = folder.parent
    return printable(folder.name) or "job"


def _placed(listing: Listing, prefix: str) -> Mapping[str, Claim]:
    def needs_times(found: Claim) -> bool:
        return found.job_prefix == prefix and bool(format_of(found.format_id).clock_note)

    def is_times(found: Claim) -> bool:
        return found.job_prefix == prefix and role_of(found) is FileRole.TIMES

    placed = _placed_files([*listing.claimed(is_times), *listing.claimed(needs_times)])
    listing.set_apart(placed, needs_times)
    return placed


def _placed_files(claimed: Sequence[Claimed]) -> dict[str, Claim]:
    """Return, by the key of each TensorFlow trace, the metadata that says when it began.

    Both lie in the folder of the step. With several of each, those belong together where the
    node's id holds the host's name.
    """
    by_step: Mapping[str, list[Claimed]] = defaultdict(list)
    for info, found in claimed:
        if role_of(found) is FileRole.TIMES:
            by_step[info.key.rpartition("/")[0]].append((info, found))
    placed: dict[str, Claim] = {}
    for info, found in claimed if by_step else ():
        if not format_of(found.format_id).clock_note:
            continue
        step = info.key.partition("plugins/profile/")[0].rstrip("/")
        beside = by_step.get(step, [])
        fitting = [item for item in beside if found.node in item[1].node] or beside
        if len(fitting) == 1:
            placed[info.key] = replace(fitting[0][1], job_prefix=fitting[0][0].key)
    return placed


def _parts(
    listing: Listing, prefix: str, job: JobInfo, placed: Mapping[str, Claim]
) -> Iterator[PartRef]:
    by_node: Mapping[str, list[FileRef]] = defaultdict(list)
    of_nodes = listing.claimed(
        lambda found: (
            found.job_prefix == prefix and bool(found.node) and role_of(found) in _OF_NODES
        )
    )
    for info, found in of_nodes:
        times = placed.get(info.key)
        node = found.node if times is None else times.node
        told_by = "" if times is None else times.job_prefix
        by_node[node].append(file_ref(info, found.format_id, told_by=told_by))
    root = listing.location.root
    for node in sorted(by_node, key=device_order):
        yield PartRef(node=NodeId(node), root=root, files=tuple(by_node[node]), job=job)


def _own_parts(
    location: Location, timelines: Sequence[Claimed], job: JobInfo, problems: Diagnostics
) -> tuple[PartRef, ...]:
    """Return timelines on a clock of their own as parts of a job, one for each writer."""
    by_node: Mapping[str, list[Claimed]] = defaultdict(list)
    for info, found in timelines:
        problems.remark(format_of(found.format_id).clock_note, path=info.key)
        by_node[found.node].append((info, found))
    relative = replace(job, clock=Clock.RELATIVE)
    return tuple(
        PartRef(
            node=NodeId(node),
            root=location.root,
            files=tuple(file_ref(info, found.format_id) for info, found in by_node[node]),
            job=relative,
        )
        for node in sorted(by_node)
    )


def _clock_of(listing: Listing, prefix: str, roles: AbstractSet[FileRole]) -> Clock:
    """Return the clock of a job's nodes; ``UNIX`` for kernel traces alone.

    They are ``RELATIVE`` when there are no samples and no timeline says when it began. Python
    profiles alone say it in their names.
    """
    if not roles & _OF_NODES:
        return Clock.RELATIVE if listing.apart_as(FileRole.EVENTS) else Clock.UNIX
    events = [
        found
        for found in listing.claims
        if found.job_prefix == prefix and role_of(found) is FileRole.EVENTS
    ]
    if FileRole.SAMPLES in roles or any(format_of(found.format_id).clock_note for found in events):
        return Clock.UNIX
    filled = [item for item in listing.claimed(events.__contains__) if item[0].size_bytes]
    for info, found in filled[:_MAX_HEADS]:
        try:
            head = listing.location.read_range(info.key, 0, _HEAD_BYTES)
            if format_of(found.format_id).has_base(head):
                return Clock.UNIX
        except LocationError:
            continue
    return Clock.RELATIVE if filled else Clock.UNIX


def _note_unclaimed(listing: Listing, prefix: str, problems: Diagnostics) -> None:
    """Count the files that nothing reads: too many to be opened, or in a job's folders."""
    for info in listing.not_looked_into:
        problems.add(Quality.FILES_SKIPPED, info.key, what=_SAY_TOO_MANY)
    folders = (f"{prefix}system/", f"{prefix}framework/")
    known = {info.key for info, _ in listing.apart}
    n_unknown = 0
    for info in listing.unclaimed():
        if info.key in known or not info.key.startswith(folders):
            continue
        if info.problem:
            what = f"{{n}} [file|files] cannot be read: {info.problem}"
            problems.add(Quality.FILES_SKIPPED, info.key, what=what)
        else:
            n_unknown += 1
    problems.add(Quality.FILES_SKIPPED, "", n_unknown, what=_SAY_UNKNOWN)
