"""Timelines to events, run by run: decoded at once, or line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.json_text import to_text
from reportgen.formats.trace_events.events import JsonEvent, decode_events, decode_lines

CHUNK_BYTES = 1 << 20
"""Bytes read at once: in measurements, a larger size only took memory."""

_MAX_RUN_BYTES = 64 << 20
"""A line that is longer than this is cut between two events: memory is limited."""


def read_events(content: bytes, key: str, problems: Diagnostics) -> Iterator[list[JsonEvent]]:
    """Yield a file's events in their order, some thousands at a time; count broken lines.

    The file is with or without ``[`` and ``]``, complete or broken off.
    """
    if not _is_plain(content):
        content = to_text(content)[0].encode("utf-8", "surrogateescape")
    places = range(0, len(content), CHUNK_BYTES)
    blocks = (content[at : at + CHUNK_BYTES] for at in places)
    yield from _read_runs(blocks, key, problems, whole=content)


def read_event_blocks(
    blocks: Iterable[bytes], key: str, problems: Diagnostics
) -> Iterator[list[JsonEvent]]:
    """Yield a file's events as ``read_events`` does, of a file that need not fit into memory.

    Edge cases: a file in another encoding is read as a whole.
    """
    source = iter(blocks)
    head = next(source, b"")
    if not _is_plain(head):
        yield from read_events(b"".join([head, *source]), key, problems)
        return
    yield from _read_runs(chain([head], source), key, problems)


def _read_runs(
    blocks: Iterable[bytes], key: str, problems: Diagnostics, *, whole: bytes | None = None
) -> Iterator[list[JsonEvent]]:
    """Yield the events of runs; ``whole`` is the file, whose events may go over several lines."""
    first_line = 1
    for run, is_last in _runs(blocks):
        events = decode_events(run)
        if events is None and whole is not None:
            events = decode_events(whole)
            if events is not None:
                yield events
                return
        whole = None
        if events is None:
            events = decode_lines(run, first_line, key, problems, is_last=is_last)
        yield events
        first_line += run.count(b"\n")


def _runs(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield runs of whole lines, or of whole events of a long line, and whether it is the last."""
    waiting: list[bytes] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size < CHUNK_BYTES or (b"\n" not in block and size < _MAX_RUN_BYTES):
            continue
        text = b"".join(waiting)
        end = text.rfind(b"\n") + 1 or text.rfind(b"},") + 1 or len(text)
        yield text[:end], False
        waiting, size = [text[end:]], len(text) - end
    yield b"".join(waiting), True


def _is_plain(content: bytes) -> bool:
    return not content or (content[0] in b"[{ \n\r\t" and 0 not in content[:64])
