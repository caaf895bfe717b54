"""Whether events recur at equal distances, against the chance that they only seem to.

Events lie at places 0 … length. A grid of one period and one phase covers a part of all places;
if K events were strewn at random, how many of them would lie on it is known (hypergeometric). A
rhythm is a grid that holds so many of them that no grid would do so by chance, with the number
of grids that might have been tried taken into account (Bonferroni).

``recurrences_of`` asks this about slow cycles: every so many steps, or every so many seconds.
``period_of`` is the simple question about a few step numbers: are most distances equal?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from reportgen.facts.intervals import runs_of
from reportgen.facts.steps import Integers, PhaseSteps
from reportgen.facts.trend import Mask, excess_of
from reportgen.profile.system import Floats
from reportgen.units import NS_PER_S

LEAST_EVENTS = 4
"""Three equal distances are the fewest that are not chance."""
LEAST_HIT_RATIO = 0.65
"""The share of the expected occurrences of a rhythm that must be there."""
JITTER_RATIO = 0.05
"""A timer that is asked once a step comes late by a little; this much of its period."""
FALSE_ALARM_LOG10 = -2.5
"""At most three in a thousand series of random events may be taken for a rhythm."""
PERIODIC_FROM_RATIO = 0.75
"""The share of the distances between steps that must be equal (``period_of``)."""
MISSING_LOG10 = 0.5
"""An occurrence that is missing makes a rhythm less likely by so much: else half of a period, with
a few outliers between, would look as good as the period."""
MOST_CANDIDATES = 64
MOST_NEIGHBOURS = 8
MOST_HARMONICS = 4
FFT_PLACES_AT_MOST = 1 << 20
MOST_COVERED_RATIO = 0.5
MOST_TERMS = 24
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Events at equal distances.

    Attributes:
        period, first: distance of two occurrences and place of occurrence 0, in places.
        tolerance: how far an event may lie from its occurrence.
        members, number: (m,) rows of the events on the grid, one per occurrence, and which
            occurrence each is, ascending.
        n_expected: occurrences from the first to the last of them.
        log10_chance: that some grid holds so many random events, at most 0.
    """

    period: float
    first: float
    tolerance: float
    members: Integers
    number: Integers
    n_expected: int
    log10_chance: float

    @property
    def score(self) -> float:
        """Return the number by which rhythms are compared; the lowest is the surest."""
        return self.log10_chance + MISSING_LOG10 * (self.n_expected - self.members.size)


def find_rhythm(
    places: Floats,
    length: float,
    *,
    least_period: float = 3.0,
    false_alarm_log10: float = FALSE_ALARM_LOG10,
) -> Rhythm | None:
    """Return the rhythm that is least likely to be chance, ``None`` when all may be.

    Args:
        places: (n,) float64 ascending, no two within one place of each other.
        length: how many places there are.
        least_period: no shorter period is tried.
        false_alarm_log10: how likely chance may be taken for a rhythm.

    Edge cases: fewer than ``LEAST_EVENTS`` events, or as many as half of the places: ``None``.
    """
    if not LEAST_EVENTS <= places.size <= MOST_COVERED_RATIO * length:
        return None
    found = [
        rhythm
        for period, tolerance in _grids(places, length, least_period)
        if (rhythm := _fit(places, length, period, tolerance)) is not None
    ]
    sure = [rhythm for rhythm in found if rhythm.log10_chance < false_alarm_log10]
    return min(sure, key=lambda item: (item.score, item.period), default=None)


def period_of(steps: Sequence[int]) -> int | None:
    """Return the distance at which steps repeat, or ``None`` when they do not.

    Step numbers come in any order, repeats are ignored; neighbours are a stretch, not a period.
    """
    ordered = sorted(set(steps))
    if len(ordered) < LEAST_EVENTS:
        return None
    distances = [after - before for before, after in pairwise(ordered)]
    period, times = min(Counter(distances).items(), key=lambda item: (-item[1], item[0]))
    return period if period > 1 and times >= PERIODIC_FROM_RATIO * len(distances) else None


def _grids(places: Floats, length: float, least_period: float) -> Iterator[tuple[float, float]]:
    """Yield periods to try and the tolerance to try each with."""
    for period in _candidates(places, length, least_period).tolist():
        yield float(round(period)), 0.0
        if round(period) >= 2 * least_period:
            yield float(round(period)), 1.0
        if period >= 4 * least_period:
            yield period, 1.0
        if JITTER_RATIO * period > 1.0:
            yield period, JITTER_RATIO * period


