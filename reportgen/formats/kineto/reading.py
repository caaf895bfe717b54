"""One kernel trace of a job: its file to its tables, and what was lost on the way."""

from __future__ import annotations

import numpy as np

from reportgen.formats.blocks import read_file_blocks
from reportgen.formats.decompression import SAY_GIVEN_UP
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Progress
from reportgen.formats.kernel_trace.columns import MOST_NAMES, MOST_THREADS
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.remarks import tell_empty, tell_left_out
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
    losses, tables = trace.losses, trace.tables
    tell_empty(tables, key, problems, is_empty=not trace.n_bytes)
    problems.add(Quality.BYTES_LOST, key, losses.bytes_cut_off, what=_SAY_CUT_OFF)
    problems.add(Quality.EVENTS_DROPPED, key, losses.events_lost, what=_SAY_LOST)
    problems.add(Quality.BYTES_LOST, key, losses.bytes_lost, what=_SAY_BYTES)
    problems.add(Quality.PLACES_REPAIRED, key, losses.places_repaired)
    tell_left_out(tables, key, problems)
    problems.add(Quality.EVENTS_DROPPED, key, trace.n_left_out, what=_SAY_DOCUMENT)
    problems.add(Quality.EVENTS_DROPPED, key, trace.n_apart, what=_SAY_APART)
    problems.add(Quality.VALUES_BROKEN, key, trace.n_numbers_dropped, what=_SAY_NUMBER)
    if trace.n_beyond:
        problems.remark(_SAY_BEYOND.format(n=format_count(trace.n_beyond)), path=key)
    if trace.n_uncategorized:
        said = format_count(trace.n_uncategorized)
        problems.remark(_SAY_UNCATEGORIZED.format(n=said), path=key)
    if trace.packing.is_damaged:
        problems.remark(
            "Its packed bytes are damaged; the data after the damage are lost.", path=key
        )
    if trace.packing.is_cut_off:
        problems.remark("Its packed bytes end too early; the rest is lost.", path=key)
    if trace.packing.is_given_up:
        problems.remark(SAY_GIVEN_UP, path=key)
    if losses.is_unclosed:
        problems.remark(_SAY_UNCLOSED, path=key)
    threads = np.unique(tables.calls.thread).tolist()
    pids = {tables.threads[thread].pid for thread in threads if thread != NONE}
    if len(pids) > 1:
        problems.remark(_SAY_PROCESSES.format(n=format_count(len(pids))), path=key)
    if trace.n_documents > 1:
        said = format_count(trace.n_documents)
        problems.remark(f"The file holds {said} lists of events, one after the other.", path=key)


_SAY_CUT_OFF = "the file ends in the middle of an event: {bytes} lost"
_SAY_LOST = "{n} damaged [event|events] could not be read and [was|were] left out"
_SAY_BYTES = "{bytes} of damaged events are lost"
_SAY_DOCUMENT = (
    "{n} [event|events] of further lists in the same file overlap the first in time and [was|were] "
    "left out"
)
_SAY_APART = (
    "{n} [event has|events have] only a begin or only an end (phases B and E) and [was|were] left "
    "out: operations need one event with both (phase X)"
)
_SAY_NUMBER = (
    "{n} [number is|numbers are] too large for an id or a size and [counts|count] as absent"
)
_SAY_BEYOND = (
    f"It has more than {MOST_NAMES:,} names or {MOST_THREADS:,} threads; what lies beyond, {{n}} "
    "times, counts as one name and one thread."
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
_SAY_UNCLOSED = (
    "The list of events does not end: the writer was stopped. Events that it had not written "
    "are not counted; where GPU operations are missing, their time counts as idle."
)
