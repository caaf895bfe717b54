"""Event objects to columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_text import NO_ARGS, Event

ABSENT = -1
"""What stands in a column of whole numbers where an event says nothing."""

ARG_COLUMNS = {
    "step": attrgetter("step_num"),
    "os_pid": attrgetter("pid"),
    "worker_id": attrgetter("worker_id"),
    "num_workers": attrgetter("num_workers"),
    "pin_memory": attrgetter("pin_memory"),
    "bytes_fetched": attrgetter("bytes_fetched"),
}
"""Columns of ``SpanTable`` that are arguments of an event."""

_LARGEST = 2**62


class Codes(dict[Any, int]):
    """Numbers for values in the order in which they are met."""

    def __missing__(self, value: Any) -> int:
        """Number a new value."""
        self[value] = len(self)
        return self[value]

    def of(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Return the number of each value."""
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=len(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventColumns:
    """Some events of one file, in its order.

    Attributes:
        position: (n,) int64 place in the file, counting every event and every metadata.
        ts_us: (n,) int64 or float64 microseconds after the file's base.
        dur_us: (n,) int64 or float64 microseconds.
        name: (n,) int32 codes of names.
        phase: (n,) int32 codes of the file's ``pid`` values.
        numbers: the columns of ``ARG_COLUMNS`` and ``tid``, (n,) int64 each; a column that is
            absent everywhere has stride 0.
    """

    position: NDArray[np.int64]
    ts_us: NDArray[Any]
    dur_us: NDArray[Any]
    name: NDArray[np.int32]
    phase: NDArray[np.int32]
    numbers: dict[str, NDArray[np.int64]]

    @property
    def n_events(self) -> int:
        """Return the number of events."""
        return int(self.position.shape[0])


def columns_of(
    events: Sequence[Event], position: NDArray[np.int64], *, names: Codes, pids: Codes
) -> EventColumns:
    """Return the columns of some events; a time that is no number is NaN."""
    args = [event.args or NO_ARGS for event in events]
    has_args = args.count(NO_ARGS) < len(args)
    numbers = {"tid": whole_numbers([event.tid for event in events])}
    for column, argument in ARG_COLUMNS.items():
        numbers[column] = whole_numbers(list(map(argument, args))) if has_args else _absent(args)
    if has_args:
        from_args = whole_numbers([item.tid for item in args])
        numbers["tid"] = np.where(numbers["tid"] == ABSENT, from_args, numbers["tid"])
    return EventColumns(
        position=position,
        ts_us=_times([event.ts for event in events]),
        dur_us=_times([event.dur for event in events]),
        name=names.of([event.name or "" for event in events]),
        phase=pids.of([event.pid for event in events]),
        numbers=numbers,
    )


def join_columns(parts: Sequence[EventColumns]) -> EventColumns:
    """Return the events of several parts."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return columns_of([], np.empty(0, dtype=np.int64), names=Codes(), pids=Codes())
    return EventColumns(
        position=np.concatenate([part.position for part in parts]),
        ts_us=np.concatenate([part.ts_us for part in parts]),
        dur_us=np.concatenate([part.dur_us for part in parts]),
        name=np.concatenate([part.name for part in parts]),
        phase=np.concatenate([part.phase for part in parts]),
        numbers={
            column: join_numbers([part.numbers[column] for part in parts])
            for column in parts[0].numbers
        },
    )


def join_numbers(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return several columns as one; columns that say nothing stay without memory."""
    if all(part.size == 0 or part.strides == (0,) for part in parts):
        values = {int(part[0]) for part in parts if part.size}
        if len(values) <= 1:
            size = sum(part.size for part in parts)
            return np.broadcast_to(np.int64(values.pop() if values else ABSENT), size)
    return np.concatenate(parts)


def whole_numbers(values: Sequence[Any]) -> NDArray[np.int64]:
    """Return whole numbers, ``ABSENT`` where a value is none: text and truth values count.

    Example:
        >>> whole_numbers(["7", True, None, 2.0, "many"]).tolist()
        [7, 1, -1, 2, -1]
    """
    if values.count(ABSENT) == len(values):
        return _absent(values)
    try:
        return np.fromiter(map(int, values), dtype=np.int64, count=len(values))
    except (ValueError, TypeError, OverflowError):
        return np.fromiter(map(_whole, values), dtype=np.int64, count=len(values))


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


def _absent(values: Sequence[Any]) -> NDArray[np.int64]:
    return np.broadcast_to(np.int64(ABSENT), len(values))


def _times(values: Sequence[Any]) -> NDArray[Any]:
    """Return int64 where all are whole, else float64 with NaN for what is no number."""
    if not values:
        return np.empty(0, dtype=np.int64)
    array = np.array(values)
    if array.dtype.kind == "i":
        return array
    if array.dtype.kind in "fu":
        return array.astype(np.float64)
    return np.array([np.nan if value is None else float(value) for value in values])
