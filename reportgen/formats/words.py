"""Fixed texts and whole numbers at many places of a text at once: eight letters are one word."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_WORD_LETTERS = 8
MAX_DIGITS = 2 * _WORD_LETTERS
"""Digits that are looked at: two words."""

PADDING = MAX_DIGITS
"""Bytes that must follow the last place at which a number may begin."""

Words = NDArray[np.uint64]

_ZEROS = np.uint64(int.from_bytes(b"0" * 8, "little"))
_TOP_BITS = int.from_bytes(b"\x80" * 8, "little")
_ABOVE_NINE = int.from_bytes(b"\x76" * 8, "little")
"""Added to a byte up to nine it leaves the top bit alone, added to a larger one it sets it."""

_TENS = np.array([10**power for power in range(9)], dtype=np.uint64)
_ALL_BITS = 2**64 - 1
_LEAST = np.array([_ALL_BITS, 0, *[10**power for power in range(1, MAX_DIGITS)]], dtype=np.uint64)
"""The least number of so many digits that begins with no spare zero."""

_MAX_UINT16 = 2**16 - 1
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


def stands_at(text: bytes, places: NDArray[np.intp], words: Words) -> NDArray[np.bool_]:
    """Return at which places a fixed text stands.

    Args:
        text: one letter or more.
        places: (n,) at least ``PADDING`` and the text's length before the end.
        words: of a text, as ``words_of`` returns them.

    Example:
        >>> words = words_of(np.frombuffer(b"ts: 5, ts: 7" + bytes(PADDING), np.uint8))
        >>> stands_at(b"ts: ", np.array([0, 1, 7]), words).tolist()
        [True, False, True]
    """
    last = max(len(text) - _WORD_LETTERS, 0)
    rest = text[last:]
    kept = np.uint64(_ALL_BITS >> 8 * (_WORD_LETTERS - len(rest)))
    is_there: NDArray[np.bool_] = (words[places + last] & kept) == _word(rest)
    for begin in range(0, last, _WORD_LETTERS):
        is_there &= words[places + begin] == _word(text[begin : begin + _WORD_LETTERS])
    return is_there


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


def slices(
    letters: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[list[bytes], NDArray[np.intp]]:
    """Return slices of a text, the shortest first, and the index of each.

    Args:
        letters: of a text.
        starts, ends: (n,) of slices that are not empty.

    Example:
        >>> letters = np.frombuffer(b"three one two", np.uint8)
        >>> texts, order = slices(letters, np.array([0, 6, 10]), np.array([5, 9, 13]))
        >>> texts, order.tolist()
        ([b'one', b'two', b'three'], [1, 2, 0])
    """
    lengths = ends - starts
    dtype = np.uint16 if lengths.max(initial=0) <= _MAX_UINT16 else np.int64  # 16 bits: by radix
    order = np.argsort(lengths.astype(dtype), kind="stable")
    lengths, starts = lengths[order], starts[order]
    bounds = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), lengths.size]
    found: list[bytes] = []
    for first, last in pairwise(bounds):
        length = int(lengths[first])
        shape = letters.size - length + 1
        of_length = np.ndarray(shape, dtype=f"V{length}", buffer=letters.data, strides=(1,))
        found += of_length[starts[first:last]].tolist()
    return found, order


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
    is_longer = n_digits == _WORD_LETTERS
    if is_longer.any():
        longer = slice(None) if is_longer.all() else np.flatnonzero(is_longer)
        more, n_more = _first_word(words[places[longer] + _WORD_LETTERS])
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
    value: Words = digits << (8 * (_WORD_LETTERS - n_digits)).astype(
        np.uint64
    )  # others leave at the top
    for held, weight, width in _JOIN:
        value &= held
        value = value * weight + (value >> width)
    return value & _LOW_HALF
