"""The pace of the workers, and who holds up the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.steps import FORWARD, phase_word, steps_of
from reportgen.merging import sum_by_key
from reportgen.profile import SpanTable
from reportgen.profile.spans import TRAINING_PHASES

LEAST_PACE_STEPS = 10
"""With fewer steps of a worker its pace is chance."""
LEAST_EXTRA_RATIO = 0.03
"""A worker whose extra time is below 3 % of the loop does not hold up the others noticeably."""
EQUAL_PACE_RATIO = 0.02
"""Steps whose medians differ by at most 2 % end together: the workers wait for each other."""
CHANCE_DEVIATIONS = 3.0
"""Of equal workers each is the slower one in half of the steps, and of ranks that take turns each
is last as often; more by three standard deviations is no chance: one of a thousand exceeds them."""
FASTEST_PCT = 10
"""The percentile that stands for undisturbed passes: a slow worker is slow in these as well, one
that lacks a core now and then is not."""
N_PACE_BLOCKS = 10
"""A stretch of a job, in which a worker may be slow, is one or several tenths of its steps."""
FAR_MORE = 1.2
"""A stretch counts if it costs this factor more than the steady part of being slow."""

GPU_OPERATORS = "gpu_functions-dev:"
"""The phase of a GPU's operators begins with it; the number of the GPU follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How many steps or forward passes there are, and in ns their median, fastest tenth and sum."""

    count: int
    median_ns: float | None
    fastest_ns: float | None
    total_ns: int


