"""A node's events while its timelines are read: columns that grow.

An event takes 24 bytes, in a file without a name where there are many. Rows are put in order batch
by batch, so that they never have to be held twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.trace_events.file_events import EVENT_COLUMNS, FileEvents
from reportgen.formats.trace_events.marks import Marks
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile.mapped import blank_column, copy_column, forget
from reportgen.profile.spans import code_type

BATCH_ROWS = 1 << 16
"""Rows put in order or moved at once: a few megabytes, a size chosen by measurement."""

CARRIED_ROWS = BATCH_ROWS // 4
"""The latest rows of a batch wait for the next: writers close their files one after another, and
the next file goes back to where the others were."""

_FIRST_ROWS = 8_192
_MOST_EXPECTED = 1 << 19
"""Memory for more rows is not reserved: columns of that many lie in files, whose space is taken."""
_PIECE_ROWS = 1 << 15
_INT64, _INT32 = np.dtype(np.int64), np.dtype(np.int32)
_NARROWEST = {
    "start_ns": _INT64,
    "end_ns": _INT64,
    "name": code_type(0),
    "phase": code_type(0),
    "file": code_type(0),
    "argument": _INT32,
}


class GrowingColumn:
    """An array that takes more rows; memory past its end is reserved, not used.

    A large one lies in a file.
    """

    def __init__(self, dtype: np.dtype[Any], n_expected: int = _FIRST_ROWS) -> None:
        self.n_rows = 0
        self._n_expected = min(n_expected, _MOST_EXPECTED - 1)
        self._values: NDArray[Any] = np.empty(0, dtype=dtype)

    def extend(self, values: NDArray[Any], dtype: np.dtype[Any]) -> None:
        """Append values as ``dtype``, which may be wider than before."""
        old, end = self._values, self.n_rows + values.size
        if end > old.size or dtype.itemsize > old.itemsize:
            self._values = blank_column(max(2 * end, self._n_expected), dtype)
            copy_column(old[: self.n_rows], self._values)
        self._values[self.n_rows : end] = values
        self.n_rows = end

    def remove(self, first: int, end: int) -> NDArray[Any]:
        """Take some rows out, the rest moves up; return them."""
        removed = self._values[first:end].copy()
        rest = self._values[end : self.n_rows].copy()
        self._values[first : first + rest.size] = rest
        self.n_rows -= removed.size
        return removed

    def values(self) -> NDArray[Any]:
        """Return the rows, without a copy."""
        return self._values[: self.n_rows]


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
    """Takes the events of file after file, in the order in which files were closed.

    ``vocabulary`` is extended by each; the ``file`` column is an index into ``files``.
    """

    def __init__(self, n_expected: int = _FIRST_ROWS) -> None:
        self.vocabulary = Vocabulary()
        self.files: list[StoredFile] = []
        self._columns = {
            name: GrowingColumn(dtype, n_expected) for name, dtype in _NARROWEST.items()
        }
        self._late = {name: GrowingColumn(dtype) for name, dtype in _NARROWEST.items()}
        self._n_settled = 0

    @property
    def n_spans(self) -> int:
        """Return the number of events."""
        return self._columns["start_ns"].n_rows + self._late["start_ns"].n_rows

    def add(self, events: FileEvents, file: StoredFile) -> None:
        """Take the events of a file, read with this store's vocabulary."""
        code = np.broadcast_to(np.int32(len(self.files)), events.start_ns.shape)
        self.files.append(file)
        self._extend({"file": code} | {name: getattr(events, name) for name in EVENT_COLUMNS})

    def _extend(self, rows: Mapping[str, NDArray[Any]]) -> None:
        words = {
            "name": len(self.vocabulary.names),
            "phase": len(self.vocabulary.phases),
            "file": len(self.files),
        }
        for name, column in self._columns.items():
            n_words = words.get(name)
            column.extend(rows[name], _NARROWEST[name] if n_words is None else code_type(n_words))
        if self._columns["start_ns"].n_rows - self._n_settled >= BATCH_ROWS:
            self._settle(CARRIED_ROWS)

    def _settle(self, n_carried: int) -> None:
        """Put the rows that came since the last time in order behind those before.

        Few are too late for that: what lasts long began long before its file was closed.
        """
        start_ns = self._columns["start_ns"].values()
        first = self._n_settled
        order = np.argsort(start_ns[first:], kind="stable")
        for column in self._columns.values():
            rows = column.values()[first:]
            rows[:] = rows[order]
        if first:
            end = first + int(np.searchsorted(start_ns[first:], start_ns[first - 1]))
            for name, column in self._columns.items():
                late = column.remove(first, end)
                self._late[name].extend(late, late.dtype)
        for column in self._columns.values():
            forget(column.values())
        self._n_settled = self._columns["start_ns"].n_rows - n_carried

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all columns, ascending by start; the store is empty afterwards."""
        self._settle(0)
        late = {name: column.values() for name, column in self._late.items()}
        order = np.argsort(late["start_ns"], kind="stable")
        places = np.searchsorted(
            self._columns["start_ns"].values(), late["start_ns"][order], side="right"
        ) + np.arange(order.size)
        merged = {}
        for name, column in self._columns.items():
            rows = late[name][order]
            column.extend(rows, rows.dtype)
            merged[name] = column.values()
            _insert(merged[name], rows, places)
            forget(merged[name])
        self._columns.clear()
        return merged


def _insert(values: NDArray[Any], rows: NDArray[Any], places: NDArray[np.intp]) -> None:
    """Move (n,) values up, the last ones first, and put rows at ascending places between them.

    There are as many free places at the end as there are rows.
    """
    for start in range((values.size - 1) // BATCH_ROWS * BATCH_ROWS, -1, -BATCH_ROWS):
        first, end = np.searchsorted(places, [start, start + BATCH_ROWS]).tolist()
        if end == 0:
            return
        within = values[start : start + BATCH_ROWS]
        is_moved = np.ones(within.size, dtype=np.bool_)
        is_moved[places[first:end] - start] = False
        moved = values[start - first : start + within.size - end].copy()
        within[is_moved] = moved
        within[~is_moved] = rows[first:end]
