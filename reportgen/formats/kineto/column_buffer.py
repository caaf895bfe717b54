"""Columns that grow batch by batch."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.mapped import forget, in_file

Column = NDArray[Any]
Columns = dict[str, Column]

PIECE_ROWS = 1 << 20
"""Rows of a piece: 8 MB, of which nothing is used before it is written. Full ones go to a file."""

_LARGE_BYTES = 16 << 20
"""Columns of two million events and more go to a file, too."""


class ColumnBuffer:
    """Columns that grow, in pieces of equal length: nothing is copied in order to grow."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._pieces: dict[str, list[Column]] = {}

    def add(self, **columns: Column) -> None:
        """Append rows; every call has the same columns."""
        for name, column in columns.items():
            self._append(self._pieces.setdefault(name, []), column)
        self.n_rows += len(next(iter(columns.values())))

    def _append(self, pieces: list[Column], column: Column) -> None:
        n_done = 0
        while n_done < len(column):
            number, at = divmod(self.n_rows + n_done, PIECE_ROWS)
            if number == len(pieces):
                dtype = pieces[0].dtype if pieces else column.dtype
                pieces.append(mapped(PIECE_ROWS, dtype))
            part = column[n_done : n_done + PIECE_ROWS - at]
            pieces[number][at : at + len(part)] = part
            n_done += len(part)
            if at + len(part) == PIECE_ROWS:
                pieces[number] = in_file(pieces[number])

    def take(self) -> Columns:
        """Return the columns, none without rows; there are none afterwards."""
        columns: Columns = {}
        for name in list(self._pieces) if self.n_rows else ():
            parts = list(self._parts(name, 0))
            del self._pieces[name]
            columns[name] = spilled(np.concatenate(parts)) if len(parts) > 1 else parts[0]
        self.clear()
        return columns

    def tail(self, name: str, n_rows: int) -> Column:
        """Return a column behind the first ``n_rows`` rows."""
        parts = list(self._parts(name, n_rows))
        return np.concatenate(parts) if parts else np.empty(0)

    def cut(self, n_rows: int) -> int:
        """Drop the rows behind the first ``n_rows``; return how many."""
        dropped = self.n_rows - n_rows
        self.n_rows = n_rows
        return dropped

    def clear(self) -> None:
        """Drop all rows."""
        self.n_rows = 0
        self._pieces.clear()

    def _parts(self, name: str, first: int) -> Iterator[Column]:
        for number, piece in enumerate(self._pieces.get(name, ())):
            start = number * PIECE_ROWS
            if first < start + PIECE_ROWS and start < self.n_rows:
                yield piece[max(first - start, 0) : self.n_rows - start]


def spilled(column: Column) -> Column:
    """Return a column; a large one lies in a file."""
    return column if column.nbytes < _LARGE_BYTES else in_file(column)


def let_go(table: Columns) -> None:
    """Let the memory of large columns go until they are used again."""
    for column in table.values():
        forget(column)


def mapped(n_rows: int, dtype: np.dtype[Any]) -> Column:
    """Return a column of zeros in a separate memory map.

    Its memory is used when it is written, and goes back to the system with it. The columns of a
    large trace would leave holes among other memory of the program: a fifth of all memory.
    """
    n_bytes = n_rows * dtype.itemsize
    if n_bytes < mmap.PAGESIZE:
        return np.zeros(n_rows, dtype=dtype)
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype=dtype)
