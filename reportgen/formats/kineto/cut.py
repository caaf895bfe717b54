"""A part of a kernel trace as a kernel trace: its events as the file writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import msgspec

from reportgen.formats.decompression import Packing, unpacked, until_blank
from reportgen.formats.kineto.columns import CALLS
from reportgen.formats.kineto.events import NO_ARGS, ExactEvent, TraceEvent, decode_run
from reportgen.formats.kineto.header import kept_header
from reportgen.formats.kineto.text import TraceText
from reportgen.formats.private_names import without_people
from reportgen.masking import without_secrets
from reportgen.units import NS_PER_US

_RAW = msgspec.json.Decoder(list[msgspec.Raw])
_NAMES = frozenset(
    {"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}
)
_HOME = re.compile(r"(?:/(?:home|Users)/|\b[A-Za-z]:[\\/]+Users[\\/]+)[^/\\\s:\"']+|/root(?=/|$)")
_MAY_BE_PRIVATE = re.compile(rb"[/\\@]|secret|token|passw|pwd|key|credential", re.IGNORECASE)
_ALWAYS = 2**63
_FLOWS = frozenset("stf")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)

Blocks = Callable[[], Iterable[bytes]]


@dataclass(slots=True, kw_only=True)
class Copied:
    """Counts of copied events; ``n_left_out`` events of the range are damaged."""

    n_events: int = 0
    n_spans: int = 0
    n_left_out: int = 0


class _Event(ExactEvent, gc=False):
    """One event, and its text in the file."""

    text: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="(text)")


_DECODER = msgspec.json.Decoder(list[_Event])


def copy_events(
    blocks: Blocks, copied: Copied, *, low_ns: int | None = None, high_ns: int | None = None
) -> Iterator[bytes]:
    """Yield a trace of the events that overlap a range of the file's own clock, ends included.

    Work that a call of the range started is included, however late it ran. Events are copied byte
    by byte, except homes, addresses and secrets of people in their texts. Of the text around them
    only keys that say nothing about people and machines are copied.

    Args:
        blocks: returns the bytes of the file from its start; it is read twice.
        copied: hears what was copied.
        low_ns, high_ns: ``None`` is open.
    """
    low_us = Decimal(-_ALWAYS if low_ns is None else low_ns) / NS_PER_US
    high_us = Decimal(_ALWAYS if high_ns is None else high_ns) / NS_PER_US
    outside: list[bytes] = []
    started: set[object] = set()
    for event in _events(blocks, outside):
        is_call = event.ph == "s" or event.cat in CALLS
        if is_call and _is_inside(event, low_us, high_us):
            started.add(_joined_by(event))
    started.discard(None)
    head = json.dumps(kept_header(outside), ensure_ascii=False)[:-1]
    yield _without_people(head.encode()) + (b", " if len(head) > 1 else b"") + b'"traceEvents": ['
    comma = b"\n"
    for event in _events(blocks, []):
        if event.ph == "M":
            is_wanted = event.name in _NAMES
        else:
            is_wanted = _is_inside(event, low_us, high_us) or _joined_by(event) in started
        if is_wanted and isinstance(event, _Event):
            yield comma + _without_people(bytes(event.text))
            comma = b",\n"
            copied.n_events += 1
            copied.n_spans += event.ph == "X"
        copied.n_left_out += is_wanted and not isinstance(event, _Event)
    yield b"\n]}\n"


def _events(blocks: Blocks, outside: list[bytes]) -> Iterator[TraceEvent]:
    """Yield the events of the first list of a file; put the text around them into ``outside``."""
    packing = Packing()
    text = TraceText(
        blocks=until_blank(unpacked(blocks(), packing), packing.give_up), decode=_decode
    )
    for batch in text.batches():
        if batch.document == 0:
            yield from batch.events
    outside += text.outside


def _decode(text: bytes) -> list[TraceEvent] | None:
    """Decode events with their texts; those of damaged runs have none."""
    try:
        events = _DECODER.decode(b"[%b]" % text)
        for event, written in zip(events, _RAW.decode(b"[%b]" % text), strict=True):
            event.text = written
    except (ValueError, RecursionError):
        return decode_run(text)
    return list[TraceEvent](events)


def _is_inside(event: TraceEvent, low_us: Decimal, high_us: Decimal) -> bool:
    try:
        start_us = Decimal(event.ts or 0)
        return start_us <= high_us and start_us + Decimal(event.dur or 0) >= low_us
    except (ArithmeticError, ValueError):
        return False


def _joined_by(event: TraceEvent) -> object:
    """Return the id that a call shares with the work it started; ``None`` without one."""
    if event.ph == "X":
        return (event.args or NO_ARGS).correlation or None
    return ("flow", event.cat, event.id) if event.ph in _FLOWS else None


def _without_people(text: bytes) -> bytes:
    """Return JSON whose texts name no homes and addresses of people and no secrets.

    Example:
        >>> _without_people(b'{"name": "/home/ada/x.py(1): f", "ts": 1.250}')
        b'{"name": "~/x.py(1): f", "ts": 1.250}'
    """
    return _TEXT.sub(_cleaned, text) if _MAY_BE_PRIVATE.search(text) else text


def _cleaned(match: re.Match[bytes]) -> bytes:
    if not _MAY_BE_PRIVATE.search(match[0]):
        return match[0]
    said = json.loads(match[0], strict=False)
    cleaned = without_people(without_secrets(_HOME.sub("~", said)))
    return match[0] if cleaned == said else json.dumps(cleaned).encode()
