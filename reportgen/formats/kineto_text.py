"""Kernel traces as a stream of events: some MB at a time, whatever the size of the file.

A file is one JSON object with the list ``traceEvents`` somewhere in it, or a bare list. It is cut
between two events, and what was cut is decoded: a cut in a wrong place shows itself. Where
decoding fails the events are taken one by one, repaired, or counted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reportgen.formats.kineto_events import TraceEvent, decode_run
from reportgen.formats.kineto_repair import repair_event, repair_text

CHUNK_BYTES = 2 << 20
"""Bytes decoded at once. Source: measured; larger only takes memory."""

MAX_OUTSIDE_BYTES = 16 << 20
"""What stands around the events is looked at up to here. Source: ours; real ones have 0.1 MB."""

_OPEN = re.compile(
    rb'(?P<list>"traceEvents"\s*:\s*\[)|\A[\s\xef\xbb\xbf]*\[(?=\s*(?:\{|\]))|(?=\{\s*"ph"\s*:)'
)
_OPEN_BYTES = 64
_BORDER = re.compile(rb"\}\s*,\s*(?=\{)")
_EVENT_BORDER = re.compile(
    rb'\}\s*,?\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|args|id|dur|s|bp)"\s*:)|\}\s*,\s*(?=\{)'
)
_END = re.compile(
    rb'\}\s*(?=\]\s*(?:,\s*"|\}|\{|\[|\Z)|\}\s*(?:\{|\Z)|,\s*"(?:traceName|schemaVersion|'
    rb"distributedInfo|deviceProperties|displayTimeUnit|baseTimeNanoseconds|traceEvents|INFO|"
    rb'with_stack|record_shapes|trace_id|metadata)")'
)
_CLOSING = re.compile(rb"\s*\]?")
_EMPTY = re.compile(rb"[\s,]*\]")
_EDGES = b", \t\r\n"
_MAX_ENDS = 16
_MAX_EVENT_BYTES = 64 << 20


@dataclass(slots=True, kw_only=True)
class Losses:
    """What reading a file cost.

    Attributes:
        events_lost: events that could not be read.
        bytes_lost: bytes of those events, and of what stands between events.
        places_repaired: damaged places that could be read after repair.
        bytes_cut_off: bytes of an event in whose middle the file ends.
        is_unclosed: whether the list of events never ends.
    """

    events_lost: int = 0
    bytes_lost: int = 0
    places_repaired: int = 0
    bytes_cut_off: int = 0
    is_unclosed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events of a file in their order; ``document`` counts the lists of events from 0."""

    document: int
    events: list[TraceEvent]


@dataclass(slots=True, kw_only=True)
class TraceText:
    """A file as it is read.

    Attributes:
        blocks: its bytes, unpacked.
        losses: what could not be read; grows.
        outside: the text around the events, one part for each list of events and one after the
            last; grows.
        n_bytes: bytes read; grows.
    """

    blocks: Iterable[bytes]
    losses: Losses = field(default_factory=Losses)
    outside: list[bytes] = field(default_factory=list)
    n_bytes: int = 0

    def batches(self) -> Iterator[Batch]:
        """Yield the events, some thousands at a time."""
        source = _Source(self)
        document = -1
        while opening := source.find_opening():
            is_new = opening["list"] is not None or document < 0
            document += is_new
            for events in _events_until_end(source, self.losses):
                yield Batch(document=document, events=events)


class _Source:
    """What was read and is not decoded yet."""

    def __init__(self, text: TraceText) -> None:
        self._text = text
        self._blocks = iter(text.blocks)
        self.rest = b""
        self.is_at_end = False

    def fill(self, n_bytes: int) -> None:
        """Read until so many bytes wait, or the file ends."""
        parts, size = [self.rest], len(self.rest)
        while size < n_bytes and not self.is_at_end:
            block = next(self._blocks, None)
            if block is None:
                self.is_at_end = True
            else:
                parts.append(block)
                size += len(block)
                self._text.n_bytes += len(block)
        self.rest = b"".join(parts) if len(parts) > 1 else self.rest

    def find_opening(self) -> re.Match[bytes] | None:
        """Skip to the next list of events, or the next event; keep what stands before it."""
        kept: list[bytes] = []
        size = 0
        while True:
            self.fill(CHUNK_BYTES)
            opening = _OPEN.search(self.rest)
            end = opening.start() if opening else len(self.rest)
            if not opening and not self.is_at_end:
                end = max(end - _OPEN_BYTES, 0)
            if size < MAX_OUTSIDE_BYTES:
                kept.append(self.rest[:end])
                size += end
            self.rest = self.rest[opening.end() if opening else end :]
            if opening or self.is_at_end:
                self._text.outside.append(b"".join(kept))
                return opening


