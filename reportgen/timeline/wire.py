"""Records of Protocol Buffers, many at once: columns of numbers to rows of bytes.

Source: https://protobuf.dev/programming-guides/encoding/. Numbers are written as wide as the
largest of their column, which the encoding allows; that makes a record a row of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
_VARINT, _FIXED64, _BYTES = 0, 1, 2
_PAYLOAD = 0x7F
_MORE = 0x80


def number(field: int, value: int) -> bytes:
    """Return a field with one number, which is not negative."""
    return _varint(field << 3 | _VARINT) + _varint(value)


def text(field: int, value: str) -> bytes:
    """Return a field with one text."""
    return message(field, value.encode("utf-8", "backslashreplace"))


def message(field: int, *parts: bytes) -> bytes:
    """Return a field with a message of some fields."""
    body = b"".join(parts)
    return _varint(field << 3 | _BYTES) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > _PAYLOAD:
        written.append(value & _PAYLOAD | _MORE)
        value >>= 7
    return bytes([*written, value])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Some columns of bytes, (n, width), and the rows that have them; ``None``: all have."""

    content: NDArray[np.uint8]
    has: Mask | None = None


def numbers(field: int, values: NDArray[np.integer], *, has: Mask | None = None) -> Cells:
    """Return a field with a number in each row, none below 0."""
    wide = values.astype(np.int64)
    largest = int(wide.max()) if wide.size else 0
    width = max((largest.bit_length() + 6) // 7, 1)
    digits = wide[:, None] >> (7 * np.arange(width)) & _PAYLOAD
    digits[:, :-1] |= _MORE
    return Cells(content=_tagged(field, _VARINT, digits.astype(np.uint8)), has=has)


def floats(field: int, values: NDArray[np.float64]) -> Cells:
    """Return a field with a double in each row."""
    raw = np.ascontiguousarray(values, dtype="<f8").view(np.uint8).reshape(-1, 8)
    return Cells(content=_tagged(field, _FIXED64, raw))


def messages(field: int, parts: Sequence[Cells], *, has: Mask | None = None) -> list[Cells]:
    """Return a field with a message in each row; together its parts take at most 127 bytes."""
    n_rows = len(parts[0].content)
    size = np.zeros(n_rows, dtype=np.uint8)
    for part in parts:
        size += np.uint8(part.content.shape[1]) * (True if part.has is None else part.has)
    head = Cells(content=_tagged(field, _BYTES, size[:, None]), has=has)
    return [head, *parts]


def rows_as_bytes(parts: Sequence[Cells]) -> bytes:
    """Return all rows, one after the other."""
    content: NDArray[np.uint8] = np.concatenate([part.content for part in parts], axis=1)
    if all(part.has is None for part in parts):
        return content.tobytes()
    kept = [
        np.ones(part.content.shape, dtype=np.bool_)
        if part.has is None
        else np.broadcast_to(part.has[:, None], part.content.shape)
        for part in parts
    ]
    present: NDArray[np.uint8] = content[np.concatenate(kept, axis=1)]
    return present.tobytes()


def _tagged(field: int, kind: int, content: NDArray[np.uint8]) -> NDArray[np.uint8]:
    tag = np.frombuffer(_varint(field << 3 | kind), dtype=np.uint8)
    return np.concatenate([np.broadcast_to(tag, (len(content), tag.size)), content], axis=1)
