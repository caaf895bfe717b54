"""A file's events to rows, batch by batch: spans, marks, and what its ``M`` lines say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_columns import Codes
from reportgen.formats.event_lines import RegularEvents
from reportgen.formats.event_metadata import Metadata, is_settled
from reportgen.formats.event_rows import (
    BEGIN,
    END,
    INSTANT,
    KINDLESS,
    META,
    OTHER,
    EventRows,
    Vocabulary,
    chosen_of,
    kinds_of,
    rows_of,
)
from reportgen.formats.event_text import Event

_NOTHING = Event()
"""What some writers end an array with: ``{}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRows:
    """Begin and end marks as they stand in the file; (n,) each."""

    rows: EventRows
    is_begin: NDArray[np.bool_]
    thread: NDArray[np.int32]


class EventBatches:
    """Takes the events of one file in their order.

    Attributes:
        metadata: what the ``M`` lines say.
        pids: codes of the file's ``pid`` values.
        spans: complete events and instants, batch by batch.
        marks: begin and end marks, of the batches that have some.
        n_other: events of kinds that are left out.
        n_kindless: objects without a kind; an empty one at the end is none.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Start without events.

        Args:
            vocabulary: what codes mean, extended.
        """
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

    def take(self, batch: list[Event] | RegularEvents) -> None:
        """Take the next events."""
        if isinstance(batch, RegularEvents):
            self._take_regular(batch)
        else:
            self._take_any(batch)

    def _take_any(self, events: list[Event]) -> None:
        kinds = kinds_of(events)
        self._learn(chosen_of(events, kinds == META), np.flatnonzero(kinds == META).tolist())
        for instant in chosen_of(events, kinds == INSTANT):
            instant.dur = 0
        self.spans.append(self._rows(events, kinds <= INSTANT))
        is_mark = (kinds == BEGIN) | (kinds == END)
        if is_mark.any():
            tids = [event.tid for event in chosen_of(events, is_mark)]
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

    def _rows(self, events: list[Event], is_chosen: NDArray[np.bool_]) -> EventRows:
        return rows_of(
            events, is_chosen, self._n_before, vocabulary=self._vocabulary, pids=self.pids
        )

    def _take_regular(self, found: RegularEvents) -> None:
        n_events = np.array([lead.n_events for lead in found.leads])
        places = np.cumsum(n_events[found.lead]) - 1
        n_rows = int(places[-1]) + 1
        self._learn_leads(found, places)
        rest = list(chain.from_iterable(found.rests))
        self._learn(rest, range(n_rows, n_rows + len(rest)))
        events = [lead.event for lead in found.leads]
        name = self._vocabulary.names.of([event.name for event in events])
        pid = self.pids.of([event.pid for event in events])
        self.spans.append(
            EventRows(
                position=places + self._n_before,
                ts_us=found.ts_us,
                dur_us=found.dur_us,
                name=name[found.lead],
                pid=pid[found.lead],
                argument=found.arguments.rows_in(self._vocabulary.arguments),
            )
        )
        self._ends_in_nothing = False
        self._n_before += n_rows + len(rest)

    def _learn_leads(self, found: RegularEvents, places: NDArray[np.intp]) -> None:
        """Take the ``M`` lines above events: where a lead comes first, if that is enough."""
        rows = np.sort(np.unique(found.lead, return_index=True)[1])
        codes = found.lead[rows].tolist()
        is_first_alone = int(np.count_nonzero(found.lead == codes[0])) == 1
        again = chain.from_iterable(found.leads[code].naming for code in codes[is_first_alone:])
        if not is_settled(line for _, line in again):
            rows = np.arange(found.lead.size)
        for lead, place in zip(found.lead[rows].tolist(), places[rows].tolist(), strict=True):
            for n_above, line in found.leads[lead].naming:
                self._learn([line], [place - n_above])

    def _learn(self, metadata: Iterable[Event], places: Iterable[int]) -> None:
        self.metadata.learn(metadata, [self._n_before + place for place in places], self.pids)
