"""Training steps: by worker and phase, with the pauses behind them; the loop; who lags behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.samples import training_loop_ns
from reportgen.merging import greatest, least, merged, rows_by_code, sum_by_key
from reportgen.profile import NO_STEP, SpanTable
from reportgen.profile.memo import fact

PREFERRED_PHASES = ("TRAIN", "GLOBAL")
"""The phases that stand for the training, the better one first."""
MOST_STEPS_PER_RECORDED = 1_000
"""Numbers that grow faster than this are times or ids and do not give the order of steps."""
FORWARD = "Forward"
LEAST_STEPS = 10
"""With fewer steps of a worker its pace is chance."""
LEAST_EXTRA_RATIO = 0.02
"""A worker whose extra time is below 2 % of the loop does not hold up the others noticeably."""
SAME_LENGTH_RATIO = 0.02
"""Steps whose medians differ by at most 2 % end together: the workers wait for each other."""

Integers = NDArray[np.int64]


def phase_word(phase: str) -> str:
    """Return ``TRAIN`` of ``Step:ModeKeys.TRAIN``."""
    return phase.rpartition(".")[2] or phase


# The training loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How many events and steps a node has, or several merged, and its training loop in ns UTC."""

    n_spans: int = merged(sum, default=0)
    n_steps: int = merged(sum, default=0)
    start_ns: int | None = merged(least, default=None)
    end_ns: int | None = merged(greatest, default=None)

    @property
    def length_ns(self) -> int:
        """Return its length, 0 without steps."""
        return 0 if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns


@fact
def loop_of(spans: SpanTable) -> Loop:
    """Return the training loop of one node: first start to last end over all step events."""
    start_ns, end_ns = training_loop_ns(spans) or (None, None)
    n_steps = spans.steps().n_spans
    return Loop(n_spans=spans.n_spans, n_steps=n_steps, start_ns=start_ns, end_ns=end_ns)


# Steps and cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSteps:
    """The steps of one worker and phase in order of their starts, (n,) int64 each.

    A cycle is a step and the pause until the next one, so that nothing between is lost.

    Attributes:
        step: their numbers as recorded, ``NO_STEP`` where absent.
        number: the same where the numbers give the order of all steps, else their places.
        next_ns: start of the worker's next step of any phase; ``end_ns`` when steps overlap, for
            the last one, and when the next recorded step is not the next one that ran.
        loop_ns: from the worker's first to its last step of any phase.
    """

    worker: str
    phase: str
    step: Integers
    number: Integers
    start_ns: Integers
    end_ns: Integers
    next_ns: Integers
    loop_ns: int

    @property
    def n_steps(self) -> int:
        """Return how many steps there are."""
        return int(self.step.size)

    @property
    def duration_ns(self) -> Integers:
        """Return how long each step takes."""
        return self.end_ns - self.start_ns

    @property
    def cycle_ns(self) -> Integers:
        """Return how long each cycle takes: the step and the pause behind it."""
        return self.next_ns - self.start_ns

    def where(self, rows: NDArray[np.bool_] | Integers) -> PhaseSteps:
        """Return some of the steps."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})


_COLUMNS = ("step", "number", "start_ns", "end_ns", "next_ns")


@fact
def steps_of(spans: SpanTable) -> tuple[PhaseSteps, ...]:
    """Return the steps of one node, by worker, then by phase."""
    found = []
    for its in _by_worker(spans):
        next_ns = _next_ns(its)
        loop_ns = int(its.end_ns.max() - its.start_ns.min())
        step = its.step
        for phase, rows in rows_by_code(its.phase):
            found.append(
                PhaseSteps(
                    worker=its.workers[its.worker[0]],
                    phase=its.phases[phase],
                    step=step[rows],
                    number=_order(step[rows]),
                    start_ns=its.start_ns[rows],
                    end_ns=its.end_ns[rows],
                    next_ns=next_ns[rows],
                    loop_ns=loop_ns,
                )
            )
    return tuple(found)


def _order(step: Integers) -> Integers:
    """Return the numbers of steps where they give their order, else their places."""
    places = np.arange(step.size, dtype=np.int64)
    if step.size == 0 or step[0] <= NO_STEP or not (np.diff(step) > 0).all():
        return places
    is_dense = int(step[-1]) - int(step[0]) < MOST_STEPS_PER_RECORDED * step.size
    return step if is_dense else places


def _by_worker(spans: SpanTable) -> Iterator[SpanTable]:
    """Yield the steps of each worker in order of time."""
    steps = spans.steps()
    for _, rows in rows_by_code(steps.worker):
        yield steps.where(rows[np.lexsort((steps.end_ns[rows], steps.start_ns[rows]))])


def _next_ns(steps: SpanTable) -> Integers:
    """Return where the pause behind each step ends; ``steps`` are of one worker, by start."""
    follows = np.append(steps.start_ns[1:], steps.end_ns[-1:])
    is_same = np.append(steps.phase[1:] == steps.phase[:-1], False)
    distance = np.append(np.diff(steps.step), 0)
    is_unrecorded = is_same & (distance > 1) & (steps.step != NO_STEP)
    return np.where(is_unrecorded, steps.end_ns, np.maximum(follows, steps.end_ns))


# The pace of the workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How many steps or forward passes there are, their median and their sum in ns."""

    count: int
    median_ns: float | None
    total_ns: int


