"""Slow cycles and their rhythms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import runs_of
from reportgen.facts.rhythm import FALSE_ALARM_LOG10, Rhythm, find_rhythm, members_of
from reportgen.facts.steps import Steps
from reportgen.facts.trend import scatter_of, usual_of
from reportgen.units import NS_PER_S

SLOW_FROM_DEVIATIONS = 4.0
SLOW_FROM_RATIO = 0.05
"""A cycle is slow when it exceeds the usual one by four deviations and by 5 %. Source: ours."""
LEVEL_FACTOR = 2.0
MOST_LEVELS = 6
"""Slow cycles are also searched apart by how slow they are, each level twice the one below: an
outlier of another size does not hide a rhythm. Source: ours."""
BAND_LEVELS = 2
MOST_SLOW_RATIO = 0.4
MOST_EVENTS = 500
MOST_PERIODS = 3
PERFECT_FROM_RATIO = 0.9
"""A rhythm that holds so many of the slow cycles, and misses none, needs no rival. Source: ours."""
PREFERS_TIME_BY = 1.0
"""Seconds are told instead of steps when they are ten times less likely chance. Source: ours."""
NESTED_FALSE_ALARM_LOG10 = -2.0
FURTHER_FALSE_ALARM_LOG10 = -4.0
"""Once a rhythm is found, what is left is taken for another one only when that is surer: random
outliers are left, too. Source: ours."""
NEIGHBOURS_FROM_PERIOD = 8
"""In longer periods a slow cycle just beside an expected place belongs to it, too; not before the
first and behind the last, for the very first step is often slow. Source: ours."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Unit(StrEnum):
    """What a rhythm is even in."""

    STEPS = "steps"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Stretches of neighbouring slow cycles, (n,) each, in order.

    Attributes:
        first, last: rows of its first and last cycle.
        row: the slowest of its cycles.
        excess_ns: what its cycles take above the usual, added up.
    """

    first: Integers
    last: Integers
    row: Integers
    excess_ns: Floats

    def where(self, rows: Mask | Integers) -> Events:
        """Return some of the events."""
        return replace(
            self,
            first=self.first[rows],
            last=self.last[rows],
            row=self.row[rows],
            excess_ns=self.excess_ns[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Events that recur.

    Attributes:
        unit: what they are even in.
        period_steps, period_s: usual distance of two neighbours.
        n_expected: occurrences from the first to the last, the missing ones too.
        events: those that are there.
    """

    unit: Unit
    period_steps: float
    period_s: float
    n_expected: int
    events: Events


def slow_events(cycles: Steps) -> Events:
    """Return the stretches of slow cycles of a series."""
    length_ns = cycles.cycle_ns.astype(np.float64)
    usual_ns = usual_of(length_ns)
    excess_ns = length_ns - usual_ns
    least_ns = np.maximum(SLOW_FROM_DEVIATIONS * scatter_of(excess_ns), SLOW_FROM_RATIO * usual_ns)
    slow = np.flatnonzero(excess_ns > least_ns)
    runs = runs_of(slow, max_step=1)
    first, last = slow[runs.first], slow[runs.last]
    inside = [excess_ns[begin : end + 1] for begin, end in zip(first, last, strict=True)]
    return Events(
        first=first,
        last=last,
        row=first + np.array([int(part.argmax()) for part in inside], dtype=np.int64),
        excess_ns=np.array([float(part.sum()) for part in inside]),
    )


def recurrences_of(cycles: Steps, events: Events) -> tuple[Recurrence, ...]:
    """Return the rhythms of slow cycles, the surest first; an event belongs to one at most."""
    found: list[Recurrence] = []
    left = events
    while len(found) < MOST_PERIODS:
        best = _best(
            cycles, left, false_alarm=FURTHER_FALSE_ALARM_LOG10 if found else FALSE_ALARM_LOG10
        )
        if best is None:
            break
        recurrence, rows = best
        found += _split(cycles, recurrence)
        is_left = np.ones(left.row.size, dtype=bool)
        is_left[rows] = False
        left = left.where(is_left)
    return tuple(found[:MOST_PERIODS])


def _best(
    cycles: Steps, events: Events, *, false_alarm: float
) -> tuple[Recurrence, Integers] | None:
    """Return the surest rhythm of the events and its rows, ``None`` when there is none."""
    n_cycles = cycles.number.size
    if n_cycles == 0 or events.row.size == 0:
        return None
    found: list[tuple[float, Unit, Rhythm]] = []
    for rows in _levels(events):
        if rows.size > MOST_SLOW_RATIO * n_cycles:
            continue
        for unit in Unit:
            places, length = _places(cycles, events.row[rows], unit)
            rhythm = find_rhythm(places, length, false_alarm_log10=false_alarm)
            if rhythm is not None:
                handicap = PREFERS_TIME_BY if unit is Unit.SECONDS else 0.0
                found.append((rhythm.score + handicap, unit, rhythm))
                if _is_perfect(rhythm, events.row.size):
                    return _gathered(cycles, events, unit=unit, rhythm=rhythm)
    if not found:
        return None
    _, unit, rhythm = min(found, key=lambda item: (item[0], item[1] is Unit.SECONDS))
    return _gathered(cycles, events, unit=unit, rhythm=rhythm)


