"""The arguments of events: compared as bytes, decoded once, kept as columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, Codes, Columns, Growing, narrowed, whole_numbers
from reportgen.formats.diagnostics import printable
from reportgen.formats.private_names import masked
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

_TEXTS = frozenset({"ph", "name", "layer_name"})
_PENDING_ROWS = 4_096
"""Arguments converted at once: numpy's calls cost more than their work on a few."""

_DECODER = msgspec.json.Decoder(EventArgs | None)
_MANY = msgspec.json.Decoder(list[EventArgs | None])


class ArgumentRows:
    """The arguments of one node's events; events that say the same mostly share a row."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._pending: list[EventArgs] = []
        self._pending_tids: list[Any] = []
        self._labels = Codes()
        self._rows = Growing()

    def rows_of(self, raws: Sequence[bytes], tids: Sequence[Any]) -> NDArray[np.int32]:
        """Return the row of each event's arguments; equal bytes in one call are one row.

        ``raws`` are JSON, ``tids`` the ``tid`` beside each, ``ABSENT`` without.
        """
        if tids.count(ABSENT) == len(tids):
            index = (different := Codes()).of(raws)
            return self.append(decode_many(list(different)))[index]
        index = (pairs := Codes()).of(list(zip(raws, tids, strict=True)))
        return self.append(decode_many([raw for raw, _ in pairs]), [tid for _, tid in pairs])[index]

    def append(self, args: Sequence[EventArgs], tids: Sequence[Any] = ()) -> NDArray[np.int32]:
        """Return the rows of different arguments, one after another; ``tids`` may be empty."""
        first = self.n_rows
        self._pending += args
        self._pending_tids += tids or [ABSENT] * len(args)
        self.n_rows += len(args)
        if len(self._pending) >= _PENDING_ROWS:
            self._convert()
        return np.arange(first, self.n_rows, dtype=np.int32)

    def table(self) -> SpanArguments:
        """Return all rows as columns; nothing can be added afterwards."""
        self._convert()
        nothing: Columns = dict.fromkeys(NUMBER_COLUMNS, np.empty(0, dtype=np.int8))
        columns = self._rows.take() or nothing
        known = [masked(printable(label)) for label in self._labels]
        labels = tuple(sorted(set(known)))
        if labels:
            place = {label: code for code, label in enumerate(labels)}
            places = np.array([*(place[label] for label in known), ABSENT], dtype=np.int32)
            columns["label"] = places[columns["label"]]
        return SpanArguments(**columns, labels=labels)

    def _convert(self) -> None:
        if not self._pending:
            return
        columns = {column: whole_numbers(values) for column, values in _columns_of(self._pending)}
        beside = whole_numbers(self._pending_tids)
        columns["tid"] = np.where(beside == ABSENT, columns["tid"], beside)
        columns["label"] = self._labels_of(self._pending)
        self._rows.add(**{name: narrowed(column) for name, column in columns.items()})
        self._pending, self._pending_tids = [], []

    def _labels_of(self, rows: Sequence[EventArgs]) -> NDArray[np.int64]:
        labels = [args.layer_name or args.name for args in rows]
        codes = (self._labels[label] if label else ABSENT for label in labels)
        return np.fromiter(codes, dtype=np.int64, count=len(labels))


def _columns_of(rows: Sequence[EventArgs]) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield the columns of some arguments; spelt out, as a comprehension reads a field fastest."""
    yield "step", [args.step_num for args in rows]
    yield "os_pid", [args.pid for args in rows]
    yield "tid", [args.tid for args in rows]
    yield "worker_id", [args.worker_id for args in rows]
    yield "num_workers", [args.num_workers for args in rows]
    yield "pin_memory", [args.pin_memory for args in rows]
    yield "bytes_fetched", [args.bytes_fetched for args in rows]


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
