"""Which job lies under a path, and which of its files belong to which node."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from reportgen.errors import AmbiguousJobError, LocationError
from reportgen.formats import Claim, FormatId, Tally, claim, printable
from reportgen.intake.no_job import MAX_DEPTH, no_job, not_a_job
from reportgen.intake.own_timelines import file_ref, find_timelines, own_parts, placed_files
from reportgen.intake.profiler_settings import read_settings
from reportgen.intake.unread import (
    OUTPUT,
    format_of_key,
    note_pickles,
    refuse_pickle,
)
from reportgen.profile import Clock, JobInfo, JobProfile, NodeId, PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.profile.system import device_order
from reportgen.storage import Location, ObjectInfo, at_home, open_location

_OUTPUT_FOLDER = "profiler-output"
_BASE = b"start_time_since_epoch_in_micros"
_HEAD_BYTES = 4_096
_MAX_HEADS = 50
_OF_NODES = frozenset(
    {FormatId.SYSTEM, FormatId.EVENTS, FormatId.TENSORFLOW, FormatId.PYTHON_PROFILE}
)
"""The formats whose files make up a node."""

_Claimed = tuple[ObjectInfo, Claim]


def discover(path: str, *, name: str | None = None) -> JobProfile:
    """Find the job under a path; of kernel traces the first bytes are read for that.

    Args:
        path: the job's folder, its ``profiler-output``, the folder that holds ``system/`` and/or
            ``framework/``, a folder of kernel traces, or one kernel trace.
        name: what to call the job instead of its folder's name.

    Returns:
        The job with one part per node, in numeric order, then one part per rank with a trace.

    Raises:
        LocationError: no such folder, nothing in it, no job in it, or a job in a format that
            this version does not read; the message says which.
        AmbiguousJobError: several jobs lie under the path; the message lists them.
    """
    location, chosen = _open(path)
    if chosen is not None:
        objects, claimed = [chosen], list[_Claimed]()
    else:
        objects = [info for info in location.list() if not OUTPUT.fullmatch(info.key)]
        claimed = _claimed(objects)
    known = {info.key for info, _ in claimed}
    others = [info for info in objects if info.key not in known]
    timelines = find_timelines(location, others, is_chosen=chosen is not None)
    named = {info.key for info, _ in timelines}
    others = [info for info in others if info.key not in named]
    traces = _find_traces(location, others, is_chosen=chosen is not None)
    has_nodes = any(told.node for _, told in claimed)
    if not has_nodes and not traces and not timelines:
        raise no_job(path, location, objects) if chosen is None else not_a_job(path, location)
    tally = Tally()
    prefix = _only_prefix(path, claimed) if has_nodes else ""
    of_job = [item for item in claimed if item[1].job_prefix == prefix]
    placed = placed_files(of_job)
    is_own = [_is_unplaced(item, placed) for item in of_job]
    timelines += [item for item, is_alone in zip(of_job, is_own, strict=True) if is_alone]
    of_job = [item for item, is_alone in zip(of_job, is_own, strict=True) if not is_alone]
    has_samples_or_events = any(told.format_id in _OF_NODES for _, told in of_job)
    info = JobInfo(
        name=name or (_name_of(chosen.key) if chosen else _job_name(location, prefix)),
        source=path,
        clock=_clock_of(location, of_job, has_timelines=bool(timelines)),
        is_finished=not has_samples_or_events or _is_finished(of_job),
    )
    _note_unclaimed(objects, [*claimed, *timelines], prefix, tally)
    profiling = read_settings(location, claimed, prefix, tally)
    if traces:
        note_pickles(others, tally)
    parts = (
        *_parts(of_job, location, info, placed),
        *own_parts(location, timelines, info, tally),
        *_rank_parts(location, traces, info, tally),
    )
    return JobProfile(info=info, parts=parts, notes=tally.notes(), profiling=profiling)


def _find_traces(
    location: Location, others: Sequence[ObjectInfo], *, is_chosen: bool
) -> Sequence[ObjectInfo]:
    """Return the kernel traces among some files; without files their reader is not imported."""
    if not others:
        return ()
    from reportgen.intake.trace_files import find_traces

    return find_traces(location, others, is_chosen=is_chosen)


def _rank_parts(
    location: Location, traces: Sequence[ObjectInfo], info: JobInfo, tally: Tally
) -> tuple[PartRef, ...]:
    if not traces:
        return ()
    from reportgen.intake.trace_files import rank_parts

    return tuple(rank_parts(location, list(traces), info, tally))


def _open(path: str) -> tuple[Location, ObjectInfo | None]:
    """Open a location; of a single file open its folder, and return the file as well."""
    refuse_pickle(path)
    try:
        location = open_location(path)
    except LocationError as err:
        if not err.details.get("is_file"):
            raise
        file = at_home(path.removeprefix("file://"))
        chosen = ObjectInfo(key=file.name, size_bytes=file.stat().st_size)
        return open_location(str(file.parent)), chosen
    if "://" in location.root and not location.list():
        folder, _, key = location.root.rpartition("/")
        if key and not folder.endswith("/"):
            beside = open_location(folder)
            found = [info for info in beside.list() if info.key == key]
            if found:
                return beside, found[0]
    return location, None


def _is_finished(claimed: Sequence[_Claimed]) -> bool:
    return any(told.format_id is FormatId.END_MARKER for _, told in claimed)


def _name_of(key: str) -> str:
    """Return the name of a single file without its endings."""
    return printable(re.sub(r"(\.pt)?(\.trace)?(\.json)?(\.gz)?(\.tmp)?$", "", key)) or "job"


def _claimed(objects: Iterable[ObjectInfo]) -> list[_Claimed]:
    found = []
    for info in objects:
        told = claim(info.key)
        if told and not info.problem and told.job_prefix.count("/") <= MAX_DEPTH:
            found.append((info, told))
    return found


def _only_prefix(path: str, claimed: Sequence[_Claimed]) -> str:
    """Return what comes before ``system/`` and ``framework/``; there must be one."""
    prefixes = sorted({told.job_prefix for _, told in claimed if told.node})
    if len(prefixes) == 1:
        return prefixes[0]
    listed = ", ".join(printable(prefix) or "." for prefix in prefixes[:10])
    more = f" and {len(prefixes) - 10} more" if len(prefixes) > 10 else ""
    raise AmbiguousJobError(
        f"{len(prefixes)} jobs lie under {path!r}: {listed}{more}.",
        hint="Pass the folder of one of them.",
        path=path,
        jobs=tuple(prefixes),
    )


def _job_name(location: Location, prefix: str) -> str:
    """Return the name of the folder above ``profiler-output``, else of the job's own folder."""
    folder = PurePosixPath(location.root) / prefix
    if folder.name == _OUTPUT_FOLDER:
        folder = folder.parent
    return printable(folder.name) or "job"


