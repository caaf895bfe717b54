"""Slow cycles that recur: every so many steps, or every so many seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reportgen.facts.intervals import runs_of
from reportgen.facts.rhythm import FALSE_ALARM_LOG10, Rhythm, find_rhythm, members_of
from reportgen.facts.slow import SLOW_FROM_DEVIATIONS, Mask, excess_of
from reportgen.facts.steps import Integers, PhaseSteps
from reportgen.facts.trend import scatter_of, usual_of
from reportgen.profile.system import Floats
from reportgen.units import NS_PER_S

LEVEL_FACTOR = 2.0
MOST_LEVELS = 6
"""Slow cycles are also searched apart by how slow they are, each level twice the one below: an
outlier of another size does not hide a rhythm."""
BAND_LEVELS = 2
MOST_SLOW_RATIO = 0.4
MOST_EVENTS = 500
MOST_RECURRENCES = 3
PERFECT_FROM_RATIO = 0.9
"""A rhythm that holds so many of the slow cycles, and misses none, needs no rival."""
PREFERS_TIME_BY = 1.0
"""Seconds are reported instead of steps when they are ten times less likely chance."""
NESTED_FALSE_ALARM_LOG10 = -2.0
FURTHER_FALSE_ALARM_LOG10 = -4.0
"""Once a rhythm is found, what is left is taken for another one only when that is surer: random
outliers are left, too."""
NEIGHBOURS_FROM_PERIOD = 8
"""In longer periods a slow cycle just beside an expected place belongs to it, too; not before the
first and behind the last, for the very first step is often slow."""


class Unit(StrEnum):
    """The unit in which the period is constant."""

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

    @property
    def cycles(self) -> Integers:
        """Return the rows of all cycles of all events."""
        sizes = self.last - self.first + 1
        before = np.cumsum(sizes) - sizes
        rows = np.arange(int(sizes.sum())) + np.repeat(self.first - before, sizes)
        return np.asarray(rows, dtype=np.int64)

    def where(self, rows: Mask | Integers) -> Events:
        """Return some of the events."""
        return Events(
            first=self.first[rows],
            last=self.last[rows],
            row=self.row[rows],
            excess_ns=self.excess_ns[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Events that recur.

    Attributes:
        unit: in which the period is constant.
        period_steps, period_s: usual distance of two neighbours.
        n_expected: occurrences from the first to the last, the missing ones too.
        events: those that are there.
    """

    unit: Unit
    period_steps: float
    period_s: float
    n_expected: int
    events: Events


def slow_events(steps: PhaseSteps) -> Events:
    """Return the stretches of slow cycles of a series."""
    excess_ns, is_slow = excess_of(steps.cycle_ns.astype(np.float64))
    slow = np.flatnonzero(is_slow)
    runs = runs_of(slow, max_step=1)
    first, last = slow[runs.first], slow[runs.last]
    inside = [excess_ns[begin : end + 1] for begin, end in zip(first, last, strict=True)]
    return Events(
        first=first,
        last=last,
        row=first + np.array([int(part.argmax()) for part in inside], dtype=np.int64),
        excess_ns=np.array([float(part.sum()) for part in inside]),
    )


def recurrences_of(steps: PhaseSteps, events: Events) -> tuple[Recurrence, ...]:
    """Return the rhythms of slow cycles, the surest first; an event belongs to one at most."""
    found: list[Recurrence] = []
    while len(found) < MOST_RECURRENCES:
        best = _best(steps, events, FURTHER_FALSE_ALARM_LOG10 if found else FALSE_ALARM_LOG10)
        if best is None:
            break
        rows, number, unit = best
        found += _split(steps, _recurrence(steps, events.where(rows), number, unit))
        events = events.where(np.delete(np.arange(events.row.size), rows))
    return tuple(found[:MOST_RECURRENCES])


