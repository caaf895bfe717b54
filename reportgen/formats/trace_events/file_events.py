"""The events of one timeline, with absolute times.

Every writer's files have the same shape: a base time, phases (called ``pid`` there), events with
times after the base. The meaning of an event's name is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import join
from reportgen.formats.columns import Codes
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.trace_events.events import JsonEvent
from reportgen.formats.trace_events.marks import Marks, match_marks
from reportgen.formats.trace_events.rows import EventBatches, EventRows, MarkRows, Vocabulary
from reportgen.formats.trace_events.runs import read_events
from reportgen.profile import Quality
from reportgen.units import LATEST_US, NS_PER_US

_RANK = re.compile(r"\d{1,7}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvents:
    """The events of one file with absolute times, and codes of names, phases and arguments.

    Attributes:
        start_ns, end_ns: (n,) int64 ns; counted from 1970 when the file has a base, else from
            whatever its writer counted from.
        base_ns: when the file says it began; ``None`` when it does not say.
        loose: begin and end marks without a partner in the file; ``None`` without any.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    phase: NDArray[np.int32]
    argument: NDArray[np.int32]
    base_ns: int | None = None
    loose: Marks | None = None


EVENT_COLUMNS = ("start_ns", "end_ns", "name", "phase", "argument")


def read_event_file(
    content: bytes, key: str, problems: Diagnostics, *, vocabulary: Vocabulary
) -> FileEvents:
    """Read one timeline: complete, unfinished or damaged. ``vocabulary`` is extended."""
    return read_batches(read_events(content, key, problems), key, problems, vocabulary=vocabulary)


def read_batches(
    batches: Iterable[list[JsonEvent]],
    key: str,
    problems: Diagnostics,
    *,
    vocabulary: Vocabulary,
    origin_us: int | None = None,
) -> FileEvents:
    """Read the events of one file, given in their order, whatever stands around them there.

    ``origin_us`` is what times are counted from, if something outside the file says it.
    """
    taken = EventBatches(vocabulary)
    if origin_us is not None:
        taken.metadata.start_at(origin_us)
    for batch in batches:
        taken.take(batch)
    problems.add(Quality.EVENTS_DROPPED, key, taken.n_other, what=_SAY_OTHER)
    problems.add(Quality.EVENTS_DROPPED, key, taken.n_kindless, what=_SAY_KINDLESS)
    file = _File(key=key, problems=problems, taken=taken, phases=vocabulary.phases)
    found, is_usable = (
        _absolute(join(taken.spans), file) if taken.spans else (_no_events(), _NO_ROWS)
    )
    problems.add(Quality.EVENTS_DROPPED, key, int(np.count_nonzero(~is_usable)), what=_SAY_TIME)
    return _with_marks(found, taken.marks, file) if taken.marks else found


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    key: str
    problems: Diagnostics
    taken: EventBatches
    phases: Codes


def _no_events() -> FileEvents:
    times, codes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return FileEvents(start_ns=times, end_ns=times, name=codes, phase=codes, argument=codes)


_NO_ROWS = np.empty(0, dtype=np.bool_)
_SAY_OTHER = (
    "{n} [event|events] of kinds without a duration of their own (flow, async) [was|were] left out"
)
_SAY_KINDLESS = "{n} [object|objects] without a kind of event [was|were] left out"
_SAY_TIME = "{n} [event|events] without a usable start or duration [was|were] left out"


def _absolute(rows: EventRows, file: _File) -> tuple[FileEvents, NDArray[np.bool_]]:
    """Add the base, name the phases; return the events with a usable time, and which they are."""
    metadata = file.taken.metadata
    base_us = metadata.base_at(rows.position)
    with np.errstate(invalid="ignore"):
        is_usable = np.abs(rows.ts_us + base_us) < LATEST_US
        is_usable &= (rows.dur_us >= 0) & (rows.dur_us < LATEST_US)
    kept = slice(None) if is_usable.all() else is_usable
    phase = metadata.phases_at(rows.position, rows.pid, file.taken.pids, file.phases)
    start_ns = base_us[kept] * NS_PER_US + _nanoseconds(rows.ts_us[kept])
    end_ns = start_ns + _nanoseconds(rows.dur_us[kept])
    events = FileEvents(
        start_ns=start_ns,
        end_ns=end_ns,
        name=rows.name[kept],
        phase=phase[kept],
        argument=rows.argument[kept],
        base_ns=metadata.first_base_ns,
    )
    return events, is_usable


def _nanoseconds(time_us: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole nanoseconds: of whole microseconds exactly, and of their fractions."""
    whole_us = np.trunc(time_us)
    time_ns = whole_us.astype(np.int64) * NS_PER_US
    fraction_us = time_us - whole_us
    if fraction_us.any():
        time_ns += np.rint(fraction_us * NS_PER_US).astype(np.int64)
    return time_ns


def _with_marks(events: FileEvents, parts: list[MarkRows], file: _File) -> FileEvents:
    """Return a file's events and those that its begin and end marks make; the rest is loose."""
    rows = join([part.rows for part in parts])
    placed, is_usable = _absolute(replace(rows, dur_us=np.zeros(rows.ts_us.shape)), file)
    file.problems.add(Quality.EVENTS_UNMATCHED, file.key, int(np.count_nonzero(~is_usable)))
    marks = Marks(
        time_ns=placed.start_ns,
        is_begin=np.concatenate([part.is_begin for part in parts])[is_usable],
        name=placed.name,
        phase=placed.phase,
        thread=np.concatenate([part.thread for part in parts])[is_usable],
        argument=placed.argument,
    )
    begins, ends = match_marks(marks.is_begin, rows.pid[is_usable], marks.thread)
    paired = paired_events(marks.where(begins), marks.where(ends), file.key, file.problems)
    is_loose = np.ones(marks.n_marks, dtype=np.bool_)
    is_loose[begins] = is_loose[ends] = False
    return replace(
        join_events([events, paired]),
        base_ns=file.taken.metadata.first_base_ns,
        loose=marks.where(is_loose) if is_loose.any() else None,
    )


def paired_events(begins: Marks, ends: Marks, key: str, problems: Diagnostics) -> FileEvents:
    """Return the events that begin and end with these marks, row by row."""
    is_usable = ends.time_ns >= begins.time_ns
    problems.add(Quality.EVENTS_DROPPED, key, int(np.count_nonzero(~is_usable)), what=_SAY_TIME)
    begins, ends = begins.where(is_usable), ends.where(is_usable)
    return FileEvents(
        start_ns=begins.time_ns,
        end_ns=ends.time_ns,
        name=begins.name,
        phase=begins.phase,
        argument=begins.argument,
    )


def join_events(parts: Sequence[FileEvents]) -> FileEvents:
    """Return the events of several parts; what holds for a whole file is left out."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in EVENT_COLUMNS
    }
    return FileEvents(**columns)


def with_instants(events: FileEvents, vocabulary: Vocabulary) -> FileEvents:
    """Return the events with ranks' ready marks as instants.

    Horovod writes them as spans, and some copies hold a clock's value as their duration.
    """
    ranks = [
        code
        for name, code in vocabulary.names.items()
        if isinstance(name, str) and _RANK.fullmatch(name)
    ]
    if not ranks:
        return events
    is_mark = np.isin(events.name, ranks)
    return replace(events, end_ns=np.where(is_mark, events.start_ns, events.end_ns))
