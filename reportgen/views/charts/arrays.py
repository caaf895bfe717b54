"""Numbers of exhibits, and arrays as plotly's JSON schema has them."""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

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


Curve = Sequence[Number]


def stepped(time_x: Curve, *curves: Curve) -> tuple[list[Number], list[list[Number]]]:
    """Return times and curves whose values stand until the next time (plotly's shape ``hv``).

    Each stretch without gaps ends with its last value once more, where the next time is; after the
    last of all, as long after it as times are usually apart. ``None`` is a gap, and separates the
    stretches.
    """
    rows: list[int | None] = []
    xs: list[Number] = []
    for start, stop, end in _stretches(time_x, *curves):
        xs += [*time_x[start:stop], end, None]
        rows += [*range(start, stop), stop - 1, None]
    chosen = [[None if row is None else values[row] for row in rows[:-1]] for values in curves]
    return xs[:-1], chosen


def stepped_outline(time_x: Curve, low: Curve, high: Curve) -> tuple[list[Number], list[Number]]:
    """Return the corners of an envelope whose values stand until the next time, forth and back.

    One closed piece per stretch without gaps. On the way back a value is that of the time before.
    """
    xs: list[Number] = []
    ys: list[Number] = []
    for start, stop, end in _stretches(time_x, low, high):
        xs += [*time_x[start:stop], end, end, *reversed(time_x[start:stop]), None]
        ys += [*high[start:stop], high[stop - 1], *reversed(low[start:stop]), low[start], None]
    return xs[:-1], ys[:-1]


def _stretches(time_x: Curve, *curves: Curve) -> Iterator[tuple[int, int, float]]:
    """Yield first and last row of each stretch, behind which the next one is, and when it ends."""
    known = [x for x in time_x if x is not None]
    apart = sorted(after - before for before, after in pairwise(known))
    width = apart[len(apart) // 2] if apart else 0.0
    is_there = [None not in row for row in zip(time_x, *curves, strict=True)]
    for there, run in groupby(range(len(time_x)), is_there.__getitem__):
        rows = list(run)
        if there:
            stop, last = rows[-1] + 1, time_x[rows[-1]] or 0.0
            following = time_x[stop] if stop < len(time_x) else None
            yield rows[0], stop, last + width if following is None else following


def _typed(dtype: str, values: Iterable[Number]) -> TypedArray:
    packed = array(_CODES[dtype], (math.nan if value is None else value for value in values))
    if sys.byteorder == "big":
        packed.byteswap()
    return {"dtype": dtype, "bdata": b64encode(packed.tobytes()).decode("ascii")}
