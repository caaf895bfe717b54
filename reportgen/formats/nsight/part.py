"""One process of an export of Nsight Systems: opened wherever the report lies, and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

from reportgen.errors import LocationError, ReportgenError
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Progress
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.remarks import tell_empty, tell_left_out, tell_numbers
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.nsight.database import SIDES, unfinished
from reportgen.formats.nsight.detection import TABLE_OF_TEXTS, name_of
from reportgen.formats.nsight.source import NsightReport, open_report
from reportgen.formats.nsight.trace import ReportTrace, read_process
from reportgen.profile import PartRef, Quality
from reportgen.profile.job import FileRef
from reportgen.profile.trace_tables import n_rows
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, read_blocks
from reportgen.text import format_count


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
    tell_numbers(trace.n_numbers_dropped, trace.n_beyond, name, problems)
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