def _lengths(duration_ns: Integers) -> Lengths:
    median_ns = float(np.median(duration_ns)) if duration_ns.size else None
    return Lengths(count=duration_ns.size, median_ns=median_ns, total_ns=int(duration_ns.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One worker in one step phase: its steps, and its forward passes in them."""

    worker: str
    phase: str
    step: Lengths
    forward: Lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggingWorker:
    """A worker that computes longer than the others.

    Workers that train one model wait for each other in every step. What a worker does before it
    waits is compared: the forward pass, which holds no communication; whole steps where few were
    recorded.

    Attributes:
        usual_ns: median over the other workers of their median.
        extra_ns, extra_ratio: its time less that of the usual other worker; as a share of the loop.
        is_waited_for: whether the steps of all workers are equally long nonetheless.
    """

    pace: Pace
    by_forward: bool
    median_ns: float
    usual_ns: float
    extra_ns: float
    extra_ratio: float
    is_waited_for: bool

    @property
    def longer_pct(self) -> float:
        """Return by how many percent it is longer."""
        return 100 * (self.median_ns / self.usual_ns - 1)


def paces_of(spans: SpanTable) -> tuple[Pace, ...]:
    """Return the pace of each worker and step phase of one node."""
    forward = spans.where(spans.in_phases((FORWARD,)))
    paces = []
    for its in _by_worker(spans):
        own = forward.where(forward.worker == its.worker[0])
        step_of = np.searchsorted(its.start_ns, own.start_ns, side="right") - 1
        is_inside = (step_of >= 0) & (own.start_ns <= its.end_ns[np.maximum(step_of, 0)])
        phase_of = np.where(is_inside, its.phase[np.maximum(step_of, 0)], -1)
        for phase, members in rows_by_code(its.phase):
            paces.append(
                Pace(
                    worker=its.workers[its.worker[0]],
                    phase=its.phases[phase],
                    step=_lengths(its.duration_ns[members]),
                    forward=_lengths(own.duration_ns[phase_of == phase]),
                )
            )
    return tuple(paces)


def main_paces(paces: Sequence[Pace]) -> list[Pace]:
    """Return the paces of the phase that stands for the training: TRAIN, GLOBAL, most steps."""
    totals = sum_by_key({pace.phase: pace.step.count} for pace in paces)
    if not totals:
        return []
    named = (
        phase for word in PREFERRED_PHASES for phase in sorted(totals) if phase_word(phase) == word
    )
    main = next(named, max(sorted(totals), key=lambda phase: totals[phase]))
    return [pace for pace in paces if pace.phase == main]


def find_straggler(
    paces: Sequence[Pace], *, loop_ns: int, above_pct: float
) -> LaggingWorker | None:
    """Return the worker that holds up the others, ``None`` without one or with too few steps.

    Paces are of all workers of the job in one phase; a straggler is longer than the usual other
    worker by more than ``above_pct``.
    """
    if len(paces) < 2 or min(pace.step.count for pace in paces) < LEAST_STEPS:
        return None
    by_forward = min(pace.forward.count for pace in paces) >= LEAST_STEPS

    def compared(pace: Pace) -> Lengths:
        return pace.forward if by_forward else pace.step

    slowest = max(paces, key=lambda pace: (compared(pace).median_ns, pace.worker))
    others = [compared(pace) for pace in paces if pace is not slowest]
    step_ns = [pace.step.median_ns or 0.0 for pace in paces]
    extra_ns = compared(slowest).total_ns - float(np.median([its.total_ns for its in others]))
    found = LaggingWorker(
        pace=slowest,
        by_forward=by_forward,
        median_ns=compared(slowest).median_ns or 0.0,
        usual_ns=float(np.median([its.median_ns or 0.0 for its in others])),
        extra_ns=extra_ns,
        extra_ratio=extra_ns / loop_ns if loop_ns else 0.0,
        is_waited_for=max(step_ns) <= (1 + SAME_LENGTH_RATIO) * min(step_ns),
    )
    is_slow = found.usual_ns > 0 and found.longer_pct > above_pct
    return found if is_slow and found.extra_ratio >= LEAST_EXTRA_RATIO else None