def _events_until_end(source: _Source, losses: Losses) -> Iterator[list[TraceEvent]]:
    """Yield the events of one list and leave the source behind its end."""
    while True:
        source.fill(CHUNK_BYTES)
        empty = _EMPTY.match(source.rest)
        if empty:
            source.rest = source.rest[empty.end() :]
            return
        if source.is_at_end and not source.rest.strip(_EDGES):
            losses.is_unclosed = True
            return
        chunk, rest = _cut(source)
        events, end = _decode_chunk(chunk, losses, is_last=source.is_at_end and not rest)
        yield events
        if end is not None:
            after = chunk[end:]
            closing = _CLOSING.match(after)
            source.rest = after[closing.end() if closing else 0 :] + rest
            return
        source.rest = rest


def _cut(source: _Source) -> tuple[bytes, bytes]:
    """Return a run of whole events and what follows them."""
    while True:
        text = source.rest
        if source.is_at_end and len(text) <= CHUNK_BYTES:
            return text, b""
        border = _last_border(text)
        if border:
            return text[: border[0]], text[border[1] :]
        if source.is_at_end or len(text) > _MAX_EVENT_BYTES:
            return text, b""
        source.fill(2 * len(text))


def _last_border(text: bytes) -> tuple[int, int] | None:
    """Return where the last event but one ends and the last begins."""
    end = len(text)
    while (at := text.rfind(b"}", 0, end)) >= 0:
        border = _BORDER.match(text, at)
        if border:
            return at + 1, border.end()
        end = at
    return None


def _decode_chunk(
    chunk: bytes, losses: Losses, *, is_last: bool
) -> tuple[list[TraceEvent], int | None]:
    """Return the events of a run, and where the list ends if it ends in this run."""
    events = decode_run(chunk.strip(_EDGES))
    if events is not None:
        return events, None
    ended = _decode_to_end(chunk)
    if ended is not None:
        return ended
    text, n_changed = repair_text(chunk)
    repaired = decode_run(text.strip(_EDGES))
    if repaired is not None:
        losses.places_repaired += n_changed
        return repaired, None
    return _Pieces(chunk, losses).decode(is_last=is_last)


def _decode_to_end(chunk: bytes) -> tuple[list[TraceEvent], int] | None:
    """Return the events before the end of their list, and where that is."""
    for number, match in enumerate(_END.finditer(chunk)):
        if number >= _MAX_ENDS:
            break
        end = match.start() + 1
        events = decode_run(chunk[:end].strip(_EDGES))
        if events is not None:
            return events, end
    return None


class _Pieces:
    """A damaged run of events, event by event."""

    def __init__(self, chunk: bytes, losses: Losses) -> None:
        self._chunk = chunk
        self._losses = losses
        self._events: list[TraceEvent] = []
        borders = list(_EVENT_BORDER.finditer(chunk))
        self._starts = [0, *(border.end() for border in borders)]
        self._ends = [*(border.start() + 1 for border in borders), len(chunk)]

    def decode(self, *, is_last: bool) -> tuple[list[TraceEvent], int | None]:
        """Return what can be read, and where the list of events ends if it ends here."""
        end = self._decode_range(0, len(self._starts), is_last=is_last)
        return self._events, end

    def _decode_range(self, first: int, last: int, *, is_last: bool) -> int | None:
        """Decode pieces; halve them until the damaged ones stand alone."""
        text = self._chunk[self._starts[first] : self._ends[last - 1]]
        events = decode_run(text.strip(_EDGES))
        if events is not None:
            self._events += events
            return None
        if last - first == 1:
            is_tail = is_last and last == len(self._starts)
            return self._decode_piece(text, self._starts[first], is_tail=is_tail)
        middle = (first + last) // 2
        end = self._decode_range(first, middle, is_last=is_last)
        return end if end is not None else self._decode_range(middle, last, is_last=is_last)

    def _decode_piece(self, text: bytes, start: int, *, is_tail: bool) -> int | None:
        """Take one event that is damaged, or is followed by the end of the list."""
        for match in _END.finditer(text):
            end = match.start() + 1
            if self._take_whole(text[:end].strip(_EDGES)):
                return start + end
        event = repair_event(text.strip(_EDGES))
        if event is not None:
            self._events.append(event)
            self._losses.places_repaired += 1
        elif is_tail:
            self._losses.bytes_cut_off += len(text)
            self._losses.is_unclosed = True
        elif text.strip(_EDGES):
            self._losses.events_lost += 1
            self._losses.bytes_lost += len(text)
        return None

    def _take_whole(self, text: bytes) -> bool:
        """Take what may be the last event of the list, damaged or not."""
        whole = decode_run(text)
        if whole is None:
            event = repair_event(text)
            if event is None:
                return False
            whole = [event]
            self._losses.places_repaired += 1
        self._events += whole
        return True
