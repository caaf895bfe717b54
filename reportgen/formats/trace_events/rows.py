"""Events to columns, batch by batch: spans, marks, and what the ``M`` lines of a file say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import Codes
from reportgen.formats.trace_events.arguments import ArgumentRows
from reportgen.formats.trace_events.events import JsonEvent
from reportgen.formats.trace_events.metadata import Metadata

SPAN, INSTANT, BEGIN, END, META, SILENT, KINDLESS, OTHER = range(8)
_KIND_OF = bytes.maketrans(
    b"XiIRBEMC\0?",
    bytes([SPAN, INSTANT, INSTANT, INSTANT, BEGIN, END, META, SILENT, KINDLESS, OTHER]),
)
"""The kind of each letter of ``ph``; other letters stay themselves, which is above ``OTHER``."""

_NOTHING = JsonEvent()
"""The last item of some writers' arrays: ``{}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Meanings of the codes of a node's events; extended while files are read."""

    names: Codes = field(default_factory=Codes)
    phases: Codes = field(default_factory=Codes)
    threads: Codes = field(default_factory=Codes)
    arguments: ArgumentRows = field(default_factory=ArgumentRows)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRows:
    """Some events of one file, in its order; (n,) codes and rows of arguments.

    ``position`` is the place in the file, counting every event and every metadata. Times are
    float64 microseconds, NaN where there is no number; whole numbers are exact up to the year 2255.
    """

    position: NDArray[np.int64]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    name: NDArray[np.int32]
    pid: NDArray[np.int32]
    argument: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRows:
    """Begin and end marks as they are in the file; (n,) each."""

    rows: EventRows
    is_begin: NDArray[np.bool_]
    thread: NDArray[np.int32]


class EventBatches:
    """Takes the events of one file in their order.

    ``spans`` are complete events and instants, ``marks`` the begin and end marks of the batches
    that have some; ``n_other`` events are of kinds that are left out, ``n_kindless`` objects of
    none.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.metadata = Metadata()
        self.pids = Codes()
        self.spans: list[EventRows] = []
        self.marks: list[MarkRows] = []
        self.n_other = self._n_kindless = self._n_before = 0
        self._ends_in_nothing = False
        self._vocabulary = vocabulary

    @property
    def n_kindless(self) -> int:
        """Return the number of objects without a kind of event."""
        return self._n_kindless - self._ends_in_nothing

    def take(self, events: list[JsonEvent]) -> None:
        """Take the next events."""
        kinds = _kinds_of(events)
        self._learn(_chosen(events, kinds == META), np.flatnonzero(kinds == META).tolist())
        for instant in _chosen(events, kinds == INSTANT):
            instant.dur = 0
        self.spans.append(self._rows(events, kinds <= INSTANT))
        is_mark = (kinds == BEGIN) | (kinds == END)
        if is_mark.any():
            tids = [event.tid for event in _chosen(events, is_mark)]
            self.marks.append(
                MarkRows(
                    rows=self._rows(events, is_mark),
                    is_begin=kinds[is_mark] == BEGIN,
                    thread=self._vocabulary.threads.of(tids),
                )
            )
        self.n_other += int(np.count_nonzero(kinds >= OTHER))
        self._n_kindless += int(np.count_nonzero(kinds == KINDLESS))
        if events:
            self._ends_in_nothing = events[-1] == _NOTHING
        self._n_before += len(events)

    def _rows(self, events: list[JsonEvent], is_chosen: NDArray[np.bool_]) -> EventRows:
        chosen = _chosen(events, is_chosen)
        raws = [bytes(event.args) for event in chosen]
        return EventRows(
            position=np.flatnonzero(is_chosen) + self._n_before,
            ts_us=np.array([event.ts for event in chosen], dtype=np.float64),
            dur_us=np.array([event.dur for event in chosen], dtype=np.float64),
            name=self._vocabulary.names.of([event.name for event in chosen]),
            pid=self.pids.of([event.pid for event in chosen]),
            argument=self._vocabulary.arguments.rows_of(raws, [event.tid for event in chosen]),
        )

    def _learn(self, metadata: Iterable[JsonEvent], places: Iterable[int]) -> None:
        self.metadata.learn(metadata, [self._n_before + place for place in places], self.pids)


def _kinds_of(events: Sequence[JsonEvent]) -> NDArray[np.uint8]:
    letters = [event.ph for event in events]
    try:
        text = "".join(letters)  # type: ignore[arg-type]  # null is caught
        is_plain = len(text) == len(letters) and text.isascii() and "" not in letters
    except TypeError:
        is_plain = False
    if not is_plain:
        text = "".join(map(_letter, letters))
    return np.frombuffer(text.encode().translate(_KIND_OF), dtype=np.uint8)


def _letter(ph: str | None) -> str:
    if ph == "":
        return "\0"
    return ph if ph is not None and len(ph) == 1 and ph.isascii() else "?"


def _chosen(events: Sequence[JsonEvent], is_chosen: NDArray[np.bool_]) -> list[JsonEvent]:
    return list(compress(events, is_chosen.tobytes()))
