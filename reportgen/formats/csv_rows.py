"""Tables of text: comma-separated values of other programs, and what their cells mean."""

from __future__ import annotations

import codecs
import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

LONGEST_LINE = 1 << 20
"""Bytes; a table of 10,000 columns has shorter lines."""
_ABSENT = frozenset({"", "-", "n/a", "nan", "none", "null"})
_UNITS = " %CFWHJMGKTihzbBcmpuv°/"
_LONGEST_NUMBER = 64


def lines_of(blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a text in UTF-8 or UTF-16, as PowerShell writes it; too long ones not."""
    decoder, left, is_too_long = None, "", False
    for block in blocks:
        decoder = decoder or _decoder(block)
        *lines, rest = (left + decoder.decode(block)).split("\n")
        for line in lines:
            if not is_too_long and len(line) <= LONGEST_LINE:
                yield line.rstrip("\r")
            is_too_long = False
        is_too_long |= len(rest) > LONGEST_LINE
        left = "" if is_too_long else rest
    if left and not is_too_long:
        yield left.rstrip("\r")


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return codecs.getincrementaldecoder("utf-16" if is_wide else "utf-8-sig")("replace")


def cells_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the cells of each line that has any, without spaces around them."""
    for line in lines:
        if '"' in line:
            try:
                yield [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]
            except csv.Error:
                yield []
        elif line.strip():
            yield [cell.strip() for cell in line.split(",")]


def number_in(cell: str) -> float | None:
    """Return the number of a cell without its unit; ``None`` where it says that there is none.

    Example:
        >>> number_in("97 %"), number_in("0x04"), number_in("[N/A]"), number_in("x")
        (97.0, 4.0, None, nan)
    """
    bare = cell.strip()
    if bare.startswith("[") or bare.lower() in _ABSENT:
        return None
    if len(bare) > _LONGEST_NUMBER:
        return math.nan
    try:
        return float(int(bare, 16)) if bare[:2] in {"0x", "0X"} else float(bare.rstrip(_UNITS))
    except (ValueError, OverflowError):
        return math.nan


_DIGITS_OF_S = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""From how large a number on an instant counts ns, µs and ms, not seconds."""


def instant_in(cell: str) -> tuple[float, bool]:
    """Return seconds, and whether they are of a local time without a zone; NaN if it is no instant.

    Example:
        >>> instant_in("1970/01/02 00:00:01.5"), instant_in("1783071000000")
        ((86401.5, True), (1783071000.0, False))
    """
    number = number_in(cell)
    if number is not None and not math.isnan(number):
        return next(
            (number * unit for least, unit in _DIGITS_OF_S if number >= least), number
        ), False
    try:
        moment = datetime.fromisoformat(cell[:_LONGEST_NUMBER].replace("/", "-"))
        is_local = moment.tzinfo is None
        return (moment.replace(tzinfo=UTC) if is_local else moment).timestamp(), is_local
    except (ValueError, OverflowError):
        return math.nan, False


def words_of(title: str) -> tuple[str, str]:
    """Return a column's name in lower case with ``_`` between its words, and its unit.

    Example:
        >>> words_of("utilization.gpu [%]"), words_of("Memory Used (MiB)"), words_of("power_W")
        (('utilization_gpu', '%'), ('memory_used', 'mib'), ('power_w', ''))
    """
    name, _, unit = title.strip().lower().replace("(", "[").partition("[")
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return "_".join(words), unit.strip(" ])")


def place_of(names: Sequence[str], wanted: Iterable[str]) -> int | None:
    """Return where the first of some names stands among others, ``None`` without any."""
    return next((names.index(name) for name in wanted if name in names), None)
