"""Packed files as a whole: what unpacks to more than anybody writes is cut off."""

from __future__ import annotations

import gzip

from reportgen.formats.decompression import Packing, unpacked_whole

BLOCK = 1 << 20
"""Unpacked bytes come in blocks of this size."""


def test_a_packed_text_is_unpacked_and_a_plain_one_stays() -> None:
    for content in (b"plain text", gzip.compress(b"plain text")):
        packing = Packing()
        assert unpacked_whole((content,), packing) == b"plain text"
        assert packing == Packing()


def test_a_small_file_that_unpacks_to_endless_text_is_cut_off_and_says_so() -> None:
    packing = Packing()
    content = gzip.compress(b"x" * (8 * BLOCK))

    text = unpacked_whole((content,), packing, most_bytes=3 * BLOCK)

    assert len(text) == 3 * BLOCK
    assert packing.is_cut_off
