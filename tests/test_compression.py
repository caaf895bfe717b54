"""Texts in letters: whole when unpacked, and harmless in a script element."""

from __future__ import annotations

import base64
import gzip

import pytest

from reportgen.compression import gzipped, pack


def unpacked(text: str) -> str:
    return gzip.decompress(base64.b64decode(text)).decode("utf-8")


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 1023])
def test_a_text_survives(length: int) -> None:
    text = "".join(chr(32 + at * 37 % 900) for at in range(length))
    packed = pack(text)

    assert unpacked(packed) == text
    assert "<" not in packed
    assert pack(text) == packed


def test_the_header_is_the_same_with_each_version_of_python() -> None:
    assert gzipped(b"a")[:10] == bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
    assert gzip.decompress(gzipped(b"a")) == b"a"
