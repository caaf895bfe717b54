"""Long texts in few letters: gzipped, in base 64; the page's script unpacks them."""

from __future__ import annotations

import base64
import gzip

_GZIP_LEVEL = 6


def pack(text: str) -> str:
    """Return a text gzipped and in base 64, the same for equal texts."""
    packed = gzip.compress(text.encode("utf-8"), compresslevel=_GZIP_LEVEL, mtime=0)
    return base64.b64encode(packed).decode("ascii")
