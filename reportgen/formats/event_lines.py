"""Regular lines of a timeline: numbers by their place, all else by equal bytes.

Most lines of a large timeline are ``{"name": …, "ph": "X", "ts": 12, "dur": 3, "args": {…}},``.
What stands before the two numbers (the *lead*, with the ``M`` lines above it) and what stands
after them comes again and again: each is decoded once. A text is taken as a whole or not at all;
what is not regular is for the decoder, which here, too, says what is an event and what is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
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
_CUT = b"\0"
_END = b"\n" + _CUT
"""Follows each text: ends its last line."""

_PADDING = bytes(128)
"""Follows all: lets every place that could be looked at exist."""

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
        n_rows: how many of the events each text has.
        rests: ``M`` lines after the last event of each text.
    """

    leads: list[Lead]
    lead: NDArray[np.int32]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    arguments: list[bytes]
    argument: NDArray[np.int32]
    n_rows: list[int]
    rests: list[list[Event]]


def read_regular(texts: Sequence[bytes], leads: Leads) -> RegularEvents | None:
    """Return the events of one or more texts; ``None`` when a line is not regular.

    Args:
        texts: lines of timelines, with or without the brackets around them.
        leads: what leads mean, extended.
    """
    lines = _find_lines(texts)
    if lines is None:
        return None
    pieces = lines.text.split(_CUT)
    if len(pieces) != _PIECES * lines.ts_us.size + len(texts) + 1:  # a cut was there before
        return None
    starts: list[bytes] = []
    ends: list[bytes] = []
    rests = []
    first = 0
    for n_rows in lines.n_rows:
        last = first + _PIECES * n_rows
        starts += pieces[first:last:_PIECES]
        ends += pieces[first + 2 : last : _PIECES]
        rests.append(decode_events(pieces[last]))
        first = last + 1
    different, lead = distinct(starts)
    arguments, argument = distinct(ends)
    decoded = leads.of(different)
    known = [rest for rest in rests if rest is not None and _are_metadata(rest)]
    if decoded is None or len(known) < len(texts) or not _are_values(arguments):
        return None
    return RegularEvents(
        leads=decoded,
        lead=lead,
        ts_us=lines.ts_us,
        dur_us=lines.dur_us,
        arguments=arguments,
        argument=argument,
        n_rows=lines.n_rows,
        rests=known,
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
    """Texts whose regular lines are cut, their numbers, and how many each text has.

    ``text`` is all of them, with a cut after each; the numbers are (n,) float64.
    """

    text: bytes
    n_rows: list[int]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]


def _find_lines(texts: Sequence[bytes]) -> _Lines | None:
    """Find the lines with a complete event; ``None`` when one of them is not regular."""
    parts = [*chain.from_iterable((text, _END) for text in texts), _PADDING]
    letters = np.concatenate([np.frombuffer(part, dtype=np.uint8) for part in parts])
    words = words_of(letters)
    lead_ends = np.flatnonzero(letters == ord("X")) + 2
    lead_ends = lead_ends[words[lead_ends] == word(_TO_START)]
    start = _numbers_at(lead_ends + len(_TO_START), words)
    if start is None or not _stands(_TO_DURATION, start.ends, words):
        return None
    duration = _numbers_at(start.ends + len(_TO_DURATION), words)
    if duration is None or not _stands(_TO_ARGUMENTS, duration.ends, words):
        return None
    arguments_at = duration.ends + len(_TO_ARGUMENTS)
    line_ends = np.flatnonzero(letters == ord("\n"))
    line_ends = line_ends[np.searchsorted(line_ends, arguments_at)]
    closings = line_ends - np.where(letters[line_ends - 1] == ord(","), 2, 1)
    if (letters[closings] != ord("}")).any() or (lead_ends[1:] < line_ends[:-1]).any():
        return None
    for cuts in (lead_ends, arguments_at - 1, closings):
        letters[cuts] = ord(_CUT)
    text_ends = np.cumsum([len(text) + len(_END) for text in texts])
    n_rows = np.diff(np.searchsorted(lead_ends, text_ends), prepend=0)
    return _Lines(
        text=letters[: text_ends[-1]].tobytes(),
        n_rows=n_rows.tolist(),
        ts_us=start.values,
        dur_us=duration.values,
    )


class _Numbers(NamedTuple):
    """Numbers in a text, and the places after them; (n,) each."""

    values: NDArray[np.float64]
    ends: NDArray[np.intp]


def _numbers_at(places: NDArray[np.intp], words: Words) -> _Numbers | None:
    """Return the numbers at some places; ``None`` when one is missing or has zeros before it."""
    values, n_digits = numbers_at(words, places)
    if not places.size or not is_plain(values, n_digits).all():
        return None
    return _Numbers(values.astype(np.float64), places + n_digits)


def _stands(label: bytes, places: NDArray[np.intp], words: Words) -> bool:
    """Return whether a text of 8 to 16 letters stands at all of some places."""
    ends = places + (len(label) - 8)
    return bool(
        (words[places] == word(label[:8])).all() and (words[ends] == word(label[-8:])).all()
    )
