"""Arguments that differ in whole numbers alone: what stands around the numbers is decoded once.

``{"pid": 27, "step_num": "41"}`` and ``{"pid": 28, "step_num": "42"}`` are one pattern. Where it
stands, the numbers are read by their place, for all events of a text at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_args import ArgumentRows, decode_plain, label_of, numbers_of
from reportgen.formats.event_columns import ABSENT
from reportgen.formats.words import PADDING, Words, is_plain, numbers_at, stands_at

_NUMBER = re.compile(rb'(?<=": )\d+(?=[,}])|(?<=": ")\d+(?=")')
_STAND_INS = (2_010_000_000, 3_020_000_000)
"""Put in place of a text's numbers, counting up: a column that follows is read from that place."""

_MAX_BYTES = 1_024
_MAX_NUMBERS = 16
_MAX_KNOWN = 32
"""Longer texts, more numbers, more patterns cost more than they save. Source: ours."""

_FEWEST = 32
"""For fewer events no pattern is learned: numpy's calls cost more. Source: ours."""

_MAX_TRIES = 8
"""Arguments of one text that are tried as a new pattern. Source: ours."""

_MAX_KEYS = 4
"""Possible combinations of numbers for each event up to which equal ones are looked for."""

PATTERN_PADDING = _MAX_BYTES + PADDING
"""Bytes that must follow a text in which patterns are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What arguments have in common.

    Attributes:
        texts: what stands before, between and after the numbers, the event's last bracket too.
        columns: the column of each number; ``None`` when nothing here reads it.
        common: the number in each other column.
        label: what the arguments call the event.
    """

    texts: tuple[bytes, ...]
    columns: tuple[str | None, ...]
    common: Mapping[str, int]
    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Where a pattern stands.

    Attributes:
        pattern: which.
        rows: (n,) index of the places where it stands, rising.
        ends: (n,) the places after it.
        numbers: (n,) each of the pattern's numbers.
    """

    pattern: Pattern
    rows: NDArray[np.intp]
    ends: NDArray[np.intp]
    numbers: list[NDArray[np.int64]]

    def rows_in(self, table: ArgumentRows) -> NDArray[np.int32]:
        """Append the arguments to a table; return (n,) the row of each match's."""
        both = zip(self.pattern.columns, self.numbers, strict=True)
        columns = {column: numbers for column, numbers in both if column is not None}
        examples, index = _examples(list(columns.values()), self.rows.size)
        different = {column: numbers[examples] for column, numbers in columns.items()}
        rows = table.append_numbers(
            {**self.pattern.common, **different}, self.pattern.label, examples.size
        )
        return rows[index]


Found = tuple[list[Matches], NDArray[np.intp]]


class Patterns:
    """Patterns that were met, for all files of a node."""

    def __init__(self) -> None:
        """Start without any."""
        self._known: list[Pattern] = []

    def find(self, text: bytes, words: Words, places: NDArray[np.intp]) -> Found:
        """Return where which pattern stands, and the index of the places where none does.

        Args:
            text: lines with events, ``PATTERN_PADDING`` after them.
            words: those of the text.
            places: (n,) where the arguments of events begin.
        """
        search = _Search(words, places)
        n_met = [search.take(pattern, n_least=1) for pattern in self._known]
        order = sorted(range(len(n_met)), key=n_met.__getitem__, reverse=True)
        learned: list[Pattern] = []
        n_alone = 0
        for _ in range(_MAX_TRIES):
            if search.waiting.size < _FEWEST + n_alone:
                break
            pattern = _pattern_at(int(places[search.waiting[n_alone]]), text)
            if pattern is not None and search.take(pattern, n_least=_FEWEST):
                learned.append(pattern)
            else:
                n_alone += 1
        self._known = [*learned, *(self._known[index] for index in order)][:_MAX_KNOWN]
        return search.found, search.waiting


class _Search:
    """Looks for patterns at some places, each of which is taken once.

    Attributes:
        found: what was found.
        waiting: index of the places at which nothing was found.
    """

    def __init__(self, words: Words, places: NDArray[np.intp]) -> None:
        self.found: list[Matches] = []
        self.waiting = np.arange(places.size)
        self._words, self._places = words, places

    def take(self, pattern: Pattern, n_least: int) -> int:
        """Take the places where a pattern stands if they are so many; return how many."""
        if not self.waiting.size:
            return 0
        index, ends, numbers = _look(pattern, self._places[self.waiting], self._words)
        if index.size < n_least:
            return 0
        rows = self.waiting[index]
        self.found.append(Matches(pattern=pattern, rows=rows, ends=ends, numbers=numbers))
        self.waiting = np.delete(self.waiting, index)
        return index.size


_Places = NDArray[np.intp]


def _look(
    pattern: Pattern, places: NDArray[np.intp], words: Words
) -> tuple[_Places, _Places, list[NDArray[np.int64]]]:
    """Return the index of the places where a pattern stands, the places after it, its numbers."""
    index, ends = np.arange(places.size), places
    numbers: list[NDArray[np.int64]] = []
    for text in pattern.texts:
        is_there = stands_at(text, ends, words)
        ends = ends + len(text)
        if len(numbers) < len(pattern.columns):
            values, n_digits = numbers_at(words, ends)
            is_there &= is_plain(values, n_digits)
            ends += n_digits
            numbers.append(values.view(np.int64))
        if not is_there.all():
            index, ends = index[is_there], ends[is_there]
            numbers = [values[is_there] for values in numbers]
    return index, ends, numbers


def _pattern_at(place: int, text: bytes) -> Pattern | None:
    """Return the pattern of the arguments at a place; ``None`` without one."""
    line = text[place : place + _MAX_BYTES].partition(b"\n")[0].rstrip(b",")
    texts = tuple(_NUMBER.split(line))
    n_numbers = len(texts) - 1
    if not line.endswith(b"}") or n_numbers > _MAX_NUMBERS:
        return None
    args = [decode_plain(_with_numbers(texts, first)[:-1]) for first in _STAND_INS]
    same, other = args
    if same is None or other is None or label_of(same) != label_of(other):
        return None
    common: dict[str, int] = {}
    columns: list[str | None] = [None] * n_numbers
    both = zip(numbers_of(same).items(), numbers_of(other).values(), strict=True)
    for (column, number), number_there in both:
        index = number - _STAND_INS[0]
        if number == number_there:
            common[column] = number
        elif 0 <= index == number_there - _STAND_INS[1] < n_numbers:
            columns[index] = column
        else:
            return None
    return Pattern(texts=texts, columns=tuple(columns), common=common, label=label_of(same))


def _with_numbers(texts: Sequence[bytes], first: int) -> bytes:
    """Put numbers that count up between texts."""
    rest = (b"%d%b" % numbered for numbered in enumerate(texts[1:], start=first))
    return b"".join([texts[0], *rest])


def _examples(
    columns: Sequence[NDArray[np.int64]], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a row of each combination of numbers, and the index of each row's combination.

    Combinations are told apart where few are possible; elsewhere each row is its own.
    """
    keys, n_keys = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        least, most = int(column.min()), int(column.max())
        n_keys *= most - least + 1
        if n_keys > _MAX_KEYS * n_rows:
            return np.arange(n_rows), np.arange(n_rows)
        keys = keys * (most - least + 1) + (column - least)
    row_of = np.full(n_keys, ABSENT, dtype=np.intp)
    row_of[keys] = np.arange(n_rows)
    is_met = row_of != ABSENT
    return row_of[is_met], (np.cumsum(is_met) - 1)[keys]
