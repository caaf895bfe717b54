"""Columns that grow batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
Columns = dict[str, Column]

_LEAST_ROWS = 1024


class Growing:
    """Columns that grow, each in one piece: many small pieces would leave holes in memory."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._buffers: Columns = {}

    def add(self, **columns: Column) -> None:
        """Append rows; every call has the same columns."""
        n_added = len(next(iter(columns.values())))
        end = self.n_rows + n_added
        for name, column in columns.items():
            self._room(name, column, end)[self.n_rows : end] = column
        self.n_rows = end

    def _room(self, name: str, column: Column, n_rows: int) -> Column:
        """Return the buffer of a column, made larger when it is full."""
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < n_rows:
            larger = np.empty(max(2 * n_rows, _LEAST_ROWS), dtype=column.dtype)
            if buffer is not None:
                larger[: self.n_rows] = buffer[: self.n_rows]
            self._buffers[name] = buffer = larger
        return buffer

    def take(self) -> Columns:
        """Return the columns, none without rows; there are none afterwards."""
        buffers, self._buffers = self._buffers, {}
        return {name: buffer[: self.n_rows] for name, buffer in buffers.items() if self.n_rows}

    def tail(self, name: str, n_rows: int) -> Column:
        """Return a column behind the first ``n_rows`` rows."""
        return self._buffers[name][n_rows : self.n_rows] if self._buffers else np.empty(0)

    def cut(self, n_rows: int) -> int:
        """Drop the rows behind the first ``n_rows``; return how many."""
        dropped = self.n_rows - n_rows
        self.n_rows = n_rows
        return dropped
