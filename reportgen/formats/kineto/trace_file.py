"""One kernel trace (PyTorch profiler, Kineto) to its tables, and what that cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from reportgen.formats.format import Progress
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.kineto.columns import EventColumns
from reportgen.formats.kineto.events import TraceEvent, decode_exactly, decode_run
from reportgen.formats.kineto.header import read_header
from reportgen.formats.kineto.repair import repair_event
from reportgen.formats.kineto.salvage import Decoding
from reportgen.formats.kineto.text import TraceText

_USUAL = Decoding(decode=decode_run, repair=repair_event)
_EXACT = Decoding(decode=decode_exactly, repair=repair_event)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """Content of one file.

    ``text`` says what could not be read. ``categories`` counts the events by phase and category,
    metadata included; ``n_left_out`` events of further lists are not among them;
    ``n_numbers_dropped`` ids and sizes were too large to be some; ``n_beyond`` events have names
    or threads beyond the number that is kept apart.
    """

    header: TraceHeader
    tables: TraceTables
    text: TraceText[TraceEvent]
    categories: Counter[tuple[str, str]]
    n_left_out: int
    n_numbers_dropped: int
    n_beyond: int


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
    known = events.vocabularies
    return TraceFile(
        header=_header(text),
        tables=build_tables(events.columns),
        text=text,
        categories=events.categories,
        n_left_out=n_left_out,
        n_numbers_dropped=events.numbers.n_dropped,
        n_beyond=known.names.n_beyond + known.threads.n_beyond,
    )


def _header(text: TraceText[TraceEvent]) -> TraceHeader:
    """Return the header of the file, or of its first list where others are left out."""
    if text.n_documents < 2:
        return read_header(text.outside)
    first = read_header(text.outside[:1])
    return first if first.rank is not None else read_header(text.outside[:2])
