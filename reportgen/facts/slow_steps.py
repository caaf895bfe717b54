"""Slow steps and slow times between steps: by how much each exceeds those around it, and why.

The excess is measured once. What recurs at equal distances is a rhythm; a few stops that stand far
out of the rest are pauses; a length that grows is a slowdown (``reportgen.facts.step_times``); all
other slow steps come at random.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.intervals import Union, join, runs_of, union_of
from reportgen.facts.loader import loads_as_usual
from reportgen.facts.rhythm import (
    FALSE_ALARM_LOG10,
    Rhythm,
    costs_as_usual,
    count_expected,
    counted_anew,
    find_rhythm,
    members_of,
)
from reportgen.facts.step_times import StepTimes, step_times_of
from reportgen.facts.steps import WARM_UP_STEPS, PhaseSteps
from reportgen.facts.trend import excess_of, usual_of
from reportgen.merging import rows_between
from reportgen.profile import SpanTable
from reportgen.profile.memo import fact
from reportgen.units import NS_PER_S

SLOW_FROM_RATIO = 0.5
"""A slow step takes half as long again as those around it: batches of unequal size stay below.
Between steps, half of a usual cycle more counts."""
LONGER_RATIO = 3.0
"""A time between steps four times as long as those around it is something else than what lies
between all of them."""
STOPS_CYCLES = 5.0
"""A stop costs five usual cycles: the noise of hardware and of unequal batches stays below. Stops
are also searched for a rhythm alone, and so are those that take as much more than the usual slow
one: many cheap slow cycles do not hide a few dear ones."""
OVER_TAIL = 4.0
"""A pause exceeds the usual by four times as much as the tail does. Of log-normal lengths that
scatter by half of their mean, not one in 100,000 does."""
RARE_RATIO = 0.01
RARE_COUNT = 10
"""The tail begins where one length of a hundred is longer, or ten of all: lengths that occur more
often are no exception but slow steps; StepOutlier also counts ten or more."""
LEAST_KNOWN_STEPS = 20
"""With fewer steps of a phase the usual ones are unknown, and so are pauses."""
HANDFUL = 3
"""More long steps, or times between steps, than a few come at random and are no pauses."""
TAIL_RATIO = 2.0
"""Slow ones are the tail of lengths that scatter, as of batches of unequal size, where twice as
many lie just below them: half as far above the usual length as the least of them, or farther."""
SURE_DEVIATIONS = 2.0
"""What steps make up exceeds chance by two standard errors. Larger: pauses may cost more."""
MOST_SLOW_RATIO = 0.4
MOST_EVENTS = 500
"""Of more events the slowest are searched for a rhythm, and as many in a row: in a long job the
slowest are too few on a grid that all are on."""
MOST_RHYTHMS = 3
FURTHER_FALSE_ALARM_LOG10 = -4.0
"""Once a rhythm is found, the rest is taken for another one only when that is surer: random
outliers also remain."""
NEIGHBOURS_FROM_PERIOD = 8
"""In longer periods a slow cycle just beside an expected place belongs to it, too; not before the
first and behind the last, for the very first step is often slow."""


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
        return rows_between(self.first, self.last + 1)[1]

    def where(self, rows: Mask | Integers) -> Events:
        """Return some of the events."""
        return Events(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Events that recur every so many steps.

    ``n_expected`` counts the occurrences in recorded steps, from the first to the last; ``events``
    are those that are there. ``is_by_epoch``: whether the steps are counted anew in each epoch.
    """

    period_steps: float
    period_s: float
    n_expected: int
    is_by_epoch: bool
    events: Events


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPart:
    """The steps of a phase, or the times between them, against those around them, (n,) each.

    Attributes:
        length_ns: how long each is, without waits for batches.
        excess_ns: by how much it exceeds the usual length at its time.
        is_slow: which are slow, for any reason.
        is_pause: which are pauses, waits included; none at the start or in a rhythm.
        is_random: which others are slow neither at the start nor in a rhythm.
    """

    length_ns: Integers
    excess_ns: Floats
    is_slow: Mask
    is_pause: Mask
    is_random: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSteps:
    """The steps of one worker and phase, and what lies behind each, against those around them.

    Attributes:
        step, between: the steps, and the times behind them; the first steps of a phase compile,
            tune and allocate, and are none of the slow ones.
        cycle_excess_ns: (n,) by how much each cycle, waits included, exceeds the usual one.
        events: the slow cycles; ``rhythms`` are those of them that recur.
        in_rhythm: (n,) which cycles belong to a rhythm.
    """

    times: StepTimes
    step: SlowPart
    between: SlowPart
    cycle_excess_ns: Floats
    events: Events
    rhythms: tuple[Recurrence, ...]
    in_rhythm: Mask


