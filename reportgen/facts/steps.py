"""Training steps: by worker and phase, with the pauses behind them; the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Integers, Mask
from reportgen.facts.samples import training_loop_ns
from reportgen.merging import greatest, least, merged, rows_by_code
from reportgen.profile import NO_STEP, SpanTable
from reportgen.profile.memo import fact

MOST_STEPS_PER_RECORDED = 1_000
"""Numbers that grow faster than this are times or ids and do not give the order of steps."""
FORWARD = "Forward"
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

    def where(self, rows: Mask | Integers) -> PhaseSteps:
        """Return some of the steps."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})


_COLUMNS = ("step", "number", "start_ns", "end_ns", "next_ns")


@fact
def steps_of(spans: SpanTable) -> tuple[PhaseSteps, ...]:
    """Return the steps of one node, by worker, then by phase."""
    found, steps = [], spans.steps()
    for _, own in rows_by_code(steps.worker):
        its = steps.where(own[np.lexsort((steps.end_ns[own], steps.start_ns[own]))])
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
    places = np.arange(step.size, dtype=np.int64)
    if step.size == 0 or step[0] <= NO_STEP or not (np.diff(step) > 0).all():
        return places
    is_dense = int(step[-1]) - int(step[0]) < MOST_STEPS_PER_RECORDED * step.size
    return step if is_dense else places


def _next_ns(steps: SpanTable) -> Integers:
    """Return where the pause behind each step ends; ``steps`` are of one worker, by start."""
    follows = np.append(steps.start_ns[1:], steps.end_ns[-1:])
    is_same = np.append(steps.phase[1:] == steps.phase[:-1], False)
    distance = np.append(np.diff(steps.step), 0)
    is_unrecorded = is_same & (distance > 1) & (steps.step != NO_STEP)
    return np.where(is_unrecorded, steps.end_ns, np.maximum(follows, steps.end_ns))
