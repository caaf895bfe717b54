"""The arguments of events: told apart as bytes, decoded once, kept as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import compress, count
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_columns import ABSENT, Codes, join_numbers, narrowed, whole_numbers
from reportgen.formats.tally import printable
from reportgen.profile import NO_STEP, SpanArguments
from reportgen.profile.spans import NUMBER_COLUMNS

Scalar = int | float | str | bool | None


class EventArgs(msgspec.Struct, frozen=True, gc=False):
    """The arguments that anything here reads; others are skipped without cost."""

    step_num: Scalar = NO_STEP
    pid: Scalar = -1
    tid: Scalar = -1
    worker_id: Scalar = -1
    num_workers: Scalar = -1
    pin_memory: Scalar = -1
    bytes_fetched: Scalar = -1
    name: str | None = None
    layer_name: str | None = None
    start_time_since_epoch_in_micros: Scalar = None


NO_ARGS = EventArgs()

_COLUMNS = {
    "step": attrgetter("step_num"),
    "os_pid": attrgetter("pid"),
    "tid": attrgetter("tid"),
    "worker_id": attrgetter("worker_id"),
    "num_workers": attrgetter("num_workers"),
    "pin_memory": attrgetter("pin_memory"),
    "bytes_fetched": attrgetter("bytes_fetched"),
}
_TEXTS = frozenset({"ph", "name", "layer_name"})
_PENDING_ROWS = 4_096
"""Arguments converted at once: numpy's calls cost more than their work on a few. Source: ours."""

_DECODER = msgspec.json.Decoder(EventArgs | None)
_MANY = msgspec.json.Decoder(list[EventArgs | None])


class ArgumentRows:
    """The arguments of one node's events; events with the same bytes share a row."""

    def __init__(self) -> None:
        """Start without any."""
        self.n_rows = 0
        self._pending: list[EventArgs] = []
        self._pending_tids: list[Any] = []
        self._labels = Codes()
        self._parts: dict[str, list[NDArray[Any]]] = {column: [] for column in NUMBER_COLUMNS}

    def rows_of(self, raws: Sequence[bytes], tids: Sequence[Any]) -> NDArray[np.int32]:
        """Return the row of each event's arguments; equal bytes in one call are one row.

        Args:
            raws: JSON of the arguments.
            tids: the ``tid`` that stands beside them, ``ABSENT`` without.
        """
        has_tids = tids.count(ABSENT) < len(tids)
        first: dict[Any, int] = {}
        keys = zip(raws, tids, strict=True) if has_tids else raws
        seen = np.fromiter(map(first.setdefault, keys, count()), dtype=np.int32, count=len(raws))
        is_first = seen == np.arange(len(raws), dtype=np.int32)
        number = np.cumsum(is_first, dtype=np.int32) + np.int32(self.n_rows - 1)
        self._pending += decode_many(list(compress(raws, is_first)))
        self._pending_tids += compress(tids, is_first)
        self.n_rows += len(first)
        if len(self._pending) >= _PENDING_ROWS:
            self._convert()
        return number[seen]

    def extend(self, other: SpanArguments) -> int:
        """Append the rows of another table; return how many stood before."""
        self._convert()
        n_before = self.n_rows
        for column, parts in self._parts.items():
            numbers = getattr(other, column)
            if column == "label" and other.labels:
                numbers = np.append(self._labels.of(other.labels), ABSENT)[numbers]
            says_nothing = bool((numbers == ABSENT).all())
            parts.append(
                np.broadcast_to(np.int8(ABSENT), numbers.shape) if says_nothing else numbers
            )
        self.n_rows += other.n_rows
        return n_before

    def table(self) -> SpanArguments:
        """Return all rows as columns; nothing can be added afterwards."""
        self._convert()
        columns = {column: join_numbers(parts) for column, parts in self._parts.items()}
        self._parts.clear()
        known = [printable(label) for label in self._labels]
        labels = tuple(sorted(set(known)))
        if labels:
            place = {label: code for code, label in enumerate(labels)}
            places = np.array([*(place[label] for label in known), ABSENT], dtype=np.int32)
            columns["label"] = places[columns["label"]]
        return SpanArguments(**columns, labels=labels)

    def _convert(self) -> None:
        """Append the pending rows to the columns."""
        if not self._pending:
            return
        for column, get in _COLUMNS.items():
            numbers = whole_numbers(list(map(get, self._pending)))
            if column == "tid":
                beside = whole_numbers(self._pending_tids)
                numbers = numbers if beside.strides == (0,) else _either(beside, numbers)
            self._parts[column].append(narrowed(numbers))
        self._parts["label"].append(self._pending_labels())
        self._pending, self._pending_tids = [], []

    def _pending_labels(self) -> NDArray[Any]:
        labels = [args.layer_name or args.name for args in self._pending]
        if not any(labels):
            return np.broadcast_to(np.int8(ABSENT), len(labels))
        codes = (self._labels[label] if label else ABSENT for label in labels)
        return np.fromiter(codes, dtype=np.int32, count=len(labels))


def _either(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(first == ABSENT, second, first)


def decode_args(raw: bytes) -> EventArgs:
    """Return the arguments in some JSON, ``NO_ARGS`` when it is no object."""
    try:
        return _DECODER.decode(raw) or NO_ARGS
    except (ValueError, RecursionError):
        return _decode_leniently(raw)


def decode_many(raws: Sequence[bytes]) -> list[EventArgs]:
    """Return ``decode_args`` of each, faster."""
    try:
        found = _MANY.decode(b"[%b]" % b",".join(raws))
    except (ValueError, RecursionError):
        return [decode_args(raw) for raw in raws]
    return [args or NO_ARGS for args in found]


def _decode_leniently(raw: bytes) -> EventArgs:
    """Leave out the fields of odd types, and everything when it is no object."""
    try:
        fields = json.loads(raw.decode("utf-8", "surrogateescape"))
        return msgspec.convert(scalars(fields), EventArgs, strict=False)
    except (ValueError, RecursionError, AttributeError):
        return NO_ARGS


def scalars(fields: dict[str, object]) -> dict[str, object]:
    """Return the fields that are single values; texts can be written, names are texts."""
    kept: dict[str, object] = {}
    for key, value in fields.items():
        if value is None:
            kept[key] = None
        elif isinstance(value, str) or key in _TEXTS:
            kept[key] = printable(str(value))
        elif isinstance(value, int | float):
            kept[key] = value
    return kept
