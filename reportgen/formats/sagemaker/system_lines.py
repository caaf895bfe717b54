"""System metrics line by line: slow, forgiving, and exact about where the trouble is.

Used for the few files that the fast way stumbles over: broken lines, a byte-order mark, UTF-16,
the JSON arrays of 2020, several objects on a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import starmap
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import Codes
from reportgen.formats.diagnostics import LONGEST_NAME, printable
from reportgen.formats.json_text import items_of_line, to_text, whole_array
from reportgen.formats.series_codes import SeriesCodes
from reportgen.profile import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRows:
    """Lines of one file as they are there, nothing judged yet: ``code`` (n,) int32, >= 0.

    ``time_s`` are seconds UTC, never NaN; ``value`` is NaN or infinite where the line holds no
    number.
    """

    code: NDArray[np.int32]
    time_s: NDArray[np.float64]
    value: NDArray[np.float64]


class Sample(NamedTuple):
    """One sample as it is in the file; ``value`` is NaN when it is no number."""

    series: Series
    node: str
    time_s: float
    value: float


@dataclass(slots=True, kw_only=True)
class LineReading:
    """All that one file holds.

    ``broken_lines`` are the numbers of lines that could not be read, from 1; ``bytes_lost`` the
    length of a last line that breaks off.
    """

    samples: list[Sample] = field(default_factory=list)
    broken_lines: list[int] = field(default_factory=list)
    bytes_lost: int = 0
    encoding: str = "UTF-8"


def read_lines(content: bytes) -> LineReading:
    """Read a minute file of any variant, also one whose objects go over lines; never raises."""
    text, encoding = to_text(content)
    reading = LineReading(encoding=encoding)
    items = whole_array(text)
    if items is not None:
        for item in items:
            _keep(item, 1, reading)
        return reading
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        _read_line(line, number, reading)
    if reading.broken_lines:
        whole = LineReading(encoding=encoding)
        _read_line(text, 1, whole)
        if not whole.broken_lines:
            return whole
        if reading.broken_lines[-1] == len(lines):
            reading.bytes_lost = len(lines[-1].encode("utf-8", "surrogateescape"))
    return reading


def _read_line(line: str, number: int, reading: LineReading) -> None:
    sample = _usual_sample(line)
    if sample is not None:
        reading.samples.append(sample)
        return
    try:
        for item in items_of_line(line):
            _keep(item, number, reading)
    except ValueError:
        _break(number, reading)


def _usual_sample(line: str) -> Sample | None:
    try:
        read = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    series = series_of(read.Type, read.Name, read.Dimension)
    if series is None:
        return None
    value = float("nan") if read.Value is None else read.Value
    return Sample(series, printable(read.NodeId or ""), read.Timestamp, value)


def _keep(item: object, number: int, reading: LineReading) -> None:
    sample = _sample(item) if isinstance(item, dict) else None
    if sample is None:
        _break(number, reading)
    else:
        reading.samples.append(sample)


def _break(number: int, reading: LineReading) -> None:
    if number not in reading.broken_lines[-1:]:
        reading.broken_lines.append(number)


def _sample(fields: dict[str, object]) -> Sample | None:
    kind = fields.get("Type")
    time_s = _number(fields.get("Timestamp"))
    if kind is None or time_s != time_s:  # NaN != NaN
        return None
    series = series_of(kind, fields.get("Name"), fields.get("Dimension"))
    if series is None:
        return None
    return Sample(
        series=series,
        node=printable(str(fields.get("NodeId") or "")),
        time_s=time_s,
        value=_number(fields.get("Value")),
    )


def series_of(kind: object, name: object, dimension: object) -> Series | None:
    """Return the series that three fields name; a missing ``Name`` is the ``Type``.

    Fields that are no text are written as JSON. ``None`` when one is too long to be a name.
    """
    words = (kind, kind if name is None else name, "" if dimension is None else dimension)
    texts = [word if isinstance(word, str) else _as_json(word) for word in words]
    if max(map(len, texts)) > LONGEST_NAME:
        return None
    return _series_named(*texts)


@lru_cache(maxsize=4096)
def _series_named(kind: str, name: str, dimension: str) -> Series:
    return Series(printable(kind), printable(name), printable(dimension))


def _as_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _number(value: object) -> float:
    if not isinstance(value, str | int | float):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")


class _TypedLine(msgspec.Struct, gc=False):
    Type: str
    Timestamp: float
    Name: str | None = None
    Dimension: str | None = None
    Value: float | None = None
    NodeId: str | None = None


_DECODER = msgspec.json.Decoder(_TypedLine)
_names_of = attrgetter("Type", "Name", "Dimension")


def read_typed(content: bytes, codes: SeriesCodes) -> tuple[RawRows, set[str]] | None:
    """Return a minute file's lines and how they call their node; ``None`` for any unusual line.

    For small jobs: DuckDB is faster on much, but it takes a tenth of a second and 50 MiB before
    the first line. ``codes``, the node's series, are extended by what is found.
    """
    try:
        lines = _DECODER.decode_lines(content)
    except (ValueError, RecursionError):
        return None
    kinds = Codes()
    kind = kinds.of(list(map(_names_of, lines)))
    code = np.array([codes.code(series) for series in starmap(series_of, kinds)], dtype=np.int32)
    rows = RawRows(
        code=code[kind],
        time_s=np.array([line.Timestamp for line in lines], dtype=np.float64),
        value=np.array([line.Value for line in lines], dtype=np.float64),
    )
    return (rows, {line.NodeId for line in lines if line.NodeId}) if (code >= 0).all() else None
