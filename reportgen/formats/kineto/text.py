"""Kernel traces as a stream of events: some MB at a time, whatever the size of the file.

A file is one JSON object with the list ``traceEvents`` somewhere in it, or a bare list. It is cut
between two events, and what was cut is decoded: a cut in a wrong place shows itself. Where
decoding fails the events are taken one by one, repaired, or counted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reportgen.formats.decompression import MAX_LOST_BYTES, last_border
from reportgen.formats.kineto.events import TraceEvent, decode_run
from reportgen.formats.kineto.salvage import EDGES, Decode, Losses, decode_chunk

CHUNK_BYTES = 1 << 19
"""Bytes decoded at once: events take ten times their text while they wait."""

MAX_OUTSIDE_BYTES = 16 << 20
"""Limit of the text around the events that is searched; real files have 0.1 MB."""

_OPEN = re.compile(
    rb'(?P<list>"traceEvents"\s*:\s*\[)|\A[\s\xef\xbb\xbf]*\[(?=\s*(?:\{|\]))|(?=\{\s*"ph"\s*:)'
)
_OPEN_BYTES = 64
BORDER = re.compile(rb"(?<=\})\s*+,\s*+(?=\{)")
_CLOSING = re.compile(rb"\s*\]")
_EMPTY = re.compile(rb"[\s,]*\]")
_MAX_EVENT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events of a file in their order; ``document`` counts the lists of events from 0."""

    document: int
    events: list[TraceEvent]


@dataclass(slots=True, kw_only=True)
class TraceText:
    """A file as it is read: its ``blocks`` are unpacked bytes, decoded by ``decode``.

    ``losses``, ``outside`` (the text around the events, one part for each list of events and one
    after the last) and ``n_bytes`` grow while it is read; ``is_given_up``: it was not read
    to its end.
    """

    blocks: Iterable[bytes]
    decode: Decode = decode_run
    losses: Losses = field(default_factory=Losses)
    outside: list[bytes] = field(default_factory=list)
    n_bytes: int = 0
    is_given_up: bool = False

    def batches(self) -> Iterator[Batch]:
        """Yield the events, some thousands at a time."""
        source = _Source(self)
        document = -1
        while opening := source.find_opening():
            is_new = opening["list"] is not None or document < 0
            document += is_new
            for events in _events_until_end(source, self):
                yield Batch(document=document, events=events)
                if self.losses.bytes_lost > MAX_LOST_BYTES:
                    self.is_given_up = True
                    return


class _Source:
    def __init__(self, text: TraceText) -> None:
        self._text = text
        self._blocks = _sliced(text.blocks)
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
            self._text.is_given_up = skipped > MAX_LOST_BYTES
            if opening or self.is_at_end or self._text.is_given_up:
                self._text.outside.append(b"".join(kept))
                return opening


def _events_until_end(source: _Source, text: TraceText) -> Iterator[list[TraceEvent]]:
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
        events, end = decode_chunk(chunk, losses, is_last=is_last, decode=text.decode)
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
        border = last_border(text, BORDER)
        if border:
            return text[: border[0]], text[border[1] :]
        if source.is_at_end or len(text) > _MAX_EVENT_BYTES:
            return text, b""
        source.fill(2 * len(text))


def _sliced(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks in slices of no more than is decoded at once."""
    for block in blocks:
        for start in range(0, len(block), CHUNK_BYTES):
            yield block[start : start + CHUNK_BYTES]
