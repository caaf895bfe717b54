"""Timelines of other programs: whose they are, and on which clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reportgen.formats import Claim, Diagnostics, FileRole, claim, format_of, role_of
from reportgen.intake.listing import Claimed, file_ref
from reportgen.profile import Clock, JobInfo, NodeId, PartRef, SpanTable
from reportgen.profile.job import FileRef
from reportgen.storage import Location


def claim_of(file: FileRef, node: NodeId) -> Claim | None:
    """Return the claim of a part's file: from its key, its content or its metadata."""
    claim_named = format_of(file.format_id).claim_named
    if claim_named is None:
        return claim(file.key)
    times = claim(file.told_by) if file.told_by else None
    if times is None:
        return claim_named(node)
    return replace(
        claim_named(times.node), worker=times.worker, stamp=times.stamp, start_us=times.start_us
    )


def from_first_event(spans: SpanTable, ref: PartRef) -> SpanTable:
    """Return a part's events, counted from the first where their clock means nothing else."""
    is_counted_so = any(format_of(file.format_id).counts_from_first for file in ref.files)
    if not is_counted_so or not spans.n_spans:
        return spans
    first_ns = spans.start_ns.min()
    return replace(spans, start_ns=spans.start_ns - first_ns, end_ns=spans.end_ns - first_ns)


def placed_files(claimed: Sequence[Claimed]) -> dict[str, Claim]:
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


def own_parts(
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
            # events that Horovod left open when it was stopped have no known end
            job=replace(relative, is_finished=False),
        )
        for node in sorted(by_node)
    )
