"""Numbers of figures: packed once, whatever the form of the figure that holds them.

y is float32; x is float64, because float32 epoch times are 131 s apart (DESIGN §2). An envelope's
outline and the numbers of its hover text repeat what the curves hold, so they are only named here;
``packing`` writes them out for Jupyter, the page's script for the page.
"""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Number = float | int | None

_CODES = {"f4": "f", "f8": "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Values as bytes, little-endian, NaN where absent; in rows of ``n_columns`` if not 0."""

    dtype: Literal["f4", "f8"]
    data: bytes
    n_columns: int = 0

    @property
    def base64(self) -> str:
        """Return the bytes as text."""
        return b64encode(self.data).decode("ascii")

    def tolist(self) -> list[float | None]:
        """Return the values; NaN becomes ``None`` again."""
        values = array(_CODES[self.dtype], self.data)
        if sys.byteorder == "big":
            values.byteswap()
        return [None if math.isnan(value) else value for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One coordinate of the closed outline of an envelope between two curves."""

    side: Literal["x", "y"]
    time_x: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Two curves as one row of two numbers per point."""

    low: Numbers
    high: Numbers


def float32(values: Iterable[Number]) -> Numbers:
    """Return values in single precision."""
    return Numbers(dtype="f4", data=_bytes("f4", values))


def float64(values: Iterable[Number]) -> Numbers:
    """Return values in double precision."""
    return Numbers(dtype="f8", data=_bytes("f8", values))


def matrix32(rows: Sequence[Sequence[Number]]) -> Numbers:
    """Return rows of equal length in single precision."""
    flat = (value for row in rows for value in row)
    return Numbers(dtype="f4", data=_bytes("f4", flat), n_columns=len(rows[0]) if rows else 1)


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

    Args:
        time_x, low, high: (n,) values; ``None`` in ``low`` or ``high`` is a gap.

    Returns:
        The pieces one after the other, ``None`` between them.
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
    found, start = [], None
    for index, (below, above) in enumerate(zip(low, high, strict=True)):
        is_there = below is not None and above is not None
        if is_there and start is None:
            start = index
        elif not is_there and start is not None:
            found.append((start, index))
            start = None
    if start is not None:
        found.append((start, len(low)))
    return found


def _bytes(dtype: str, values: Iterable[Number]) -> bytes:
    packed = array(_CODES[dtype], (math.nan if value is None else value for value in values))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
