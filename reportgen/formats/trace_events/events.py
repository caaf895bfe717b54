"""Chrome trace arrays to event objects: typed and fast, or item by item where they are damaged."""

from __future__ import annotations

import json

import msgspec

from reportgen.formats.columns import ABSENT
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.json_text import items_of_line
from reportgen.formats.trace_events.arguments import Scalar, scalars
from reportgen.profile import Quality

_NO_ARGS = msgspec.Raw(b"null")


class JsonEvent(msgspec.Struct, gc=False):
    """One event as it is in the file; ``pid`` is a phase number, not a process.

    A ``dur`` below 0 is none: without one a span cannot be placed, an instant has no length.
    """

    ph: str | None = ""
    name: str | None = ""
    pid: Scalar = 0
    tid: Scalar = ABSENT
    ts: float | None = None
    dur: float | None = -1
    args: msgspec.Raw = _NO_ARGS


_DECODER = msgspec.json.Decoder(list[JsonEvent])
EDGES = b", \t\r\n"


def decode_events(text: bytes) -> list[JsonEvent] | None:
    """Return events with commas between them; ``None`` when anything about them is unusual."""
    looks_whole = text[-8:].rstrip().endswith((b"}]", b"}\n]", b"}\r\n]"))
    if not (looks_whole and text.startswith(b"[")):  # else it need not be copied
        body = text.strip(EDGES).removeprefix(b"[").removesuffix(b"]").strip(EDGES)
        text = b"[%b]" % body
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):  # msgspec's errors and broken UTF-8 are ValueErrors
        return None


def decode_lines(
    run: bytes, first_line: int, key: str, problems: Diagnostics, *, is_last: bool
) -> list[JsonEvent]:
    """Return the events of a run of lines, read one by one; those that cannot be read are counted.

    ``first_line`` is the number of the first; ``is_last``: the file ends here.
    """
    events: list[JsonEvent] = []
    lines = run.split(b"\n")
    for number, line in enumerate(lines, start=first_line):
        found = decode_events(line)
        if found is None:
            found, is_broken = _decode_items(line)
            if is_broken:
                problems.add(Quality.LINES_BROKEN, key, detail=f"line {number}")
                if is_last and number - first_line + 1 == len(lines):
                    problems.add(Quality.BYTES_LOST, key, len(line))
        events.extend(found)
    return events


def decode_event(text: bytes) -> JsonEvent | None:
    """Return one event, read leniently; ``None`` when it is none."""
    events, is_broken = _decode_items(text.strip(EDGES))
    return events[0] if len(events) == 1 and not is_broken else None


def _decode_items(line: bytes) -> tuple[list[JsonEvent], bool]:
    events: list[JsonEvent] = []
    try:
        events.extend(map(_event_of, items_of_line(line.decode("utf-8", "surrogateescape"))))
    except (ValueError, RecursionError):
        return events, True
    return events, False


def _event_of(item: object) -> JsonEvent:
    """Convert one object leniently: numbers as text, fields of odd types left out.

    Raises:
        ValueError: it is no event (``msgspec.ValidationError`` is a ``ValueError``).
    """
    if not isinstance(item, dict):
        raise ValueError(f"expected an object, saw {type(item).__name__}")  # noqa: TRY004  # a damaged line is a ValueError
    args = item.get("args")
    fields = scalars(item)
    fields["args"] = msgspec.Raw(json.dumps(args).encode() if isinstance(args, dict) else b"null")
    return msgspec.convert(fields, JsonEvent, strict=False)
