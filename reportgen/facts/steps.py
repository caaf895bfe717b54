"""Training steps: by worker and phase, with the pauses behind them; the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Instants, Integers, Mask
from reportgen.facts.intervals import NOTHING, Union, join, minus, union_of
from reportgen.facts.samples import silence_of, training_loop_ns
from reportgen.merging import greatest, least, merged, rows_by_code
from reportgen.profile import NO_STEP, SpanTable, SystemTable
from reportgen.profile.memo import fact

MOST_STEPS_PER_RECORDED = 1_000
"""Numbers that grow faster than this are times or ids and do not give the order of steps."""
FORWARD = "Forward"
OPTIMIZER = "Optimizer"
WARM_UP_STEPS = 2
"""The first two steps of a phase compile, tune and allocate: they belong to the start."""


def phase_word(phase: str) -> str:
    """Return ``TRAIN`` of ``Step:ModeKeys.TRAIN``."""
    return phase.rpartition(".")[2] or phase


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
    """Return the training loop of one node: first start to last end of the training steps."""
    start_ns, end_ns = training_loop_ns(spans) or (None, None)
    n_steps = spans.steps().n_spans
    return Loop(n_spans=spans.n_spans, n_steps=n_steps, start_ns=start_ns, end_ns=end_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSteps:
    """The steps of one worker and phase in order of their starts, (n,) int64 each.

    A cycle is a step and the pause until the next one, so that nothing between is lost.

    Attributes:
        step: their numbers as recorded, ``NO_STEP`` where absent.
        number: the same where the numbers give the order of all steps, else their places.
        next_ns: start of the worker's next step of any phase; ``end_ns`` when steps overlap, for
            the last one, and when the next recorded step is not the next one that ran.
        loop_ns: from the worker's first to its last step of any phase, without ``skipped``.
        skipped: from the ends of steps to the next recorded ones, where others ran in between that
            were not recorded.
    """

    worker: str
    phase: str
    step: Integers
    number: Integers
    start_ns: Integers
    end_ns: Integers
    next_ns: Integers
    loop_ns: int
    skipped: Union

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

    def where(self, rows: Mask | Integers) -> PhaseSteps:
        """Return some of the steps."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})


_COLUMNS = ("step", "number", "start_ns", "end_ns", "next_ns")


@fact
def steps_of(spans: SpanTable) -> tuple[PhaseSteps, ...]:
    """Return the steps of one node, by worker, then by phase."""
    found, steps = [], spans.steps()
    for _, rows_of_worker in rows_by_code(steps.worker):
        of_worker = steps.where(
            rows_of_worker[
                np.lexsort((steps.end_ns[rows_of_worker], steps.start_ns[rows_of_worker]))
            ]
        )
        next_ns, skipped = _next_ns(of_worker)
        loop_ns = int(of_worker.end_ns.max() - of_worker.start_ns.min()) - skipped.length_ns
        step = of_worker.step
        for phase, rows in rows_by_code(of_worker.phase):
            found.append(
                PhaseSteps(
                    worker=of_worker.workers[of_worker.worker[0]],
                    phase=of_worker.phases[phase],
                    step=step[rows],
                    number=_order(step[rows]),
                    start_ns=of_worker.start_ns[rows],
                    end_ns=of_worker.end_ns[rows],
                    next_ns=next_ns[rows],
                    loop_ns=loop_ns,
                    skipped=skipped,
                )
            )
    return tuple(found)


def _order(step: Integers) -> Integers:
    places = np.arange(step.size, dtype=np.int64)
    if step.size == 0 or step[0] <= NO_STEP or not (np.diff(step) > 0).all():
        return places
    is_dense = int(step[-1]) - int(step[0]) < MOST_STEPS_PER_RECORDED * step.size
    return step if is_dense else places


def _next_ns(steps: SpanTable) -> tuple[Instants, Union]:
    """Return where the pause behind each step of a worker ends, and what was not recorded.

    ``steps`` are in order of their starts.
    """
    follows = np.maximum(np.append(steps.start_ns[1:], steps.end_ns[-1:]), steps.end_ns)
    is_complete = _is_complete(steps)
    skipped = union_of(steps.end_ns[~is_complete], follows[~is_complete])
    in_steps = union_of(steps.start_ns, steps.end_ns)
    return np.where(is_complete, follows, steps.end_ns), minus(skipped, in_steps)


def _is_complete(steps: SpanTable) -> Mask:
    """Return (n,) after which steps of a worker no step is missing that ran, but was not recorded.

    The numbers of a phase show it; a counter that several phases share leaves room for the others'
    steps, and shows by all of them what is missing where one phase ends.
    """
    is_complete = np.ones(steps.n_spans, dtype=bool)
    counted = [rows for _, rows in rows_by_code(steps.phase)]
    if (np.diff(steps.step) > 0).all():
        counted.append(np.arange(steps.n_spans))
    for rows in counted:
        number = steps.step[rows]
        is_numbered = (number[:-1] != NO_STEP) & (number[1:] != NO_STEP)
        is_far = is_numbered & (np.diff(number) > np.diff(rows))
        is_complete[rows[1:][is_far] - 1] = False
        is_complete[rows[:-1][is_far]] = False
    return is_complete


def unrecorded_of(system: SystemTable, spans: SpanTable) -> Union:
    """Return the stretches of a node of which nothing is known.

    There are neither samples nor events in them, or steps of all its workers ran in them that were
    not recorded.
    """
    skipped = {phase.worker: phase.skipped for phase in steps_of(spans)}
    shared, *others = skipped.values() or (NOTHING,)
    for other in others:
        shared = minus(shared, minus(shared, other))
    return join((silence_of(system, spans), shared))
