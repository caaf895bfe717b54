"""Rows that belong together: sums by code, and the rows of each code in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Rows = NDArray[np.int64]


def sums_by_code(codes: NDArray[np.integer], values: NDArray[np.int64], n_codes: int) -> Rows:
    """Return (n_codes,) exact sums of (n,) values for each code, 0 for codes without rows."""
    sums = np.zeros(n_codes, dtype=np.int64)
    np.add.at(sums, codes, values)
    return sums


def rows_by_code(codes: NDArray[np.integer]) -> Iterator[tuple[int, Rows]]:
    """Yield each code that occurs, ascending, with its rows in their present order."""
    order = np.argsort(codes, kind="stable")
    found, first = np.unique(codes[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, first[1:]), strict=False)


def joint_codes(*columns: NDArray[np.integer]) -> Codes:
    """Return (n,) int64 codes that are equal where all columns are equal.

    Args:
        columns: at least one, (n,) integers each; codes ascend by the first column, then by the
            next.
    """
    codes = np.zeros(columns[0].shape, dtype=np.int64)
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        codes = codes * max(values.size, 1) + index.reshape(-1)
    return codes
