"""One kernel trace (PyTorch profiler, Kineto) to its tables, and what that cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.formats.decompression import Packing, unpacked, until_blank
from reportgen.formats.format import Progress
from reportgen.formats.kernel_trace.columns import TraceColumns
from reportgen.formats.kernel_trace.header import TraceHeader
from reportgen.formats.kernel_trace.tables import TraceTables, build_tables
from reportgen.formats.kineto.columns import EventColumns
from reportgen.formats.kineto.events import decode_exactly, decode_run
from reportgen.formats.kineto.header import read_header
from reportgen.formats.kineto.salvage import Losses
from reportgen.formats.kineto.text import TraceText


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """Content of one file; ``n_events`` are of every kind, metadata included.

    ``packing``: whether its packed bytes were damaged. ``n_apart`` events are of phases B and E,
    which no profiler of PyTorch writes, ``n_uncategorized`` spans without a category,
    ``n_left_out`` events of further lists (``n_documents`` in all) that cannot belong to the first;
    ``n_numbers_dropped`` ids and sizes were too large to be some; ``n_beyond`` events have names
    or threads beyond the number that is kept apart.
    """

    header: TraceHeader
    tables: TraceTables
    losses: Losses
    packing: Packing
    n_events: int
    n_apart: int
    n_uncategorized: int
    n_bytes: int
    n_documents: int
    n_left_out: int
    n_numbers_dropped: int
    n_beyond: int


def read_trace(
    blocks: Iterable[bytes], *, is_whole: bool = False, on_progress: Progress | None = None
) -> TraceFile:
    """Read a trace from its bytes, packed or not, in pieces of any size.

    With ``is_whole`` spans that repeat others are kept, and times in the precision of the file.

    Edge cases: a file without events has empty tables. Of several documents in one file those are
    joined whose events lie apart in time, as those of one program do; of documents that overlap
    the first counts: the others repeat it or are other ranks.
    """
    return file_of(read_events(blocks, is_whole=is_whole, on_progress=on_progress))


@dataclass(slots=True, kw_only=True)
class Reading:
    """All events of a text, as columns, and what else was read of it."""

    text: TraceText
    packing: Packing
    documents: Documents
    categories: Counter[tuple[str, str]]


def read_events(
    blocks: Iterable[bytes],
    *,
    is_whole: bool = False,
    on_progress: Progress | None = None,
) -> Reading:
    """Read the events of a trace; see ``read_trace`` and ``TraceColumns``."""
    packing = Packing()
    text = TraceText(
        blocks=until_blank(unpacked(blocks, packing), packing.give_up),
        decode=decode_exactly if is_whole else decode_run,
    )
    documents = Documents(TraceColumns(is_whole=is_whole))
    events = EventColumns(documents.columns)
    n_bytes = 0
    for batch in text.batches():
        documents.open(batch.document)
        events.add(batch.events)
        if on_progress is not None:
            on_progress(len(batch.events), text.n_bytes - n_bytes)
            n_bytes = text.n_bytes
    documents.finish()
    packing.is_given_up |= text.is_given_up
    return Reading(text=text, packing=packing, documents=documents, categories=events.categories)


def file_of(reading: Reading) -> TraceFile:
    """Return the content of a file of which everything was read."""
    text, documents = reading.text, reading.documents
    columns = documents.columns
    n_of, known = reading.categories, columns.vocabularies
    return TraceFile(
        header=_header(text.outside, n_left_out=documents.n_left_out),
        tables=build_tables(columns),
        losses=text.losses,
        packing=reading.packing,
        n_events=n_of.total(),
        n_apart=sum(n for (phase, _), n in n_of.items() if phase in {"B", "E"}),
        n_uncategorized=n_of["X", ""],
        n_bytes=text.n_bytes,
        n_documents=documents.n_documents,
        n_left_out=documents.n_left_out,
        n_numbers_dropped=columns.numbers.n_dropped,
        n_beyond=known.names.n_beyond + known.threads.n_beyond,
    )


def _header(outside: Sequence[bytes], *, n_left_out: int) -> TraceHeader:
    """Return the header of the file, or of its first document where others do not count."""
    if not n_left_out:
        return read_header(outside)
    first = read_header(outside[:1])
    return first if first.rank is not None else read_header(outside[:2])


class Documents:
    """Columns of a file, without the documents that cannot be joined with the first."""

    def __init__(self, columns: TraceColumns) -> None:
        self.columns = columns
        self.n_documents = 0
        self.n_left_out = 0
        self._number = -1
        self._marks: dict[str, int] = {}
        self._taken_us: list[tuple[float, float]] = []

    def open(self, number: int) -> None:
        """Hear that events of a document follow."""
        if number == self._number:
            return
        self.close()
        self._number = number
        self.n_documents += 1
        self._marks = {name: table.n_rows for name, table in self.columns.tables.items()}

    def close(self) -> None:
        """Keep the last document, or leave it out when it overlaps one before."""
        if not self.n_documents:
            return
        span_us = self._span_us()
        if span_us is None:
            return
        if any(first < span_us[1] and span_us[0] < last for first, last in self._taken_us):
            for name, table in self.columns.tables.items():
                self.n_left_out += table.cut(self._marks[name])
        else:
            self._taken_us.append(span_us)

    def finish(self) -> None:
        """Hear that no events follow."""
        if self.n_documents > 1:
            self.close()

    def _span_us(self) -> tuple[float, float] | None:
        """Return the middle nine tenths of the last document's time; ``None`` without events."""
        starts = [
            table.tail("start_us", self._marks.get(name, 0))
            for name, table in self.columns.tables.items()
            if name not in {"flow_ends", "launch_ends", "collectives", "counters"}
        ]
        starts_us = np.concatenate(starts) if starts else np.empty(0)
        starts_us = starts_us[np.isfinite(starts_us)]
        if not starts_us.size:
            return None
        first, last = np.quantile(starts_us, (0.05, 0.95))
        return float(first), float(last)