def _candidates(places: Floats, length: float, least_period: float) -> Floats:
    """Return the periods that the spectrum or the distances of neighbours suggest."""
    far = min(MOST_NEIGHBOURS, places.size - 1)
    distances = np.concatenate([places[skip:] - places[:-skip] for skip in range(1, far + 1)])
    usual, count = np.unique(np.round(distances), return_counts=True)
    order = np.lexsort((usual, -count))[: MOST_CANDIDATES // 2]
    periods = np.concatenate((usual[order], _spectral(places, length)))
    longest = length / (LEAST_EVENTS - 1)
    return np.unique(periods[(periods >= least_period) & (periods <= longest)])


def _spectral(places: Floats, length: float) -> Floats:
    """Return the periods of the highest peaks of the events' spectrum, and their multiples."""
    n_places = int(min(length, FFT_PLACES_AT_MOST)) + 1
    scale = n_places / (length + 1)
    train = np.bincount(np.minimum(places * scale, n_places - 1).astype(np.int64))
    size = 1 << (4 * n_places - 1).bit_length()
    power = np.abs(np.fft.rfft(train, size)) ** 2
    peak = np.flatnonzero((power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:])) + 1
    peak = peak[(peak >= 2 * size / n_places)]
    highest = peak[np.argsort(-power[peak], kind="stable")][: MOST_CANDIDATES // 4]
    base = size / np.sort(highest) / scale
    return np.concatenate([base * harmonic for harmonic in range(1, MOST_HARMONICS + 1)])


def _fit(places: Floats, length: float, period: float, tolerance: float) -> Rhythm | None:
    """Return the best phase of a period; one that is not whole is fitted to the events on it."""
    phase, count = _best_phase(places, period, tolerance)
    by_chance = places.size * min((2 * tolerance + 1) / period, 1.0)
    if count < max(LEAST_EVENTS, by_chance + math.sqrt(by_chance)):
        return None
    for _ in range(0 if period.is_integer() else 2):
        nearest = np.round((places - phase) / period)
        is_near = np.abs(places - phase - nearest * period) <= tolerance
        if np.unique(nearest[is_near]).size < LEAST_EVENTS:
            return None
        period, phase = _line(nearest[is_near], places[is_near])
    members, number = members_of(places, np.zeros(places.shape), period, phase, tolerance)
    n_expected = int(number[-1] - number[0]) + 1 if number.size else 0
    if members.size < max(LEAST_EVENTS, LEAST_HIT_RATIO * n_expected):
        return None
    return Rhythm(
        period=period,
        first=phase + float(number[0]) * period,
        tolerance=tolerance,
        members=members,
        number=number - number[0],
        n_expected=n_expected,
        log10_chance=_log10_chance(members.size, places.size, length, period, tolerance),
    )


def members_of(
    places: Floats, weight: Floats, period: float, first: float, tolerance: float
) -> tuple[Integers, Integers]:
    """Return the rows of the events on a grid and their occurrences, one event for each.

    Of several events near one occurrence the heaviest belongs to it, of equally heavy ones the
    nearest.
    """
    number = np.round((places - first) / period).astype(np.int64)
    away = np.abs(places - first - number * period)
    rows = np.flatnonzero(away <= tolerance + 1e-6)
    rows = rows[np.lexsort((away[rows], -weight[rows], number[rows]))]
    occurrence, at = np.unique(number[rows], return_index=True)
    return rows[at], occurrence


def _best_phase(places: Floats, period: float, tolerance: float) -> tuple[float, int]:
    """Return the middle of the window of residues that holds most events, and how many."""
    residue = np.sort(places % period)
    twice = np.concatenate((residue, residue + period))
    stop = np.searchsorted(twice, residue + 2 * tolerance + 1e-6, side="right")
    count = stop - np.arange(residue.size)
    best = int(count.argmax())
    return float((twice[best] + twice[stop[best] - 1]) / 2), int(count[best])


def _line(number: Floats, places: Floats) -> tuple[float, float]:
    """Return slope and intercept of the straight line through the events (least squares)."""
    centre, middle = number.mean(), places.mean()
    slope = float(((number - centre) * (places - middle)).sum() / np.square(number - centre).sum())
    return slope, float(middle - slope * centre)


def _log10_chance(
    n_hits: int, n_events: int, length: float, period: float, tolerance: float
) -> float:
    """Return how likely some grid of this tolerance holds so many of the events by chance.

    Of whole periods there are length² / 18 grids (periods up to a third of the length, each with
    as many phases as places); others differ as soon as their last occurrences do: length² / 3.
    Phases within the tolerance of each other are one grid.
    """
    slots = 2 * tolerance + 1
    n_places = round(length)
    covered = min(round(math.ceil(length / period) * slots), n_places)
    if covered > MOST_COVERED_RATIO * n_places:
        return 0.0
    grids = length**2 / ((18 if period.is_integer() else 3) * slots)
    return min(_log10_tail(n_hits, n_events, covered, n_places) + math.log10(grids), 0.0)


def _log10_tail(n_hits: int, n_events: int, covered: int, n_places: int) -> float:
    """Return log10 of P(at least so many of the events lie on the covered places).

    Above the mean the terms fall quickly: the first ``MOST_TERMS`` are the sum.
    """
    if n_hits <= n_events * covered / n_places:
        return 0.0
    last = min(n_events, covered, n_hits + MOST_TERMS - 1)
    logs = [
        _log_choose(covered, hits) + _log_choose(n_places - covered, n_events - hits)
        for hits in range(n_hits, last + 1)
        if n_events - hits <= n_places - covered
    ]
    if not logs:
        return 0.0
    top = max(logs)
    total = top + math.log(math.fsum(math.exp(term - top) for term in logs))
    return min((total - _log_choose(n_places, n_events)) / math.log(10), 0.0)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# Slow cycles that recur


class Unit(StrEnum):
    """The unit in which the period is constant."""

    STEPS = "steps"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Stretches of neighbouring slow cycles, (n,) each, in order.

    Rows of the first, the last and the slowest cycle of each, and what all take above the usual.
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
        return Events(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Events that recur.

    Attributes:
        unit: in which the period is constant.
        period_steps, period_s: usual distance of two neighbours.
        n_expected: occurrences from the first to the last; ``events`` are those that are there.
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
    _, is_more = excess_of(found.events.excess_ns, least_ratio=1.0)
    more = np.flatnonzero(is_more)
    rhythm = find_rhythm(
        more.astype(np.float64),
        float(is_more.size),
        least_period=2.0,
        false_alarm_log10=NESTED_FALSE_ALARM_LOG10,
    )
    if rhythm is None:
        return (found,)
    rows = more[rhythm.members]
    inner = found.events.where(np.delete(np.arange(is_more.size), rows))
    return (
        _recurrence(steps, found.events.where(rows), rhythm.number, found.unit),
        replace(found, events=inner, n_expected=found.n_expected - int(rows.size)),
    )
