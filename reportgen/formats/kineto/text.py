"""Traces in Chrome's format as a stream of events: some MB at a time, whatever the file's size.

A file is one JSON object with the list ``traceEvents`` somewhere in it, or a bare list. It is cut
between two events, and what was cut is decoded: a cut in a wrong place shows itself. Where
decoding fails the events are taken one by one, repaired, or counted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic

from reportgen.formats.decompression import MAX_LOST_BYTES, Packing, tell_packing, unpacked_text
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.kineto.salvage import EDGES, Decoding, E, Losses, decode_chunk
from reportgen.profile import Quality

CHUNK_BYTES = 1 << 19
"""Bytes decoded at once: events take ten times their text while they wait."""

MAX_OUTSIDE_BYTES = 16 << 20
"""Limit of the text around the events that is searched; real files have 0.1 MB."""

_OPEN = re.compile(
    rb'(?P<list>"traceEvents"\s*:\s*\[)|\A[\s\xef\xbb\xbf]*\[(?=\s*(?:\{|\]))|(?=\{\s*"ph"\s*:)'
)
_OPEN_BYTES = 64
_BORDER = re.compile(rb'(?<=\})\s*+,\s*+(?=\{\s*+(?:\}|"\w++"\s*+:))')
"""Between the ``}`` of one event and the ``{`` of the next, and not in a name."""
_MOST_ENDS = 4_096
"""Braces that are looked at for the border between two events: the arguments of one close few."""

_CLOSING = re.compile(rb"\s*\]")
_EMPTY = re.compile(rb"[\s,]*\]")
_MAX_EVENT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Generic[E]):
    """Events of a file in their order; ``document`` counts the lists of events from 0."""

    document: int
    events: list[E]


@dataclass(slots=True, kw_only=True)
class TraceText(Generic[E]):
    """A file as it is read from its ``blocks``, packed or not.

    ``losses``, ``packing``, ``outside`` (the text around the events, one part for each list of
    events and one after the last), ``n_documents`` (lists of events) and ``n_bytes`` (unpacked)
    grow while it is read.
    """

    blocks: Iterable[bytes]
    decoding: Decoding[E]
    losses: Losses = field(default_factory=Losses)
    packing: Packing = field(default_factory=Packing)
    outside: list[bytes] = field(default_factory=list)
    n_documents: int = 0
    n_bytes: int = 0

    def batches(self) -> Iterator[Batch[E]]:
        """Yield the events, some thousands at a time."""
        source = _Source(self)
        while opening := source.find_opening():
            self.n_documents += opening["list"] is not None or not self.n_documents
            for events in _events_until_end(source, self):
                yield Batch(document=self.n_documents - 1, events=events)
                if self.losses.bytes_lost > MAX_LOST_BYTES:
                    self.packing.is_given_up = True
                    return

    def tell_losses(self, key: str, problems: Diagnostics) -> None:
        """Say what could not be read of the file."""
        losses = self.losses
        problems.add(Quality.BYTES_LOST, key, losses.bytes_cut_off, what=_SAY_CUT_OFF)
        problems.add(Quality.EVENTS_DROPPED, key, losses.events_lost, what=_SAY_LOST)
        problems.add(Quality.BYTES_LOST, key, losses.bytes_lost, what=_SAY_BYTES)
        problems.add(Quality.PLACES_REPAIRED, key, losses.places_repaired)
        tell_packing(self.packing, key, problems)
        if losses.is_unclosed:
            problems.remark(_SAY_UNCLOSED, path=key)


_SAY_CUT_OFF = "the file ends in the middle of an event: {bytes} lost"
_SAY_LOST = "{n} damaged [event|events] could not be read and [was|were] left out"
_SAY_BYTES = "{bytes} of damaged events are lost"
_SAY_UNCLOSED = (
    "The list of events does not end: the writer was stopped. Events that it had not written "
    "are not counted; where GPU operations are missing, their time counts as idle."
)


class _Source:
    def __init__(self, text: TraceText[Any]) -> None:
        self._text = text
        self._blocks = _sliced(unpacked_text(text.blocks, text.packing))
        self.rest = b""
        self.is_at_end = False

    def fill(self, n_bytes: int) -> None:
        """Read until this many bytes wait, or the file ends."""
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
        """Skip to the next list of events, or the next event; keep the text before it."""
        kept: list[bytes] = []
        size = skipped = 0
        while True:
            self.fill(CHUNK_BYTES)
            opening = _OPEN.search(self.rest)
            end = opening.start() if opening else len(self.rest)
            if not opening and not self.is_at_end:
                end = max(end - _OPEN_BYTES, 0)
            if size < MAX_OUTSIDE_BYTES:
                kept.append(self.rest[:end])
                size += end
            else:
                skipped += end
            self.rest = self.rest[opening.end() if opening else end :]
            is_given_up = skipped > MAX_LOST_BYTES
            self._text.packing.is_given_up |= is_given_up
            if opening or self.is_at_end or is_given_up:
                self._text.outside.append(b"".join(kept))
                return opening


def _events_until_end(source: _Source, text: TraceText[E]) -> Iterator[list[E]]:
    """Yield the events of one list and leave the source behind its end."""
    losses = text.losses
    while True:
        source.fill(CHUNK_BYTES)
        empty = _EMPTY.match(source.rest)
        if empty:
            source.rest = source.rest[empty.end() :]
            return
        if source.is_at_end and not source.rest.strip(EDGES):
            losses.is_unclosed = True
            return
        chunk, rest = _cut(source)
        is_last = source.is_at_end and not rest
        events, end = decode_chunk(chunk, losses, text.decoding, is_last=is_last)
        yield events
        if end is not None:
            after = chunk[end:]
            closing = _CLOSING.match(after)
            losses.places_repaired += closing is None
            source.rest = after[closing.end() if closing else 0 :] + rest
            return
        source.rest = rest


def _cut(source: _Source) -> tuple[bytes, bytes]:
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
    """Return where the last event but one ends, and where the last begins; ``None`` if unknown."""
    end = len(text)
    for _ in range(_MOST_ENDS):
        at = text.rfind(b"}", 0, end)
        found = _BORDER.match(text, at + 1) if at >= 0 else None
        if at < 0 or found:
            return (at + 1, found.end()) if found else None
        end = at
    return None


def _sliced(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks in slices of no more than is decoded at once."""
    for block in blocks:
        for start in range(0, len(block), CHUNK_BYTES):
            yield block[start : start + CHUNK_BYTES]
