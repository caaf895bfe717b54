"""Framework events: Chrome trace arrays in ``pevents`` (formats.md §3, §5.1).

Every writer's files have the same shape: a base time, phases (called ``pid`` there), events with
times after the base. What the name of an event means is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_columns import Codes, EventColumns, columns_of, join_columns
from reportgen.formats.event_metadata import Metadata
from reportgen.formats.event_pairs import match_marks
from reportgen.formats.event_text import Event, read_events
from reportgen.formats.tally import Tally
from reportgen.profile import Quality
from reportgen.units import NS_PER_US

_LATEST_US = 9_200_000_000_000_000
"""About the year 2261: int64 nanoseconds end there."""

_SPAN, _INSTANT, _MARK, _META, _SILENT, _KINDLESS, _OTHER = range(7)


class _Kinds(dict[str | None, int]):
    """What each ``ph`` is to us."""

    def __missing__(self, _: str | None) -> int:
        """Return the kind of a ``ph`` we do not know."""
        return _OTHER


_NOTHING = Event()
"""What some writers end an array with: ``{}``."""

_KIND_OF = _Kinds(
    {"X": _SPAN, "i": _INSTANT, "I": _INSTANT, "R": _INSTANT, "B": _MARK, "E": _MARK, "M": _META}
    | {"C": _SILENT, "": _KINDLESS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvents:
    """The events of one file with absolute times.

    Attributes:
        start_ns, end_ns: (n,) int64 ns; counted from 1970 when the file has a base, else from
            whatever its writer counted from.
        name, phase: (n,) int32 codes.
        numbers: whole-number columns by their name in ``SpanTable``.
        base_ns: when the file says it began; ``None`` when it does not say.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    phase: NDArray[np.int32]
    numbers: dict[str, NDArray[np.int64]]
    base_ns: int | None


def read_event_file(
    content: bytes, key: str, tally: Tally, *, names: Codes, phases: Codes, is_finished: bool
) -> FileEvents:
    """Read one timeline.

    Args:
        content: the file's bytes; complete, unfinished or damaged.
        key: the file's, for the tally.
        tally: counts what cannot be read, matched or placed.
        names: codes of event names, extended.
        phases: codes of phase names, extended.
        is_finished: whether the job ended: what began and did not end is over then.
    """
    metadata, pids = Metadata(), Codes()
    parts: list[EventColumns] = []
    marks: list[tuple[int, Event]] = []
    n_before = n_other = n_kindless = 0
    ends_in_nothing = False
    for events in read_events(content, key, tally):
        phs = [event.ph for event in events]
        kinds = np.fromiter(map(_KIND_OF.__getitem__, phs), dtype=np.int8, count=len(phs))
        for index in _rows(kinds, _META):
            metadata.learn(events[index], n_before + index, pids)
        marks += [(n_before + index, events[index]) for index in _rows(kinds, _MARK)]
        for index in _rows(kinds, _INSTANT):
            events[index].dur = 0
        rows = np.flatnonzero((kinds == _SPAN) | (kinds == _INSTANT))
        chosen = events if len(rows) == len(events) else [events[row] for row in rows.tolist()]
        parts.append(columns_of(chosen, n_before + rows, names=names, pids=pids))
        n_other += int(np.count_nonzero(kinds == _OTHER))
        n_kindless += int(np.count_nonzero(kinds == _KINDLESS))
        ends_in_nothing = bool(events) and events[-1] == _NOTHING
        n_before += len(events)
    tally.add(Quality.EVENTS_DROPPED, key, n_other, what=_SAY_OTHER)
    tally.add(Quality.EVENTS_DROPPED, key, n_kindless - ends_in_nothing, what=_SAY_KINDLESS)
    columns = join_columns(parts)
    if marks:
        last_us = _last_us(columns, metadata)
        begun = match_marks(marks, metadata, key, tally, last_us=last_us if is_finished else None)
        position = np.array([place for place, _ in begun], dtype=np.int64)
        paired = columns_of([event for _, event in begun], position, names=names, pids=pids)
        columns = join_columns([columns, paired])
    return _absolute(columns, metadata, pids, phases, key, tally)


_SAY_OTHER = (
    "{n} [event|events] of kinds without a duration of their own (flow, async) [was|were] left out"
)
_SAY_KINDLESS = "{n} [object|objects] without a kind of event [was|were] left out"
_SAY_TIME = "{n} [event|events] without a usable start or duration [was|were] left out"


def _rows(kinds: NDArray[np.int8], kind: int) -> list[int]:
    found: list[int] = np.flatnonzero(kinds == kind).tolist()
    return found


def _last_us(columns: EventColumns, metadata: Metadata) -> float:
    """Return the latest absolute time of a file's whole events, -infinity without any."""
    ends = metadata.base_at(columns.position) + columns.ts_us + columns.dur_us
    usable = ends[np.isfinite(ends)]
    return float(usable.max()) if usable.size else -np.inf


def _absolute(
    columns: EventColumns,
    metadata: Metadata,
    pids: Codes,
    phases: Codes,
    key: str,
    tally: Tally,
) -> FileEvents:
    """Add the base, name the phases, leave out what has no usable time."""
    base_us = metadata.base_at(columns.position)
    start_us, dur_us = columns.ts_us + base_us, columns.dur_us
    with np.errstate(invalid="ignore"):
        is_usable = (np.abs(start_us) < _LATEST_US) & (dur_us >= 0) & (dur_us < _LATEST_US)
    tally.add(Quality.EVENTS_DROPPED, key, int(np.count_nonzero(~is_usable)), what=_SAY_TIME)
    phase = metadata.phases_at(columns.position, columns.phase, pids, phases)
    start_ns = _nanoseconds(columns.ts_us, base_us, is_usable)
    rows = slice(None) if is_usable.all() else is_usable
    return FileEvents(
        start_ns=start_ns,
        end_ns=start_ns + _nanoseconds(dur_us, 0, is_usable),
        name=columns.name[rows],
        phase=phase[rows],
        numbers={column: values[rows] for column, values in columns.numbers.items()},
        base_ns=metadata.first_base_ns,
    )


def _nanoseconds(
    time_us: NDArray[Any], base_us: NDArray[np.int64] | int, rows: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return base + time in ns for some rows; fractions of a microsecond are kept."""
    base_ns = (base_us if isinstance(base_us, int) else base_us[rows]) * NS_PER_US
    if time_us.dtype.kind == "i":
        time_ns: NDArray[np.int64] = time_us[rows] * NS_PER_US
    else:
        time_ns = np.rint(time_us[rows] * NS_PER_US).astype(np.int64)
    return time_ns + base_ns
