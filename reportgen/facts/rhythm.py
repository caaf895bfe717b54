"""Whether events recur at equal distances, against the chance that they only seem to.

Events lie at some of the places that were recorded. A grid of one period and one phase covers a
part of these; if K events were strewn at random, how many of them would lie on it is known
(hypergeometric). What a grid expects where nothing was recorded is not missing. A
rhythm is a grid that holds more of them than any grid would hold by chance, with the number
of grids that might have been tried taken into account (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers, Mask

LEAST_EVENTS = 4
"""Three equal distances are the fewest that are not chance."""
LEAST_HIT_RATIO = 0.65
"""The share of the expected occurrences of a rhythm that must be there."""
LEAST_PERIOD = 3.0
"""No shorter period is tried, in places."""
FALSE_ALARM_LOG10 = -2.5
"""At most three in a thousand series of random events may be taken for a rhythm."""
MISSING_LOG10 = 0.5
"""An occurrence that is missing makes a rhythm less likely by this factor: else half of a period,
with a few outliers between, would look as good as the period."""
OUT_OF_RHYTHM = 3.0
"""An event on the grid of a rhythm that costs three times as much as its usual event is not one of
them: a hang may fall on the place of a checkpoint."""
MOST_CANDIDATES = 32
MOST_NEIGHBOURS = 8
MOST_COVERED_RATIO = 0.5
MOST_TERMS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Events at equal distances.

    Attributes:
        period, first: distance of two occurrences and place of occurrence 0, in places.
        tolerance: how far an event may lie from its occurrence.
        members, number: (m,) rows of the events on the grid, one per occurrence, and which
            occurrence each is, ascending.
        n_expected: occurrences at recorded places, those that are absent as well.
        log10_chance: probability that some grid holds this many random events, at most 0.
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
    every: Floats | Integers,
    *,
    restarts: Floats | Integers | None = None,
    false_alarm_log10: float = FALSE_ALARM_LOG10,
) -> Rhythm | None:
    """Return the surest rhythm of some events, ``None`` when they may as well be random.

    ``places`` are (n,) of those that were recorded, ``every`` (m,), both ascending from 0 on, no
    two within one place of each other. At ``restarts`` the count begins anew, as with each epoch;
    then the rhythm is one of the places that ``counted_anew`` returns for its period.

    Edge cases: fewer than ``LEAST_EVENTS`` events, or as many as half of the places: ``None``.
    """
    if not LEAST_EVENTS <= places.size <= MOST_COVERED_RATIO * every.size:
        return None
    found, length = [], float(every[-1]) + 1
    for period, tolerance in _grids(places, length):
        grid = places, every
        if restarts is not None:
            # What occurs once between two restarts needs no count of its own.
            if 2 * period > np.diff(restarts, prepend=0.0, append=length).max():
                continue
            grid = (
                counted_anew(places, length, restarts, period),
                counted_anew(every, length, restarts, period),
            )
        if (rhythm := _fit(*grid, period, tolerance)) is not None:
            found.append(rhythm)
    sure = [rhythm for rhythm in found if rhythm.log10_chance < false_alarm_log10]
    return min(sure, key=lambda item: (item.score, item.period), default=None)


def counted_anew(
    places: Floats | Integers, length: float, restarts: Floats | Integers, period: float
) -> Floats:
    """Return (n,) places as if each restart of the count lay on a whole number of periods."""
    edges = np.unique(np.concatenate([[0.0], restarts, [length]]))
    run = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, edges.size - 2)
    each = math.ceil(float(np.diff(edges).max()) / period) * period
    return np.asarray(places - edges[run] + run * each)


def costs_as_usual(cost: Floats | Integers) -> Mask:
    """Return which of the (n,) events on a grid, n >= 1, cost about as much as its usual one."""
    return np.asarray(cost <= OUT_OF_RHYTHM * np.median(cost))


def _grids(places: Floats, length: float) -> Iterator[tuple[float, float]]:
    """Yield period and tolerance of the grids to try.

    Timers are asked once a step: their events come late by up to one, and their period need not be
    whole.
    """
    for period in _candidates(places, length).tolist():
        yield period, 0.0
        if period >= 2 * LEAST_PERIOD:
            yield period, 1.0
        if period >= 4 * LEAST_PERIOD:
            # Not whole, so that they are fitted to the events.
            yield period - 0.25, 1.0
            yield period + 0.25, 1.0


def _candidates(places: Floats, length: float) -> Floats:
    """Return the most frequent distances from an event to the next ones."""
    far = min(MOST_NEIGHBOURS, places.size - 1)
    distances = np.concatenate([places[skip:] - places[:-skip] for skip in range(1, far + 1)])
    usual, count = np.unique(np.round(distances), return_counts=True)
    periods = np.sort(usual[np.lexsort((usual, -count))[:MOST_CANDIDATES]])
    longest = length / (LEAST_EVENTS - 1)
    return np.asarray(periods[(periods >= LEAST_PERIOD) & (periods <= longest)])


def _fit(
    places: Floats, every: Floats | Integers, period: float, tolerance: float
) -> Rhythm | None:
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
    n_expected = count_expected(every, number, period, phase, tolerance)
    if members.size < max(LEAST_EVENTS, LEAST_HIT_RATIO * n_expected):
        return None
    return Rhythm(
        period=period,
        first=phase + float(number[0]) * period,
        tolerance=tolerance,
        members=members,
        number=number - number[0],
        n_expected=n_expected,
        log10_chance=_log10_chance(members.size, places.size, every, period, tolerance),
    )


def count_expected(
    every: Floats | Integers, number: Integers, period: float, first: float, tolerance: float
) -> int:
    """Return how many occurrences lie at recorded places, from one (n,) ``number`` to the last."""
    if not number.size:
        return 0
    due = first + np.arange(number[0], number[-1] + 1) * period
    places = np.append(every, np.inf)[np.searchsorted(every, due - tolerance - 1e-6)]
    return int((places <= due + tolerance + 1e-6).sum())


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
    n_hits: int, n_events: int, every: Floats | Integers, period: float, tolerance: float
) -> float:
    """Return how likely some grid of this tolerance holds this many of the events by chance.

    Of whole periods there are length² / 18 grids (periods up to a third of the length, each with
    as many phases as places); others differ as soon as their last occurrences do: length² / 3.
    Phases within the tolerance of each other are one grid.
    """
    slots = 2 * tolerance + 1
    n_places, length = every.size, float(every[-1]) + 1
    covered = min(round(math.ceil(n_places / period) * slots), n_places)
    if covered > MOST_COVERED_RATIO * n_places:
        return 0.0
    grids = length**2 / ((18 if period.is_integer() else 3) * slots)
    return min(_log10_tail(n_hits, n_events, covered, n_places) + math.log10(grids), 0.0)


def _log10_tail(n_hits: int, n_events: int, covered: int, n_places: int) -> float:
    """Return log10 of P(at least this many of the events lie on the covered places).

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
