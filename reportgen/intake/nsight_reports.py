"""Exports of Nsight Systems: which processes of them are the ranks of a job, and one of them read.

One report may hold several processes: each that ran kernels is a rank, with all its GPUs. Several
reports are ranks of one job, in the order of the ranks in their names, else of the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reportgen.errors import LocationError, ReportgenError
from reportgen.formats import Diagnostics
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.kineto.detection import rank_in_key
from reportgen.formats.nsight.database import SIDES, unfinished
from reportgen.formats.nsight.detection import NSIGHT_REPORTS, TABLE_OF_TEXTS
from reportgen.formats.nsight.processes import Process, find_processes
from reportgen.formats.nsight.source import Report, open_report
from reportgen.formats.nsight.trace import ReportTrace, read_process
from reportgen.intake.listing import file_ref
from reportgen.intake.open_part import open_part, remark_changes
from reportgen.intake.system import Progress
from reportgen.profile import JobInfo, NodeId, PartRef, Quality, Recorded
from reportgen.profile.job import FileRef
from reportgen.profile.system import device_order
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, ObjectInfo, read_blocks
from reportgen.text import format_count

MOST_PROCESSES = 256
"""Of one report: a machine has 16 GPUs at most, and each process costs a reading of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    files: tuple[FileRef, ...]
    process: Process
    rank: int | None


def report_parts(
    location: Location,
    reports: Sequence[ObjectInfo],
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
            with _opened(location, files) as report:
                processes, n_copying = find_processes(report)
        except ReportgenError as err:
            broken.append(err)
            problems.add(Quality.FILES_SKIPPED, info.key)
            problems.remark(err.message, path=info.key)
            continue
        if n_copying:
            said = "1 process" if n_copying == 1 else f"{format_count(n_copying)} processes"
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


def _files_of(info: ObjectInfo, objects: Sequence[ObjectInfo]) -> tuple[FileRef, ...]:
    path = PurePosixPath(info.key)
    if path.name == TABLE_OF_TEXTS:
        folder = path.parent
        others = [
            one
            for one in objects
            if one.key.endswith(".parquet") and PurePosixPath(one.key).parent == folder
        ]
    else:
        others = []
    files = [info, *(one for one in others if one.key != info.key and not one.problem)]
    return tuple(file_ref(one, NSIGHT_REPORTS.id) for one in files)


@contextmanager
def _opened(location: Location, files: Sequence[FileRef]) -> Iterator[Report]:
    with ExitStack() as exits:
        paths = [location.local_path(file.key) for file in files]
        local = paths[0]
        if local is None:
            _refuse_unfinished(location, files[0].key)
            folder = exits.enter_context(scratch_folder())
            for file in files:
                with (folder / PurePosixPath(file.key).name).open("wb") as copy:
                    copy.writelines(read_blocks(location, file.key, file.size_bytes))
            local = str(folder / PurePosixPath(files[0].key).name)
        path = Path(local)
        is_folder = path.name == TABLE_OF_TEXTS
        yield exits.enter_context(open_report(path.parent if is_folder else path))


def _refuse_unfinished(location: Location, key: str) -> None:
    """Refuse a database in a bucket that has changes beside it; a local one is refused as well."""
    filled = []
    for side in SIDES:
        with suppress(LocationError):
            if location.read_range(key + side, 0, 1):
                filled.append(side)
    if filled:
        raise unfinished(PurePosixPath(key).name, filled)


def name_of(ref: PartRef) -> str:
    """Return the path of a part's report: the file, or the folder of Parquet files."""
    path = PurePosixPath(ref.files[0].key)
    if path.name != TABLE_OF_TEXTS:
        return str(path)
    return str(path.parent) if path.parent.name else PurePosixPath(ref.root).name


def read_report(
    ref: PartRef, problems: Diagnostics, *, on_progress: Progress | None = None
) -> tuple[TraceHeader, TraceTables]:
    """Read the process of a report that a part is; losses are reported to ``problems``."""
    location, name = open_part(ref), name_of(ref)

    def on_rows(n_rows: int) -> None:
        if on_progress is not None:
            on_progress(n_rows, 0)

    try:
        with _opened(location, ref.files) as report:
            trace = read_process(report, ref.process, on_rows=on_rows)
    except ReportgenError as err:
        problems.add(Quality.FILES_SKIPPED, name)
        problems.remark(err.message, path=name)
        return TraceHeader(), build_tables(TraceColumns())
    if on_progress is not None:
        on_progress(0, sum(file.size_bytes for file in ref.files))
    remark_changes(location, problems)
    _tell_losses(trace, name, problems)
    return trace.header, trace.tables


def _tell_losses(trace: ReportTrace, name: str, problems: Diagnostics) -> None:
    for table, why in sorted(trace.damage.items()):
        problems.remark(f"Its table {table} cannot be read to the end: {why}.", path=name)
    problems.add(Quality.VALUES_BROKEN, name, trace.n_numbers_dropped, what=_SAY_NUMBER)
    if Recorded.MEMORY in trace.header.recorded:
        problems.remark(_SAY_MEMORY, path=name)
    if trace.n_graph_runs:
        problems.remark(_SAY_GRAPHS.format(n=format_count(trace.n_graph_runs)), path=name)
    if trace.n_beyond:
        problems.remark(_SAY_BEYOND.format(n=format_count(trace.n_beyond)), path=name)


_SAY_PROCESSES = (
    f"It holds more than {MOST_PROCESSES} processes that ran kernels: {{n}} are left out, those of "
    "the highest GPUs and process ids."
)
_SAY_NUMBER = (
    "{n} [number is|numbers are] too large for an id or a size and [counts|count] as absent"
)
_SAY_MEMORY = (
    "Its memory events are allocations of CUDA. A framework that keeps memory for later asks CUDA "
    "for more than its tensors use."
)
_SAY_GRAPHS = (
    "Runs of whole CUDA graphs that are one operation each: {n}. Their kernels were not recorded; "
    "nsys profile --cuda-graph-trace=node records them."
)
_SAY_BEYOND = "It has too many names or threads to keep apart: {n} times one counts as another."
