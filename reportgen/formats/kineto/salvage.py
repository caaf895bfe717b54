"""Runs of events: decoded at once, or event by event where they are damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from reportgen.formats.kineto.repair import MAX_REPAIR_BYTES, repair_text

EDGES = b", \t\r\n"
"""Bytes that may lie between events."""

_MAX_ENDS = 16
"""Places at which the list is tried to end; more than a few are an attack."""

_EVENT_BORDER = re.compile(
    rb'\}\s*+(?:(?=\{\s*+"(?:ph|name|cat|pid|tid|ts|args|id|dur|s|bp)"\s*+:)|'
    rb',\s*+(?=\{\s*+(?:\}|"\w++"\s*+:)))'
)
_END = re.compile(
    rb'\}(?!\}\})\s*(?=\]\s*(?:,\s*"|\}|\{|\[|\Z)|\}\s*(?:\{|\Z)|,\s*"(?:traceName|schemaVersion|'
    rb"distributedInfo|deviceProperties|displayTimeUnit|baseTimeNanoseconds|traceEvents|INFO|"
    rb'with_stack|record_shapes|trace_id|metadata)")'
)


@dataclass(slots=True, kw_only=True)
class Losses:
    """Losses from reading a file; ``is_unclosed``: the list of events never ends.

    ``bytes_lost`` are those of lost events, and those between events; ``bytes_cut_off``
    those of an event in whose middle the file ends.
    """

    events_lost: int = 0
    bytes_lost: int = 0
    places_repaired: int = 0
    bytes_cut_off: int = 0
    is_unclosed: bool = False


E = TypeVar("E")
"""An event, as the reader of its format has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding(Generic[E]):
    """How a format's text is read.

    Attributes:
        decode: returns events with commas between them; ``None`` when anything is unusual.
        repair: returns one damaged event as far as it can be read; ``None`` when it is none.
    """

    decode: Callable[[bytes], list[E] | None]
    repair: Callable[[bytes], E | None]


def decode_chunk(
    chunk: bytes, losses: Losses, decoding: Decoding[E], *, is_last: bool
) -> tuple[list[E], int | None]:
    """Return the events of a run, and where the list ends if it ends in this run."""
    decode = decoding.decode
    events = decode(chunk.strip(EDGES))
    if events is not None:
        return events, None
    ends = tuple(islice(_END.finditer(chunk), _MAX_ENDS))
    ended = _decode_to_end(chunk, ends, decode)
    if ended is not None:
        return ended
    if len(chunk) <= MAX_REPAIR_BYTES:
        text, n_changed = repair_text(chunk)
        repaired = decode(text.strip(EDGES))
        if repaired is not None:
            losses.places_repaired += n_changed
            return repaired, None
    return _Pieces(chunk, ends, losses, decoding).decode(is_last=is_last)


def _decode_to_end(
    chunk: bytes, ends: Iterable[re.Match[bytes]], decode: Callable[[bytes], list[E] | None]
) -> tuple[list[E], int] | None:
    for match in ends:
        end = match.start() + 1
        events = decode(chunk[:end].strip(EDGES))
        if events is not None:
            return events, end
    return None


class _Pieces(Generic[E]):
    def __init__(
        self, chunk: bytes, ends: Sequence[re.Match[bytes]], losses: Losses, decoding: Decoding[E]
    ) -> None:
        self._chunk = chunk
        self._ends_of_list = ends
        self._decode_run, self._repair = decoding.decode, decoding.repair
        self._losses = losses
        self._events: list[E] = []
        borders = list(_EVENT_BORDER.finditer(chunk))
        self._starts = [0, *(border.end() for border in borders)]
        self._ends = [*(border.start() + 1 for border in borders), len(chunk)]

    def decode(self, *, is_last: bool) -> tuple[list[E], int | None]:
        """Return the readable events, and where the list of events ends if it ends here."""
        end = self._decode_range(0, len(self._starts), is_last=is_last)
        return self._events, end

    def _decode_range(self, first: int, last: int, *, is_last: bool) -> int | None:
        """Decode pieces; halve them until the damaged ones stand alone."""
        text = self._chunk[self._starts[first] : self._ends[last - 1]]
        events = self._decode_run(text.strip(EDGES))
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
        is_whole = len(self._starts) == 1  # all of the chunk, which was searched
        ends = self._ends_of_list if is_whole else islice(_END.finditer(text), _MAX_ENDS)
        for match in ends:
            end = match.start() + 1
            if self._take_whole(text[:end].strip(EDGES)):
                return start + end
        event = self._repair(text.strip(EDGES))
        if event is not None:
            self._events.append(event)
            self._losses.places_repaired += 1
        elif is_tail:
            self._losses.bytes_cut_off += len(text)
            self._losses.is_unclosed = True
        elif text.strip(EDGES):
            self._losses.events_lost += 1
            self._losses.bytes_lost += len(text)
        return None

    def _take_whole(self, text: bytes) -> bool:
        """Take what may be the last event of the list, damaged or not."""
        whole = self._decode_run(text)
        if whole is None:
            event = self._repair(text)
            if event is None:
                return False
            whole = [event]
            self._losses.places_repaired += 1
        self._events += whole
        return True
