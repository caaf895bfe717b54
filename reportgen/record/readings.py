"""Samples of a source, and the lines that they become (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


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
