"""One kernel trace (PyTorch profiler, Kineto) to its tables, and what was lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reportgen.formats.blocks import read_file_blocks
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Progress, TraceHeader
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.remarks import tell_empty, tell_left_out, tell_numbers
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.kineto.columns import EventColumns
from reportgen.formats.kineto.events import TraceEvent, decode_exactly, decode_run
from reportgen.formats.kineto.header import read_header
from reportgen.formats.kineto.repair import repair_event
from reportgen.formats.kineto.salvage import Decoding
from reportgen.formats.kineto.text import TraceText
from reportgen.profile import PartRef, Quality
from reportgen.profile.trace_tables import NONE
from reportgen.storage import Location
from reportgen.text import format_count

_USUAL = Decoding(decode=decode_run, repair=repair_event)
_EXACT = Decoding(decode=decode_exactly, repair=repair_event)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """Content of one file.

    ``text`` says what could not be read. ``categories`` counts the events by phase and category,
    metadata included; ``n_left_out`` events of further lists are not among them.
    """

    header: TraceHeader
    tables: TraceTables
    text: TraceText[TraceEvent]
    categories: Counter[tuple[str, str]]
    n_left_out: int


def read_trace(
    blocks: Iterable[bytes], *, is_whole: bool = False, on_progress: Progress | None = None
) -> TraceFile:
    """Read a trace from its bytes, packed or not, in pieces of any size.

    With ``is_whole`` spans that repeat others are kept, and times in the precision of the file.

    Edge cases: a file without events has empty tables. Of several lists of events in one file the
    first counts: the others repeat it, or are of other ranks or other times.
    """
    text = TraceText(blocks=blocks, decoding=_EXACT if is_whole else _USUAL)
    events = EventColumns(TraceColumns(is_whole=is_whole))
    n_left_out = n_bytes = 0
    for batch in text.batches():
        if batch.document:
            n_left_out += len(batch.events)
        else:
            events.add(batch.events)
        if on_progress is not None:
            on_progress(len(batch.events), text.n_bytes - n_bytes)
            n_bytes = text.n_bytes
    return TraceFile(
        header=_header(text),
        tables=build_tables(events.columns),
        text=text,
        categories=events.categories,
        n_left_out=n_left_out,
    )


def _header(text: TraceText[TraceEvent]) -> TraceHeader:
    """Return the header of the file, or of its first list where others are left out."""
    if text.n_documents < 2:
        return read_header(text.outside)
    first = read_header(text.outside[:1])
    return first if first.rank is not None else read_header(text.outside[:2])


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
    tell_numbers(tables, key, problems)
    if n_uncategorized := trace.categories["X", ""]:
        problems.remark(_SAY_UNCATEGORIZED.format(n=format_count(n_uncategorized)), path=key)
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
