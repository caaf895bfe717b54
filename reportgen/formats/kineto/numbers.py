"""Numbers of events, which writers give as numbers, as text, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, whole_numbers


def numbers(values: Sequence[Any], *, absent: int = ABSENT) -> NDArray[np.int64]:
    """Return whole numbers, ``absent`` where there is none.

    Example:
        >>> numbers([3, None, "stream 7", "0x0", 2**70]).tolist()
        [3, -1, 7, 0, -1]
    """
    try:
        return np.array(values, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        pass
    if values.count(None) == len(values):
        return np.full(len(values), absent, dtype=np.int64)
    cleaned = [absent if value is None else _number_in(value) for value in values]
    return np.array(whole_numbers(cleaned))


def _number_in(value: Any) -> Any:
    """Return the number in ``stream 7`` or ``0x0``, or what was given."""
    if not isinstance(value, str):
        return value
    words = value.split()
    last = words[-1] if words else ""
    try:
        return int(last, 16 if last.lower().startswith("0x") else 10)
    except ValueError:
        return ABSENT


def floats(values: Sequence[Any]) -> NDArray[np.float64]:
    """Return numbers, NaN where there is none; numbers written as text count."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_float(value) for value in values])


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def either(first: Sequence[Any], second: Sequence[Any]) -> NDArray[np.int64]:
    """Return numbers of the first kind, of the second where the first is absent."""
    found = numbers(first)
    missing = found == ABSENT
    if missing.any():
        found = np.where(missing, numbers(second), found)
    return found
