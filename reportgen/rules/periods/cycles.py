"""Steps as cycles: a step and the pause until the next one, so that nothing between is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code
from reportgen.profile import NO_STEP, SpanTable

Integers = NDArray[np.int64]
MOST_STEPS_PER_RECORDED = 1_000
"""Numbers that grow faster than this tell no order of steps: they are times or ids. Ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The steps of one worker and phase in order of their starts, (n,) int64 each.

    Attributes:
        worker, phase: ``algo-1-27``, ``Step:ModeKeys.TRAIN``.
        step: its number, or its place where numbers are missing or begin anew.
        start_ns, end_ns: of the step.
        next_ns: start of the worker's next step of any phase; ``end_ns`` when steps overlap, for
            the last one, and when the next recorded step is not the next one that ran.
        loop_ns: from the worker's first to its last step of any phase.
    """

    worker: str
    phase: str
    step: Integers
    start_ns: Integers
    end_ns: Integers
    next_ns: Integers
    loop_ns: int

    @property
    def length_ns(self) -> Integers:
        """Return how long each cycle takes: the step and the pause behind it."""
        return self.next_ns - self.start_ns


def cycles_of(spans: SpanTable) -> Iterator[Cycles]:
    """Yield the cycles of one node, by worker, then by phase."""
    steps = spans.steps()
    for worker, rows in rows_by_code(steps.worker):
        its = steps.where(rows[np.lexsort((steps.end_ns[rows], steps.start_ns[rows]))])
        next_ns = _next_ns(its)
        loop_ns = int(its.end_ns.max() - its.start_ns.min())
        for phase, members in rows_by_code(its.phase):
            yield Cycles(
                worker=its.workers[worker],
                phase=its.phases[phase],
                step=_numbers(its.step[members]),
                start_ns=its.start_ns[members],
                end_ns=its.end_ns[members],
                next_ns=next_ns[members],
                loop_ns=loop_ns,
            )


def _next_ns(steps: SpanTable) -> Integers:
    """Return where the pause behind each step ends; ``steps`` are of one worker, by start."""
    follows = np.append(steps.start_ns[1:], steps.end_ns[-1:])
    is_same = np.append(steps.phase[1:] == steps.phase[:-1], False)
    distance = np.append(np.diff(steps.step), 0)
    is_unrecorded = is_same & (distance > 1) & (steps.step != NO_STEP)
    return np.where(is_unrecorded, steps.end_ns, np.maximum(follows, steps.end_ns))


def _numbers(step: Integers) -> Integers:
    """Return the numbers of steps where they tell their order, else their places."""
    places = np.arange(step.size, dtype=np.int64)
    if step.size == 0 or step[0] <= NO_STEP or not (np.diff(step) > 0).all():
        return places
    is_dense = int(step[-1]) - int(step[0]) < MOST_STEPS_PER_RECORDED * step.size
    return step if is_dense else places
