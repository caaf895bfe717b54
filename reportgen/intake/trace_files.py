"""Which files of a place are kernel traces, and which of them are the ranks of one job."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import PurePosixPath
from typing import TypeVar

from reportgen.errors import AmbiguousJobError, LocationError
from reportgen.formats import FormatId, Tally, printable
from reportgen.formats.kineto import (
    HEAD_BYTES,
    TraceHeader,
    head_text,
    looks_like_trace,
    rank_in_key,
    read_header,
    stamp_in_key,
    worker_in_key,
)
from reportgen.intake.unread import format_of_key
from reportgen.profile import JobInfo, NodeId, PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.storage import Location, ObjectInfo
from reportgen.units import say_count

_CANDIDATE = re.compile(r".*\.(?:json|trace|gz|tmp)", re.IGNORECASE)
_NAMED = re.compile(r".*\.pt\.trace\.json(?:\.gz)?(?:\.tmp)?")
_OTHERS = re.compile(r"(?:.*/)?(?:system|framework)/.*|.*\.ipynb")
MAX_LOOKED_INTO = 4_096
"""Files opened to see what they are. Source: ours; a job of 4,096 GPUs has as many traces."""
_N_THREADS = 32
"""Looked into at once. Source: DESIGN §2, as for reading."""

Looked = TypeVar("Looked")

_SAY_SECOND = (
    "{n} [file is|files are] another recording of a rank that is there already and [was|were] left "
    "out: pass [it|one of them] alone to see it"
)


def find_traces(
    location: Location, objects: Iterable[ObjectInfo], *, is_chosen: bool = False
) -> list[ObjectInfo]:
    """Return the kernel traces among some files, told from their content.

    Args:
        location: where they lie.
        objects: files that no other format has claimed.
        is_chosen: the user named the file: its name need not look like a trace.

    Edge cases: files of no bytes and files that are no trace count when their name says that
    they are one, so that the report can say what is wrong with them.
    """
    candidates = [info for info in objects if is_chosen or _may_be_trace(info.key)]
    looked_into = candidates[:MAX_LOOKED_INTO]
    are_traces = _of_each(partial(_is_trace, location), looked_into)
    return [info for info, is_one in zip(looked_into, are_traces, strict=True) if is_one]


def _of_each(look: Callable[[ObjectInfo], Looked], infos: Sequence[ObjectInfo]) -> list[Looked]:
    """Return what a look into each file says; many at once, as a store takes its time."""
    if len(infos) < 2:
        return [look(info) for info in infos]
    with ThreadPoolExecutor(min(_N_THREADS, len(infos))) as pool:
        return list(pool.map(look, infos))


def _may_be_trace(key: str) -> bool:
    return bool(_CANDIDATE.fullmatch(key)) and not _OTHERS.fullmatch(key) and not format_of_key(key)


def _is_trace(location: Location, info: ObjectInfo) -> bool:
    if info.problem:
        return False
    if _NAMED.fullmatch(info.key):
        return True
    try:
        head = location.read_head(info.key, HEAD_BYTES) if info.size_bytes else b""
    except LocationError:
        return False
    return looks_like_trace(head_text(head))


def rank_parts(
    location: Location, traces: Sequence[ObjectInfo], job: JobInfo, tally: Tally
) -> tuple[PartRef, ...]:
    """Return the traces of one job as its parts, one for each rank, in the order of their ranks.

    Args:
        location: where the files lie.
        traces: the traces.
        job: the job.
        tally: told which files were left out, and what does not fit together.

    Raises:
        AmbiguousJobError: ranks are there twice, in several folders: those are several jobs.
    """
    peeks = _of_each(partial(_peek, location), traces)
    headers = {info.key: header for info, header in zip(traces, peeks, strict=True)}
    recordings: dict[int | str, list[ObjectInfo]] = defaultdict(list)
    for info in traces:
        rank = headers[info.key].rank
        rank = rank_in_key(info.key) if rank is None else rank
        recordings[worker_in_key(info.key) if rank is None else rank].append(info)
    folders = sorted({_folder(info.key) for info in traces})
    n_unknown = sum(isinstance(who, str) for who in recordings)
    if len(folders) > 1 and (n_unknown > 1 or any(len(same) > 1 for same in recordings.values())):
        raise _several_jobs(job.source, folders)
    chosen = _one_recording(recordings)
    kept = {info.key for info in chosen.values()}
    for info in traces:
        if info.key not in kept:
            tally.add(Quality.FILES_SKIPPED, info.key, what=_SAY_SECOND)
    _note_world_sizes(headers, tally)
    if n_unknown > 1:
        said = say_count(n_unknown)
        tally.remark(f"Nothing tells the ranks of {said} traces: they are numbered by their names.")
    free = (number for number in count() if number not in recordings)
    keyed = [(who, info) for who, info in chosen.items() if isinstance(who, int)]
    known = {rank for rank, _ in keyed}
    keyed += [(next(free), info) for who, info in chosen.items() if isinstance(who, str)]
    return tuple(
        _part(location, info, job, rank=rank, is_rank_known=rank in known)
        for rank, info in sorted(keyed, key=lambda item: item[0])
    )


def _part(
    location: Location, info: ObjectInfo, job: JobInfo, *, rank: int, is_rank_known: bool
) -> PartRef:
    file = FileRef(
        key=info.key,
        size_bytes=info.size_bytes,
        format_id=FormatId.KERNELS,
        version=info.version,
    )
    return PartRef(
        node=NodeId(f"rank {rank}"),
        root=location.root,
        files=(file,),
        job=job,
        rank=rank,
        is_rank_known=is_rank_known,
    )


def _one_recording(
    recordings: Mapping[int | str, Sequence[ObjectInfo]],
) -> dict[int | str, ObjectInfo]:
    """Return one file for each rank, all of the same recording: the last that every rank has.

    A profiler with a schedule writes one file for each rank and cycle; the time in its name tells
    them apart. Without times the last name counts.
    """
    if not recordings:
        return {}
    last = min(max(map(_stamp, files)) for files in recordings.values())
    return {
        rank: max(files, key=lambda info: (-abs(_stamp(info) - last), info.key))
        for rank, files in recordings.items()
    }


def _stamp(info: ObjectInfo) -> int:
    return stamp_in_key(info.key)


def _note_world_sizes(headers: Mapping[str, TraceHeader], tally: Tally) -> None:
    """Say when traces tell of jobs of different sizes."""
    sizes = sorted({header.world_size for header in headers.values() if header.world_size})
    if len(sizes) > 1:
        said = " and ".join(f"{say_count(size)} ranks" for size in sizes)
        tally.remark(
            f"These traces are of different jobs: they tell of jobs of {said}. Figures over all "
            "ranks mix them; pass the files of one job."
        )


def _peek(location: Location, info: ObjectInfo) -> TraceHeader:
    """Return what a trace says about itself at its beginning, or else at its end."""
    try:
        head = location.read_head(info.key, HEAD_BYTES) if info.size_bytes else b""
        header = read_header([head_text(head).partition(b'"traceEvents"')[0]])
        if header.rank is None and head_text(head) is head and info.size_bytes > HEAD_BYTES:
            tail = location.read_range(info.key, info.size_bytes - HEAD_BYTES, HEAD_BYTES)
            told = read_header([tail])
            header = replace(header, rank=told.rank, world_size=told.world_size)
    except LocationError:
        return TraceHeader()
    return header


def _several_jobs(path: str, folders: Sequence[str]) -> AmbiguousJobError:
    listed = ", ".join(printable(folder) or "." for folder in folders[:10])
    more = f" and {len(folders) - 10} more" if len(folders) > 10 else ""
    return AmbiguousJobError(
        f"Kernel traces of several jobs lie under {path!r}, in {listed}{more}: the same rank is "
        "there more than once, or nothing says the ranks.",
        hint="Pass one of the folders, or one file.",
        path=path,
        jobs=tuple(folders),
    )


def _folder(key: str) -> str:
    parent = str(PurePosixPath(key).parent)
    return "" if parent == "." else f"{parent}/"