def _lengths(duration_ns: Integers) -> Lengths:
    fastest_ns, median_ns = (
        np.percentile(duration_ns, (FASTEST_PCT, 50)).tolist() if duration_ns.size else (None, None)
    )
    return Lengths(
        count=duration_ns.size,
        median_ns=median_ns,
        fastest_ns=fastest_ns,
        total_ns=int(duration_ns.sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One worker in one step phase: its steps, and its forward passes in them.

    Attributes:
        loop_ns: from the worker's first to its last step of any phase.
        begin_ns, end_ns: when it took steps of any phase.
        gpu: ``gpu1`` where the GPU's operators name a separate GPU for each worker of the node.
        is_alone: whether it trains a model by itself.
        number, start_ns, work_ns: (n,) numbers and starts of steps, and how long the forward passes
            in each took; steps without any are left out. Without forward passes it is the step.
    """

    worker: str
    phase: str
    step: Lengths
    forward: Lengths
    loop_ns: int
    begin_ns: int
    end_ns: int
    number: Integers
    start_ns: Integers
    work_ns: Integers
    gpu: str | None = None
    is_alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggingWorker:
    """A worker that computes longer than the others.

    Workers that train one model wait for each other in every step. The work of a worker before it
    waits is compared: the forward pass, which holds no communication; whole steps where few were
    recorded. A device that is slow in the forward pass is as slow in the backward pass, so that
    the steps of the slowest worker, which never waits, shrink in proportion.

    Attributes:
        usual_ns: median over the other workers of their median.
        extra_ns, extra_ratio: the longest time that the loop loses by it; as a share of the loop.
        is_waited_for: whether the steps of all workers are equally long nonetheless.
        is_for_a_time: whether it lags in a stretch of the job only, whose steps ``pace`` holds.
    """

    pace: Pace
    by_forward: bool
    median_ns: float
    usual_ns: float
    extra_ns: float
    extra_ratio: float
    is_waited_for: bool
    is_for_a_time: bool = False

    @property
    def longer_pct(self) -> float:
        """Return by how many percent it is longer."""
        return 100 * (self.median_ns / self.usual_ns - 1)


def paces_of(spans: SpanTable, *, alone: Collection[str] = ()) -> tuple[Pace, ...]:
    """Return the pace of each worker and step phase of one node; some of them train ``alone``."""
    forward = spans.where(spans.in_phases((FORWARD,)))
    paces, gpus, steps = [], _gpus_of(spans), spans.steps()
    for steps_of_phase in steps_of(spans):
        worker = spans.workers.index(steps_of_phase.worker)
        of_worker = forward.where(forward.worker == worker)
        row = np.searchsorted(steps_of_phase.start_ns, of_worker.start_ns, side="right") - 1
        is_inside = (row >= 0) & (of_worker.start_ns <= steps_of_phase.end_ns[np.maximum(row, 0)])
        row, duration_ns = row[is_inside], of_worker.duration_ns[is_inside]
        work_ns = np.zeros(steps_of_phase.n_steps, dtype=np.int64)
        np.add.at(work_ns, row, duration_ns)
        if not work_ns.any():
            work_ns = steps_of_phase.duration_ns
        is_kept = work_ns > 0
        paces.append(
            Pace(
                worker=steps_of_phase.worker,
                phase=steps_of_phase.phase,
                step=_lengths(steps_of_phase.duration_ns),
                forward=_lengths(duration_ns),
                loop_ns=steps_of_phase.loop_ns,
                begin_ns=int(steps.start_ns[steps.worker == worker].min()),
                end_ns=int(steps.end_ns[steps.worker == worker].max()),
                number=steps_of_phase.number[is_kept],
                start_ns=steps_of_phase.start_ns[is_kept],
                work_ns=work_ns[is_kept],
                gpu=gpus.get(steps_of_phase.worker),
                is_alone=steps_of_phase.worker in alone,
            )
        )
    return tuple(paces)


def _gpus_of(spans: SpanTable) -> dict[str, str]:
    on_gpus = spans.where(
        spans.in_phases(phase for phase in spans.phases if phase.startswith(GPU_OPERATORS))
    )
    pairs = np.unique(np.stack([on_gpus.worker, on_gpus.phase]), axis=1).T.tolist()
    owners = {phase: worker for worker, phase in pairs}
    found = {
        on_gpus.workers[worker]: on_gpus.phases[phase].replace(GPU_OPERATORS, "gpu")
        for phase, worker in owners.items()
    }
    return found if len(found) == len(pairs) else {}


def main_paces(paces: Sequence[Pace]) -> list[Pace]:
    """Return the paces of the phase that stands for the training: TRAIN, GLOBAL, most steps."""
    totals = sum_by_key({pace.phase: pace.step.count} for pace in paces)
    if not totals:
        return []
    named = (
        phase for word in TRAINING_PHASES for phase in sorted(totals) if phase_word(phase) == word
    )
    main = next(named, max(sorted(totals), key=lambda phase: totals[phase]))
    return [pace for pace in paces if pace.phase == main]


def find_straggler(every: Sequence[Pace], *, above_pct: float) -> LaggingWorker | None:
    """Return the worker that holds up the others, ``None`` without one or with too few steps.

    Paces are of all workers and phases of the job. Workers are compared that train together: not
    those that train alone, and no two trainings of which one follows the other. A straggler is
    longer than the usual other worker in the main phase by more than ``above_pct``; it costs time
    in all phases, unless it lags for a time only.
    """
    found = [_straggler_of(training, above_pct) for training in _trainings(every)]
    return max(filter(None, found), key=lambda lagging: lagging.extra_ns, default=None)


def _trainings(every: Sequence[Pace]) -> Iterator[list[Pace]]:
    """Yield the paces of workers that train at the same time, training by training."""
    training, until_ns = list[Pace](), 0
    for pace in sorted(every, key=lambda pace: (pace.begin_ns, pace.worker)):
        if pace.is_alone:
            continue
        if training and pace.begin_ns >= until_ns:
            yield training
            training = []
        training.append(pace)
        until_ns = max(until_ns, pace.end_ns)
    yield training


def _straggler_of(every: Sequence[Pace], above_pct: float) -> LaggingWorker | None:
    paces = main_paces(every)
    if len(paces) < 2 or min(pace.step.count for pace in paces) < LEAST_PACE_STEPS:
        return None
    always, stretch = _find(paces, every, above_pct), _stretch_of(paces, above_pct)
    for_a_time = _find(stretch, stretch, above_pct) if stretch else None
    if for_a_time and (always is None or for_a_time.extra_ns > FAR_MORE * always.extra_ns):
        return replace(for_a_time, is_for_a_time=True)
    return always


def _stretch_of(paces: Sequence[Pace], above_pct: float) -> list[Pace]:
    """Return the paces in the tenths of the steps in which one worker lags most; none if in all."""
    number, work_ns = _matched(paces)
    if number.size < 2 * LEAST_PACE_STEPS or not all(pace.forward.count for pace in paces):
        return []
    n_blocks = min(N_PACE_BLOCKS, number.size // LEAST_PACE_STEPS)
    blocks = np.array_split(np.arange(number.size), n_blocks)
    usual_ns = np.sort(work_ns, axis=0)[(len(paces) - 1) // 2]
    longer = (
        np.stack([np.median(work_ns[:, block] / usual_ns[block], axis=1) for block in blocks]) - 1
    )
    runs = [
        (sum(ratio for _, ratio in run), run[0][0], run[-1][0])
        for above in longer.T.tolist()
        for is_slow, each in groupby(enumerate(above), lambda pair: pair[1] > above_pct / 100)
        if is_slow and len(run := [*each]) < len(blocks)
    ]
    if not runs:
        return []
    _, begin, end = max(runs)
    first, last = int(number[blocks[begin][0]]), int(number[blocks[end][-1]])
    return [_within(pace, first, last) for pace in paces]


def _within(pace: Pace, first: int, last: int) -> Pace:
    """Return the pace in the steps of some numbers, with the length of their forward passes."""
    is_within = (pace.number >= first) & (pace.number <= last)
    forward = _lengths(pace.work_ns[is_within])
    part = forward.total_ns / int(pace.work_ns.sum())
    return replace(
        pace,
        step=replace(pace.step, total_ns=round(part * pace.step.total_ns)),
        forward=forward,
        number=pace.number[is_within],
        start_ns=pace.start_ns[is_within],
        work_ns=pace.work_ns[is_within],
    )


def _find(paces: Sequence[Pace], every: Sequence[Pace], above_pct: float) -> LaggingWorker | None:
    by_forward = min(pace.forward.count for pace in paces) >= LEAST_PACE_STEPS

    def lengths(pace: Pace) -> Lengths:
        return pace.forward if by_forward else pace.step

    def median_ns(pace: Pace) -> float:
        return lengths(pace).median_ns or 0.0

    slowest = max(paces, key=lambda pace: (median_ns(pace), pace.worker))
    others = [pace for pace in paces if pace is not slowest]
    usual_ns = float(np.median([median_ns(pace) for pace in others]))
    fastest_ns = float(np.median([lengths(pace).fastest_ns or 0.0 for pace in others]))
    least_ratio = 1 + above_pct / 100
    if not usual_ns or median_ns(slowest) <= usual_ns * least_ratio:
        return None
    if (lengths(slowest).fastest_ns or 0.0) <= fastest_ns * least_ratio:
        return None
    if not by_forward and _end_together(every):
        return None  # whoever is longer in its steps is shorter between them: it may wait in them
    least_ns = (usual_ns + median_ns(slowest)) / 2
    is_slow = np.array([median_ns(pace) > least_ns for pace in paces])
    step_ns = [pace.step.median_ns or 0.0 for pace in paces]
    own_ns = sum(pace.step.total_ns for pace in every if pace.worker == slowest.worker)
    saved_ratio = _saved_ratio(paces, is_slow, usual_ns / median_ns(slowest))
    extra_ns = saved_ratio * own_ns
    extra_ratio = extra_ns / slowest.loop_ns if slowest.loop_ns else 0.0
    if extra_ratio < LEAST_EXTRA_RATIO:
        return None
    return LaggingWorker(
        pace=slowest,
        by_forward=by_forward,
        median_ns=median_ns(slowest),
        usual_ns=usual_ns,
        extra_ns=extra_ns,
        extra_ratio=extra_ratio,
        is_waited_for=max(step_ns) <= (1 + EQUAL_PACE_RATIO) * min(step_ns),
    )


def between_each_ns(every: Sequence[Pace]) -> dict[str, float]:
    """Return for each worker how long the time between two of its steps is in the mean."""
    counts, steps_ns, loops_ns = (
        sum_by_key({pace.worker: pace.step.count} for pace in every),
        sum_by_key({pace.worker: pace.step.total_ns} for pace in every),
        {pace.worker: pace.loop_ns for pace in every},
    )
    return {worker: (loops_ns[worker] - steps_ns[worker]) / n for worker, n in counts.items()}


def _end_together(every: Sequence[Pace]) -> bool:
    """Return whether all workers take equally long for as many steps, whatever lies in these."""
    counts = sum_by_key({pace.worker: pace.step.count} for pace in every)
    cycles_ns = [pace.loop_ns / counts[pace.worker] for pace in every]
    return max(cycles_ns) <= (1 + EQUAL_PACE_RATIO) * min(cycles_ns)


def _saved_ratio(paces: Sequence[Pace], is_slow: Mask, faster: float) -> float:
    """Return the share by which the last work of each step would be shorter.

    The slow workers are thought to be as fast as the usual one, ``faster`` times what they are;
    then the slowest of all decides, as it did before. Where steps cannot be matched, all decide.

    Edge cases: 0 where the slow workers are not slower in clearly more than half of the steps.
    """
    number, work_ns = _matched(paces)
    if number.size < LEAST_PACE_STEPS:
        return 1 - faster
    is_last = work_ns[is_slow].max(axis=0) > np.median(work_ns[~is_slow], axis=0)
    if is_last.mean() - 0.5 < CHANCE_DEVIATIONS * 0.5 / np.sqrt(number.size):
        return 0.0
    if_faster_ns = np.where(is_slow[:, None], faster * work_ns, work_ns)
    return float(1 - if_faster_ns.max(axis=0).sum() / work_ns.max(axis=0).sum())


def _matched(paces: Sequence[Pace]) -> tuple[Integers, Floats]:
    """Return the (n,) numbers of the steps that all workers took, and (workers, n) their work."""
    number = paces[0].number
    for pace in paces[1:]:
        number = np.intersect1d(number, pace.number)
    rows = [pace.work_ns[np.searchsorted(pace.number, number)] for pace in paces]
    return number, np.array(rows, dtype=np.float64)
