"""Fixed texts, slices and whole numbers at many places of a text at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats.words import (
    MAX_DIGITS,
    PADDING,
    is_plain,
    numbers_at,
    slices,
    stands_at,
    words_of,
)

NUMBERS = st.integers(min_value=1, max_value=MAX_DIGITS).flatmap(
    lambda n_digits: st.integers(min_value=0, max_value=10**n_digits - 1)
)
NO_DIGITS = st.binary(min_size=1, max_size=20).filter(lambda text: not text[:1].isdigit())


def found(text: bytes, *places: int) -> list[tuple[int, int, bool]]:
    words = words_of(np.frombuffer(text + bytes(PADDING), dtype=np.uint8))
    values, n_digits = numbers_at(words, np.array(places))
    plain = is_plain(values, n_digits)
    return list(zip(values.tolist(), n_digits.tolist(), plain.tolist(), strict=True))


@given(st.lists(st.tuples(NUMBERS, NO_DIGITS), min_size=1, max_size=20))
def test_every_number_is_what_python_reads(parts: list[tuple[int, bytes]]) -> None:
    text, places = b"", []
    for number, between in parts:
        places.append(len(text))
        text += str(number).encode() + between
    assert found(text, *places) == [(number, len(str(number)), True) for number, _ in parts]


@given(NO_DIGITS)
def test_where_no_digit_stands_there_is_no_number(text: bytes) -> None:
    assert found(text, 0) == [(0, 0, False)]


def test_zeros_before_a_number_are_told_from_a_zero() -> None:
    assert found(b"007 0 00", 0, 4, 6) == [(7, 3, False), (0, 1, True), (0, 2, False)]


def test_a_longer_number_ends_after_sixteen_digits() -> None:
    assert found(b"12345678901234567", 0) == [(1234567890123456, 16, True)]


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_text_stands_where_python_finds_it(text: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    fixed = text[start : data.draw(st.integers(start + 1, len(text)))]
    letters = np.frombuffer(text + bytes(PADDING + len(fixed)), dtype=np.uint8)
    places = np.arange(len(text) - len(fixed) + 1)
    expected = [text.startswith(fixed, place) for place in places.tolist()]
    assert stands_at(fixed, places, words_of(letters)).tolist() == expected


@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=20))
def test_slices_are_those_of_python_by_length(texts: list[bytes]) -> None:
    ends = np.cumsum([len(text) for text in texts])
    starts = ends - [len(text) for text in texts]
    found, order = slices(np.frombuffer(b"".join(texts), dtype=np.uint8), starts, ends)
    assert found == sorted(texts, key=len)
    assert found == [texts[index] for index in order]


def test_a_slice_of_any_length_is_found() -> None:
    text = bytes(range(256)) * 300
    letters = np.frombuffer(text, dtype=np.uint8)
    found, order = slices(letters, np.array([0, 5]), np.array([70_000, 9]))
    assert found == [text[5:9], text[:70_000]]
    assert order.tolist() == [1, 0]
