"""Event objects to columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

ABSENT = -1
"""What stands in a column of whole numbers where an event says nothing."""

Key = TypeVar("Key", bound=Hashable)

_LARGEST = 2**62
_NARROW = (np.int8, np.int16, np.int32)


class Codes(dict[Any, int]):
    """Numbers for values in the order in which they are met."""

    def __missing__(self, value: Any) -> int:
        """Number a new value."""
        self[value] = len(self)
        return self[value]

    def of(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Return the number of each value."""
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=len(values))


def distinct(values: Sequence[Key]) -> tuple[list[Key], NDArray[np.int32]]:
    """Return the different values in the order in which they are met, and the index of each value.

    Example:
        >>> different, index = distinct(["b", "a", "b"])
        >>> different, index.tolist()
        (['b', 'a'], [0, 1, 0])
    """
    codes: defaultdict[Key, int] = defaultdict(count().__next__)
    index = np.fromiter(map(codes.__getitem__, values), dtype=np.int32, count=len(values))
    return list(codes), index


def join_numbers(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return several columns as one; columns that say nothing stay without memory."""
    if all(part.size == 0 or part.strides == (0,) for part in parts):
        values = {int(part[0]) for part in parts if part.size}
        if len(values) <= 1:
            size = sum(part.size for part in parts)
            value = np.array([values.pop() if values else ABSENT], dtype=np.int64)
            return np.broadcast_to(narrowed(value), size)
    return np.concatenate(parts)


def whole_numbers(values: list[Any]) -> NDArray[np.int64]:
    """Return whole numbers, ``ABSENT`` where a value is none: text and truth values count.

    Example:
        >>> whole_numbers(["7", True, None, 2.0, "many"]).tolist()
        [7, 1, -1, 2, -1]
    """
    if values == [ABSENT] * len(values):
        return np.broadcast_to(np.int64(ABSENT), len(values))
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except (ValueError, TypeError, OverflowError):
        return np.fromiter(map(_whole, values), dtype=np.int64, count=len(values))


def narrowed(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return a column in the narrowest type that holds it; one that says nothing stays.

    Example:
        >>> narrowed(np.array([3, 300])).dtype
        dtype('int16')
    """
    if not numbers.size:
        return numbers
    if numbers.strides == (0,):
        return np.broadcast_to(narrowed(numbers[:1].copy()), numbers.shape)
    least, most = int(numbers.min()), int(numbers.max())
    for dtype in _NARROW:
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return numbers.astype(dtype)
    return numbers


def _whole(value: Any) -> int:
    text = str(value).strip().lower()
    try:
        number = _WORDS[text] if text in _WORDS else int(text)
    except ValueError:
        try:
            number = int(float(text))
        except (ValueError, OverflowError):
            return ABSENT
    return number if abs(number) < _LARGEST else ABSENT


_WORDS = {"true": 1, "false": 0}
