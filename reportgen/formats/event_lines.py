"""Regular lines of a timeline: numbers by their place, all else by equal bytes.

Most lines of a large timeline are ``{"name": …, "ph": "X", "ts": 12, "dur": 3, "args": {…}},``.
What stands before the two numbers (the *lead*, with the ``M`` lines above it) comes again and
again and is decoded once; so are arguments, which have *patterns*. A text is taken as a whole or
not at all: what is not regular is for the decoder, which here, too, says what is an event and what
is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.event_args import ArgumentRows
from reportgen.formats.event_columns import distinct
from reportgen.formats.event_leads import Lead, Leads, are_metadata
from reportgen.formats.event_patterns import PATTERN_PADDING, Matches, Patterns
from reportgen.formats.event_text import Event, decode_events
from reportgen.formats.words import Words, is_plain, numbers_at, slices, stands_at, words_of

_TO_START = b', "ts": '
_TO_DURATION = b', "dur": '
_TO_ARGUMENTS = b', "args": '
_END = b"\n"
"""Follows each text: ends its last line."""

_ANY = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLines:
    """What stood on the regular lines of a node's files, and what it means."""

    leads: Leads = field(default_factory=Leads)
    patterns: Patterns = field(default_factory=Patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of some events: numbers where a pattern stands, JSON elsewhere.

    Attributes:
        ends: (n,) the places after the events.
        matches: where which pattern stands.
        others: JSON of the different others.
        other: (k,) int32 index into ``others``.
        other_rows: (k,) index of the events without a pattern.
    """

    ends: NDArray[np.intp]
    matches: list[Matches]
    others: list[bytes]
    other: NDArray[np.int32]
    other_rows: NDArray[np.intp]

    def rows_in(self, table: ArgumentRows) -> NDArray[np.int32]:
        """Append the arguments to a table; return (n,) the row of each event's."""
        rows = np.empty(self.ends.size, dtype=np.int32)
        if self.others:
            rows[self.other_rows] = table.append(self.others)[self.other]
        for found in self.matches:
            rows[found.rows] = found.rows_in(table)
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularEvents:
    """Events that stand on regular lines.

    Attributes:
        leads: the different leads.
        lead: (n,) int32 index into ``leads``.
        ts_us, dur_us: (n,) float64 microseconds.
        arguments: of all of them.
        n_rows: how many of the events each text has.
        rests: ``M`` lines after the last event of each text.
    """

    leads: list[Lead]
    lead: NDArray[np.int32]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    arguments: Arguments
    n_rows: list[int]
    rests: list[list[Event]]


def read_regular(texts: Sequence[bytes], known: KnownLines) -> RegularEvents | None:
    """Return the events of one or more texts; ``None`` when a line is not regular.

    Args:
        texts: lines of timelines, with or without the brackets around them.
        known: what such lines mean, extended.
    """
    ended = chain.from_iterable(zip(texts, repeat(_END), strict=False))
    text = b"".join([*ended, bytes(PATTERN_PADDING)])
    letters = np.frombuffer(text, dtype=np.uint8)
    words = words_of(letters)
    numbers = _find_numbers(letters, words)
    if numbers is None:
        return None
    arguments = _find_arguments(text, letters, words, numbers.ends, known.patterns)
    if arguments is None or (numbers.lead_ends[1:] < arguments.ends[:-1]).any():
        return None
    part_ends = np.cumsum([len(part) + len(_END) for part in texts])
    bounds = np.searchsorted(numbers.lead_ends, part_ends)
    lead_starts, rest_starts = _behind(arguments.ends, part_ends, bounds)
    starts, order = slices(letters, lead_starts, numbers.lead_ends)
    different, code = distinct(starts)
    lead = np.empty_like(code)
    lead[order] = code
    leads = known.leads.of(different)
    decoded = [decode_events(rest) for rest in _cut(text, rest_starts, part_ends)]
    metadata = [events for events in decoded if events is not None and are_metadata(events)]
    if leads is None or len(metadata) < len(texts):
        return None
    return RegularEvents(
        leads=leads,
        lead=lead,
        ts_us=numbers.ts_us,
        dur_us=numbers.dur_us,
        arguments=arguments,
        n_rows=np.diff(bounds, prepend=0).tolist(),
        rests=metadata,
    )


class _Numbers(NamedTuple):
    """The two numbers of each line, and where they stand; (n,) each."""

    lead_ends: NDArray[np.intp]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    ends: NDArray[np.intp]


def _find_numbers(letters: NDArray[np.uint8], words: Words) -> _Numbers | None:
    """Find the numbers of complete events, up to their arguments; ``None`` if one is irregular."""
    lead_ends = np.flatnonzero(letters == ord("X")) + 2
    lead_ends = lead_ends[stands_at(_TO_START, lead_ends, words)]
    ts, n_digits = numbers_at(words, lead_ends + len(_TO_START))
    ts_ends = lead_ends + n_digits + len(_TO_START)
    dur, n_more = numbers_at(words, ts_ends + len(_TO_DURATION))
    ends = ts_ends + n_more + len(_TO_DURATION)
    is_regular = is_plain(ts, n_digits) & is_plain(dur, n_more)
    is_regular &= stands_at(_TO_DURATION, ts_ends, words) & stands_at(_TO_ARGUMENTS, ends, words)
    if not lead_ends.size or not is_regular.all():
        return None
    return _Numbers(
        lead_ends=lead_ends,
        ts_us=ts.astype(np.float64),
        dur_us=dur.astype(np.float64),
        ends=ends + len(_TO_ARGUMENTS),
    )


def _find_arguments(
    text: bytes,
    letters: NDArray[np.uint8],
    words: Words,
    places: NDArray[np.intp],
    patterns: Patterns,
) -> Arguments | None:
    """Find what stands at the places of arguments; ``None`` when one is no value."""
    ends = np.empty(places.size, dtype=np.intp)
    matches, rows = patterns.find(text, words, places)
    for found in matches:
        ends[found.rows] = found.ends
    others: list[bytes] = []
    if rows.size:
        line_ends = np.flatnonzero(letters == ord("\n"))
        line_ends = line_ends[np.searchsorted(line_ends, places[rows])]
        closings = line_ends - np.where(letters[line_ends - 1] == ord(","), 2, 1)
        if (letters[closings] != ord("}")).any():
            return None
        ends[rows] = closings + 1
        others = _cut(text, places[rows], closings)
    different, other = distinct(others)
    if not _are_values(different):
        return None
    return Arguments(ends=ends, matches=matches, others=different, other=other, other_rows=rows)


def _are_values(texts: list[bytes]) -> bool:
    """Return whether each text is a JSON value: a list of all has an item of each one's size."""
    try:
        values = _ANY.decode(b"[%b]" % b",".join(texts))
    except (ValueError, RecursionError):
        return False
    return list(map(len, values)) == list(map(len, texts))


def _behind(
    ends: NDArray[np.intp], part_ends: NDArray[np.intp], bounds: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where leads begin, and where what follows the last event of each part begins.

    Args:
        ends: (n,) of the events.
        part_ends, bounds: (n_parts,) of the parts of a text, and the first event behind each.
    """
    part_starts = np.concatenate([[0], part_ends[:-1]])
    before = np.concatenate([[0], ends])  # the end of the event before each
    rest_starts = np.maximum(before[bounds], part_starts)
    firsts = np.concatenate([[0], bounds[:-1]])
    before[firsts] = part_starts  # of empty parts the last one counts
    return before[:-1], rest_starts


def _cut(text: bytes, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> list[bytes]:
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
