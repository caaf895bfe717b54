"""Merging: measurements of several parts of a job, and rows of one code.

The fields of a measurement say how they merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")
Rows = NDArray[np.int64]

_MOST_COUNTED, _MOST_OF_RADIX = 1 << 20, 1 << 16
"""Codes of a smaller range than the first are found without a sort, in a tenth of its time; of a
smaller range than the second they are sorted by their digits, in a fifth."""


def merged(reduce: Callable[[Sequence[Any]], Any], **options: Any) -> Any:
    """Declare how the values of a field over all parts become one value.

    ``n_ops: int = merged(sum)`` adds them up; see ``merge``.

    Args:
        reduce: from the values of all parts, in their order, to one value: ``sum``, ``max``,
            ``concat``, ``sum_by_key``, ``least``, ``greatest``, or ``merge`` itself.
        **options: of ``dataclasses.field``, such as a default.
    """
    return field(metadata={"reduce": reduce}, **options)


def merge(items: Sequence[_T]) -> _T:
    """Return several measurements of one class as one.

    A field that was declared with ``merged`` is reduced; any other is that of the first one.

    Raises:
        IndexError: there are no items.
    """
    first: Any = items[0]
    joined: _T = type(first)(
        **{
            item.name: reduce([getattr(one, item.name) for one in items])
            if (reduce := item.metadata.get("reduce"))
            else getattr(first, item.name)
            for item in fields(first)
            if item.init
        }
    )
    return joined


def merge_by(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, _T]:
    """Return the items of each key merged, in the order in which keys appear first."""
    groups: dict[_K, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return {name: merge(group) if len(group) > 1 else group[0] for name, group in groups.items()}


def merge_members(key: Callable[[Any], Any]) -> Callable[[Sequence[Iterable[Any]]], Any]:
    """Return the reducer of parts whose members merge where their keys are equal.

    It returns a tuple of one member for each key, sorted by the keys.
    """

    def reduce(parts: Sequence[Iterable[Any]]) -> tuple[Any, ...]:
        found = merge_by(concat(parts), key)
        return tuple(found[name] for name in sorted(found))

    return reduce


def concat(parts: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    """Return the members of all parts, one after the other."""
    return tuple(item for part in parts for item in part)


def sum_by_key(parts: Iterable[Mapping[_K, _V]]) -> dict[_K, _V]:
    """Return the sum of each key over all parts, in the order in which keys appear first."""
    totals: dict[_K, Any] = {}
    for part in parts:
        for key, value in part.items():
            totals[key] = totals[key] + value if key in totals else value
    return totals


def max_by_key(parts: Iterable[Mapping[_K, int]]) -> dict[_K, int]:
    """Return the largest value of each key over all parts."""
    largest: dict[_K, int] = {}
    for part in parts:
        largest |= {key: max(value, largest.get(key, value)) for key, value in part.items()}
    return largest


def least(values: Iterable[int | None]) -> int | None:
    """Return the smallest of the values that are there, ``None`` without any."""
    return min((value for value in values if value is not None), default=None)


def greatest(values: Iterable[int | None]) -> int | None:
    """Return the largest of the values that are there, ``None`` without any."""
    return max((value for value in values if value is not None), default=None)


# Rows in arrays


def sums_by_code(codes: NDArray[np.integer], values: NDArray[np.int64], n_codes: int) -> Rows:
    """Return (n_codes,) exact sums of (n,) values for each code, 0 for codes without rows."""
    sums = np.zeros(n_codes, dtype=np.int64)
    np.add.at(sums, codes, values)
    return sums


def distinct_codes(codes: NDArray[np.integer]) -> tuple[Rows, Rows]:
    """Return the codes that occur, ascending, and the place of each of (n,) codes among them."""
    low, n_between = _range_of(codes)
    if n_between > _MOST_COUNTED:
        values, place = np.unique(codes, return_inverse=True)
        return values.astype(np.int64, copy=False), place
    above = np.subtract(codes, low, dtype=np.int64)
    is_there = np.zeros(n_between, dtype=bool)
    is_there[above] = True
    return np.flatnonzero(is_there) + low, np.take(np.cumsum(is_there) - 1, above)


def order_of_codes(codes: NDArray[np.integer]) -> Rows:
    """Return the order that sorts (n,) codes; equal ones stay in their present order."""
    low, n_between = _range_of(codes)
    if n_between <= _MOST_OF_RADIX:
        codes = np.subtract(codes, low, dtype=np.int64).astype(np.uint16)
    return np.argsort(codes, kind="stable")


def _range_of(codes: NDArray[np.integer]) -> tuple[int, int]:
    """Return the least code, and how many numbers there are from it to the largest."""
    if not codes.size:
        return 0, 0
    low = int(codes.min())
    return low, int(codes.max()) - low + 1


def rows_by_code(codes: NDArray[np.integer]) -> Iterator[tuple[int, Rows]]:
    """Yield each code that occurs, ascending, with its rows in their present order."""
    order = order_of_codes(codes)
    ordered = codes[order]
    first = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    found = ordered[np.append(0, first)[: codes.size]].tolist()
    yield from zip(found, np.split(order, first), strict=False)


def rows_between(first: Rows, after: Rows) -> tuple[Rows, Rows]:
    """Return the rows of ranges ``[first, after)``, (n,) each, one range after the other.

    Returns:
        The place of the range of each row, and the rows.
    """
    n_each = after - first
    of_range = np.repeat(np.arange(n_each.size), n_each)
    return of_range, np.arange(of_range.size) + np.repeat(after - np.cumsum(n_each), n_each)


def joint_codes(*columns: NDArray[np.integer]) -> Rows:
    """Return (n,) int64 codes that are equal where all columns are equal.

    Args:
        columns: at least one, (n,) integers each; codes count from 0 and ascend by the first
            column, then by the next.
    """
    codes = np.zeros(columns[0].shape, dtype=np.int64)
    for column in columns:
        values, place = distinct_codes(column)
        _, codes = distinct_codes(codes * values.size + place)
    return codes


def sum_of_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values that are known, ``None`` without any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
