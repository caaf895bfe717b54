"""The files of one job, by what they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from reportgen.formats import Claim, FileRole, claim, format_of, role_of
from reportgen.formats.kineto.detection import KERNEL_TRACES
from reportgen.formats.nsight.detection import NSIGHT_REPORTS
from reportgen.intake.listing import NOTHING, ClaimedObject, Listing
from reportgen.intake.one_job import OneJob
from reportgen.profile import JobInfo, NodeId, PartRef
from reportgen.profile.job import FileRef
from reportgen.profile.system import device_order
from reportgen.storage import Location, ObjectInfo

OF_NODES = frozenset({FileRole.SAMPLES, FileRole.EVENTS, FileRole.PYTHON})
"""The roles of files that make up a node."""

Claimed = tuple[FileRef, Claim]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files of one job, by what they are.

    Attributes:
        job, listing: which job it is, and all files of the place.
        roles: of the files that their keys give to the job.
        nodes: the files of each node.
        settings: configurations of the profiler, in the job's folder and around it.
        timelines: those on a clock of their own.
        traces, reports: kernel traces of PyTorch, exports of Nsight Systems.
        monitored: files of one monitoring program, where there is nothing else.
        unread: files in the job's folders that nothing reads.
    """

    job: OneJob
    listing: Listing
    roles: AbstractSet[FileRole]
    nodes: Mapping[str, Sequence[FileRef]]
    settings: Sequence[Claimed]
    timelines: Sequence[Claimed]
    traces: Sequence[FileRef]
    reports: Sequence[FileRef]
    monitored: Sequence[Claimed]
    unread: Sequence[ObjectInfo]


def files_of(job: OneJob, listing: Listing) -> Found:
    """Return the files of a job among those of a listing."""
    prefix = job.prefix
    of_job = list(_claimed(listing, lambda kind: kind.job_prefix == prefix))
    placed = _placed(of_job)
    without_times = [item for item in of_job if _needs_times(item) and item[0].key not in placed]
    left_out = {file.key for file, _ in without_times}
    kept = [item for item in of_job if item[0].key not in left_out]
    nodes: Mapping[str, list[FileRef]] = defaultdict(list)
    for file, kind in kept:
        times = placed.get(file.key)
        if times is not None:
            nodes[times.node].append(replace(file, times_key=times.job_prefix))
        elif kind.node and role_of(kind) in OF_NODES:
            nodes[kind.node].append(file)
    apart = [_claimed_file(item) for item in listing.apart]
    known = {file.key for file, _ in apart}
    folders = (f"{prefix}system/", f"{prefix}framework/")

    def is_settings(kind: Claim) -> bool:
        return role_of(kind) is FileRole.SETTINGS and prefix.startswith(kind.job_prefix)

    return Found(
        job=job,
        listing=listing,
        roles={role_of(kind) for _, kind in kept},
        nodes=nodes,
        settings=list(_claimed(listing, is_settings)),
        timelines=[
            *(item for item in apart if role_of(item[1]) is FileRole.EVENTS),
            *without_times,
        ],
        traces=[file for file, _ in apart if file.format_id == KERNEL_TRACES.id],
        reports=[file for file, _ in apart if file.format_id == NSIGHT_REPORTS.id],
        monitored=[_claimed_file(item) for item in job.monitored],
        unread=[
            info
            for info, index in zip(listing.objects, listing.kind_index, strict=True)
            if index == NOTHING and info.key.startswith(folders) and info.key not in known
        ],
    )


def _claimed(listing: Listing, is_wanted: Callable[[Claim], bool]) -> Iterator[Claimed]:
    """Yield the files that belong to a job because of their keys, those of wanted kinds."""
    wanted = {index for index, kind in enumerate(listing.kinds) if is_wanted(kind)}
    for info, index in zip(listing.objects, listing.kind_index, strict=True) if wanted else ():
        if index in wanted:
            yield _claimed_file((info, listing.kinds[index]))


def _claimed_file(item: ClaimedObject) -> Claimed:
    info, kind = item
    return file_ref(info, kind.format_id), kind


def _needs_times(item: Claimed) -> bool:
    return bool(format_of(item[1].format_id).clock_note)


def _placed(of_job: Sequence[Claimed]) -> dict[str, Claim]:
    """Return, by the key of each TensorFlow trace, the metadata that says when it began.

    Both lie in the folder of the step. With several of each, those belong together where the
    node's id holds the host's name.
    """
    by_step: Mapping[str, list[Claimed]] = defaultdict(list)
    for file, kind in of_job:
        if role_of(kind) is FileRole.TIMES:
            by_step[file.key.rpartition("/")[0]].append((file, kind))
    placed: dict[str, Claim] = {}
    for file, kind in of_job if by_step else ():
        if not _needs_times((file, kind)):
            continue
        beside = by_step.get(file.key.partition("plugins/profile/")[0].rstrip("/"), [])
        fitting = [item for item in beside if kind.node in item[1].node] or beside
        if len(fitting) == 1:
            placed[file.key] = replace(fitting[0][1], job_prefix=fitting[0][0].key)
    return placed


def node_parts(
    by_node: Mapping[str, Sequence[FileRef]],
    location: Location,
    job: JobInfo,
    *,
    utc_offset_s: int | None = None,
) -> tuple[PartRef, ...]:
    """Return the files of each node as a part of a job, in the order of the nodes' numbers."""
    return tuple(
        PartRef(
            node=NodeId(node),
            root=location.root,
            files=tuple(by_node[node]),
            job=job,
            utc_offset_s=utc_offset_s,
        )
        for node in sorted(by_node, key=device_order)
    )


def file_ref(info: ObjectInfo, format_id: str) -> FileRef:
    """Return a file of a part."""
    return FileRef(
        key=info.key, size_bytes=info.size_bytes, format_id=format_id, version=info.version
    )


def claim_of(file: FileRef, node: NodeId) -> Claim | None:
    """Return the claim of a part's file: from its key, its content or its metadata."""
    claim_named = format_of(file.format_id).claim_named
    if claim_named is None:
        return claim(file.key)
    times = claim(file.times_key) if file.times_key else None
    if times is None:
        return claim_named(node)
    return replace(
        claim_named(times.node), worker=times.worker, stamp=times.stamp, start_us=times.start_us
    )