@fact
def slow_steps_of(times: StepTimes) -> SlowSteps:
    """Return the slow steps of one worker and phase, and why they are."""
    steps = times.steps
    place = np.arange(steps.n_steps)
    excess_ns, is_slow = excess_of(times.own_ns.astype(np.float64), least_ratio=SLOW_FROM_RATIO)
    step = excess_ns, is_slow & (place >= WARM_UP_STEPS)
    between = excess_of(times.rest_ns.astype(np.float64), least_ratio=LONGER_RATIO)
    cycle_excess_ns, is_slow = excess_of(steps.cycle_ns.astype(np.float64))
    events = _events(cycle_excess_ns, is_slow)
    rhythms = _recurrences_of(times, events, (between, step))
    in_rhythm = np.zeros(steps.n_steps, dtype=bool)
    for rhythm in rhythms:
        in_rhythm[rhythm.events.cycles] = True
    cycle_ns = float(np.median(steps.cycle_ns))
    is_free = (place >= max(WARM_UP_STEPS, _n_warm_up(is_slow))) & ~in_rhythm
    edges_ns = (steps.start_ns, steps.end_ns, steps.next_ns)
    parts = []
    for at, (excess_ns, is_slow) in enumerate((step, between)):
        is_pause = is_free & _stand_out(edges_ns[at + 1] - edges_ns[at], cycle_ns)
        is_pause &= is_pause.sum() <= HANDFUL
        is_free_and_slow = is_free & is_slow & (excess_ns > at * SLOW_FROM_RATIO * cycle_ns)
        tail_ns = _tail_until(excess_ns[~in_rhythm], excess_ns[is_free_and_slow])
        parts.append(
            SlowPart(
                length_ns=(times.own_ns, times.rest_ns)[at],
                excess_ns=excess_ns,
                is_slow=is_slow,
                is_pause=is_pause,
                is_random=is_free_and_slow & ~is_pause & (excess_ns >= tail_ns),
            )
        )
    return SlowSteps(
        times=times,
        step=parts[0],
        between=parts[1],
        cycle_excess_ns=cycle_excess_ns,
        events=events,
        rhythms=rhythms,
        in_rhythm=in_rhythm,
    )


@fact
def pauses_of(spans: SpanTable) -> Mapping[str, Union]:
    """Return when each worker paused, in a step or behind it: its other waits are usual."""
    pauses = defaultdict[str, list[Union]](list)
    for times in step_times_of(spans):
        steps, slow = times.steps, slow_steps_of(times)
        of_worker = spans.where(spans.worker == spans.workers.index(steps.worker))
        edges_ns = (steps.start_ns, steps.end_ns, steps.next_ns)
        for at, part in enumerate((slow.step, slow.between)):
            is_pause = part.is_pause & (steps.n_steps >= LEAST_KNOWN_STEPS)
            start_ns, end_ns = (edge_ns[is_pause] for edge_ns in edges_ns[at : at + 2])
            is_none = loads_as_usual(of_worker, start_ns, end_ns)
            pauses[steps.worker].append(union_of(start_ns[~is_none], end_ns[~is_none]))
    return {worker: join(some) for worker, some in pauses.items()}


def _n_warm_up(is_slow: Mask) -> int:
    """Return how many of the first of (n,) steps are warm-up: most of them are slow."""
    is_most = 2 * np.cumsum(is_slow) > np.arange(1, is_slow.size + 1)
    return int(np.flatnonzero(is_most)[-1:].sum()) + 1


def _stand_out(length_ns: Integers, cycle_ns: float) -> Mask:
    """Return which of (n,) lengths exceed the tail of the others by far."""
    excess_ns = length_ns - usual_of(length_ns.astype(np.float64))
    return excess_ns > max(STOPS_CYCLES * cycle_ns, OVER_TAIL * tail_of(excess_ns))


def _tail_until(excess_ns: Floats, of_slow_ns: Floats) -> float:
    """Return from which on slow ones are no more the tail of lengths that scatter.

    They are its tail as long as many more lie just below them.
    """
    every_ns, slow_ns = np.sort(excess_ns), np.sort(of_slow_ns)
    n_near = np.subtract(*(np.searchsorted(every_ns, slow_ns / part) for part in (1, 2)))
    is_free = n_near < TAIL_RATIO * np.arange(slow_ns.size, 0, -1)
    return float(slow_ns[is_free].min(initial=np.inf))


