"""Arrays that are too large for memory lie in files without a name, and their pages come and go."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reportgen.arrays import Floats

Column = TypeVar("Column", bound=NDArray[Any])

LARGE_BYTES = 64 << 20
"""Matrices of samples below this stay in memory: five hours of 96 cores and 8 GPUs."""
_LARGE_COLUMN_BYTES = 1 << 19
_COMPUTED_ROWS = 1 << 16
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_HELD_BYTES = 24 << 20
"""Freed memory that the C library keeps for the next arrays. It would be 128 KiB, and each array of
a megabyte would be handed out by the system anew: a tenth of the time of a large trace."""


def blank_matrix(n_rows: int, n_columns: int, *, large_bytes: int | None = None) -> Floats:
    """Return an (n_rows, n_columns) matrix in column-major order, to be filled.

    With ``large_bytes`` (``LARGE_BYTES``) or more it lies in TMPDIR: the space is taken at once and
    is free again with the last array of it, also after a kill. Where there is no space it lies in
    memory.
    """
    n_bytes = 8 * n_rows * n_columns
    if n_bytes >= max(LARGE_BYTES if large_bytes is None else large_bytes, 1):
        try:
            with tempfile.TemporaryFile(prefix="reportgen-") as file:
                _reserve(file.fileno(), n_bytes)
                flat = np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype=np.float64)
            return flat.reshape((n_rows, n_columns), order="F")
        except OSError:
            pass
    return np.empty((n_rows, n_columns), order="F")


def _reserve(handle: int, n_bytes: int) -> None:
    """Take the space now: later, a full disk would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, n_bytes)
    else:
        os.truncate(handle, n_bytes)


def free_at_once(least_bytes: int = 4 << 20) -> None:
    """Let the C library give large blocks back when they are freed; that takes time for each.

    That of GNU keeps those that lie below others, of large jobs a third of all memory. Other
    libraries have no such call.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, least_bytes)
        library.mallopt(_M_TRIM_THRESHOLD, _HELD_BYTES)


def give_back_memory() -> None:
    """Return freed memory to the system where its C library keeps it, as that of GNU does."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def forget(array: NDArray[Any]) -> None:
    """Let the memory of a mapped array go; it is read from its file again when it is used."""
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def in_turn(values: Floats, columns: Sequence[int]) -> Iterator[Floats]:
    """Yield some columns of a matrix; the memory of each is let go before the next one."""
    for column in columns:
        yield values[:, column]
        forget(values)


def blank_column(n: int, dtype: DTypeLike, *, large_bytes: int = _LARGE_COLUMN_BYTES) -> Any:
    """Return (n,) values to be filled; ``large_bytes`` or more of them lie in a file."""
    n_words = -(-n * np.dtype(dtype).itemsize // 8)
    return blank_matrix(n_words, 1, large_bytes=large_bytes)[:, 0].view(dtype)[:n]


def in_file(column: Column) -> Column:
    """Return a copy of (n,) values; many of them lie in a file."""
    return cast("Column", piecewise(np.array, column, dtype=column.dtype))


def _written(
    parts: Callable[[], Iterator[NDArray[Any]]], n_rows: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return (n,) values that come in parts, many of them in a file if it has space."""
    # Writing takes a fifth of the time of filling the pages into which the file is mapped.
    if n_rows * dtype.itemsize >= _LARGE_COLUMN_BYTES:
        with suppress(OSError), tempfile.TemporaryFile(prefix="reportgen-") as file:
            for part in parts():
                file.write(np.ascontiguousarray(part, dtype=dtype).view(np.uint8).data)
            file.flush()
            return np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype)
    return np.concatenate([*parts(), np.empty(0, dtype)], dtype=dtype, casting="unsafe")


def copy_column(column: NDArray[Any], into: NDArray[Any]) -> None:
    """Write (n,) values to the begin of an array; the memory of either in a file is let go."""
    for rows in pieces(column.size):
        values = column[rows]
        into[rows.start : rows.start + values.size] = values
        forget(column)
        forget(into)


def piecewise(
    compute: Callable[..., NDArray[Any]], *columns: NDArray[Any], dtype: DTypeLike
) -> NDArray[Any]:
    """Return ``compute(*columns)``, row by row of (n,) columns; of many rows it lies in a file.

    Pieces of the columns are computed one after the other; memory of those in files is let go.
    """
    size = columns[0].size
    if size <= _COMPUTED_ROWS:
        return compute(*columns).astype(dtype, copy=False)

    def parts() -> Iterator[NDArray[Any]]:
        for rows in pieces(size):
            yield compute(*(column[rows] for column in columns))
            for column in columns:
                forget(column)

    return _written(parts, size, np.dtype(dtype))


def taken(column: Column, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Column:
    """Return chosen rows of (n,) values; many of them lie in a file."""
    is_mask = rows.dtype == np.bool_

    def parts() -> Iterator[NDArray[Any]]:
        for piece in pieces(rows.size):
            yield column[piece][rows[piece]] if is_mask else column[rows[piece]]
            forget(column)

    n_taken = int(np.count_nonzero(rows)) if is_mask else rows.size
    found = _written(parts, n_taken, column.dtype)
    forget(rows)
    return cast("Column", found)


def pieces(size: int) -> Iterator[slice]:
    """Yield the slices in which (n,) rows are computed, one after the other."""
    return (slice(first, first + _COMPUTED_ROWS) for first in range(0, size, _COMPUTED_ROWS))


def chosen(values: Floats, rows: NDArray[np.bool_], columns: Sequence[int]) -> Floats:
    """Return some rows and columns of a matrix, as large as they are."""
    found = blank_matrix(int(np.count_nonzero(rows)), len(columns))
    for place, column in enumerate(columns):
        found[:, place] = values[rows, column]
        forget(values)
        forget(found)
    return found


def count_present(values: Floats) -> list[int]:
    """Return how many values of each column of a matrix are not NaN."""
    columns = in_turn(values, range(values.shape[1]))
    return [int(np.count_nonzero(~np.isnan(column))) for column in columns]
