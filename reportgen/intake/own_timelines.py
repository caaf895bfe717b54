"""Timelines that Horovod or TensorFlow wrote: whose they are, and on which clock."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from reportgen.errors import LocationError
from reportgen.formats import Claim, FormatId, Tally, claim, printable
from reportgen.formats.claims import horovod_claim, tensorflow_claim
from reportgen.formats.horovod import HEAD_BYTES, looks_like_horovod
from reportgen.formats.tensorflow import looks_like_tensorflow
from reportgen.profile import Clock, JobInfo, NodeId, PartRef, SpanTable
from reportgen.profile.job import FileRef
from reportgen.storage import Location, ObjectInfo

_CANDIDATE = re.compile(r".*\.(?:json|timeline|tmp|gz)", re.IGNORECASE)
_NOT_ONE = re.compile(r"(?:.*/)?(?:system|profiler-report|profiler-reports|rule-output)/.*")
_LIKELY = re.compile(r".*(?:horovod|timeline).*", re.IGNORECASE)
MAX_LOOKED_INTO = 64
"""Files opened to see whether Horovod wrote them; names that say so come first. Source: ours."""

_Claimed = tuple[ObjectInfo, Claim]

_SAY_RELATIVE = (
    "This trace of TensorFlow's profiler does not say when it began (no .metadata file that "
    "belongs to it). Its durations and operators count; its times are from its own start. What is "
    "lost: when in the job it was recorded, in which of the job's steps, and what the samples and "
    "the other timelines show at that time."
)
_SAY_HOROVOD = (
    "This timeline was written by Horovod itself: its clock is that of one machine since it was "
    "started, so that its times cannot be laid beside other data. They are counted from its first "
    "event."
)


def find_timelines(
    location: Location, objects: Iterable[ObjectInfo], *, is_chosen: bool = False
) -> list[_Claimed]:
    """Return what Horovod or TensorFlow wrote among some files, told from their content.

    Args:
        location: where they lie.
        objects: files that no other format has claimed.
        is_chosen: the user named the file: its name need not look like a timeline.
    """
    named = [
        info
        for info in objects
        if is_chosen or (_CANDIDATE.fullmatch(info.key) and not _NOT_ONE.fullmatch(info.key))
    ]
    likely = sorted(named, key=lambda info: (not _LIKELY.fullmatch(info.key), info.key))
    found = []
    for info in likely[:MAX_LOOKED_INTO]:
        told = _told_by_content(location, info, is_chosen=is_chosen)
        if told is not None:
            found.append((info, told))
    return sorted(found, key=lambda item: item[0].key)


def _told_by_content(location: Location, info: ObjectInfo, *, is_chosen: bool) -> Claim | None:
    if info.problem or not info.size_bytes:
        return None
    from reportgen.formats.kineto import head_text

    try:
        head = head_text(location.read_head(info.key, HEAD_BYTES))
    except LocationError:
        return None
    if looks_like_horovod(head):
        return horovod_claim(_stem(info.key))
    if is_chosen and looks_like_tensorflow(head):
        return tensorflow_claim(_stem(info.key))
    return None


def claim_of(file: FileRef, node: NodeId) -> Claim | None:
    """Return what is known of a part's file: from its key, its content or its metadata."""
    if file.format_id == FormatId.HOROVOD:
        return horovod_claim(node)
    if file.format_id == FormatId.TENSORFLOW:
        times = claim(file.told_by) if file.told_by else None
        if times is None:
            return tensorflow_claim(node)
        return replace(
            tensorflow_claim(times.node),
            worker=times.worker,
            stamp=times.stamp,
            start_us=times.start_us,
        )
    return claim(file.key)


def from_first_event(spans: SpanTable, ref: PartRef) -> SpanTable:
    """Return a part's events; those of Horovod's own clock are counted from the first of them."""
    is_horovod = any(file.format_id == FormatId.HOROVOD for file in ref.files)
    if not is_horovod or not spans.n_spans:
        return spans
    first_ns = spans.start_ns.min()
    return replace(spans, start_ns=spans.start_ns - first_ns, end_ns=spans.end_ns - first_ns)


def placed_files(claimed: Sequence[_Claimed]) -> dict[str, Claim]:
    """Return, by the key of each TensorFlow trace, the metadata that says when it began.

    Both lie in the folder of the step. With several of each, those belong together where the
    node's id holds the host's name.
    """
    by_step: Mapping[str, list[_Claimed]] = defaultdict(list)
    for info, told in claimed:
        if told.format_id is FormatId.TENSORFLOW_TIMES:
            by_step[_folder(info.key)].append((info, told))
    placed: dict[str, Claim] = {}
    for info, told in claimed:
        if told.format_id is not FormatId.TENSORFLOW:
            continue
        step = info.key.partition("plugins/profile/")[0].rstrip("/")
        beside = by_step.get(step, [])
        fitting = [item for item in beside if told.node in item[1].node] or beside
        if len(fitting) == 1:
            placed[info.key] = replace(fitting[0][1], job_prefix=fitting[0][0].key)
    return placed


def own_parts(
    location: Location, timelines: Sequence[_Claimed], info: JobInfo, tally: Tally
) -> tuple[PartRef, ...]:
    """Return timelines on a clock of their own as parts of a job, one for each writer.

    Args:
        location: where the files lie.
        timelines: those of Horovod, and TensorFlow's without metadata.
        info: the job.
        tally: told what their times are.
    """
    by_node: Mapping[str, list[_Claimed]] = defaultdict(list)
    for found, told in timelines:
        is_horovod = told.format_id is FormatId.HOROVOD
        tally.remark(_SAY_HOROVOD if is_horovod else _SAY_RELATIVE, path=found.key)
        by_node[told.node].append((found, told))
    relative = replace(info, clock=Clock.RELATIVE)
    return tuple(
        PartRef(
            node=NodeId(node),
            root=location.root,
            files=tuple(file_ref(*item) for item in by_node[node]),
            # what Horovod left open when it was stopped has no end that anybody knows
            job=replace(relative, is_finished=False),
        )
        for node in sorted(by_node)
    )


def file_ref(found: ObjectInfo, told: Claim, *, told_by: str = "") -> FileRef:
    """Return a file of a part."""
    return FileRef(
        key=found.key,
        size_bytes=found.size_bytes,
        format_id=told.format_id,
        version=found.version,
        told_by=told_by,
    )


def _folder(key: str) -> str:
    return key.rpartition("/")[0]


def _stem(key: str) -> str:
    name = PurePosixPath(key).name
    return printable(re.sub(r"(\.trace)?(\.json)?(\.gz)?(\.tmp)?$", "", name)) or "timeline"
