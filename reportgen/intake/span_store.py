"""A node's events while its timelines are read, file after file."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from reportgen.arrays import join
from reportgen.formats import Diagnostics, EventFile
from reportgen.formats.columns import Columns, Growing
from reportgen.formats.trace_events.file_events import EVENT_COLUMNS, FileEvents, paired_events
from reportgen.formats.trace_events.marks import Marks, match_marks
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Quality
from reportgen.profile.spans import code_type


class SpanStore:
    """Takes the events of one file after the other.

    ``vocabulary`` is extended by each; the ``file`` column is an index into ``files``, of which
    ``bases_ns`` are the times at which they say that they began.

    A writer closes its file every minute or so, also between a begin and its end: marks without a
    partner wait for the next file of the writer.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.files: list[EventFile] = []
        self.bases_ns: list[int | None] = []
        self._events = Growing()
        self._loose: dict[tuple[str, str], list[tuple[EventFile, Marks]]] = defaultdict(list)

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return self._events.n_rows

    def add(self, events: FileEvents, file: EventFile) -> None:
        """Take the events of a file, read with this store's vocabulary."""
        code = np.broadcast_to(np.int32(len(self.files)), events.start_ns.shape)
        self.files.append(file)
        self.bases_ns.append(events.base_ns)
        if events.loose is not None:
            self._loose[file.claim.worker, str(file.claim.source)].append((file, events.loose))
        self._events.add(file=code, **{name: getattr(events, name) for name in EVENT_COLUMNS})

    def join_marks(self, problems: Diagnostics) -> None:
        """Add the events whose begin and end are in different files of a writer; count the rest."""
        for parts in self._loose.values():
            file, marks = parts[0][0], join([loose for _, loose in parts])
            begins, ends = match_marks(marks.is_begin, marks.phase, marks.thread)
            joined = paired_events(marks.where(begins), marks.where(ends), file.key, problems)
            self.add(joined, file)
            is_alone = np.ones(marks.n_marks, dtype=np.bool_)
            is_alone[begins] = is_alone[ends] = False
            bounds = np.cumsum([loose.n_marks for _, loose in parts])[:-1]
            for (part, _), alone in zip(parts, np.split(is_alone, bounds), strict=True):
                problems.add(Quality.EVENTS_UNMATCHED, part.key, int(np.count_nonzero(alone)))

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
