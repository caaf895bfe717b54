"""Measurement of StepPeriodicity: rhythms of a node's steps, and functions in slow ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.inside import Load, NodeGauge, WindowContents, loads_inside, window_contents
from reportgen.facts.intervals import NOTHING, Union, join, runs_of
from reportgen.facts.loader import long_waits_of
from reportgen.facts.rhythm import (
    FALSE_ALARM_LOG10,
    Rhythm,
    costs_as_usual,
    find_rhythm,
    members_of,
)
from reportgen.facts.steps import Loop, PhaseSteps, loop_of, phase_word, steps_of
from reportgen.facts.trend import excess_of
from reportgen.merging import rows_between
from reportgen.profile import NodeProfile
from reportgen.results import MAX_SERIES_POINTS
from reportgen.rules.kit import col, concat, count, derived, merge, merged, percentage, row
from reportgen.units import NS_PER_S

MOST_MARKS = 500
"""More slow steps than this are not drawn: marks would hide each other; all count."""
LEVEL_FACTOR = 2.0
MOST_LEVELS = 6
"""Slow cycles are also searched apart by how slow they are, each level twice the one below: an
outlier of another size does not hide a rhythm."""
BAND_LEVELS = 2
MOST_SLOW_RATIO = 0.4
MOST_EVENTS = 500
MOST_RECURRENCES = 3
PERFECT_FROM_RATIO = 0.9
"""A rhythm that holds this share of the slow cycles, and misses none, needs no rival."""
PREFERS_TIME_BY = 1.0
"""Seconds are reported instead of steps when they are ten times less likely chance."""
NESTED_FALSE_ALARM_LOG10 = -2.0
FURTHER_FALSE_ALARM_LOG10 = -4.0
"""Once a rhythm is found, the rest is taken for another one only when that is surer: random
outliers also remain."""
NEIGHBOURS_FROM_PERIOD = 8
"""In longer periods a slow cycle just beside an expected place belongs to it, too; not before the
first and behind the last, for the very first step is often slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = percentage(
        0.5,
        "a rhythm that costs at least this share of the loop is reported",
        source="what costs less is not worth a change of the script",
    )
    min_steps: int = count(
        20,
        "a worker's phase is searched once it has this many steps",
        unit="steps",
        source="four occurrences of the shortest rhythm, every fifth step",
        minimum=4,
    )


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
        return rows_between(self.first, self.last + 1)[1]

    def where(self, rows: Mask | Integers) -> Events:
        """Return some of the events."""
        return Events(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Events that recur with a period that is constant in one unit.

    ``n_expected`` counts the occurrences from the first to the last; ``events`` are those that are
    there.
    """

    unit: Unit
    period_steps: float
    period_s: float
    n_expected: int
    events: Events


@row
class Period:
    """One rhythm of the steps of one worker and phase.

    Attributes:
        label: its name; given when the rhythms of all workers are known.
        drawn: the longest steps of each stretch of the series.
        usual_ns: median cycle of the steps that are not slow.
        cost_ns: time of all occurrences above the usual.
        is_between: whether the pause behind the step is what is slow.
        slowest: the ``MOST_MARKS`` costliest occurrences; ``windows`` is when those were slow.
        contents, loads: what ran in the slow part of all against normal steps, and how busy the
            node was.
    """

    label: str = col(name="period")
    node: str
    worker: str = col()
    phase: str
    word: str = col(name="phase")
    unit: Unit = col(name="even_in")
    period_steps: float = col("steps")
    period_s: float = col("s")
    n_found: int = col(name="found")
    n_expected: int = col(name="expected")
    first_step: int = col()
    usual_ns: float = col("s", name="usual_s", per=NS_PER_S)
    cost_each_s: float = derived(lambda item: item.cost_ns / item.n_found / NS_PER_S, "s")
    cost_ns: float = col("s", name="cost_s", per=NS_PER_S)
    cost_pct: float = derived(lambda item: 100 * item.cost_ratio, "%")
    slow_part: str = derived(
        lambda item: "pause before the next step" if item.is_between else "step"
    )
    is_between: bool
    loop_ns: int
    n_steps: int
    drawn: PhaseSteps
    slowest: PhaseSteps
    windows: Union
    contents: WindowContents
    loads: Mapping[NodeGauge, Load]

    @property
    def cost_ratio(self) -> float:
        """Return its cost as a share of the worker's loop, in 0-1."""
        return min(self.cost_ns / self.loop_ns, 1.0) if self.loop_ns else 0.0


@row
class NodeRhythms:
    """One node, or all of them merged: its loop, the steps of its longest series, its rhythms.

    ``waits`` is when a worker waited for data.
    """

    loop: Loop = merged(merge, default_factory=Loop)
    longest: int = merged(max, default=0)
    periods: tuple[Period, ...] = merged(concat, default=())
    waits: Union = merged(join, default=NOTHING)


def measure(part: NodeProfile, _params: Params) -> NodeRhythms:
    """Search the steps of every worker and phase of a node."""
    series = steps_of(part.spans)
    return NodeRhythms(
        loop=loop_of(part.spans),
        longest=max((steps.n_steps for steps in series), default=0),
        periods=tuple(period for steps in series for period in _periods(part, steps)),
        waits=long_waits_of(part.spans),
    )


def _periods(part: NodeProfile, steps: PhaseSteps) -> Iterator[Period]:
    events = slow_events(steps)
    is_normal = np.ones(steps.n_steps, dtype=bool)
    is_normal[events.cycles] = False
    for found in recurrences_of(steps, events):
        yield _period(part, steps, found, is_normal)


def _period(part: NodeProfile, steps: PhaseSteps, found: Recurrence, is_normal: Mask) -> Period:
    events = found.events
    rows, normal = events.cycles, is_normal if is_normal.any() else ~is_normal
    is_between = _is_between(steps, rows, normal)
    first_ns, last_ns = steps.start_ns, steps.end_ns
    if is_between:
        first_ns, last_ns = steps.end_ns, steps.next_ns
    windows = Union(start_ns=first_ns[rows], end_ns=last_ns[rows])
    marked = events.where(np.sort(np.argsort(-events.excess_ns, kind="stable")[:MOST_MARKS]))
    slowest = steps.where(marked.row)
    own = part.spans.where(part.spans.worker == part.spans.workers.index(steps.worker))
    return Period(
        label="",
        node=part.node,
        worker=steps.worker,
        phase=steps.phase,
        word=phase_word(steps.phase),
        unit=found.unit,
        period_steps=found.period_steps,
        period_s=found.period_s,
        n_found=events.row.size,
        n_expected=found.n_expected,
        first_step=int(slowest.number[0]),
        usual_ns=float(np.median(steps.cycle_ns[normal])),
        cost_ns=float(events.excess_ns.sum()),
        is_between=is_between,
        loop_ns=steps.loop_ns,
        n_steps=steps.n_steps,
        drawn=_drawn(steps),
        slowest=slowest,
        windows=Union(start_ns=first_ns[marked.first], end_ns=last_ns[marked.last]),
        contents=window_contents(
            own, windows, Union(start_ns=first_ns[is_normal], end_ns=last_ns[is_normal])
        ),
        loads=loads_inside(part.system, windows, (int(steps.start_ns[0]), int(steps.next_ns[-1]))),
    )


def _is_between(steps: PhaseSteps, rows: Integers, normal: Mask) -> bool:
    pause_excess_ns, step_excess_ns = (
        float(length_ns[rows].sum()) - rows.size * float(np.median(length_ns[normal]))
        for length_ns in (steps.next_ns - steps.end_ns, steps.duration_ns)
    )
    return pause_excess_ns > step_excess_ns


def _drawn(steps: PhaseSteps) -> PhaseSteps:
    """Return at most as many steps as a line may have, of equal stretches the longest each."""
    most = MAX_SERIES_POINTS - MOST_MARKS
    if steps.n_steps <= most:
        return steps
    edges = np.linspace(0, steps.n_steps, most + 1).astype(np.int64)[:-1]
    stretch = np.searchsorted(edges, np.arange(steps.n_steps), side="right") - 1
    order = np.lexsort((-steps.cycle_ns, stretch))
    return steps.where(order[np.searchsorted(stretch[order], np.arange(most))])


# Slow cycles that recur after a number of steps, or of seconds


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
    """Return the rhythms of slow cycles, the surest first; an event belongs to one at most.

    Scripts count the steps of a phase, recorders sometimes those of all phases: the count by which
    one rhythm costs most is that of the script.
    """
    places = np.arange(steps.n_steps)
    by_number = _recurrences_by(steps, events)
    if np.array_equal(steps.number - steps.number[:1], places):
        return by_number
    by_place = _recurrences_by(replace(steps, number=places), events)

    def weight(found: Sequence[Recurrence]) -> tuple[float, bool]:
        costs = ((float(its.events.excess_ns.sum()), its.unit is Unit.STEPS) for its in found)
        return max(costs, default=(0.0, False))

    return max(by_number, by_place, key=weight)


def _recurrences_by(steps: PhaseSteps, events: Events) -> tuple[Recurrence, ...]:
    found: list[Recurrence] = []
    while len(found) < MOST_RECURRENCES:
        best = _best(steps, events, FURTHER_FALSE_ALARM_LOG10 if found else FALSE_ALARM_LOG10)
        if best is None:
            break
        rows, number, unit = best
        found += _split(steps, _recurrence(steps, events.where(rows), number, unit), number)
        events = events.where(np.delete(np.arange(events.row.size), rows))
    return tuple(found[:MOST_RECURRENCES])


def _best(
    steps: PhaseSteps, events: Events, false_alarm_log10: float
) -> tuple[Integers, Integers, Unit] | None:
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
    """Yield rows of events that are slow by an amount between two bounds."""
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


def _split(steps: PhaseSteps, found: Recurrence, number: Integers) -> Sequence[Recurrence]:
    """Return a rhythm, or two of them where some of its occurrences cost clearly more.

    Every 50th step is slow and every 200th is much slower: that is a rhythm among the others.
    ``number`` counts the occurrences, those that are missing too.
    """
    _, is_more = excess_of(found.events.excess_ns, least_ratio=1.0)
    more = np.flatnonzero(is_more)
    rhythm = find_rhythm(
        (number[more] - number[0]).astype(np.float64),
        float(found.n_expected),
        least_period=2.0,
        false_alarm_log10=NESTED_FALSE_ALARM_LOG10,
    )
    if rhythm is None:
        is_usual = costs_as_usual(found.events.excess_ns)
        return (replace(found, events=found.events.where(is_usual)),)
    rows = more[rhythm.members]
    inner = found.events.where(np.delete(np.arange(is_more.size), rows))
    return (
        _recurrence(steps, found.events.where(rows), rhythm.number, found.unit),
        replace(found, events=inner, n_expected=found.n_expected - int(rows.size)),
    )