def tail_of(values: Floats | Integers) -> float:
    """Return where the tail of (n,) values begins, n >= 1."""
    rare = max(RARE_RATIO, min(RARE_COUNT / values.size, 0.5))
    return float(np.quantile(values, 1 - rare, method="lower"))


def _events(excess_ns: Floats, is_slow: Mask) -> Events:
    """Return the stretches of slow cycles of a series, or of slow parts of them."""
    slow = np.flatnonzero(is_slow)
    first, last = slow[runs_of(slow, max_step=1)]
    inside = [excess_ns[begin : end + 1] for begin, end in zip(first, last, strict=True)]
    return Events(
        first=first,
        last=last,
        row=first + np.array([int(part.argmax()) for part in inside], dtype=np.int64),
        excess_ns=np.array([float(part.sum()) for part in inside]),
    )


def made_up_ns(events: Events, cycle_excess_ns: Floats) -> float:
    """Return how much of the excess of some events the cycles right behind them make up.

    A host that waited for what it had launched launches the next steps without waiting, and a loop
    that paused finds more batches ready: those steps are shorter than usual, and nothing is lost.
    What steps that scatter are shorter behind any other step is none of it, nor is chance.
    """
    n_steps = cycle_excess_ns.size
    is_stop = cycle_excess_ns >= 0
    is_stop[events.cycles] = is_stop[-1] = True  # behind the last step no cycle ends
    stops, behind = np.append(np.flatnonzero(is_stop), n_steps), np.arange(1, n_steps + 1)
    until = stops[np.searchsorted(stops, behind)]
    sums_ns = np.append(0.0, np.cumsum(-cycle_excess_ns))
    shorter_ns = sums_ns[until] - sums_ns[behind]
    is_other = np.ones(n_steps, dtype=bool)
    is_other[rows_between(events.first, until[events.last])[1]] = False
    usual_ns, n_events = shorter_ns[is_other], events.row.size
    made_ns = np.minimum(shorter_ns[events.last], events.excess_ns).sum()
    if usual_ns.size:
        made_ns -= n_events * usual_ns.mean() + SURE_DEVIATIONS * n_events**0.5 * usual_ns.std()
    return max(float(made_ns), 0.0)


def each_of(excess_ns: Floats, is_slow: Mask) -> Events:
    """Return slow values as events of one each."""
    rows = np.flatnonzero(is_slow)
    return Events(first=rows, last=rows, row=rows, excess_ns=excess_ns[rows])


def _recurrences_of(
    times: StepTimes, events: Events, parts: Sequence[tuple[Floats, Mask]]
) -> tuple[Recurrence, ...]:
    """Return the rhythms of slow cycles, the surest first; an event belongs to one at most.

    Scripts count the steps of a phase, recorders sometimes those of all phases: the count by which
    one rhythm costs most is that of the script. Steps of unequal length, and waits, hide a rhythm
    of what lies between them: each of the ``parts`` is searched for others.
    """

    def most_ns(found: Sequence[Recurrence]) -> float:
        return max((float(rhythm.events.excess_ns.sum()) for rhythm in found), default=0.0)

    counts = _counts(times.steps)
    found = max((_recurrences_by(times, count, events) for count in counts), key=most_ns)
    for excess_ns, is_slow in parts:
        is_left = is_slow.copy()
        for rhythm in found:
            is_left[rhythm.events.cycles] = False
        some = _events(excess_ns, is_left)
        tried = (_recurrences_by(times, count, some, before=found) for count in counts)
        found += max(tried, key=most_ns)
    return found


def _counts(steps: PhaseSteps) -> Sequence[Integers]:
    """Return (n,) from 0 on the numbers of steps, and their places where these differ."""
    numbers, places = steps.number - steps.number[:1], np.arange(steps.n_steps)
    return (numbers,) if np.array_equal(numbers, places) else (numbers, places)


