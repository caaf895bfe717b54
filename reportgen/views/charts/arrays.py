"""Numbers as plotly's typed arrays: base64 instead of digits, absent values as NaN.

y is float32; x is float64, because float32 epoch times are 131 s apart (DESIGN §2).
"""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Sequence

TypedArray = dict[str, str]
Number = float | int | None

_CODES = {"f4": "f", "f8": "d"}


def float32(values: Iterable[Number]) -> TypedArray:
    """Return a typed array of single precision."""
    return _typed("f4", values)


def float64(values: Iterable[Number]) -> TypedArray:
    """Return a typed array of double precision."""
    return _typed("f8", values)


def matrix32(rows: Sequence[Sequence[Number]]) -> TypedArray:
    """Return a two-dimensional typed array; all rows have the same length."""
    width = len(rows[0]) if rows else 0
    flat = (value for row in rows for value in row)
    return {**float32(flat), "shape": f"{len(rows)}, {width}"}


def numbers(values: Iterable[object]) -> list[float | None]:
    """Return the numbers of a column; text and truth values become ``None``."""
    return [
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        for value in values
    ]


def _typed(dtype: str, values: Iterable[Number]) -> TypedArray:
    packed = array(_CODES[dtype], (math.nan if value is None else value for value in values))
    if sys.byteorder == "big":
        packed.byteswap()
    return {"dtype": dtype, "bdata": b64encode(packed.tobytes()).decode("ascii")}
