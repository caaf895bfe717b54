"""Samples of a source, the lines that they become, and these on disk (docs/formats.md).

A minute that is over becomes one gzip member behind those of its hour. Where a kill leaves it in
both files, the reader counts equal samples once.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from reportgen.record.folder import append_bytes, make_folder


class Reading(NamedTuple):
    """One sample: type, name and dimension of its series, and the value."""

    type: str
    name: str
    dimension: str
    value: float


class Source(Protocol):
    """Something that can be sampled."""

    def read(self, now_ns: int) -> Sequence[Reading]:
        """Return the values of this instant; rates need two calls."""


class Rates:
    """Turns counters that only grow into rates per second."""

    def __init__(self) -> None:
        self._last: dict[object, tuple[int, float]] = {}

    def rate(self, counter: object, value: float, now_ns: int) -> float | None:
        """Return the rate since the last call; ``None`` at the first and after a reset."""
        before = self._last.get(counter)
        self._last[counter] = now_ns, value
        if before is None or now_ns <= before[0] or value < before[1]:
            return None
        return (value - before[1]) * 1e9 / (now_ns - before[0])


class LineWriter:
    """Writes readings as lines; the constant part of each series is made once."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._heads: dict[tuple[str, str, str], str] = {}

    def lines(self, readings: Iterable[Reading], now_ns: int) -> str:
        """Return the lines of one tick."""
        seconds, micros = divmod(now_ns // 1_000, 1_000_000)
        tail = f',"NodeId":"{self._node}","Timestamp":{seconds}.{micros:06d}}}\n'
        return "".join(
            f"{self._head(kind, name, dimension)}{_number(value)}{tail}"
            for kind, name, dimension, value in readings
        )

    def _head(self, kind: str, name: str, dimension: str) -> str:
        series = (kind, name, dimension)
        head = self._heads.get(series)
        if head is None:
            head = f'{{"Type":"{kind}","Name":"{name}","Dimension":"{dimension}","Value":'
            self._heads[series] = head
        return head


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"


_NS_PER_S = 1_000_000_000
_LEVEL = 6


class MinuteFiles:
    """Appends the lines of each tick to the file of its minute; counts what is lost.

    Nothing is kept open or in memory: a kill at any moment loses the tick that is being written.
    """

    def __init__(self, root: Path, node: str) -> None:
        self._root = root
        self._node = node
        self._minute: Path | None = None
        self._packed: Path | None = None
        self.n_lost_ticks = 0
        self.why_lost = ""

    def write(self, lines: str, now_ns: int) -> None:
        """Append the lines of a tick; the first tick of a minute packs the minute before."""
        seconds = now_ns // _NS_PER_S
        minute_s = seconds - seconds % 60
        name = f"{minute_s}.{self._node}.json"
        try:
            if self._minute is None or name != self._minute.name:
                self._pack()
                hour = time.strftime("%Y%m%d%H", time.gmtime(minute_s))
                self._minute = make_folder(self._root, "system", "incremental", hour) / name
            append_bytes(self._minute, lines.encode())
        except OSError as err:
            self._minute = None
            self.n_lost_ticks += 1
            self.why_lost = err.strerror or type(err).__name__

    def _pack(self) -> None:
        """Pack the minute that is over; where that fails, it stays as it is."""
        minute, self._minute = self._minute, None
        if minute is None:
            return
        packed, self._packed = self._packed, None
        if packed is None or packed.parent != minute.parent:
            packed = _unused(minute)
        with suppress(OSError):
            append_bytes(packed, gzip.compress(minute.read_bytes(), _LEVEL, mtime=0))
            minute.unlink()
            self._packed = packed


def _unused(minute: Path) -> Path:
    """Return a packed file of a minute: one that is there may end in what a kill has cut off."""
    seconds, _, rest = minute.name.partition(".")
    packed = minute.with_name(f"{minute.name}.gz")
    while packed.exists():
        seconds = str(int(seconds) + 1)
        packed = minute.with_name(f"{seconds}.{rest}.gz")
    return packed
