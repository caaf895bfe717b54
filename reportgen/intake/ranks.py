"""Which kernel traces of a place are the ranks of one job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice

from reportgen.errors import LocationError
from reportgen.formats import Diagnostics
from reportgen.formats.kineto.detection import (
    HEAD_BYTES,
    KERNEL_TRACES,
    head_text,
    rank_in_key,
    stamp_in_key,
    worker_in_key,
)
from reportgen.formats.kineto.header import TraceHeader, read_header
from reportgen.intake.foreign_timelines import file_ref
from reportgen.intake.job_errors import several
from reportgen.intake.listing import of_each
from reportgen.profile import JobInfo, NodeId, PartRef, Quality
from reportgen.storage import Location, ObjectInfo
from reportgen.text import format_count, join_names

_MOST_NAMED = 8
_SAY_SECOND = (
    "{n} [file is|files are] another recording of a rank that is there already and [was|were] left "
    "out: pass [it|one of them] alone to see it"
)


def rank_parts(
    location: Location, traces: Sequence[ObjectInfo], job: JobInfo, problems: Diagnostics
) -> tuple[PartRef, ...]:
    """Return the traces of one job as its parts, one for each rank, in the order of their ranks.

    Raises:
        AmbiguousJobError: ranks are there twice, in several folders: those are several jobs.
    """
    peeks = of_each(partial(_peek, location), traces)
    headers = {info.key: header for info, header in zip(traces, peeks, strict=True)}
    recordings: dict[int | str, list[ObjectInfo]] = defaultdict(list)
    for info in traces:
        rank = headers[info.key].rank
        rank = rank_in_key(info.key) if rank is None else rank
        recordings[worker_in_key(info.key) if rank is None else rank].append(info)
    folders = sorted({info.key[: info.key.rfind("/") + 1] for info in traces})
    n_unknown = sum(isinstance(who, str) for who in recordings)
    if len(folders) > 1 and (n_unknown > 1 or any(len(same) > 1 for same in recordings.values())):
        what = (
            f"Kernel traces of several jobs lie under {job.source!r}, in {{listed}}: the same rank "
            "is there more than once, or nothing says the ranks."
        )
        raise several(what, job.source, folders, hint="Pass one of the folders, or one file.")
    chosen = _one_recording(recordings)
    kept = {info.key for info in chosen.values()}
    for info in traces:
        if info.key not in kept:
            problems.add(Quality.FILES_SKIPPED, info.key, what=_SAY_SECOND)
    _note_world_sizes(headers, problems)
    if n_unknown > 1:
        said = format_count(n_unknown)
        problems.remark(
            f"The ranks are not recorded in {said} traces: they are numbered by their names."
        )
    _note_missing({who for who in recordings if isinstance(who, int)}, headers, problems)
    free = (number for number in count() if number not in recordings)
    keyed = [(who, info) for who, info in chosen.items() if isinstance(who, int)]
    known = {rank for rank, _ in keyed}
    keyed += [(next(free), info) for who, info in chosen.items() if isinstance(who, str)]
    return tuple(
        PartRef(
            node=NodeId(f"rank {rank}"),
            root=location.root,
            files=(file_ref(info, KERNEL_TRACES.id),),
            job=job,
            rank=rank,
            is_rank_known=rank in known,
        )
        for rank, info in sorted(keyed, key=lambda item: item[0])
    )


def _one_recording(
    recordings: Mapping[int | str, Sequence[ObjectInfo]],
) -> dict[int | str, ObjectInfo]:
    """Return one file for each rank, all of the same recording: the last that every rank has.

    A profiler with a schedule writes one file for each rank and cycle; the time in its name
    distinguishes them. Without times the last name counts.
    """
    if not recordings:
        return {}
    last = min(max(stamp_in_key(info.key) for info in files) for files in recordings.values())
    return {
        rank: max(files, key=lambda info: (-abs(stamp_in_key(info.key) - last), info.key))
        for rank, files in recordings.items()
    }


def _note_world_sizes(headers: Mapping[str, TraceHeader], problems: Diagnostics) -> None:
    sizes = sorted({header.world_size for header in headers.values() if header.world_size})
    if len(sizes) > 1:
        said = " and ".join(f"{format_count(size)} ranks" for size in sizes)
        problems.remark(
            f"These traces are of different jobs: they name jobs of {said}. Figures over all "
            "ranks mix them; pass the files of one job."
        )


def _note_missing(
    ranks: Collection[int], headers: Mapping[str, TraceHeader], problems: Diagnostics
) -> None:
    n_ranks = max((header.world_size or 0 for header in headers.values()), default=0)
    n_missing = n_ranks - sum(0 <= rank < n_ranks for rank in ranks)
    if len(ranks) > 1 and n_missing:
        # A damaged header may name any number of ranks: only the first ones are listed.
        absent = (str(rank) for rank in count() if rank not in ranks)
        first = list(islice(absent, min(n_missing, _MOST_NAMED)))
        more = n_missing - len(first)
        names = join_names(first, most=_MOST_NAMED)
        if more:
            names = f"{', '.join(first)} and {format_count(more)} more"
        problems.remark(
            f"{format_count(n_missing)} of the job's {format_count(n_ranks)} ranks have no "
            f"trace here: {names}."
        )


def _peek(location: Location, info: ObjectInfo) -> TraceHeader:
    """Return the header of a trace, from its beginning or else from its end."""
    try:
        head = location.read_range(info.key, 0, HEAD_BYTES) if info.size_bytes else b""
        header = read_header([head_text(head).partition(b'"traceEvents"')[0]])
        if header.rank is None and head_text(head) is head and info.size_bytes > HEAD_BYTES:
            tail = location.read_range(info.key, info.size_bytes - HEAD_BYTES, HEAD_BYTES)
            told = read_header([tail])
            header = replace(header, rank=told.rank, world_size=told.world_size)
    except LocationError:
        return TraceHeader()
    return header
