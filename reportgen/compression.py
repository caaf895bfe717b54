"""Bytes gzipped and unpacked again, and texts that the page carries gzipped."""

from __future__ import annotations

import base64
import gzip
import zlib

_GZIP_LEVEL = 6
_SYSTEM_AT, _UNIX = 9, b"\x03"


def gzipped(content: bytes, *, level: int = _GZIP_LEVEL) -> bytes:
    """Return bytes gzipped, the same for equal bytes with each version of Python.

    The header (RFC 1952) names the system: Unix before Python 3.13, an unknown one since then.
    """
    packed = gzip.compress(content, compresslevel=level, mtime=0)
    return packed[:_SYSTEM_AT] + _UNIX + packed[_SYSTEM_AT + 1 :]


def unpacked(packed: bytes, *, most_bytes: int, wbits: int = zlib.MAX_WBITS) -> bytes:
    """Return what zlib packed; unpacking stops where it is more than was declared.

    Args:
        packed: one member, with nothing after it.
        most_bytes: declared beside it, or the most that a writer of ours makes.
        wbits: as in ``zlib.decompress``; 31 for gzip.

    Raises:
        ValueError: it is more than ``most_bytes``, cut off, or damaged.
    """
    member = zlib.decompressobj(wbits)
    try:
        content = member.decompress(packed, most_bytes + 1)
    except zlib.error as err:
        raise ValueError(str(err)) from err
    if len(content) > most_bytes:
        raise ValueError(f"it unpacks to more than {most_bytes:,} bytes")
    if not member.eof:
        raise ValueError("it is cut off")
    return content


def pack(text: str, *, level: int = _GZIP_LEVEL) -> str:
    """Return a text gzipped and in base 64, the same for equal texts."""
    return base64.b64encode(gzipped(text.encode("utf-8"), level=level)).decode("ascii")
