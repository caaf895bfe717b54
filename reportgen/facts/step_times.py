"""Where a worker's time goes, step by step: its own work, waits for batches, the rest in between.

Waiting is a matter of the input (``reportgen.facts.loader``). The rest shows whether steps, or
the work of the script between them, are slow now and then, or slower and slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reportgen.arrays import Floats, Integers
from reportgen.facts.intervals import covered_each
from reportgen.facts.loader import loader_rows, worker_waits
from reportgen.facts.steps import PhaseSteps, steps_of
from reportgen.facts.trend import AGREEMENT_FROM, trend_of
from reportgen.merging import rows_by_code
from reportgen.profile import SpanTable
from reportgen.profile.memo import Memo, fact

N_BLOCKS = 12
"""Blocks of equally many steps whose medians are compared; the first is warm-up and left out."""
JUMP_RATIO = 1.2
"""All blocks behind a jump are a fifth above all before it: no scatter of medians does that."""
AT_ONCE_RATIO = 0.8
"""A rise at once has this share of it in two of the blocks; one that grows late has a third."""
_AT_AN_END = 3
"""Blocks at the start, and at the end, whose medians stand for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """The steps of one worker and phase, and what their time consists of, (n,) int64 ns each.

    Attributes:
        own_ns: of the step, without waits for batches within it.
        rest_ns: from its end to the next step of the worker, without such waits.
        stretch: number of the loader that was set up last: of an epoch, or of a training of several
            in one process.
    """

    steps: PhaseSteps
    own_ns: Integers
    rest_ns: Integers
    stretch: Integers
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)


@fact
def step_times_of(spans: SpanTable) -> tuple[StepTimes, ...]:
    """Return the parts of the steps of one node, in the order of ``steps_of``."""
    return tuple(_step_times(spans))


