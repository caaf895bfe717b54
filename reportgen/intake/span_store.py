"""A node's events while its timelines are read, file after file."""

from __future__ import annotations

import numpy as np

from reportgen.formats import EventFile
from reportgen.formats.columns import Columns, Growing
from reportgen.formats.trace_events.file_events import EVENT_COLUMNS, FileEvents
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile.spans import code_type


class SpanStore:
    """Takes the events of one file after the other.

    ``vocabulary`` is extended by each; the ``file`` column is an index into ``files``, of which
    ``bases_ns`` are the times at which they say that they began.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.files: list[EventFile] = []
        self.bases_ns: list[int | None] = []
        self._events = Growing()

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return self._events.n_rows

    def add(self, events: FileEvents, file: EventFile) -> None:
        """Take the events of a file, read with this store's vocabulary."""
        code = np.broadcast_to(np.int32(len(self.files)), events.start_ns.shape)
        self.files.append(file)
        self.bases_ns.append(events.base_ns)
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