def _recurrences_by(
    times: StepTimes, count: Integers, events: Events, *, before: Sequence[Recurrence] | None = None
) -> tuple[Recurrence, ...]:
    """Return the rhythms of events by a count, beside those that were found ``before``, if any."""
    steps, found, known = times.steps, list[Recurrence](), before or ()
    while len(known) + len(found) < MOST_RHYTHMS:
        grid = count.astype(np.float64)
        restarts = grid[_restarts(times, [*known, *found])]
        is_further = bool(known or found)
        whole = _surest(steps, grid, events, is_further=is_further)
        by_epoch = None
        if restarts.size:
            by_epoch = _surest(steps, grid, events, restarts=restarts, is_further=True)
        tried = [rhythm for rhythm in (whole, by_epoch) if rhythm is not None]
        if not tried:
            break
        rhythm = min(tried, key=lambda rhythm: rhythm.score)
        if rhythm is by_epoch:
            grid = counted_anew(grid, grid[-1] + 1, restarts, rhythm.period)
        rows, number = _gathered(grid, events, rhythm)
        # A stop on the place of a checkpoint is none of its occurrences, nor is the start.
        is_usual = costs_as_usual(events.excess_ns[rows]) & (events.first[rows] >= WARM_UP_STEPS)
        rows, number = rows[is_usual], number[is_usual]
        found.append(
            _recurrence(
                steps, grid, events.where(rows), number, rhythm, is_by_epoch=rhythm is by_epoch
            )
        )
        events = events.where(np.delete(np.arange(events.row.size), rows))
    return tuple(found)


def _restarts(times: StepTimes, found: Sequence[Recurrence]) -> Integers:
    """Return the rows with which epochs begin: with a loader, behind other phases, or in a rhythm.

    Loops often count the batches of an epoch: ``for i, batch in enumerate(loader)``. Where nothing
    marks it, the rarest rhythm stands for it.
    """
    steps = times.steps
    is_other = (steps.next_ns[:-1] > steps.end_ns[:-1]) & (steps.next_ns[:-1] < steps.start_ns[1:])
    rows = np.flatnonzero(is_other | (np.diff(times.stretch) > 0)) + 1
    if not rows.size and found:
        rows = max(found, key=lambda rhythm: rhythm.period_steps).events.last + 1
    return rows[(rows > WARM_UP_STEPS) & (rows < steps.n_steps)]


def _surest(
    steps: PhaseSteps,
    count: Floats,
    events: Events,
    *,
    restarts: Floats | None = None,
    is_further: bool,
) -> Rhythm | None:
    excess_ns = events.excess_ns
    is_stop = excess_ns >= STOPS_CYCLES * float(np.median(steps.cycle_ns))
    is_dear = excess_ns >= STOPS_CYCLES * float(np.median(excess_ns)) if excess_ns.size else is_stop
    limit_log10 = FURTHER_FALSE_ALARM_LOG10 if is_further else FALSE_ALARM_LOG10
    found = []
    for some in (events, events.where(is_stop), events.where(is_stop & is_dear)):
        if some.row.size > MOST_SLOW_RATIO * steps.n_steps:
            continue
        slowest = np.argsort(-some.excess_ns, kind="stable")[:MOST_EVENTS]
        tried = [(count[np.sort(some.row[slowest])], count)]
        if some.row.size > MOST_EVENTS:
            begin = (some.row.size - MOST_EVENTS) // 2
            rows = some.row[begin : begin + MOST_EVENTS]
            tried.append((count[rows], count[rows[0] : rows[-1] + 1]))
        for places, every in tried:
            known = None if restarts is None else restarts[restarts <= every[-1]]
            found.append(find_rhythm(places, every, restarts=known, false_alarm_log10=limit_log10))
    return min(filter(None, found), key=lambda rhythm: rhythm.score, default=None)


def _gathered(count: Floats, events: Events, rhythm: Rhythm) -> tuple[Integers, Integers]:
    """Return all events on the grid of a rhythm, however dear they are."""
    grid = (count[events.row], events.excess_ns, rhythm.period, rhythm.first)
    rows, number = members_of(*grid, max(rhythm.tolerance, 0.5))
    if rhythm.tolerance < 1.0 and rhythm.period >= NEIGHBOURS_FROM_PERIOD:
        near, near_number = members_of(*grid, 1.0)
        is_between = (near_number >= number[0]) & (near_number <= number[-1])
        rows, number = near[is_between], near_number[is_between]
    return rows, number


def _recurrence(
    steps: PhaseSteps,
    count: Floats,
    events: Events,
    number: Integers,
    rhythm: Rhythm,
    *,
    is_by_epoch: bool,
) -> Recurrence:
    distance, tolerance = np.diff(number), max(rhythm.tolerance, 0.5)
    return Recurrence(
        period_steps=float(np.median(np.diff(count[events.row]) / distance)),
        period_s=float(np.median(np.diff(steps.start_ns[events.row]) / distance / NS_PER_S)),
        n_expected=number.size
        if is_by_epoch  # an epoch may begin, or end, without the occurrence that is expected there
        else count_expected(count, number, rhythm.period, rhythm.first, tolerance),
        is_by_epoch=is_by_epoch,
        events=events,
    )
