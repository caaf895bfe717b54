"""Chrome trace arrays to event objects: typed and fast, or item by item where they are damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from reportgen.formats.event_args import Scalar, scalars
from reportgen.formats.event_columns import ABSENT
from reportgen.formats.json_text import items_of_line, to_text
from reportgen.formats.tally import Tally
from reportgen.profile import Quality

CHUNK_BYTES = 1 << 20
"""Bytes decoded at once. Source: measured; larger only takes memory."""

_NO_ARGS = msgspec.Raw(b"null")


class Event(msgspec.Struct, gc=False):
    """One event as it stands in the file; ``pid`` is a phase number, not a process.

    A ``dur`` below 0 is none: without one a span cannot be placed, an instant has no length.
    """

    ph: str | None = ""
    name: str | None = ""
    pid: Scalar = 0
    tid: Scalar = ABSENT
    ts: float | None = None
    dur: float | None = -1
    args: msgspec.Raw = _NO_ARGS


_DECODER = msgspec.json.Decoder(list[Event])
_EDGES = b", \t\r\n"


def read_events(content: bytes, key: str, tally: Tally) -> Iterator[list[Event]]:
    """Yield a file's events in their order, some thousands at a time.

    Args:
        content: the file; with or without ``[`` and ``]``, complete or broken off.
        key: the file's, for the tally.
        tally: counts lines that cannot be read, with their numbers.
    """
    if not _is_plain(content):
        content = to_text(content)[0].encode("utf-8", "surrogateescape")
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + CHUNK_BYTES)
        end = len(content) if end < 0 else end + 1
        chunk = content[start:end]
        events = _decode(chunk)
        if events is None:
            whole = _decode(content) if start == 0 else None
            if whole is not None:
                yield whole
                return
            first_line = content.count(b"\n", 0, start) + 1
            events = _decode_lines(chunk, first_line, key, tally, is_last=end == len(content))
        yield events
        start = end


def _is_plain(content: bytes) -> bool:
    return not content or (content[0] in b"[{ \n\r\t" and 0 not in content[:64])


def _is_whole(chunk: bytes) -> bool:
    """Return whether a run looks like a complete array: then it need not be copied."""
    return chunk.startswith(b"[") and chunk[-8:].rstrip().endswith((b"}]", b"}\n]", b"}\r\n]"))


def _decode(chunk: bytes) -> list[Event] | None:
    """Decode a run of events; ``None`` when anything about it is unusual."""
    if not _is_whole(chunk):
        body = chunk.strip(_EDGES).removeprefix(b"[").removesuffix(b"]").strip(_EDGES)
        chunk = b"[%b]" % body
    try:
        return _DECODER.decode(chunk)
    except (ValueError, RecursionError):  # msgspec's errors and broken UTF-8 are ValueErrors
        return None


def _decode_lines(
    chunk: bytes, first_line: int, key: str, tally: Tally, *, is_last: bool
) -> list[Event]:
    """Decode line by line; lines that cannot be read are counted and left out."""
    events: list[Event] = []
    lines = chunk.split(b"\n")
    for number, line in enumerate(lines, start=first_line):
        found = _decode(line)
        if found is None:
            found, is_broken = _decode_items(line)
            if is_broken:
                tally.add(Quality.LINES_BROKEN, key, detail=f"line {number}")
                if is_last and number - first_line + 1 == len(lines):
                    tally.add(Quality.BYTES_LOST, key, len(line))
        events.extend(found)
    return events


def _decode_items(line: bytes) -> tuple[list[Event], bool]:
    """Return what can be read of a line, and whether something could not."""
    events: list[Event] = []
    try:
        events.extend(map(_event_of, items_of_line(line.decode("utf-8", "surrogateescape"))))
    except (ValueError, RecursionError):
        return events, True
    return events, False


def _event_of(item: object) -> Event:
    """Convert one object leniently: numbers as text, fields of odd types left out.

    Raises:
        ValueError: it is no event (``msgspec.ValidationError`` is a ``ValueError``).
    """
    if not isinstance(item, dict):
        raise ValueError(f"expected an object, saw {type(item).__name__}")  # noqa: TRY004  # a damaged line is a ValueError
    args = item.get("args")
    fields = scalars(item)
    fields["args"] = msgspec.Raw(json.dumps(args).encode() if isinstance(args, dict) else b"null")
    return msgspec.convert(fields, Event, strict=False)