def _best(
    steps: PhaseSteps, events: Events, false_alarm_log10: float
) -> tuple[Integers, Integers, Unit] | None:
    """Return rows, places on the grid and unit of the surest rhythm, ``None`` without one."""
    found: list[tuple[float, Unit, Rhythm]] = []
    for rows in _levels(events) if events.row.size else ():
        if rows.size > MOST_SLOW_RATIO * steps.n_steps:
            continue
        for unit in Unit:
            places, length = _places(steps, events.row[rows], unit)
            rhythm = find_rhythm(places, length, false_alarm_log10=false_alarm_log10)
            if rhythm is None:
                continue
            n_members = rhythm.members.size
            if n_members == rhythm.n_expected and n_members >= PERFECT_FROM_RATIO * events.row.size:
                return *_gathered(steps, events, unit, rhythm), unit
            handicap = PREFERS_TIME_BY if unit is Unit.SECONDS else 0.0
            found.append((rhythm.score + handicap, unit, rhythm))
    if not found:
        return None
    _, unit, rhythm = min(found, key=lambda item: (item[0], item[1] is Unit.SECONDS))
    return *_gathered(steps, events, unit, rhythm), unit


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
                rows = np.flatnonzero(mask)
                slowest = np.argsort(-events.excess_ns[rows], kind="stable")[:MOST_EVENTS]
                yield np.sort(rows[slowest])


def _places(steps: PhaseSteps, rows: Integers, unit: Unit) -> tuple[Floats, float]:
    """Return where cycles lie in steps, or in time counted in mean cycles; and the length."""
    if unit is Unit.STEPS:
        number = steps.number - steps.number[0]
        return number[rows].astype(np.float64), float(number[-1] + 1)
    since_ns = steps.start_ns - steps.start_ns[0]
    mean_ns = max(float(since_ns[-1]) / max(since_ns.size - 1, 1), 1.0)
    return since_ns[rows] / mean_ns, float(since_ns[-1]) / mean_ns + 1


def _gathered(
    steps: PhaseSteps, events: Events, unit: Unit, rhythm: Rhythm
) -> tuple[Integers, Integers]:
    """Return all events on the grid of a rhythm, whatever level it was found on."""
    places, _ = _places(steps, events.row, unit)
    grid = (places, events.excess_ns, rhythm.period, rhythm.first)
    rows, number = members_of(*grid, max(rhythm.tolerance, 0.5))
    if rhythm.tolerance < 1.0 and rhythm.period >= NEIGHBOURS_FROM_PERIOD:
        near, its = members_of(*grid, 1.0)
        is_between = (its >= number[0]) & (its <= number[-1])
        rows, number = near[is_between], its[is_between]
    return rows, number


def _recurrence(steps: PhaseSteps, events: Events, number: Integers, unit: Unit) -> Recurrence:
    distance = np.diff(number)
    return Recurrence(
        unit=unit,
        period_steps=float(np.median(np.diff(steps.number[events.row]) / distance)),
        period_s=float(np.median(np.diff(steps.start_ns[events.row]) / distance / NS_PER_S)),
        n_expected=int(number[-1] - number[0]) + 1,
        events=events,
    )


def _split(steps: PhaseSteps, found: Recurrence) -> Sequence[Recurrence]:
    """Return a rhythm, or two of them where some of its occurrences cost clearly more.

    Every 50th step is slow and every 200th is much slower: the second is a rhythm among the
    occurrences of the first.
    """
    excess_ns = found.events.excess_ns
    usual_ns = usual_of(excess_ns)
    above_ns = excess_ns - usual_ns
    more = np.flatnonzero(
        above_ns > np.maximum(SLOW_FROM_DEVIATIONS * scatter_of(above_ns), usual_ns)
    )
    rhythm = find_rhythm(
        more.astype(np.float64),
        float(excess_ns.size),
        least_period=2.0,
        false_alarm_log10=NESTED_FALSE_ALARM_LOG10,
    )
    if rhythm is None:
        return (found,)
    rows = more[rhythm.members]
    inner = found.events.where(np.delete(np.arange(excess_ns.size), rows))
    return (
        _recurrence(steps, found.events.where(rows), rhythm.number, found.unit),
        replace(found, events=inner, n_expected=found.n_expected - int(rows.size)),
    )
