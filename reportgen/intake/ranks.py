"""Which kernel traces of a place are the ranks of one job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice

from reportgen.errors import ConfigError, LocationError
from reportgen.formats import Diagnostics
from reportgen.formats.format import TraceHeader
from reportgen.formats.kineto.detection import (
    HEAD_BYTES,
    head_text,
    rank_in_key,
    stamp_in_key,
    worker_in_key,
)
from reportgen.formats.kineto.header import read_header
from reportgen.intake.one_job import several
from reportgen.profile import JobInfo, NodeId, PartRef
from reportgen.profile.job import FileRef
from reportgen.storage import Location, of_each
from reportgen.text import format_count, join_names, plural

_MOST_NAMED = 8


def rank_parts(
    location: Location,
    traces: Sequence[FileRef],
    job: JobInfo,
    problems: Diagnostics,
    *,
    cycle: int = 1,
) -> tuple[PartRef, ...]:
    """Return the traces of one job as its parts, one for each rank, in the order of their ranks.

    A profiler with a schedule writes one file for each rank and cycle: ``cycle`` 1 is the newest
    one that every rank has.

    Raises:
        ConfigError: this cycle was not recorded.
        AmbiguousJobError: ranks are there twice, in several folders: those are several jobs.
    """
    peeks = of_each(partial(_peek, location), traces)
    headers = {info.key: header for info, header in zip(traces, peeks, strict=True)}
    recordings: dict[int | str, list[FileRef]] = defaultdict(list)
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
    chosen = _of_cycle(recordings, cycle, problems)
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
            files=(info,),
            job=job,
            rank=rank,
            is_rank_known=rank in known,
        )
        for rank, info in sorted(keyed, key=lambda item: item[0])
    )


def _of_cycle(
    recordings: Mapping[int | str, Sequence[FileRef]], cycle: int, problems: Diagnostics
) -> dict[int | str, FileRef]:
    """Return the file of each rank that belongs to a cycle, of which 1 is the newest.

    The rank that stopped first counts them. The time in a file's name shows which files of the
    others belong to its; without times they are counted by their names.
    """
    newest_first = {
        rank: sorted(files, key=lambda info: (stamp_in_key(info.key), info.key), reverse=True)
        for rank, files in recordings.items()
    }
    counted = min(newest_first.values(), key=lambda files: stamp_in_key(files[0].key))
    if cycle > len(counted):
        there_are = plural(len(counted), "recorded cycle")
        raise ConfigError(
            f"--cycle {cycle} is not there: {there_are} of these traces, 1 is the newest.",
            hint=f"Pass --cycle with a number from 1 to {len(counted)}.",
        )
    if len(counted) > 1:
        problems.remark(
            f"The profiler recorded {len(counted)} cycles; this is number {cycle}, counted from "
            "the newest. --cycle chooses another one."
        )
    at = stamp_in_key(counted[cycle - 1].key)
    return {
        rank: min(files, key=lambda info: abs(stamp_in_key(info.key) - at))
        if at
        else files[min(cycle, len(files)) - 1]
        for rank, files in newest_first.items()
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


def _peek(location: Location, info: FileRef) -> TraceHeader:
    """Return the header of a trace, from its beginning or else from its end."""
    try:
        head = location.read_range(info.key, 0, HEAD_BYTES) if info.size_bytes else b""
        header = read_header([head_text(head).partition(b'"traceEvents"')[0]])
        if header.rank is None and head_text(head) is head and info.size_bytes > HEAD_BYTES:
            tail = location.read_range(info.key, info.size_bytes - HEAD_BYTES, HEAD_BYTES)
            at_end = read_header([tail])
            header = replace(header, rank=at_end.rank, world_size=at_end.world_size)
    except LocationError:
        return TraceHeader()
    return header
