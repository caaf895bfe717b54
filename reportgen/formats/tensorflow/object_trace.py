"""Chrome traces that are one object with a list of events in it, as TensorFlow writes them.

``{"displayTimeUnit": …, "traceEvents": [{…}, …, {}]}``, packed or not, on one line or on many: cut
between two events, some MB at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reportgen.formats.decompression import (
    MAX_LOST_BYTES,
    SAY_GIVEN_UP,
    Packing,
    last_border,
    noted_until_blank,
    unpacked,
)
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.trace_events.events import Event, decode_event, decode_events
from reportgen.formats.trace_events.runs import CHUNK_BYTES
from reportgen.profile import Quality

_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_OPENING_BYTES = 64
_BORDER = re.compile(rb'(?<=\})\s*+,\s*+(?=\{\s*+(?:\}|"\w++"\s*+:))')
_EDGES = b", \t\r\n"
_MAX_ENDS = 16
_MAX_EVENT_BYTES = 16 << 20

_SAY_DAMAGED = "{n} damaged [event|events] could not be read and [was|were] left out"
_SAY_CUT_OFF = "the file ends in the middle of its events: {bytes} lost"
_SAY_NO_LIST = "{n} [file holds|files hold] no list of events"


def read_object_events(
    blocks: Iterable[bytes], key: str, problems: Diagnostics
) -> Iterator[list[Event]]:
    """Yield a file's events in their order, some thousands at a time, from bytes packed or not."""
    packing = Packing()
    text = b""
    is_open, n_lost = False, 0
    for block in noted_until_blank(unpacked(blocks, packing), key, problems):
        text += block
        if not is_open:
            opening = _OPENING.search(text)
            text = text[opening.end() :] if opening else text[-_OPENING_BYTES:]
            is_open = opening is not None
        text = text.lstrip(_EDGES)
        if not is_open or len(text) < CHUNK_BYTES:
            continue
        border = last_border(text, _BORDER)
        if border is None and len(text) < _MAX_EVENT_BYTES:
            continue
        n_lost += 0 if border else len(text)
        if n_lost > MAX_LOST_BYTES:
            problems.remark(SAY_GIVEN_UP, path=key)
            text = b""
            break
        end, start = border or (len(text), len(text))
        yield _run(text[:end], key, problems)
        text = text[start:]
    if is_open:
        yield _tail(text, key, problems)
    else:
        problems.add(Quality.FILES_SKIPPED, key, what=_SAY_NO_LIST)
    if packing.is_damaged:
        problems.remark(
            "Its packed bytes are damaged; the data after the damage are lost.", path=key
        )
    if packing.is_cut_off:
        problems.remark("Its packed bytes end too early; the rest is lost.", path=key)


def _run(text: bytes, key: str, problems: Diagnostics) -> list[Event]:
    events = decode_events(text)
    return events if events is not None else _pieces(_BORDER.split(text), key, problems)


def _tail(text: bytes, key: str, problems: Diagnostics) -> list[Event]:
    end = len(text)
    for _ in range(_MAX_ENDS):
        end = text.rfind(b"]", 0, end)
        if end < 0:
            break
        events = decode_events(text[:end])
        if events is not None:
            return events
    *pieces, last = _BORDER.split(text)
    events = _pieces(pieces, key, problems)
    event = decode_event(last.rpartition(b"]")[0] or last)
    if event is not None:
        return [*events, event]
    problems.add(Quality.BYTES_LOST, key, len(last.strip(_EDGES)), what=_SAY_CUT_OFF)
    return events


def _pieces(pieces: Iterable[bytes], key: str, problems: Diagnostics) -> list[Event]:
    found = [decode_event(piece) for piece in pieces]
    problems.add(Quality.EVENTS_DROPPED, key, found.count(None), what=_SAY_DAMAGED)
    return [event for event in found if event is not None]
