"""One process of a report of Nsight Systems, wherever it lies, to the tables of a rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from reportgen.errors import LocationError, ReportgenError
from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Progress, TraceHeader
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.remarks import tell_empty, tell_left_out, tell_numbers
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.nsight.database import SIDES, unfinished
from reportgen.formats.nsight.detection import TABLE_OF_TEXTS, name_of
from reportgen.formats.nsight.gpu import (
    read_calls,
    read_copies,
    read_kernels,
    read_memory,
    read_syncs,
)
from reportgen.formats.nsight.host import read_nvtx, read_system_calls
from reportgen.formats.nsight.processes import pid_of
from reportgen.formats.nsight.reading import ProcessReading
from reportgen.formats.nsight.source import NsightReport, open_report
from reportgen.profile import Device, PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.profile.trace_tables import n_rows
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, read_blocks
from reportgen.text import format_count
from reportgen.units import NS_PER_S

_READERS: tuple[Callable[[ProcessReading], None], ...] = (
    read_kernels, read_copies, read_calls, read_syncs, read_memory, read_nvtx, read_system_calls,
)  # fmt: skip
_SINCE_1970_NS = 1_262_304_000 * NS_PER_S
"""2010: times of a recording that are larger count from 1970 (``--ts-normalize=true``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTrace:
    """The trace of one process in a report.

    ``n_graph_runs`` replays of CUDA graphs are one operation each; ``damage`` are tables that could
    not be read to their end.
    """

    header: TraceHeader
    tables: TraceTables
    n_graph_runs: int
    damage: dict[str, str]


def read_process(
    report: NsightReport, key: int | None, *, on_rows: Callable[[int], None] | None = None
) -> ReportTrace:
    """Read the events of one process of a report; ``key`` as in ``Process``.

    Edge cases: tables that are not there, or end in damage, give as many rows as they have.
    """
    reading = ProcessReading(report, key)
    n_known = 0
    for read in _READERS:
        read(reading)
        n_rows = sum(table.n_rows for table in reading.columns.tables.values())
        if on_rows is not None:
            on_rows(n_rows - n_known)
        n_known = n_rows
    tables = build_tables(reading.columns)
    return ReportTrace(
        header=_header(report, key, reading.base_ns),
        tables=replace(tables, origin_ns=tables.origin_ns + reading.base_ns),
        n_graph_runs=reading.n_graph_runs,
        damage=report.damage,
    )


def _header(report: NsightReport, key: int | None, near_ns: int) -> TraceHeader:
    started = report.all_rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",))
    utc_ns = started[0][0] if started else None
    epoch_ns = utc_ns if isinstance(utc_ns, int) and near_ns < _SINCE_1970_NS else None
    exported = dict(report.all_rows("META_DATA_EXPORT", ("name", "value")))
    version = exported.get("EXPORT_PRODUCT_VERSION")
    return TraceHeader(
        base_ns=epoch_ns,
        devices=devices_of(report, key),
        versions={"nsight_systems": printable(str(version))[:40]} if version else {},
    )


_LONGEST_NAME = 80
_BELOW = (2**53, 1000, 1000)
"""Bounds of multiprocessors, and of both parts of the compute capability."""


def devices_of(report: NsightReport, key: int | None) -> tuple[Device, ...]:
    """Return the GPUs that are described, by the numbers that the process has for them."""
    names = ("id", "name", "smCount", "computeMajor", "computeMinor")
    rows = {row[0]: row for row in report.all_rows("TARGET_INFO_GPU", names)}
    numbered = _numbers(report, key) or {gpu: gpu for gpu in rows if isinstance(gpu, int)}
    found = {number: rows[gpu] for gpu, number in numbered.items() if gpu in rows}
    return tuple(_device(number, found[number]) for number in sorted(found))


def _numbers(report: NsightReport, key: int | None) -> Mapping[int, int]:
    """Return the number that the process has for each GPU; those of programs begin at 0."""
    numbers = report.all_rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
    return {
        gpu: number
        for gpu, number, pid in numbers
        if isinstance(gpu, int) and isinstance(number, int)
        if key is None or pid in {None, pid_of(key)}
    }


def _device(number: int, row: tuple[Any, ...]) -> Device:
    units, major, minor = (
        item if isinstance(item, int) and 0 <= item < most else None
        for item, most in zip(row[2:], _BELOW, strict=True)
    )
    return Device(
        id=number,
        name=printable(str(row[1] or f"GPU {number}"))[:_LONGEST_NAME],
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        multiprocessors=units,
    )


@contextmanager
def opened(location: Location, files: Sequence[FileRef]) -> Iterator[NsightReport]:
    """Open the files of a report; those of a bucket are copied to this machine."""
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


def read_part(
    ref: PartRef,
    location: Location,
    problems: Diagnostics,
    *,
    is_whole: bool = False,  # noqa: ARG001  # a report holds no more than its tables
    on_progress: Progress | None = None,
) -> tuple[TraceHeader, TraceTables]:
    """Read the process of a report that a part is; losses are reported to ``problems``."""
    name = name_of(ref)

    def on_rows(n_rows: int) -> None:
        if on_progress is not None:
            on_progress(n_rows, 0)

    header, tables = TraceHeader(), build_tables(TraceColumns())
    try:
        with opened(location, ref.files) as report:
            trace = read_process(report, ref.process, on_rows=on_rows)
    except ReportgenError as err:
        problems.add(Quality.FILES_SKIPPED, name)
        problems.remark(err.message, path=name)
    else:
        header, tables = trace.header, trace.tables
        _tell_losses(trace, name, problems)
        if on_progress is not None:
            on_progress(0, sum(file.size_bytes for file in ref.files))
    tell_empty(tables, name, problems, is_empty=not ref.files[0].size_bytes)
    tell_left_out(tables, f"{name}, {ref.node}", problems)
    return header, tables


def _tell_losses(trace: ReportTrace, name: str, problems: Diagnostics) -> None:
    for table, why in sorted(trace.damage.items()):
        problems.remark(f"Its table {table} cannot be read to the end: {why}.", path=name)
    tell_numbers(trace.tables, name, problems)
    if n_rows(trace.tables.memory):
        problems.remark(_SAY_MEMORY, path=name)
    if trace.n_graph_runs:
        problems.remark(_SAY_GRAPHS.format(n=format_count(trace.n_graph_runs)), path=name)


_SAY_MEMORY = (
    "Its memory events are allocations of CUDA. A framework that keeps memory for later asks CUDA "
    "for more than its tensors use."
)
_SAY_GRAPHS = (
    "Runs of whole CUDA graphs that are one operation each: {n}. Their kernels were not recorded; "
    "nsys profile --cuda-graph-trace=node records them."
)
