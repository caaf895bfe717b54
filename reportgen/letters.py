"""Long texts as few letters: gzipped, in base 85; the page's script unpacks them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

_GZIP_LEVEL = 6
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A text in letters that can stand in a script element.

    Attributes:
        text: in base 85 with ``,`` for ``<``, which could begin a comment or end the element.
        n_bytes: how long the gzipped text is.
    """

    text: str
    n_bytes: int


def pack(text: str) -> Packed:
    """Return a text packed, the same for equal texts."""
    packed = gzip.compress(text.encode("utf-8"), compresslevel=_GZIP_LEVEL, mtime=0)
    return Packed(text=_in_base_85(packed), n_bytes=len(packed))


def _in_base_85(data: bytes) -> str:
    """Return bytes as text: 5 letters for 4 bytes, where base 64 takes 6 for 4.5."""
    import numpy as np

    words = np.frombuffer(data + bytes(-len(data) % 4), dtype=">u4").astype(np.uint32)
    digits = [words // np.uint32(85**power) % np.uint32(85) for power in (4, 3, 2, 1, 0)]
    alphabet = np.frombuffer(_LETTERS, dtype=np.uint8)
    return alphabet[np.stack(digits, axis=1)].tobytes().decode("ascii")
