"""Event objects to columns: kinds, times, codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_args import ArgumentRows
from reportgen.formats.event_columns import Codes
from reportgen.formats.event_lines import KnownLines
from reportgen.formats.event_text import Event

SPAN, INSTANT, BEGIN, END, META, SILENT, KINDLESS, OTHER = range(8)
_KIND_OF = bytes.maketrans(
    b"XiIRBEMC\0?",
    bytes([SPAN, INSTANT, INSTANT, INSTANT, BEGIN, END, META, SILENT, KINDLESS, OTHER]),
)
"""What each letter of ``ph`` is to us; other letters stay themselves, which is above ``OTHER``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the codes of a node's events mean; extended while files are read."""

    names: Codes = field(default_factory=Codes)
    phases: Codes = field(default_factory=Codes)
    threads: Codes = field(default_factory=Codes)
    arguments: ArgumentRows = field(default_factory=ArgumentRows)
    lines: KnownLines = field(default_factory=KnownLines)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRows:
    """Some events of one file, in its order.

    Attributes:
        position: (n,) int64 place in the file, counting every event and every metadata.
        ts_us, dur_us: (n,) float64 microseconds, NaN where there is no number; whole numbers
            are exact up to the year 2255.
        name: (n,) int32 codes of names.
        pid: (n,) int32 codes of the file's ``pid`` values.
        argument: (n,) int32 rows of arguments.
    """

    position: NDArray[np.int64]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    name: NDArray[np.int32]
    pid: NDArray[np.int32]
    argument: NDArray[np.int32]


def kinds_of(events: Sequence[Event]) -> NDArray[np.uint8]:
    """Return the kind of each event: ``SPAN`` … ``KINDLESS``, or ``OTHER`` and above."""
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


def rows_of(
    events: Sequence[Event],
    is_chosen: NDArray[np.bool_],
    n_before: int,
    *,
    vocabulary: Vocabulary,
    pids: Codes,
) -> EventRows:
    """Return the columns of the chosen events.

    Args:
        events: some events of a file.
        is_chosen: (n,) which.
        n_before: how many events of the file come before these.
        vocabulary: what codes mean, extended.
        pids: codes of the file's ``pid`` values, extended.
    """
    position = np.flatnonzero(is_chosen)
    chosen = chosen_of(events, is_chosen)
    raws = [bytes(event.args) for event in chosen]
    return EventRows(
        position=position + n_before,
        ts_us=np.array([event.ts for event in chosen], dtype=np.float64),
        dur_us=np.array([event.dur for event in chosen], dtype=np.float64),
        name=vocabulary.names.of([event.name for event in chosen]),
        pid=pids.of([event.pid for event in chosen]),
        argument=vocabulary.arguments.rows_of(raws, [event.tid for event in chosen]),
    )


def chosen_of(events: Sequence[Event], is_chosen: NDArray[np.bool_]) -> list[Event]:
    """Return the chosen events."""
    return list(compress(events, is_chosen.tobytes()))


def join_rows(parts: Sequence[EventRows]) -> EventRows:
    """Return the events of one or more parts."""
    if len(parts) == 1:
        return parts[0]
    return EventRows(
        **{
            column.name: np.concatenate([getattr(part, column.name) for part in parts])
            for column in fields(EventRows)
        }
    )
