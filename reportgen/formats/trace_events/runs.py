"""Timelines to events, run by run: by the places of numbers, decoded, or line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.json_text import to_text
from reportgen.formats.trace_events.events import EDGES, Event, decode_events, decode_lines
from reportgen.formats.trace_events.regular_lines import RegularEvents, read_regular

CHUNK_BYTES = 1 << 20
"""Bytes read at once. Source: measured; larger only takes memory."""

_MAX_RUN_BYTES = 64 << 20
"""A line that is longer than this is cut between two events: memory is limited."""


def read_events(
    content: bytes, key: str, problems: Diagnostics
) -> Iterator[list[Event] | RegularEvents]:
    """Yield a file's events in their order, some thousands at a time.

    Args:
        content: the file; with or without ``[`` and ``]``, complete or broken off.
        key: the file's, for messages.
        problems: counts lines that cannot be read, with their numbers.
    """
    if not _is_plain(content):
        content = to_text(content)[0].encode("utf-8", "surrogateescape")
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + CHUNK_BYTES)
        end = len(content) if end < 0 else end + 1
        run = content[start:end]
        events = read_regular(run) or decode_events(run)
        if events is None:
            whole = decode_events(content) if start == 0 else None
            if whole is not None:
                yield whole
                return
            first_line = content.count(b"\n", 0, start) + 1
            events = decode_lines(run, first_line, key, problems, is_last=end == len(content))
        yield events
        start = end


def read_event_blocks(
    blocks: Iterable[bytes], key: str, problems: Diagnostics
) -> Iterator[list[Event] | RegularEvents]:
    """Yield a file's events as ``read_events`` does, of a file that need not fit into memory.

    Args:
        blocks: the file in pieces of any size.
        key: the file's, for messages.
        problems: counts lines that cannot be read, with their numbers.

    Edge cases: a file in another encoding is read as a whole.
    """
    source = iter(blocks)
    waiting = [next(source, b"")]
    if not _is_plain(waiting[0]):
        yield from read_events(b"".join([*waiting, *source]), key, problems)
        return
    first_line, size = 1, len(waiting[0])
    for block in source:
        waiting.append(block)
        size += len(block)
        if size < CHUNK_BYTES or (b"\n" not in block and size < _MAX_RUN_BYTES):
            continue
        text = b"".join(waiting)
        run, mark, rest = text.rpartition(b"\n")
        if not mark:
            end = text.rfind(b"},") + 1 or len(text)
            run, rest = text[:end], text[end:].lstrip(EDGES)
        events = decode_events(run)
        if events is None:
            events = decode_lines(run, first_line, key, problems, is_last=False)
        yield events
        first_line += run.count(b"\n") + len(mark)
        waiting, size = [rest], len(rest)
    run = b"".join(waiting)
    events = decode_events(run)
    if events is None:
        events = decode_lines(run, first_line, key, problems, is_last=True)
    yield events


def _is_plain(content: bytes) -> bool:
    return not content or (content[0] in b"[{ \n\r\t" and 0 not in content[:64])
