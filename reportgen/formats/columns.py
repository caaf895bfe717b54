"""Columns of numbers and codes, and tables made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ABSENT = -1
"""The value in a column of whole numbers where an event has none."""

Column = NDArray[Any]
Columns = dict[str, Column]

Key = TypeVar("Key", bound=Hashable)
Table = TypeVar("Table", bound="DataclassInstance")

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


def joined(parts: Sequence[Table]) -> Table:
    """Return the rows of one or more tables, whose fields are columns, one after another."""
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    names = [field.name for field in fields(kind)]
    return kind(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def selected(table: Table, rows: NDArray[Any] | slice) -> Table:
    """Return some rows of a table whose fields are columns."""
    kind = type(table)
    return kind(**{field.name: getattr(table, field.name)[rows] for field in fields(kind)})


class Growing:
    """A table whose columns grow by some rows at a time.

    Example:
        >>> table = Growing()
        >>> table.add(step=np.array([7, 8]))
        >>> table.add(step=np.array([9]))
        >>> table.tail("step", 1).tolist(), table.take()["step"].tolist(), table.n_rows
        ([8, 9], [7, 8, 9], 0)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._parts: dict[str, list[Column]] = {}

    def add(self, **columns: Column) -> None:
        """Append rows; every call has the same columns, and the types are those of the first."""
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column)
        self.n_rows += len(next(iter(columns.values())))

    def take(self) -> Columns:
        """Return the columns, none without rows; there are none afterwards."""
        columns: Columns = {}
        for name in list(self._parts) if self.n_rows else ():
            columns[name] = _end_to_end(self._parts.pop(name))
        self.clear()
        return columns

    def tail(self, name: str, n_rows: int) -> Column:
        """Return a column behind the first ``n_rows`` rows."""
        parts = self._parts.get(name)
        return _end_to_end(parts)[n_rows:] if parts else np.empty(0)

    def cut(self, n_rows: int) -> int:
        """Drop the rows behind the first ``n_rows``; return how many."""
        dropped, self.n_rows = self.n_rows - n_rows, n_rows
        self._parts = {name: [_end_to_end(parts)[:n_rows]] for name, parts in self._parts.items()}
        return dropped

    def clear(self) -> None:
        """Drop all rows."""
        self.n_rows = 0
        self._parts.clear()


def _end_to_end(parts: Sequence[Column]) -> Column:
    return np.concatenate(parts, dtype=parts[0].dtype, casting="unsafe")


class Blocks:
    """Columns of whole numbers that grow by some rows at a time.

    Columns that are absent from a block, or constant in it, take no memory.

    Example:
        >>> blocks = Blocks()
        >>> blocks.add(2, {"step": np.array([7, 8]), "pid": 300})
        >>> blocks.add(1, {"pid": 301})
        >>> [blocks.take(column).tolist() for column in ("step", "pid", "tid")]
        [[7, 8, -1], [300, 300, 301], [-1, -1, -1]]
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, dict[str, NDArray[Any] | int]]] = []

    def add(self, n_rows: int, columns: Mapping[str, NDArray[Any] | int]) -> None:
        """Append rows; ``columns`` holds (n_rows,) numbers, or the number that all of them have."""
        self._blocks.append(
            (n_rows, {column: _held(numbers) for column, numbers in columns.items()})
        )

    def take(self, column: str) -> NDArray[Any]:
        """Return a column of all rows and forget it; one that is the same all over is no memory."""
        parts = [(n_rows, held.pop(column, ABSENT)) for n_rows, held in self._blocks]
        n_rows = sum(size for size, _ in parts)
        commons = {part for _, part in parts if isinstance(part, int)}
        kinds = {part.dtype for _, part in parts if not isinstance(part, int)}
        if not kinds and len(commons) <= 1:
            return _repeated(commons.pop() if commons else ABSENT, n_rows)
        kinds |= {_repeated(number, 1).dtype for number in commons}
        joined = np.empty(n_rows, dtype=np.result_type(*kinds))
        first = 0
        for size, part in parts:
            joined[first : first + size] = part
            first += size
        return joined


def _held(numbers: NDArray[Any] | int) -> NDArray[Any] | int:
    if isinstance(numbers, int):
        return numbers
    return int(numbers[0]) if numbers.strides == (0,) and numbers.size else narrowed(numbers)


def _repeated(number: int, n_rows: int) -> NDArray[Any]:
    return np.broadcast_to(narrowed(np.array([number])), n_rows)


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
