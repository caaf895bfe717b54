"""Numbers of exhibits, and arrays as plotly's JSON schema has them."""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import groupby

Number = float | int | None
TypedArray = dict[str, str]
"""Plotly's own form: the type of the values, and their bytes in base64."""

_CODES = {"f4": "f", "f8": "d"}


def float32(values: Iterable[Number]) -> TypedArray:
    """Return values in single precision, which is too coarse for instants; absent ones are NaN."""
    return _typed("f4", values)


def float64(values: Iterable[Number]) -> TypedArray:
    """Return values in double precision; absent ones are NaN."""
    return _typed("f8", values)


def matrix32(rows: Sequence[Sequence[Number]]) -> TypedArray:
    """Return rows of equal length in single precision."""
    flat = _typed("f4", (value for row in rows for value in row))
    return {**flat, "shape": f"{len(rows)}, {len(rows[0]) if rows else 0}"}


def numbers(values: Iterable[object]) -> list[float | None]:
    """Return the numbers of a column; text and truth values become ``None``."""
    return [
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        for value in values
    ]


def outline(
    time_x: Sequence[Number], low: Sequence[Number], high: Sequence[Number]
) -> tuple[list[Number], list[Number]]:
    """Return x and y of an envelope's outline, one closed piece per stretch without gaps.

    ``None`` in ``low`` or ``high`` is a gap; ``None`` separates the pieces.
    """
    xs: list[Number] = []
    ys: list[Number] = []
    for start, stop in _stretches(low, high):
        if xs:
            xs.append(None)
            ys.append(None)
        xs += [*time_x[start:stop], *reversed(time_x[start:stop])]
        ys += [*high[start:stop], *reversed(low[start:stop])]
    return xs, ys


def _stretches(low: Sequence[Number], high: Sequence[Number]) -> list[tuple[int, int]]:
    is_there = [None not in pair for pair in zip(low, high, strict=True)]
    runs = (list(run) for there, run in groupby(range(len(low)), is_there.__getitem__) if there)
    return [(run[0], run[-1] + 1) for run in runs]


def _typed(dtype: str, values: Iterable[Number]) -> TypedArray:
    packed = array(_CODES[dtype], (math.nan if value is None else value for value in values))
    if sys.byteorder == "big":
        packed.byteswap()
    return {"dtype": dtype, "bdata": b64encode(packed.tobytes()).decode("ascii")}