def _is_perfect(rhythm: Rhythm, n_events: int) -> bool:
    """Return whether no occurrence is missing and nearly all events belong to them."""
    n_members = rhythm.members.size
    return n_members == rhythm.n_expected and n_members >= PERFECT_FROM_RATIO * n_events


def _levels(events: Events) -> Iterator[Integers]:
    """Yield rows of events that are slow by at least so much, and by no more than so much."""
    least = float(events.excess_ns.min())
    known: set[bytes] = set()
    for level in range(MOST_LEVELS):
        from_ns = least * LEVEL_FACTOR**level
        is_slow = events.excess_ns >= from_ns
        is_in_band = is_slow & (events.excess_ns < from_ns * LEVEL_FACTOR**BAND_LEVELS)
        for mask in (is_slow, is_in_band):
            if mask.tobytes() not in known:
                known.add(mask.tobytes())
                yield _strongest(events, mask)


def _strongest(events: Events, mask: Mask) -> Integers:
    rows = np.flatnonzero(mask)
    if rows.size > MOST_EVENTS:
        rows = np.sort(rows[np.argsort(-events.excess_ns[rows], kind="stable")[:MOST_EVENTS]])
    return rows


def _places(cycles: Steps, rows: Integers, unit: Unit) -> tuple[Floats, float]:
    """Return where cycles lie in steps, or in time counted in mean cycles; and the length."""
    if unit is Unit.STEPS:
        number = cycles.number - cycles.number[0]
        return number[rows].astype(np.float64), float(number[-1] + 1)
    since_ns = cycles.start_ns - cycles.start_ns[0]
    mean_ns = max(float(since_ns[-1]) / max(since_ns.size - 1, 1), 1.0)
    return since_ns[rows] / mean_ns, float(since_ns[-1]) / mean_ns + 1


def _gathered(
    cycles: Steps, events: Events, *, unit: Unit, rhythm: Rhythm
) -> tuple[Recurrence, Integers]:
    """Return all events on the grid of a rhythm, whatever level it was found on."""
    places, _ = _places(cycles, events.row, unit)
    rows, number = members_of(
        places, events.excess_ns, rhythm.period, rhythm.first, max(rhythm.tolerance, 0.5)
    )
    if rhythm.tolerance < 1.0 and rhythm.period >= NEIGHBOURS_FROM_PERIOD:
        near, its = members_of(places, events.excess_ns, rhythm.period, rhythm.first, 1.0)
        is_between = (its >= number[0]) & (its <= number[-1])
        rows, number = near[is_between], its[is_between]
    return _recurrence(cycles, events.where(rows), number, unit=unit), rows


def _recurrence(cycles: Steps, events: Events, number: Integers, *, unit: Unit) -> Recurrence:
    distance = np.diff(number)
    steps = np.diff(cycles.number[events.row]) / distance
    times_s = np.diff(cycles.start_ns[events.row]) / distance / NS_PER_S
    return Recurrence(
        unit=unit,
        period_steps=float(np.median(steps)),
        period_s=float(np.median(times_s)),
        n_expected=int(number[-1] - number[0]) + 1,
        events=events,
    )


def _split(cycles: Steps, found: Recurrence) -> Sequence[Recurrence]:
    """Return a rhythm, or two of them where some of its occurrences cost clearly more.

    Every 50th step is slow and every 200th is much slower: the second is a rhythm among the
    occurrences of the first.
    """
    events = found.events
    excess = events.excess_ns
    usual = usual_of(excess)
    above = excess - usual
    is_more = above > np.maximum(SLOW_FROM_DEVIATIONS * scatter_of(above), usual)
    rhythm = find_rhythm(
        np.flatnonzero(is_more).astype(np.float64),
        float(excess.size),
        least_period=2.0,
        false_alarm_log10=NESTED_FALSE_ALARM_LOG10,
    )
    if rhythm is None:
        return (found,)
    rows = np.flatnonzero(is_more)[rhythm.members]
    is_outer = np.zeros(excess.size, dtype=bool)
    is_outer[rows] = True
    outer = _recurrence(cycles, events.where(rows), rhythm.number, unit=found.unit)
    inner = replace(
        found, events=events.where(~is_outer), n_expected=found.n_expected - int(rows.size)
    )
    return outer, inner
