"""The records of a ``.wandb`` file, and the fields of a record.

The file is a log of LevelDB's form: blocks of 32 KiB with chunks, each with a checksum; a record is
one chunk or several. A record is a Protocol Buffers message. Both forms are public.
Source: docs/formats.md, Weights & Biases.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct

HEADER = b":W&B"
_HEADER_BYTES = 7
_BLOCK_BYTES = 32_768
_CHUNK = Struct("<IHB")
_DAMAGED, _WHOLE, _FIRST, _MIDDLE, _LAST = range(5)
_64_BITS = (1 << 64) - 1
MOST_RECORD_BYTES = 16 << 20
"""Records of numbers are some hundred bytes; larger ones hold texts and are passed over."""


@dataclass(slots=True)
class Damage:
    """What of a log could not be read: blocks with wrong checksums, bytes at a broken end."""

    n_blocks: int = 0
    bytes_lost: int = 0


def records_of(blocks: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    """Yield the records of a log; the rest of a damaged block is passed over, and counted.

    Edge cases: a file that breaks off, as of a running or killed program, ends with its last whole
    record; zeros are space that was reserved and not used.
    """
    pending, is_open = bytearray(), False
    for kind, data in _chunks(blocks, damage):
        if kind == _WHOLE:
            yield data
        if kind in {_FIRST, _MIDDLE, _LAST}:
            if kind == _FIRST:
                pending.clear()
            is_open = (is_open or kind == _FIRST) and len(pending) + len(data) <= MOST_RECORD_BYTES
            pending += data if is_open else b""
        if kind == _LAST and is_open:
            yield bytes(pending)
        is_open &= kind in {_FIRST, _MIDDLE}


def _chunks(blocks: Iterable[bytes], damage: Damage) -> Iterator[tuple[int, bytes]]:
    """Yield kind and data of each chunk; kind 0 stands for a damaged place."""
    at = _HEADER_BYTES
    for block in _aligned(blocks):
        end = len(block)
        while at + _CHUNK.size <= end:
            checksum, n_bytes, kind = _CHUNK.unpack_from(block, at)
            start, at = at + _CHUNK.size, at + _CHUNK.size + n_bytes
            if not (checksum or n_bytes or kind):
                break
            if at > end and end < _BLOCK_BYTES:
                damage.bytes_lost += end - start + _CHUNK.size
                break
            if at > end or zlib.crc32(memoryview(block)[start - 1 : at]) != checksum:
                damage.n_blocks += 1
                yield _DAMAGED, b""
                break
            yield kind, block[start:at]
        at = 0


def _aligned(blocks: Iterable[bytes]) -> Iterator[bytes]:
    left = b""
    for piece in blocks:
        data = left + piece
        whole = len(data) // _BLOCK_BYTES * _BLOCK_BYTES
        for start in range(0, whole, _BLOCK_BYTES):
            yield data[start : start + _BLOCK_BYTES]
        left = data[whole:]
    if left:
        yield left


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length and the place behind it.

    Raises:
        ValueError: it is longer than any number; ``IndexError`` where the message ends in it.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _64_BITS, at
        shift += 7
        if shift > 63:
            raise ValueError("a number that is too long")


_FIXED_BYTES = {1: 8, 5: 4}


def fields_of(
    data: bytes, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yield the fields of a message: number, then start and end of its bytes.

    A number of variable length has no bytes: its value takes the place of the start, and its end
    is -1.

    Raises:
        ValueError, IndexError: it is no message.
    """
    at, end = start, len(data) if end is None else end
    while at < end:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
            yield tag >> 3, value, -1
            continue
        if kind == 2:
            n_bytes, at = varint(data, at)
        elif kind in _FIXED_BYTES:
            n_bytes = _FIXED_BYTES[kind]
        else:
            raise ValueError(f"a field of kind {kind}")
        if at + n_bytes > end:
            raise ValueError("a field that is longer than its message")
        yield tag >> 3, at, at + n_bytes
        at += n_bytes
