"""Bytes gzipped, and long texts in few letters, which the page's script unpacks."""

from __future__ import annotations

import base64
import gzip

_GZIP_LEVEL = 6
_SYSTEM_AT, _UNIX = 9, b"\x03"


def gzipped(content: bytes) -> bytes:
    """Return bytes gzipped, the same for equal bytes with each version of Python.

    The header (RFC 1952) names the system: Unix before Python 3.13, an unknown one since then.
    """
    packed = gzip.compress(content, compresslevel=_GZIP_LEVEL, mtime=0)
    return packed[:_SYSTEM_AT] + _UNIX + packed[_SYSTEM_AT + 1 :]


def pack(text: str) -> str:
    """Return a text gzipped and in base 64, the same for equal texts."""
    return base64.b64encode(gzipped(text.encode("utf-8"))).decode("ascii")
