"""One kernel trace of a job: its file to its tables, and what was lost on the way."""

from __future__ import annotations

import numpy as np

from reportgen.formats.blocks import read_file_blocks
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Progress
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.remarks import tell_empty, tell_left_out, tell_numbers
from reportgen.formats.kernel_trace.tables import TraceTables
from reportgen.formats.kineto.trace_file import TraceFile, read_trace
from reportgen.profile import PartRef, Quality
from reportgen.profile.trace_tables import NONE
from reportgen.storage import Location
from reportgen.text import format_count


def read_part(
    ref: PartRef,
    location: Location,
    problems: Diagnostics,
    *,
    is_whole: bool = False,
    on_progress: Progress | None = None,
) -> tuple[TraceHeader, TraceTables]:
    """Read the file of a rank; losses are reported to ``problems``; see ``read_trace``."""
    file = ref.files[0]
    blocks = read_file_blocks(location, file.key, file.size_bytes, problems)
    trace = read_trace(blocks, is_whole=is_whole, on_progress=on_progress)
    _tell_losses(trace, file.key, problems)
    return trace.header, trace.tables


def _tell_losses(trace: TraceFile, key: str, problems: Diagnostics) -> None:
    tables = trace.tables
    tell_empty(tables, key, problems, is_empty=not trace.text.n_bytes)
    trace.text.tell_losses(key, problems)
    tell_left_out(tables, key, problems)
    problems.add(Quality.EVENTS_DROPPED, key, trace.n_left_out, what=_SAY_DOCUMENT)
    n_apart = sum(n for (phase, _), n in trace.categories.items() if phase in {"B", "E"})
    problems.add(Quality.EVENTS_DROPPED, key, n_apart, what=_SAY_APART)
    tell_numbers(trace.n_numbers_dropped, trace.n_beyond, key, problems)
    if n_uncategorized := trace.categories["X", ""]:
        said = format_count(n_uncategorized)
        problems.remark(_SAY_UNCATEGORIZED.format(n=said), path=key)
    threads = np.unique(tables.calls.thread).tolist()
    pids = {tables.threads[thread].pid for thread in threads if thread != NONE}
    if len(pids) > 1:
        problems.remark(_SAY_PROCESSES.format(n=format_count(len(pids))), path=key)


_SAY_DOCUMENT = (
    "{n} [event|events] of further lists of events in the same file [was|were] left out: the first "
    "list counts"
)
_SAY_APART = (
    "{n} [event has|events have] only a begin or only an end (phases B and E) and [was|were] left "
    "out: operations need one event with both (phase X)"
)
_SAY_UNCATEGORIZED = (
    "Spans without a category: {n}. Neither operators nor GPU operations can be recognised among "
    "them; "
    "profilers before PyTorch 1.8 write such traces, newer ones do not."
)
_SAY_PROCESSES = (
    "{n} processes are in one file. Each counts its launches by itself, so that an operation may "
    "be joined with the launch of another process: pass the traces of the processes."
)
