"""Columns of numbers and codes, and a table that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ABSENT = -1
"""The value in a column of whole numbers where an event has none."""

Column = NDArray[Any]
Columns = dict[str, Column]

_LARGEST = 2**62
_NARROW = tuple(
    (dtype, np.iinfo(dtype).min, np.iinfo(dtype).max) for dtype in (np.int8, np.int16, np.int32)
)


class Codes(dict[Any, int]):
    """Numbers for values in the order in which they are met."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self)
        return self[value]

    def of(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Return the number of each value."""
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=len(values))


class BoundedCodes(Codes):
    """Numbers for values, of which those beyond the first ``most`` share that of ``others``.

    ``n_beyond`` is how often such a value was met.

    Example:
        >>> codes = BoundedCodes(2, "others")
        >>> codes.of(["a", "b", "c", "a", "d"]).tolist(), list(codes), codes.n_beyond
        ([0, 1, 2, 0, 2], ['a', 'b', 'others'], 2)
    """

    def __init__(self, most: int, others: Any) -> None:
        super().__init__()
        self.n_beyond = 0
        self._most, self._others = most, others

    def __missing__(self, value: Any) -> int:
        if len(self) < self._most:
            return super().__missing__(value)
        self.n_beyond += 1
        return self.setdefault(self._others, len(self))


class Growing:
    """A table whose columns grow by some rows at a time; each is as wide as its widest part.

    Example:
        >>> table = Growing()
        >>> table.add(step=np.array([7, 8]))
        >>> table.add(step=np.array([9]))
        >>> table.take()["step"].tolist(), table.n_rows
        ([7, 8, 9], 0)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._parts: dict[str, list[Column]] = {}

    def add(self, **columns: Column) -> None:
        """Append rows; every call has the same columns."""
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column)
        self.n_rows += len(next(iter(columns.values())))

    def take(self) -> Columns:
        """Return the columns, none without rows; there are none afterwards."""
        parts = self._parts if self.n_rows else {}
        self.n_rows, self._parts = 0, {}
        return {name: np.concatenate(columns) for name, columns in parts.items()}


def whole_numbers(values: list[Any]) -> NDArray[np.int64]:
    """Return whole numbers, ``ABSENT`` where a value is none: text and truth values count.

    Example:
        >>> whole_numbers(["7", True, None, 2.0, "many"]).tolist()
        [7, 1, -1, 2, -1]
    """
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except (ValueError, TypeError, OverflowError):
        return np.fromiter(map(_whole, values), dtype=np.int64, count=len(values))


def narrowed(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return a column in the narrowest type that holds it.

    Example:
        >>> narrowed(np.array([3, 300])).dtype
        dtype('int16')
    """
    if not numbers.size:
        return numbers
    least, most = int(numbers.min()), int(numbers.max())
    for dtype, lowest, highest in _NARROW:
        if lowest <= least and most <= highest:
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
