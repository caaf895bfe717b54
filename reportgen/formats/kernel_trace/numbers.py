"""Numbers of events, which writers give as numbers, as text, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, whole_numbers

_LARGEST = 2**62
_LARGEST_DEVICE = 2**31 - 1
_UNSET = 2**64 - 1
"""How an unsigned -1 looks: the profiler had nothing to say."""


class NumberReader:
    """Reads whole numbers; ``n_dropped`` were too large for what they say they are.

    Example:
        >>> read = NumberReader()
        >>> read([3, None, "stream 7", "0x0", 2**64 - 1, 2**70]).tolist()
        [3, -1, 7, 0, -1, -1]
        >>> read.n_dropped
        1
    """

    def __init__(self) -> None:
        self.n_dropped = 0

    def __call__(
        self, values: Sequence[Any], *, absent: int = ABSENT, most: int = _LARGEST
    ) -> NDArray[np.int64]:
        """Return whole numbers, ``absent`` where there is none."""
        found = _whole(values, absent)
        if not found.size or (int(found.max()) <= most and int(found.min()) >= -most):
            return found
        is_dropped = np.abs(found.astype(np.float64)) > most
        self.n_dropped += int(is_dropped.sum())
        return np.where(is_dropped, absent, found)

    def devices(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Return the numbers of devices."""
        return np.maximum(self(values, most=_LARGEST_DEVICE), ABSENT)


def either(first: NDArray[np.int64], second: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return numbers of the first kind, of the second where the first is absent."""
    missing = first == ABSENT
    return np.where(missing, second(), first) if missing.any() else first


def _whole(values: Sequence[Any], absent: int) -> NDArray[np.int64]:
    with suppress(TypeError, ValueError, OverflowError):
        return np.array(values, dtype=np.int64)  # no value is absent
    if values.count(None) == len(values):
        return np.full(len(values), absent, dtype=np.int64)
    with suppress(OverflowError):
        if set(map(type, values)) == {int, NoneType}:
            given = [absent if value is None else value for value in values]
            return np.array(given, dtype=np.int64)
    cleaned = [absent if value is None else _number_in(value) for value in values]
    return np.array(whole_numbers(cleaned))


def _number_in(value: Any) -> Any:
    """Return the number in ``stream 7``, ``0x0`` or a number; too large is 2^63 - 1."""
    if isinstance(value, str):
        words = value.split()
        last = words[-1] if words else ""
        try:
            value = int(last, 16 if last.lower().startswith("0x") else 10)
        except ValueError:
            return ABSENT
    if value == _UNSET or not isinstance(value, int | float):
        return ABSENT
    return 2**63 - 1 if abs(value) > _LARGEST else value


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
