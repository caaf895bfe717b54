"""The events of a kernel trace as they are in the file: only the parts that are used here.

Other parts are skipped without being decoded, so that stacks, command lines and
environments of a trace never reach the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

Number = int | float | str | None
NO_TEXT = msgspec.Raw(b"")


class Args(msgspec.Struct, gc=False):
    """The arguments of an event; sizes and numbers as the file writes them."""

    correlation: Number = None
    device: Number = None
    stream: Number = None
    bytes: Number = None
    size: Number = None
    external_id: Number = msgspec.field(default=None, name="External id")
    external_id_2021: Number = msgspec.field(default=None, name="external id")
    input_type: msgspec.Raw = msgspec.field(default=NO_TEXT, name="Input type")
    input_dims: msgspec.Raw = msgspec.field(default=NO_TEXT, name="Input Dims")
    input_dims_2021: msgspec.Raw = msgspec.field(default=NO_TEXT, name="Input dims")
    input_values: msgspec.Raw = msgspec.field(default=NO_TEXT, name="Concrete Inputs")
    grid: msgspec.Raw = NO_TEXT
    block: msgspec.Raw = NO_TEXT
    kernel_file: str | None = None
    kernel_backend: str | None = None
    collective: str | None = msgspec.field(default=None, name="Collective name")
    dtype: str | None = None
    in_elements: Number = msgspec.field(default=None, name="In msg nelems")
    out_elements: Number = msgspec.field(default=None, name="Out msg nelems")
    group_size: Number = msgspec.field(default=None, name="Group size")
    group_name: Number = msgspec.field(default=None, name="Process Group Name")
    group_words: Number = msgspec.field(default=None, name="Process Group Description")
    group_ranks: msgspec.Raw = msgspec.field(default=NO_TEXT, name="Process Group Ranks")
    seq: Number = msgspec.field(default=None, name="Seq")
    memory_type: Number = msgspec.field(default=None, name="Device Type")
    memory_device: Number = msgspec.field(default=None, name="Device Id")
    change_bytes: Number = msgspec.field(default=None, name="Bytes")
    allocated_bytes: Number = msgspec.field(default=None, name="Total Allocated")
    reserved_bytes: Number = msgspec.field(default=None, name="Total Reserved")


class TraceEvent(msgspec.Struct, gc=False):
    """One event; ``values`` are those of a counter by their names, which any file chooses."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Number = None
    tid: Number = None
    ts: Number = None
    dur: Number = None
    id: Number = None
    args: Args | None = None
    values: dict[str, float] | None = msgspec.field(default=None, name="(values of a counter)")


class _ExactEvent(TraceEvent, gc=False):
    """One event with all decimals of its times: float64 holds 250 ns of a time since 1970."""

    ts: Decimal | None = None  # type: ignore[assignment]  # a narrower type of the same number
    dur: Decimal | None = None  # type: ignore[assignment]  # as ts


class _Counter(msgspec.Struct, gc=False):
    """A counter as it is in the file."""

    ph: str | None = None
    args: msgspec.Raw = NO_TEXT


COUNTER = "C"
_MOST_VALUES = 64
"""An event has no more values: real counters have a few series, or one per performance counter."""

NO_ARGS = Args()
_DECODER = msgspec.json.Decoder(list[TraceEvent])
_EXACT_DECODER = msgspec.json.Decoder(list[_ExactEvent])
_COUNTERS = msgspec.json.Decoder(list[_Counter])
_ONE = msgspec.json.Decoder(TraceEvent)


def decode_run(text: bytes) -> list[TraceEvent] | None:
    """Decode events with commas between them; ``None`` when anything about them is unusual."""
    return _decode(text, _DECODER)


def decode_exactly(text: bytes) -> list[TraceEvent] | None:
    """Decode events as ``decode_run`` does, with all decimals where all times are numbers."""
    events = _decode(text, _EXACT_DECODER)
    return decode_run(text) if events is None else events


def _decode(text: bytes, decoder: msgspec.json.Decoder[Any]) -> list[TraceEvent] | None:
    try:
        events: list[TraceEvent] = decoder.decode(b"[%b]" % text)
        if COUNTER in {event.ph for event in events}:  # the text takes ten times as long to search
            counters = _COUNTERS.decode(b"[%b]" % text)
            for event, counter in zip(events, counters, strict=True):
                if counter.ph == COUNTER and counter.args:
                    event.values = _values_of(msgspec.json.decode(counter.args))
    except (ValueError, RecursionError):  # msgspec's errors and broken UTF-8 are ValueErrors
        return None
    return events


def _values_of(args: object) -> dict[str, float]:
    """Return the numbers among the arguments of a counter.

    Example:
        >>> _values_of({"GPU 0": 12, "of": "bytes", "left": "3.5", "ok": True})
        {'GPU 0': 12.0, 'left': 3.5}
    """
    found: dict[str, float] = {}
    for key, value in list(args.items())[:_MOST_VALUES] if isinstance(args, Mapping) else ():
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(number):
            found[str(key)] = number
    return found


def event_of(fields: dict[str, object]) -> TraceEvent | None:
    """Return an event made of fields that were read leniently; odd ones are left out.

    Example:
        >>> event_of({"ph": "X", "ts": 1, "name": ["odd"], "args": {"device": 0}}).args.device
        0
    """
    args = fields.get("args")
    plain: dict[str, object] = {
        key: value for key, value in fields.items() if isinstance(value, str | int | float)
    }
    if isinstance(args, dict):
        plain["args"] = {key: value for key, value in args.items() if _is_usable(key, value)}
    try:
        event = _ONE.decode(msgspec.json.encode(plain))
        if event.ph == COUNTER:
            event.values = _values_of(args)
    except (ValueError, RecursionError):
        return None
    return event


_LISTS = {"Input type", "grid", "block", "Process Group Ranks"}
_TEXTS = {"Collective name", "dtype"}


def _is_usable(key: str, value: object) -> bool:
    if key in _LISTS:
        return True
    return isinstance(value, str) or (isinstance(value, int | float) and key not in _TEXTS)