def _is_unplaced(item: _Claimed, placed: Mapping[str, Claim]) -> bool:
    """Return whether a file is a TensorFlow trace without metadata."""
    found, told = item
    return told.format_id is FormatId.TENSORFLOW and found.key not in placed


def _parts(
    claimed: Sequence[_Claimed], location: Location, info: JobInfo, placed: Mapping[str, Claim]
) -> tuple[PartRef, ...]:
    by_node: Mapping[str, list[FileRef]] = defaultdict(list)
    for found, told in claimed:
        if told.node and told.format_id in _OF_NODES:
            times = placed.get(found.key)
            node = told.node if times is None else times.node
            told_by = "" if times is None else times.job_prefix
            by_node[node].append(file_ref(found, told, told_by=told_by))
    return tuple(
        PartRef(node=NodeId(node), root=location.root, files=tuple(by_node[node]), job=info)
        for node in sorted(by_node, key=device_order)
    )


def _clock_of(location: Location, claimed: Sequence[_Claimed], *, has_timelines: bool) -> Clock:
    """Return what the times of a job's nodes are; ``UNIX`` for kernel traces alone."""
    if any(told.format_id in _OF_NODES for _, told in claimed):
        return _clock(location, claimed)
    return Clock.RELATIVE if has_timelines else Clock.UNIX


def _clock(location: Location, claimed: Sequence[_Claimed]) -> Clock:
    """Return ``RELATIVE`` when there are no samples and no timeline says when it began.

    Python profiles alone say it in their names.
    """
    if any(told.format_id in {FormatId.SYSTEM, FormatId.TENSORFLOW} for _, told in claimed):
        return Clock.UNIX
    timelines = [
        info for info, told in claimed if told.format_id is FormatId.EVENTS and info.size_bytes
    ]
    for info in timelines[:_MAX_HEADS]:
        try:
            if _BASE in location.read_head(info.key, _HEAD_BYTES):
                return Clock.UNIX
        except LocationError:
            continue
    return Clock.RELATIVE if timelines else Clock.UNIX


def _note_unclaimed(
    objects: Sequence[ObjectInfo], claimed: Sequence[_Claimed], prefix: str, tally: Tally
) -> None:
    """Count the files in the job's ``system/`` and ``framework/`` that nothing reads."""
    folders = (f"{prefix}system/", f"{prefix}framework/")
    known = {info.key for info, _ in claimed}
    unread: Counter[str] = Counter()
    for info in objects:
        if info.key in known or not info.key.startswith(folders):
            continue
        if info.problem:
            what = f"{{n}} [file|files] cannot be read: {info.problem}"
            tally.add(Quality.FILES_SKIPPED, info.key, what=what)
        else:
            unread[format_of_key(info.key) or ""] += 1
    for format_name, count in sorted(unread.items()):
        what = "{n} [file is|files are] not of a known format and [was|were] skipped"
        if format_name:
            what = (
                f"{{n}} [file was|files were] skipped: this version cannot read {format_name} yet"
            )
        tally.add(Quality.FILES_SKIPPED, "", count, what=what)
