"""Numbers of figures: packed once, whatever the form of the figure that holds them.

Percentages are hundredths and instants milliseconds in whole numbers, exact and small; the rest is
float32, which is too coarse for epoch times. An envelope's outline and the numbers of its hover
text repeat what the curves hold, so they are only named here; ``figure_encoding`` writes them out
for Jupyter, the page's script for the page.
"""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Number = float | int | None

_CODES = {"f4": "f", "f8": "d", "u2": "H", "u4": "I"}
ABSENT_OF = {"u2": 2**16 - 1, "u4": 2**32 - 1}
"""The whole number that stands for an absent value."""

HUNDREDTH = 0.01
_MOST_HUNDREDTHS = ABSENT_OF["u2"] - 1
_MOST_MILLISECONDS = ABSENT_OF["u4"] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Values as bytes, little-endian: ``stored x scale + offset``.

    Absent values are NaN in floats and ``ABSENT_OF`` in whole numbers. The values form rows of
    ``n_columns`` if that is not 0.
    """

    dtype: Literal["f4", "f8", "u2", "u4"]
    data: bytes
    n_columns: int = 0
    scale: float = 1.0
    offset: float = 0.0

    @property
    def base64(self) -> str:
        """Return the bytes as text."""
        return b64encode(self.data).decode("ascii")

    def tolist(self) -> list[float | None]:
        """Return the values; absent ones are ``None``."""
        stored = array(_CODES[self.dtype], self.data)
        if sys.byteorder == "big":
            stored.byteswap()
        absent = ABSENT_OF.get(self.dtype)
        return [
            None if value == absent or math.isnan(value) else value * self.scale + self.offset
            for value in stored
        ]


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


def percentages32(values: Sequence[Number]) -> Numbers:
    """Return percentages to the hundredth; beyond 655 % in single precision."""
    present = [value for value in values if value is not None]
    if any(not 0 <= value * 100 <= _MOST_HUNDREDTHS for value in present):
        return float32(values)
    stored = (ABSENT_OF["u2"] if value is None else round(value * 100) for value in values)
    return Numbers(dtype="u2", data=_bytes("u2", stored), scale=HUNDREDTH)


def instants(values: Sequence[Number], *, step: float) -> Numbers:
    """Return instants in steps from the first one; ``step`` is a millisecond in their unit.

    Edge cases: beyond 49 days they are in double precision.
    """
    present = [value for value in values if value is not None]
    first = min(present, default=0.0)
    if max(present, default=0.0) - first > _MOST_MILLISECONDS * step:
        return float64(values)
    stored = (
        ABSENT_OF["u4"] if value is None else round((value - first) / step) for value in values
    )
    return Numbers(dtype="u4", data=_bytes("u4", stored), scale=step, offset=first)


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


def _bytes(dtype: str, values: Iterable[Number]) -> bytes:
    packed = array(_CODES[dtype], (math.nan if value is None else value for value in values))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
