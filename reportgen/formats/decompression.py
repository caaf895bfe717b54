"""Packed files, unpacked as they come; a guard stops those that unpack to white space forever."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from reportgen.formats.diagnostics import Diagnostics

GZIP = b"\x1f\x8b"
_OUTPUT_BYTES = 1 << 20
"""Unpacked bytes handed on at once: packed traces grow 10 to 30 times."""


@dataclass(slots=True, kw_only=True)
class Packing:
    """Result of unpacking a file: whether its packed bytes are damaged or end too early."""

    is_damaged: bool = False
    is_cut_off: bool = False
    is_given_up: bool = False
    """Whether reading was given up in what is endless and nothing."""


def tell_packing(packing: Packing, key: str, problems: Diagnostics) -> None:
    """Say what of a file was lost because of its packing."""
    if packing.is_damaged:
        problems.remark("Its packed bytes are damaged; the data after them are lost.", path=key)
    if packing.is_cut_off:
        problems.remark("Its packed bytes end too early; the rest is lost.", path=key)
    if packing.is_given_up:
        problems.remark(_SAY_GIVEN_UP, path=key)


def unpacked(blocks: Iterable[bytes], packing: Packing) -> Iterator[bytes]:
    """Yield bytes, unpacked when they begin as gzip does.

    Bytes before a damage are yielded; the rest of a damaged file is lost. Several gzip
    members in a row are one file.
    """
    source = iter(blocks)
    first = next(source, b"")
    while len(first) < len(GZIP) and (more := next(source, b"")):
        first += more
    if not first.startswith(GZIP):
        if first:
            yield first
        yield from source
        return
    yield from _inflate(chain((first,), source), packing)


MOST_UNPACKED_BYTES = 512 << 20
"""An hour of 96 cores and 8 GPUs, sampled twice a second, takes about 350 MB."""


def unpacked_whole(
    blocks: Iterable[bytes], packing: Packing, *, most_bytes: int = MOST_UNPACKED_BYTES
) -> bytes:
    """Return the text of a file; what unpacks to more than any writer writes is cut off there."""
    whole = unpacked(blocks, packing)
    return b"".join(no_more_than_written(whole, packing, most_bytes=most_bytes))


def no_more_than_written(
    blocks: Iterable[bytes], packing: Packing, *, most_bytes: int = MOST_UNPACKED_BYTES
) -> Iterator[bytes]:
    """Yield blocks until they are more than any writer writes."""
    n_bytes = 0
    for block in blocks:
        n_bytes += len(block)
        if n_bytes > most_bytes:
            packing.is_cut_off = True
            return
        yield block


PIECE_BYTES = 8 << 20
_LONGEST_LINE_BYTES = 64 << 20
"""A minute may be one array on one line, of some megabytes."""


def in_pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text in pieces of whole lines, so that few are held at once.

    A line that does not end for long is left out; a question mark, which cannot be read, takes
    its place.
    """
    held, n_held, is_endless = list[bytes](), 0, False
    for block in _halved(blocks):
        if is_endless:
            at = block.find(b"\n")
            is_endless = at < 0
            held = [b"?"] if is_endless else [b"?", block[at:]]
            n_held = sum(map(len, held))
            continue
        held.append(block)
        n_held += len(block)
        if n_held >= PIECE_BYTES and (b"\n" in block or n_held > _LONGEST_LINE_BYTES):
            text = b"".join(held)
            at = text.rfind(b"\n") + 1
            is_endless = not at
            held, n_held = [text[at:]], len(text) - at
            if at:
                yield text[:at]
    if n_held:
        yield b"?" if is_endless else b"".join(held)


def _halved(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks that are short beside a piece."""
    for block in blocks:
        for at in range(0, len(block), _OUTPUT_BYTES):
            yield block[at : at + _OUTPUT_BYTES]


def _inflate(blocks: Iterable[bytes], packing: Packing) -> Iterator[bytes]:
    member, is_open = zlib.decompressobj(31), False
    for block in blocks:
        waiting = block
        while waiting:
            try:
                content = member.decompress(waiting, _OUTPUT_BYTES)
            except zlib.error:
                packing.is_damaged = True
                return
            is_open = True
            if content:
                yield content
            waiting = member.unconsumed_tail
            if member.eof:
                waiting = member.unused_data.lstrip(b"\0")
                member, is_open = zlib.decompressobj(31), False
    packing.is_cut_off = is_open
    if rest := member.flush():
        yield rest


MAX_BLANK_BYTES = 256 << 20
"""No writer leaves as much white space between two events."""

MAX_LOST_BYTES = 64 << 20
"""Reading of a file ends after this many bytes that cannot be read."""

_SAY_GIVEN_UP = "It has many megabytes of white space or garbage; the rest was not read."


def unpacked_text(blocks: Iterable[bytes], packing: Packing) -> Iterator[bytes]:
    """Yield a text as ``unpacked`` does, until only white space follows for long."""
    n_blank = 0
    for block in unpacked(blocks, packing):
        n_blank = n_blank + len(block) if block.isspace() else 0
        if n_blank > MAX_BLANK_BYTES:
            packing.is_given_up = True
            return
        if not n_blank or b"\n" in block:
            yield block
