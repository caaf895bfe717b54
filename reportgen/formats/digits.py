"""Whole numbers in a text, many at once: eight digits are one word of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WORD_DIGITS = 8
MAX_DIGITS = 2 * _WORD_DIGITS
"""Digits that are looked at: two words."""

PADDING = MAX_DIGITS
"""Bytes that must follow the last place at which a number may begin."""

Words = NDArray[np.uint64]

_ZEROS = np.uint64(int.from_bytes(b"0" * 8, "little"))
_TOP_BITS = int.from_bytes(b"\x80" * 8, "little")
_ABOVE_NINE = int.from_bytes(b"\x76" * 8, "little")
"""Added to a byte up to nine it leaves the top bit alone, added to a larger one it sets it."""

_TENS = np.array([10**power for power in range(9)], dtype=np.uint64)
_NEVER = 2**64 - 1
_LEAST = np.array([_NEVER, 0, *[10**power for power in range(1, MAX_DIGITS)]], dtype=np.uint64)
"""The least number of so many digits that begins with no spare zero."""

_LOW_HALF = np.uint64(0xFFFFFFFF)
_JOIN = (
    (0x0F0F0F0F0F0F0F0F, 10, 8),
    (0x00FF00FF00FF00FF, 100, 16),
    (0x0000FFFF0000FFFF, 10_000, 32),
)
"""How neighbours become one number: which bits hold them, the left one's weight, their width."""


def words_of(letters: NDArray[np.uint8]) -> Words:
    """Return (n - 7,) the eight letters from each place on, the first in the lowest bits."""
    return np.ndarray(letters.size - 7, dtype="<u8", buffer=letters.data, strides=(1,))


def word(text: bytes) -> int:
    """Return eight letters as ``words_of`` has them."""
    return int.from_bytes(text, "little")


def numbers_at(words: Words, places: NDArray[np.intp]) -> tuple[Words, NDArray[np.intp]]:
    """Return the numbers that begin at some places, and how many digits each has.

    Args:
        words: of a text, as ``words_of`` returns them.
        places: (n,) at least ``PADDING`` before the end.

    Returns:
        (n,) values, and (n,) digits up to ``MAX_DIGITS``; 0 and 0 where no digit stands.

    Example:
        >>> words = words_of(np.frombuffer(b"ts: 1783071021, -5" + bytes(PADDING), np.uint8))
        >>> [found.tolist() for found in numbers_at(words, np.array([4, 16, 17]))]
        [[1783071021, 0, 5], [10, 0, 1]]
    """
    values, n_digits = _first_word(words[places])
    longer = np.flatnonzero(n_digits == _WORD_DIGITS)
    if longer.size:
        more, n_more = _first_word(words[places[longer] + _WORD_DIGITS])
        values[longer] = values[longer] * _TENS[n_more] + more
        n_digits[longer] += n_more
    return values, n_digits


def is_plain(values: Words, n_digits: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which numbers, as ``numbers_at`` has them, are there and begin with no spare zero."""
    return values >= _LEAST[n_digits]


def _first_word(words: Words) -> tuple[Words, NDArray[np.intp]]:
    """Return the numbers with which words begin, and how many digits each has."""
    digits: Words = words ^ _ZEROS
    n_digits = _n_digits(digits)
    return _value(digits, n_digits), n_digits


def _n_digits(digits: Words) -> NDArray[np.intp]:
    """Return how many of the first bytes are below ten."""
    others = ((digits + _ABOVE_NINE) | digits) & _TOP_BITS
    n_bits: NDArray[np.intp] = np.bitwise_count(~others & (others - 1)).astype(np.intp)
    return n_bits >> 3


def _value(digits: Words, n_digits: NDArray[np.intp]) -> Words:
    """Return the number that the first bytes make."""
    value: Words = digits << (8 * (_WORD_DIGITS - n_digits)).astype(
        np.uint64
    )  # others leave at the top
    for held, weight, width in _JOIN:
        value &= held
        value = value * weight + (value >> width)
    return value & _LOW_HALF
