"""Columns of numbers that are too many for memory: they lie in a file and are read one by one.

System metrics are the one thing that a job records for weeks. Whoever computes with them asks for
a column and gets a plain array; where it came from is known here alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from reportgen.arrays import Floats

LARGE_BYTES = 24 << 20
"""Stretches below this stay in memory: two hours of 96 cores and 8 GPUs."""
_NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStretch:
    """Some rows of all columns, one column after the other: in memory, or in a file.

    Attributes:
        held: (n_columns, n_rows) the numbers; ``None`` where they lie in ``file``.
        first_byte: where they begin in it.
    """

    n_columns: int
    n_rows: int
    held: Floats | None = None
    file: IO[bytes] | None = None
    first_byte: int = 0

    def column(self, place: int) -> Floats:
        """Return (n_rows,) numbers; NaN in a column that came later."""
        if place >= self.n_columns:
            return np.full(self.n_rows, np.nan)
        if self.file is None:
            assert self.held is not None
            held: Floats = self.held[place]
            return held
        n_bytes = _NUMBER_BYTES * self.n_rows
        content = os.pread(self.file.fileno(), n_bytes, self.first_byte + n_bytes * place)
        return np.frombuffer(content, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns(Sequence[Floats]):
    """Columns that are put together of their stretches each time that one is asked for.

    ``places`` says which column of the stretches each of them is.
    """

    stretches: tuple[ColumnStretch, ...]
    places: tuple[int, ...]

    def __len__(self) -> int:
        """Return how many columns there are."""
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        """Return a column, or of a slice some."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(len(self))[index])
        place = self.places[index]
        if len(self.stretches) == 1:
            return self.stretches[0].column(place)
        return np.concatenate([stretch.column(place) for stretch in self.stretches])


class ColumnFile:
    """Takes stretches; large ones go to a file in TMPDIR.

    The file has no name: its space is free again with its last column, also after a kill.
    """

    def __init__(self, *, large_bytes: int = LARGE_BYTES) -> None:
        """Start without a file; the first stretch of ``large_bytes`` or more opens one."""
        self._large_bytes = large_bytes
        self._file: IO[bytes] | None = None
        self._n_bytes = 0

    def keep(
        self, column: Callable[[int], Floats], *, n_columns: int, n_rows: int
    ) -> ColumnStretch:
        """Return what ``column`` gives for each place as a stretch.

        Where the disk is full it stays in memory.
        """
        n_bytes = _NUMBER_BYTES * n_columns * n_rows
        if self._file is not None or n_bytes >= max(self._large_bytes, 1):
            with suppress(OSError):
                return self._written(column, n_columns, n_rows)
        held = np.empty((n_columns, n_rows))
        for place in range(n_columns):
            held[place] = column(place)
        return ColumnStretch(n_columns=n_columns, n_rows=n_rows, held=held)

    def _written(
        self, column: Callable[[int], Floats], n_columns: int, n_rows: int
    ) -> ColumnStretch:
        file = self._file or tempfile.TemporaryFile(prefix="reportgen-", buffering=0)  # noqa: SIM115  # the last column closes it
        self._file = file
        file.seek(self._n_bytes)
        for place in range(n_columns):
            column(place).tofile(file)
        first_byte, self._n_bytes = self._n_bytes, file.tell()
        return ColumnStretch(n_columns=n_columns, n_rows=n_rows, file=file, first_byte=first_byte)


def stored(column: Callable[[int], Floats], *, n_columns: int, n_rows: int) -> Columns:
    """Return what ``column`` gives for each place as columns; those of a long job in a file."""
    stretch = ColumnFile().keep(column, n_columns=n_columns, n_rows=n_rows)
    return Columns(stretches=(stretch,), places=tuple(range(n_columns)))


def picked(columns: Sequence[Floats], places: Sequence[int]) -> Sequence[Floats]:
    """Return some columns; those of a file are still read one by one."""
    if isinstance(columns, Columns):
        return replace(columns, places=tuple(columns.places[place] for place in places))
    return tuple(columns[place] for place in places)


def count_present(columns: Sequence[Floats]) -> list[int]:
    """Return how many numbers of each column are not NaN."""
    return [int(np.count_nonzero(~np.isnan(column))) for column in columns]
