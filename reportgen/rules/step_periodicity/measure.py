"""What StepPeriodicity measures: the rhythms of a node's steps, and what ran in slow ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.facts.inside import Load, NodeGauge, WindowContents, loads_inside, window_contents
from reportgen.facts.intervals import Union
from reportgen.facts.rhythm import Recurrence, Unit, recurrences_of, slow_events
from reportgen.facts.steps import Integers, Loop, PhaseSteps, loop_of, phase_word, steps_of
from reportgen.facts.trend import Mask
from reportgen.profile import NodeProfile
from reportgen.results import MAX_SERIES_POINTS
from reportgen.rules.base import param
from reportgen.rules.kit import col, concat, derived, merge, merged, row
from reportgen.units import NS_PER_S

MOST_MARKS = 500
"""More slow steps than this are not drawn: marks would hide each other; all count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = param(
        0.5,
        unit="%",
        meaning="a rhythm that costs this share of the loop or more is told",
        source="what costs less is not worth a change of the script",
        minimum=0,
        maximum=100,
    )
    min_steps: int = param(
        20,
        unit="steps",
        meaning="a worker's phase is searched once it has so many steps",
        source="four occurrences of the shortest rhythm, every fifth step",
        minimum=4,
        is_whole=True,
    )


@row
class Period:
    """One rhythm of the steps of one worker and phase.

    Attributes:
        label: what it is called; given when the rhythms of all workers are known.
        phase, word: ``Step:ModeKeys.TRAIN``, ``TRAIN``.
        n_steps: how many steps the series has; ``drawn`` are the longest of each stretch.
        usual_ns: median cycle of the steps that are not slow.
        n_found: occurrences that are there; ``cost_ns`` is what all of them take above the usual.
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
    """One node, or all of them merged: its loop, the steps of its longest series, its rhythms."""

    loop: Loop = merged(merge, default_factory=Loop)
    longest: int = merged(max, default=0)
    periods: tuple[Period, ...] = merged(concat, default=())


def measure(part: NodeProfile, _params: Params) -> NodeRhythms:
    """Search the steps of every worker and phase of a node."""
    series = steps_of(part.spans)
    return NodeRhythms(
        loop=loop_of(part.spans),
        longest=max((steps.n_steps for steps in series), default=0),
        periods=tuple(period for steps in series for period in _periods(part, steps)),
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
    """Return whether the pauses behind slow steps cost more than the steps themselves."""

    def excess_ns(length_ns: Integers) -> float:
        return float(length_ns[rows].sum()) - rows.size * float(np.median(length_ns[normal]))

    return excess_ns(steps.next_ns - steps.end_ns) > excess_ns(steps.duration_ns)


def _drawn(steps: PhaseSteps) -> PhaseSteps:
    """Return at most as many steps as a line may have, of equal stretches the longest each."""
    most = MAX_SERIES_POINTS - MOST_MARKS
    if steps.n_steps <= most:
        return steps
    edges = np.linspace(0, steps.n_steps, most + 1).astype(np.int64)[:-1]
    stretch = np.searchsorted(edges, np.arange(steps.n_steps), side="right") - 1
    order = np.lexsort((-steps.cycle_ns, stretch))
    return steps.where(order[np.searchsorted(stretch[order], np.arange(most))])
