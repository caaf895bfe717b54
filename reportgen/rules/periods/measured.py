"""The rhythms of one node's steps: what travels from where the data are to the judgement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.steps import Steps, steps_of
from reportgen.profile import NodeProfile
from reportgen.results import MAX_SERIES_POINTS
from reportgen.rules.periods.contents import (
    Contents,
    Loads,
    Windows,
    contents_of,
    is_between_steps,
    loads_of,
    normal_rows,
    normal_windows,
    slow_windows,
)
from reportgen.rules.periods.slow import Recurrence, Unit, recurrences_of, slow_events

MOST_MARKS = 500
"""More slow steps than this are not drawn; all count. Source: ours."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Some steps to draw or to list, (n,) int64 each, in order.

    Attributes:
        step: number.
        start_ns: when it began.
        length_ns: of the step and the pause behind it.
    """

    step: Integers
    start_ns: Integers
    length_ns: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One rhythm of one worker.

    Attributes:
        unit, period_steps, period_s, n_expected: as of ``Recurrence``.
        n_found: occurrences that are there.
        cost_ns: what all of them take above the usual.
        is_between: whether the pause behind the step is what is slow.
        slowest: the ``MOST_MARKS`` costliest occurrences.
        windows: when the slow part of each of those was.
        contents: what ran in the slow part of all against normal steps.
        loads: how busy the node was in it.
    """

    unit: Unit
    period_steps: float
    period_s: float
    n_expected: int
    n_found: int
    cost_ns: float
    is_between: bool
    slowest: Points
    windows: Windows
    contents: Contents
    loads: Loads


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPeriods:
    """The steps of one worker and phase.

    Attributes:
        usual_ns: median cycle of the steps that are not slow.
        loop_ns: from the worker's first to its last step.
        periods: its rhythms.
        drawn: its steps, the longest of each stretch where they are many; only with rhythms.
    """

    node: str
    worker: str
    phase: str
    n_steps: int
    usual_ns: float
    loop_ns: int
    periods: tuple[Period, ...] = ()
    drawn: Points | None = None


def series_periods(part: NodeProfile) -> Iterator[SeriesPeriods]:
    """Yield the rhythms of each worker and phase of a node."""
    for cycles in steps_of(part.spans):
        events = slow_events(cycles)
        is_normal = normal_rows(cycles, events)
        found = recurrences_of(cycles, events)
        usual = cycles.cycle_ns[is_normal] if is_normal.any() else cycles.cycle_ns
        yield SeriesPeriods(
            node=part.node,
            worker=cycles.worker,
            phase=cycles.phase,
            n_steps=int(cycles.number.size),
            usual_ns=float(np.median(usual)),
            loop_ns=cycles.loop_ns,
            periods=tuple(_period(part, cycles, is_normal, item) for item in found),
            drawn=_drawn(cycles) if found else None,
        )


def _period(
    part: NodeProfile, cycles: Steps, is_normal: NDArray[np.bool_], found: Recurrence
) -> Period:
    events = found.events
    between = is_between_steps(cycles, events, is_normal)
    windows = slow_windows(cycles, events, is_between=between)
    own = part.spans.where(part.spans.worker == part.spans.workers.index(cycles.worker))
    shown = np.sort(np.argsort(-events.excess_ns, kind="stable")[:MOST_MARKS])
    rows = events.row[shown]
    marked = events.where(shown)
    return Period(
        unit=found.unit,
        period_steps=found.period_steps,
        period_s=found.period_s,
        n_expected=found.n_expected,
        n_found=int(events.row.size),
        cost_ns=float(events.excess_ns.sum()),
        is_between=between,
        slowest=_points(cycles, rows),
        windows=Windows(
            first_ns=(cycles.end_ns if between else cycles.start_ns)[marked.first],
            last_ns=(cycles.next_ns if between else cycles.end_ns)[marked.last],
        ),
        contents=contents_of(own, windows, normal_windows(cycles, is_normal, is_between=between)),
        loads=loads_of(part.system, windows, (int(cycles.start_ns[0]), int(cycles.next_ns[-1]))),
    )


def _points(cycles: Steps, rows: Integers) -> Points:
    return Points(
        step=cycles.number[rows],
        start_ns=cycles.start_ns[rows],
        length_ns=cycles.cycle_ns[rows],
    )


def _drawn(cycles: Steps) -> Points:
    """Return at most as many steps as a line may have, of equal stretches the longest each."""
    n_steps = cycles.number.size
    most = MAX_SERIES_POINTS - MOST_MARKS
    if n_steps <= most:
        return _points(cycles, np.arange(n_steps))
    edges = np.linspace(0, n_steps, most + 1).astype(np.int64)[:-1]
    stretch = np.searchsorted(edges, np.arange(n_steps), side="right") - 1
    order = np.lexsort((-cycles.cycle_ns, stretch))
    return _points(cycles, order[np.searchsorted(stretch[order], np.arange(most))])
