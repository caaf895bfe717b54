"""Exports of Nsight Systems: which processes of them are the ranks of a job.

One report may hold several processes: each that ran kernels is a rank, with all its GPUs. Several
reports are ranks of one job, in the order of the ranks in their names, else of the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from reportgen.errors import ReportgenError
from reportgen.formats import Diagnostics
from reportgen.formats.kineto.detection import rank_in_key
from reportgen.formats.nsight.detection import NSIGHT_REPORTS, TABLE_OF_TEXTS
from reportgen.formats.nsight.processes import Process, find_processes
from reportgen.formats.nsight.trace import opened
from reportgen.intake.found import file_ref
from reportgen.profile import JobInfo, NodeId, PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.profile.system import device_order
from reportgen.storage import Location, ObjectInfo
from reportgen.text import format_count, plural

MOST_PROCESSES = 256
"""Of one report: a machine has 16 GPUs at most, and each process costs a reading of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    files: tuple[FileRef, ...]
    process: Process
    rank: int | None


def report_parts(
    location: Location,
    reports: Sequence[FileRef],
    objects: Sequence[ObjectInfo],
    job: JobInfo,
    problems: Diagnostics,
) -> tuple[PartRef, ...]:
    """Return the processes of the reports of a job as its parts, in the order of their ranks.

    ``objects`` are all files of the place: a folder of Parquet files is one report.

    Raises:
        ReportgenError: none of the reports can be read.
    """
    found: list[_Ranked] = []
    broken: list[ReportgenError] = []
    for info in sorted(reports, key=lambda item: _order(item.key)):
        files = _files_of(info, objects)
        try:
            with opened(location, files) as report:
                processes, n_copying = find_processes(report)
        except ReportgenError as err:
            broken.append(err)
            problems.add(Quality.FILES_SKIPPED, info.key)
            problems.remark(err.message, path=info.key)
            continue
        if n_copying:
            said = plural(n_copying, "process", "processes")
            problems.remark(f"{said} used a GPU and ran no kernel: left out.", path=info.key)
        if len(processes) > MOST_PROCESSES:
            beyond = format_count(len(processes) - MOST_PROCESSES)
            problems.remark(_SAY_PROCESSES.format(n=beyond), path=info.key)
        found += [
            _Ranked(files=files, process=process, rank=_rank_of(process, info.key, processes))
            for process in processes[:MOST_PROCESSES]
        ]
    if not found:
        raise broken[0]
    return _numbered(found, location, job, problems)


def _order(key: str) -> tuple[object, ...]:
    rank = rank_in_key(key)
    return (rank is None, rank or 0, device_order(str(PurePosixPath(key).with_suffix(""))))


def _rank_of(process: Process, key: str, all_of_report: Sequence[Process]) -> int | None:
    if process.rank is not None:
        return process.rank
    return rank_in_key(key) if len(all_of_report) == 1 else None


def _numbered(
    found: Sequence[_Ranked], location: Location, job: JobInfo, problems: Diagnostics
) -> tuple[PartRef, ...]:
    """Number processes as they say, or one after the other where one says nothing."""
    said = [item.rank for item in found if item.rank is not None]
    is_known = len(set(said)) == len(found)
    if not is_known and len(found) > 1:
        problems.remark(
            f"The ranks of {format_count(len(found))} processes are unknown: they are numbered "
            "by the names of the reports, then by GPU and process."
        )
    ranks = said if is_known else list(range(len(found)))
    return tuple(
        PartRef(
            node=NodeId(f"rank {rank}"),
            root=location.root,
            files=item.files,
            job=job,
            rank=rank,
            is_rank_known=is_known,
            process=item.process.key,
        )
        for rank, item in sorted(zip(ranks, found, strict=True), key=lambda pair: pair[0])
    )


def _files_of(report: FileRef, objects: Sequence[ObjectInfo]) -> tuple[FileRef, ...]:
    path = PurePosixPath(report.key)
    if path.name != TABLE_OF_TEXTS:
        return (report,)
    others = [
        file_ref(one, NSIGHT_REPORTS.id)
        for one in objects
        if one.key.endswith(".parquet")
        and PurePosixPath(one.key).parent == path.parent
        and one.key != report.key
        and not one.problem
    ]
    return (report, *others)


_SAY_PROCESSES = (
    f"It holds more than {MOST_PROCESSES} processes that ran kernels: {{n}} are left out, those of "
    "the highest GPUs and process ids."
)
