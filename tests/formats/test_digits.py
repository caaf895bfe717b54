"""Whole numbers in a text, many at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats.digits import MAX_DIGITS, PADDING, is_plain, numbers_at, words_of

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
