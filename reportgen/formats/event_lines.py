"""Regular lines of a timeline: numbers by their place, all else by equal bytes.

Most lines of a large timeline are ``{"name": …, "ph": "X", "ts": 12, "dur": 3, "args": {…}},``.
What stands before the two numbers (the *lead*, with the ``M`` lines above it) and what stands
after them comes again and again: each is decoded once. A text is taken as a whole or not at all;
what is not regular is for the decoder, which here, too, says what is an event and what is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.digits import Words, is_plain, numbers_at, word, words_of
from reportgen.formats.event_columns import ABSENT, distinct
from reportgen.formats.event_metadata import NAMING
from reportgen.formats.event_text import Event, decode_events

_TO_START = b', "ts": '
_TO_DURATION = b', "dur": '
_TO_ARGUMENTS = b', "args": '
_PADDING = b"\n" + bytes(128)
"""Follows a text: ends its last line, and lets all places that could be looked at exist."""

_CUT = b"\0"
_PIECES = 3
"""A regular line is cut into its lead, the two numbers with what is between them, and the rest."""

_MAX_KNOWN = 4_096
"""Leads that are remembered: some hundred bytes each. Source: ours."""

_ANY = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What stands before the numbers of a regular line.

    Attributes:
        n_events: ``M`` lines and the event itself.
        naming: the ``M`` lines that name phases or say when the file began, and how many lines
            above the event each stands.
        event: the beginning of the event.
    """

    n_events: int
    naming: tuple[tuple[int, Event], ...]
    event: Event


class Leads:
    """What leads mean, for all files of a node."""

    def __init__(self) -> None:
        """Start without any."""
        self._known: dict[bytes, Lead] = {}

    def of(self, texts: Iterable[bytes]) -> list[Lead] | None:
        """Return each text as a lead; ``None`` when one is none."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        found = []
        for text in texts:
            lead = self._known.get(text) or _lead_of(text)
            if lead is None:
                return None
            self._known[text] = lead
            found.append(lead)
        return found


def _lead_of(text: bytes) -> Lead | None:
    events = decode_events(text + b"}")
    if not events or not _are_metadata(events[:-1]):
        return None
    event, above = events[-1], enumerate(reversed(events[:-1]), start=1)
    if event.ph != "X" or event.tid != ABSENT or bytes(event.args) != b"null":
        return None
    naming = [(n_lines, line) for n_lines, line in above if line.name == NAMING]
    return Lead(n_events=len(events), naming=tuple(reversed(naming)), event=event)


def _are_metadata(events: Iterable[Event]) -> bool:
    return all(event.ph == "M" for event in events)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularEvents:
    """Events that stand on regular lines.

    Attributes:
        leads: the different leads.
        lead: (n,) int32 index into ``leads``.
        ts_us, dur_us: (n,) float64 microseconds.
        arguments: JSON of the different arguments, in the order in which they are met.
        argument: (n,) int32 index into ``arguments``.
        rest: ``M`` lines after the last event.
    """

    leads: list[Lead]
    lead: NDArray[np.int32]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    arguments: list[bytes]
    argument: NDArray[np.int32]
    rest: list[Event]


def read_regular(text: bytes, leads: Leads) -> RegularEvents | None:
    """Return the events of a text; ``None`` when one of its lines is not regular.

    Args:
        text: lines of a timeline, with or without the brackets around them.
        leads: what leads mean, extended.
    """
    lines = _find_lines(text)
    if lines is None:
        return None
    pieces = lines.text.split(_CUT)
    last = pieces.pop()
    if len(pieces) != _PIECES * lines.ts_us.size:  # a cut was in the text before
        return None
    texts, lead = distinct(pieces[::_PIECES])
    arguments, argument = distinct(pieces[2::_PIECES])
    decoded, rest = leads.of(texts), decode_events(last)
    is_regular = _are_values(arguments) and rest is not None and _are_metadata(rest)
    if decoded is None or rest is None or not is_regular:
        return None
    return RegularEvents(
        leads=decoded,
        lead=lead,
        ts_us=lines.ts_us,
        dur_us=lines.dur_us,
        arguments=arguments,
        argument=argument,
        rest=rest,
    )


def _are_values(texts: list[bytes]) -> bool:
    """Return whether each text is a JSON value: a list of all has an item of each one's size."""
    try:
        values = _ANY.decode(b"[%b]" % b",".join(texts))
    except (ValueError, RecursionError):
        return False
    return list(map(len, values)) == list(map(len, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """A text whose regular lines are cut, and their numbers; (n,) float64 each."""

    text: bytes
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]


def _find_lines(text: bytes) -> _Lines | None:
    """Find the lines with a complete event; ``None`` when one of them is not regular."""
    letters = np.concatenate([np.frombuffer(part, dtype=np.uint8) for part in (text, _PADDING)])
    words = words_of(letters)
    lead_ends = np.flatnonzero(letters == ord("X")) + 2
    lead_ends = lead_ends[words[lead_ends] == word(_TO_START)]
    start = _numbers_after(_TO_START, lead_ends, words)
    duration = _numbers_after(_TO_DURATION, start.ends, words) if start else None
    if start is None or duration is None or not _stands(_TO_ARGUMENTS, duration.ends, words):
        return None
    arguments_at = duration.ends + len(_TO_ARGUMENTS)
    line_ends = np.flatnonzero(letters == ord("\n"))
    line_ends = line_ends[np.searchsorted(line_ends, arguments_at)]
    closings = line_ends - np.where(letters[line_ends - 1] == ord(","), 2, 1)
    if (letters[closings] != ord("}")).any() or (lead_ends[1:] < line_ends[:-1]).any():
        return None
    for cuts in (lead_ends, arguments_at - 1, closings):
        letters[cuts] = ord(_CUT)
    cut = letters[: len(text) + 1].tobytes()
    return _Lines(text=cut, ts_us=start.values, dur_us=duration.values)


class _Numbers(NamedTuple):
    """Numbers in a text, and the places after them; (n,) each."""

    values: NDArray[np.float64]
    ends: NDArray[np.intp]


def _numbers_after(label: bytes, places: NDArray[np.intp], words: Words) -> _Numbers | None:
    """Return the numbers after a label; ``None`` when one is missing or has zeros before it."""
    if not places.size or not _stands(label, places, words):
        return None
    begins = places + len(label)
    values, n_digits = numbers_at(words, begins)
    if not is_plain(values, n_digits).all():
        return None
    return _Numbers(values.astype(np.float64), begins + n_digits)


def _stands(label: bytes, places: NDArray[np.intp], words: Words) -> bool:
    """Return whether a text of 8 to 16 letters stands at all of some places."""
    ends = places + (len(label) - 8)
    return bool(
        (words[places] == word(label[:8])).all() and (words[ends] == word(label[-8:])).all()
    )
