"""System metrics line by line: slow, forgiving, and exact about where the trouble is.

Used for the few files that the fast way stumbles over: broken lines, a byte-order mark, UTF-16,
the JSON arrays of 2020, several objects on a line.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from reportgen.formats.tally import printable
from reportgen.profile import Series

_DECODER = json.JSONDecoder()
_BETWEEN = " \t\r\n,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample as it stands in the file; ``value`` is NaN when it is no number."""

    series: Series
    node: str
    time_s: float
    value: float


@dataclass(slots=True, kw_only=True)
class LineReading:
    """All that one file holds.

    Attributes:
        samples: what could be read.
        broken_lines: numbers of the lines that could not, from 1.
        bytes_lost: length of a last line that breaks off.
        encoding: what the bytes turned out to be.
    """

    samples: list[Sample] = field(default_factory=list)
    broken_lines: list[int] = field(default_factory=list)
    bytes_lost: int = 0
    encoding: str = "utf-8"


def read_lines(content: bytes) -> LineReading:
    """Read a minute file of any variant; never raises."""
    text, encoding = _decode(content)
    reading = LineReading(encoding=encoding)
    items = _whole_array(text)
    if items is not None:
        for item in items:
            _keep(item, 1, reading)
        return reading
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        _read_line(line, number, reading)
    if reading.broken_lines and reading.broken_lines[-1] == len(lines):
        reading.bytes_lost = len(lines[-1].encode("utf-8", "surrogateescape"))
    return reading


def _decode(content: bytes) -> tuple[str, str]:
    """Return text and encoding; bytes that are no text become lone surrogates, per line."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace"), "utf-16"
    head = content[:64]
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 8 and not any(head[offset::2]):
            return content.decode(encoding, "replace"), encoding
    return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"), "utf-8"


def _whole_array(text: str) -> list[object] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def _read_line(line: str, number: int, reading: LineReading) -> None:
    text = line.strip().removeprefix("[").strip(_BETWEEN)
    if not text or text == "]":
        return
    try:
        text.encode("utf-8")
        items = list(_objects(text.removesuffix("]").rstrip(_BETWEEN)))
    except (ValueError, RecursionError):
        reading.broken_lines.append(number)
        return
    for item in items:
        _keep(item, number, reading)


def _objects(text: str) -> Iterator[object]:
    """Yield the JSON values of a line that may hold several."""
    position = 0
    while position < len(text):
        item, position = _DECODER.raw_decode(text, position)
        yield item
        while position < len(text) and text[position] in _BETWEEN:
            position += 1


def _keep(item: object, number: int, reading: LineReading) -> None:
    sample = _sample(item) if isinstance(item, dict) else None
    if sample is None:
        if not reading.broken_lines or reading.broken_lines[-1] != number:
            reading.broken_lines.append(number)
    else:
        reading.samples.append(sample)


def _sample(fields: dict[str, object]) -> Sample | None:
    kind = fields.get("Type")
    time_s = _number(fields.get("Timestamp"))
    if kind is None or time_s != time_s:  # NaN != NaN
        return None
    name = fields.get("Name")
    series = series_of(kind, kind if name is None else name, fields.get("Dimension"))
    return Sample(
        series=series,
        node=printable(str(fields.get("NodeId") or "")),
        time_s=time_s,
        value=_number(fields.get("Value")),
    )


def series_of(kind: object, name: object, dimension: object) -> Series:
    """Return the series that three fields name; a missing ``Name`` is the ``Type``."""
    words = (kind, kind if name is None else name, "" if dimension is None else dimension)
    return Series(*(printable(str(word)) for word in words))


def _number(value: object) -> float:
    if not isinstance(value, str | int | float):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
