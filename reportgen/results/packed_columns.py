"""Many whole numbers as little text: all steps of a job, its GPU time step by step.

A column is written as

1. its first value, then the difference of each value from the one before, as signed 64-bit
   integers, little-endian (differences wrap around beyond 64 bits);
2. these bytes in eight planes: the lowest byte of all values, then the second of all, …;
3. compressed with zlib, then as base64.

In Python, ``numpy.frombuffer(zlib.decompress(base64.b64decode(text)), "u1")`` are the planes;
``.reshape(8, -1).T.copy().view("<i8").ravel().cumsum()`` is the column.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reportgen.byte_planes import differences, from_planes, in_planes, summed
from reportgen.compression import unpacked
from reportgen.errors import FormatError
from reportgen.results.model import PackedColumn, PackedTable

MOST_ROWS = 100_000
"""So many rows are kept one by one: a day of steps of a second, in a megabyte."""
N_BLOCKS = 10_000
"""More rows are kept as means of this many equal blocks: finer than any comparison of runs asks."""
COUNT = "count"
_BYTES_OF_NUMBER = 8
_MOST_NUMBERS = 32_000_000
"""All tables of a result together have no more numbers; unpacked they take 256 MB."""
_COMPRESSION = 1
"""Level 6 takes four times as long and saves 15 % of the steps and GPU times of a long job."""


def pack(
    table_id: str, columns: Mapping[str, ArrayLike], *, of: Mapping[str, str] | None = None
) -> PackedTable:
    """Return columns of whole numbers as a table, in blocks where there are too many rows.

    Args:
        table_id: kind of the rows: ``steps``.
        columns: (n,) whole numbers each, rows in order of time; the name ends in the unit
            (``start_ns``), and in a block a column that begins with ``start`` is that of its first
            row, any other the mean, rounded.
        of: of what: ``{"worker": "algo-1/0", "phase": "Step:TRAIN"}``.

    Raises:
        ValueError: columns of different length, or values that are no whole numbers.

    Example:
        >>> table = pack("steps", {"start_ns": [5, 9], "duration_ns": [3, 4]})
        >>> unpack(table)["duration_ns"].tolist()
        [3, 4]
    """
    arrays = {name: _whole(name, values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"data {table_id}: columns of different length: {lengths}")
    n_measured = max(lengths.values(), default=0)
    if n_measured > MOST_ROWS:
        arrays = _in_blocks(arrays, n_measured)
    return PackedTable(
        id=table_id,
        of=dict(of or {}),
        n_rows=min(n_measured, N_BLOCKS) if n_measured > MOST_ROWS else n_measured,
        n_measured=n_measured,
        columns=tuple(
            PackedColumn(
                name=name,
                unit=name.rpartition("_")[2] if "_" in name else "",
                packed=as_text(values),
            )
            for name, values in arrays.items()
        ),
    )


def unpack(table: PackedTable) -> dict[str, NDArray[np.int64]]:
    """Return the columns of a table by name, (n_rows,) int64 each.

    Raises:
        FormatError: a column is not written as this module says.
    """
    found = {}
    for column in table.columns:
        try:
            values = numbers_of(column, most=table.n_rows)
        except ValueError as err:
            raise FormatError(
                f"Column {column.name} of data {table.id} cannot be read ({err}).",
                hint="Run make-profiler-report on the job again.",
            ) from err
        if len(values) != table.n_rows:
            raise FormatError(
                f"Column {column.name} of data {table.id} holds {len(values)} values, expected "
                f"{table.n_rows}.",
                hint="Run make-profiler-report on the job again.",
            )
        found[column.name] = values
    return found


def check_lengths(tables: Sequence[PackedTable]) -> None:
    """Refuse tables that declare absurd lengths, before anything is unpacked.

    Raises:
        ValueError: one has fewer rows than none or more than are ever written, or all together
            have more numbers than any result has.
    """
    absurd = next((table for table in tables if not 0 <= table.n_rows <= MOST_ROWS), None)
    if absurd is not None:
        raise ValueError(f"data {absurd.id} declare {absurd.n_rows} rows, at most {MOST_ROWS:,}")
    n_numbers = sum(table.n_rows * len(table.columns) for table in tables)
    if n_numbers > _MOST_NUMBERS:
        raise ValueError(f"data declare {n_numbers:,} numbers, at most {_MOST_NUMBERS:,}")


def numbers_of(column: PackedColumn, *, most: int = MOST_ROWS) -> NDArray[np.int64]:
    """Return the (n,) numbers of a column, of which there are not more than ``most``.

    Raises:
        ValueError: it is not written as this module says, or holds more numbers.
    """
    most_bytes = min(most, MOST_ROWS) * _BYTES_OF_NUMBER
    planes = unpacked(b64decode(column.packed, validate=True), most_bytes=most_bytes)
    return summed(from_planes(planes, "<i8").astype(np.int64, copy=False))


def _whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"column {name}: expected whole numbers, saw {array.dtype}")
    return array.astype(np.int64, copy=False)


def _in_blocks(arrays: Mapping[str, NDArray[np.int64]], n: int) -> dict[str, NDArray[np.int64]]:
    """Return the blocks of all rows: equal ones, that differ by a row at most."""
    edges = np.arange(N_BLOCKS + 1) * n // N_BLOCKS
    counts = np.diff(edges)
    found = {}
    for name, values in arrays.items():
        first = values[edges[:-1]]
        if name.startswith("start"):
            found[name] = first
        else:
            above = np.add.reduceat(values - np.repeat(first, counts), edges[:-1])
            found[name] = first + np.rint(above / counts).astype(np.int64)
    return found | {COUNT: counts}


def as_text(values: NDArray[np.int64]) -> str:
    """Return the text of a ``PackedColumn``."""
    planes = in_planes(differences(values).astype("<i8", copy=False))
    return b64encode(zlib.compress(planes, _COMPRESSION)).decode("ascii")
