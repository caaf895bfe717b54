"""A node's events while its timelines are read, file after file, and marks that span files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from reportgen.formats import Diagnostics
from reportgen.formats.columns import Columns, Growing
from reportgen.formats.trace_events.file_events import (
    EVENT_COLUMNS,
    FileEvents,
    join_events,
    paired_events,
)
from reportgen.formats.trace_events.marks import Marks, match_across
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Quality
from reportgen.profile.spans import code_type


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """Facts of a file beside its events: its writer, and the time of its end from its name."""

    key: str
    worker: str
    source: str
    stamp_us: int
    base_ns: int | None = None
    last_ns: int | None = None
    loose: Marks | None = None


class SpanStore:
    """Takes the events of one file after the other.

    ``vocabulary`` is extended by each; the ``file`` column is an index into ``files``.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.files: list[StoredFile] = []
        self._events = Growing()

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return self._events.n_rows

    def add(self, events: FileEvents, file: StoredFile) -> None:
        """Take the events of a file, read with this store's vocabulary."""
        code = np.broadcast_to(np.int32(len(self.files)), events.start_ns.shape)
        self.files.append(file)
        self._events.add(file=code, **{name: getattr(events, name) for name in EVENT_COLUMNS})

    def columns(self) -> Columns:
        """Return all columns, ascending by start; the store is empty afterwards."""
        n_words = {
            "name": len(self.vocabulary.names),
            "phase": len(self.vocabulary.phases),
            "file": len(self.files),
        }
        columns = self._events.take() or {
            name: np.empty(0, dtype=np.int64) for name in ("file", *EVENT_COLUMNS)
        }
        order = np.argsort(columns["start_ns"], kind="stable")
        types = {name: code_type(n) for name, n in n_words.items()} | {"argument": np.int32}
        return {
            name: column[order].astype(types.get(name, np.int64), copy=False)
            for name, column in columns.items()
        }


def close_marks(store: SpanStore, problems: Diagnostics, *, is_finished: bool) -> None:
    """Add the events whose begin and end are in different files of one writer.

    Files of a writer are in their order. When the job ``is_finished``, what began and did not end
    is over then, at the last time in its file; else it is left out.
    """
    by_writer: dict[tuple[str, str], list[StoredFile]] = defaultdict(list)
    for file in store.files:
        if file.loose is not None:
            by_writer[file.worker, file.source].append(file)
    nameless = [code for name, code in store.vocabulary.names.items() if not name]
    for files in by_writer.values():
        parts = [file.loose for file in files if file.loose is not None]
        stay, begins, ends = match_across(parts, np.array(nameless, dtype=np.int32))
        closed = [paired_events(begins, ends, files[0].key, problems)]
        for file, loose, is_loose in zip(files, parts, stay, strict=True):
            rest = loose.where(is_loose)
            opened = rest.where(rest.is_begin)
            n_ends = rest.n_marks - opened.n_marks
            problems.add(Quality.EVENTS_UNMATCHED, file.key, n_ends)
            what = _SAY_UNCLOSED if is_finished else ""
            problems.add(Quality.EVENTS_UNMATCHED, file.key, opened.n_marks, what=what)
            if is_finished and file.last_ns is not None:
                at_end = replace(opened, time_ns=np.full(opened.n_marks, file.last_ns))
                closed.append(paired_events(opened, at_end, file.key, problems))
        store.add(join_events(closed), replace(files[0], loose=None))


_SAY_UNCLOSED = (
    "{n} begin [mark has|marks have] no end and [was|were] taken to last until the last time in "
    "the file"
)
