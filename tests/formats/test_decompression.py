"""Packed files as a whole: what unpacks to more than anybody writes is cut off."""

from __future__ import annotations

import gzip

import pytest

from reportgen.formats import decompression
from reportgen.formats.decompression import Packing, in_pieces, unpacked_whole

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

    assert len(unpacked_whole((content,), packing, most_bytes=3 * BLOCK)) == 3 * BLOCK
    assert packing.is_cut_off


@pytest.mark.parametrize("n_bytes", [0, 1, 3, 10, 1_000])
def test_pieces_are_whole_lines_and_nothing_is_lost(n_bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decompression, "PIECE_BYTES", 7)
    monkeypatch.setattr(decompression, "_OUTPUT_BYTES", 4)
    text = (b"ab\ncdefg\n\nh" * 100)[:n_bytes]
    pieces = list(in_pieces([text]))

    assert b"".join(pieces) == text
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert max(map(len, pieces), default=0) < 7 + 2 * 4


@pytest.mark.parametrize("end", [b"", b"\nc\n"])
def test_of_an_endless_line_a_sign_is_left(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompression, "PIECE_BYTES", 4)
    monkeypatch.setattr(decompression, "_OUTPUT_BYTES", 2)
    monkeypatch.setattr(decompression, "_LONGEST_LINE_BYTES", 8)

    assert b"".join(in_pieces([b"a\n" + b"b" * 100 + end])) == b"a\n?" + end