def _step_times(spans: SpanTable) -> Iterator[StepTimes]:
    is_set_up = loader_rows(spans).initialize
    for steps in steps_of(spans):
        set_up_ns = spans.start_ns[is_set_up & (spans.worker == spans.workers.index(steps.worker))]
        waits, between_ns = worker_waits(spans, steps.worker), steps.next_ns - steps.end_ns
        yield StepTimes(
            steps=steps,
            own_ns=steps.duration_ns - covered_each(waits, steps.start_ns, steps.end_ns),
            rest_ns=between_ns - covered_each(waits, steps.end_ns, steps.next_ns),
            stretch=np.searchsorted(np.sort(set_up_ns), steps.start_ns, side="right"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """How steps, or what lies between them, grow slower.

    Attributes:
        is_between: whether the time between steps grows, not that in them.
        first_ns, last_ns: the usual length at the start and at the end of the job.
        extra_ns: time of all above the usual length at the start.
        begin_ns, end_ns: from when to when it was looked at.
        is_jump: whether it became longer at once and stayed so.
    """

    is_between: bool
    first_ns: float
    last_ns: float
    extra_ns: float
    begin_ns: int
    end_ns: int
    is_jump: bool


@fact
def slowdown_of(times: StepTimes) -> Slowdown | None:
    """Return how a series grows slower, ``None`` where it does not or has too few steps.

    The level at the start is that of a straight line through the medians of all blocks (Theil-Sen),
    since those of a steady growth are higher in the first block already; or the level of the first
    blocks where that is lower, as of a growth that begins late.
    """
    steps = times.steps
    if steps.n_steps < 2 * N_BLOCKS:
        return None
    whole_ns = times.own_ns + times.rest_ns
    is_work = _jumps(times.rest_ns) and _growth(times.rest_ns)[2] >= _growth(times.own_ns)[2]
    is_hidden = not (is_work or _rises(whole_ns) or _jumps(times.own_ns))
    if is_hidden:
        whole_ns = times.own_ns + _without_fall(times)
        if not (_rises(times.own_ns) and _rises(whole_ns)):
            return None
    step, rest = _growth(times.own_ns), _growth(times.rest_ns)
    is_between = rest[2] > step[2] and not is_hidden
    if not is_between and (stretches := _of_other_work(times)):
        found = (slowdown_of(stretch) for stretch in stretches)
        return max(filter(None, found), key=lambda slowdown: slowdown.extra_ns, default=None)
    first_ns, last_ns, _ = rest if is_between else step
    return Slowdown(
        is_between=is_between,
        first_ns=first_ns,
        last_ns=last_ns,
        extra_ns=_growth(whole_ns)[2],
        begin_ns=int(steps.start_ns[0]),
        end_ns=int(steps.end_ns.max()),
        is_jump=_is_jump(times.rest_ns if is_between else times.own_ns),
    )


def _without_fall(times: StepTimes) -> Integers:
    """Return (n,) the time behind each step as if it had not become shorter at once.

    Work between steps that ends does not hide that steps grow. What moves from there into the steps
    stays.
    """
    fall_ns, rise_ns = (np.diff(_medians(ns)) for ns in (times.rest_ns, times.own_ns))
    at = int(np.argmin(fall_ns))
    if 2 * rise_ns[at] >= -fall_ns[at]:
        return times.rest_ns
    first = sum(block.size for block in np.array_split(times.rest_ns, N_BLOCKS)[: at + 1])
    is_behind = np.arange(times.rest_ns.size) >= first
    return np.asarray(times.rest_ns - round(fall_ns[at]) * is_behind)


def _of_other_work(times: StepTimes) -> Sequence[StepTimes]:
    """Return the stretches of steps that do other work each, if steps grow in none of them.

    They are trainings of several models in one process, for example. Stretches of few steps, such
    as short epochs, show no growth of their own: of a steady one, half of the rise lies between
    the halves of the stretches, of trainings that differ nothing.
    """
    stretches = [
        replace(
            times,
            steps=times.steps.where(rows),
            **{name: getattr(times, name)[rows] for name in ("own_ns", "rest_ns", "stretch")},
        )
        for _, rows in rows_by_code(times.stretch)
    ]
    is_long = (
        len(stretches) > 1 and min(stretch.own_ns.size for stretch in stretches) >= 2 * N_BLOCKS
    )
    if not is_long or any(_rises(stretch.own_ns) for stretch in stretches):
        return ()
    first_ns, last_ns, _ = _growth(times.own_ns)
    halves = (np.array_split(stretch.own_ns, 2) for stretch in stretches)
    within_ns = sum(float(np.median(late) - np.median(early)) for early, late in halves)
    return () if within_ns >= (last_ns - first_ns) / 4 else stretches


def _is_jump(length_ns: Integers) -> bool:
    """Return whether two blocks hold most of the rise; a steady growth has a fifth there."""
    usual = _medians(length_ns)[1:]
    begin, end = np.median(usual[:_AT_AN_END]), np.median(usual[-_AT_AN_END:])
    return bool((usual[2:] - usual[:-2]).max() >= AT_ONCE_RATIO * (end - begin))


def _rises(length_ns: Integers) -> bool:
    """Return whether steps grow longer from block to block, or do so from the middle on."""
    usual = _medians(length_ns)
    early, late = usual[1 : N_BLOCKS // 2], usual[N_BLOCKS // 2 :]
    begins_late = bool((np.diff(late) > 0).all() and late[-1] >= JUMP_RATIO * early.max())
    return begins_late or trend_of(usual[1:]).agreement >= AGREEMENT_FROM


def _jumps(length_ns: Integers) -> bool:
    """Return whether steps, or what lies between them, become longer at once and stay so."""
    usual = _medians(length_ns)[1:]
    at = int(np.argmax(np.diff(usual))) + 1
    stays = _AT_AN_END <= at <= usual.size - _AT_AN_END
    return bool(stays and usual[at:].min() >= JUMP_RATIO * usual[:at].max())


def _medians(length_ns: Integers) -> Floats:
    return np.array([float(np.median(block)) for block in np.array_split(length_ns, N_BLOCKS)])


def _growth(length_ns: Integers) -> tuple[float, float, float]:
    """Return the level of (n,) lengths at the start and at the end, and what exceeds the first."""
    usual = _medians(length_ns)
    slope = trend_of(usual[1:]).slope
    middle, half = float(np.median(usual[1:])), N_BLOCKS / 2
    # The line through a jump begins below all steps: the first blocks say how far it may go.
    early = max(trend_of(usual[1 : N_BLOCKS // 2]).slope, 0.0) * (_AT_AN_END / 2 + 1)
    begin, end = (
        float(np.median(blocks)) for blocks in (usual[1:][:_AT_AN_END], usual[-_AT_AN_END:])
    )
    first = min(begin, max(middle - (half + 0.5) * slope, begin - early))
    last = max(end, min(middle + (half - 0.5) * slope, float(usual.max()) + slope / 2))
    sizes = np.array([block.size for block in np.array_split(length_ns, N_BLOCKS)])
    # A length that is stated occurred.
    first, last = (float(np.clip(at, length_ns.min(), length_ns.max())) for at in (first, last))
    return first, last, float((np.maximum(usual - first, 0.0) * sizes)[1:].sum())
