"""Long pauses: stretches without progress that stand far out of the rhythm of a job.

Where steps are recorded, a worker pauses inside one step, or between two of them. Where only
samples are recorded, also beside windows of recorded steps, all GPUs of a node idle at once (all
cores where it has no GPU), or some do while the others are busy, as those are that wait in a
collective. In both cases a pause is
many times as long as what is usual, and clearly longer than the tail of the usual: input that comes
in bursts and steps with a heavy tail are no pauses. Repeated delays with a rhythm are not pauses
either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from reportgen.arrays import Counts, Instants, Integers, Mask
from reportgen.facts.intervals import NONE, Union, clip, covered_each, join, minus, union_of
from reportgen.facts.loader import loads_as_usual
from reportgen.facts.samples import tick_lengths_ns, unrecorded_ns
from reportgen.facts.slow_steps import STOPS_CYCLES, SlowSteps, slow_steps_of
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import WARM_UP_STEPS, PhaseSteps
from reportgen.facts.usage import BUSY_ABOVE_PCT, IDLE_BELOW_PCT, at_work, in_use
from reportgen.merging import merge, merged
from reportgen.profile import NO_STEP, NodeProfile, SpanTable, SystemTable
from reportgen.profile.memo import fact
from reportgen.units import NS_PER_S

OVER_TAIL = 4.0
"""A pause exceeds the usual by four times as much as the tail does. Of log-normal lengths that
scatter by half of their mean, not one in 100,000 does."""
RARE_RATIO = 0.01
RARE_COUNT = 10
"""The tail begins where one length of a hundred is longer, or ten of all: lengths that occur more
often are no exception but slow steps; StepOutlier also counts ten or more."""
OF_LONGEST_RATIO = 0.1
"""A stop that costs less than a tenth of the longest is not what a reader looks for."""
HANDFUL = 3
"""More long steps, or times between steps, than a few are a matter of StepOutlier; GPUs that idle
more often swing between work and rest."""
LEAST_IDLE_NS = 5 * NS_PER_S
"""Idle stretches of some seconds occur whenever data come late, at every checkpoint and log."""
LEAST_RUNS = 10
"""With fewer idle stretches than this their tail is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """The pauses of one worker, or of all devices of one node, in order of time, (n,) each.

    Attributes:
        start_ns, end_ns: first and last instant of the pause.
        usual_ns: usual duration of the same part; the rest is lost.
        is_between: whether it lies between two steps, not inside one.
        step: number of the step that is slow, or behind which the pause lies; else ``NO_STEP``.
        phase: place of that step's phase among those of the worker, ``NONE`` of GPUs.
    """

    start_ns: Instants = merged(np.concatenate)
    end_ns: Instants = merged(np.concatenate)
    usual_ns: Integers = merged(np.concatenate)
    is_between: Mask = merged(np.concatenate)
    step: Integers = merged(np.concatenate)
    phase: Integers = merged(np.concatenate)

    @property
    def n_pauses(self) -> int:
        """Return how many there are."""
        return int(self.start_ns.size)

    @property
    def length_ns(self) -> Integers:
        """Return how long each lasts."""
        return self.end_ns - self.start_ns

    @property
    def lost_ns(self) -> Integers:
        """Return how much longer each is than usual."""
        return self.length_ns - self.usual_ns

    def where(self, rows: Mask | Integers | slice) -> Pauses:
        """Return some of them."""
        return Pauses(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})


def _a_few(
    start_ns: Instants,
    end_ns: Instants,
    *,
    usual_ns: float,
    step: Integers | int = NO_STEP,
    phase: Integers | int = NONE,
    is_between: bool = False,
) -> Pauses:
    """Return the longest if they are few; many alike are no exception."""
    pauses = Pauses(
        start_ns=start_ns,
        end_ns=end_ns,
        usual_ns=np.full(start_ns.size, int(usual_ns)),
        is_between=np.full(start_ns.size, is_between),
        step=np.broadcast_to(step, start_ns.shape),
        phase=np.broadcast_to(phase, start_ns.shape),
    )
    longest = pauses.where(pauses.lost_ns >= OF_LONGEST_RATIO * pauses.lost_ns.max(initial=0))
    return longest.where(slice(None if longest.n_pauses <= HANDFUL else 0))


def _usual_and_tail_ns(length_ns: Integers) -> tuple[float, float]:
    """Return the median of (n,) lengths, n >= 1, and the length at which their tail begins."""
    rare = max(RARE_RATIO, min(RARE_COUNT / length_ns.size, 0.5))
    tail_ns = np.quantile(length_ns, 1 - rare, method="lower")
    return float(np.median(length_ns)), float(tail_ns)


# Workers with steps


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPauses:
    """One worker, and when it paused.

    Attributes:
        n_steps: how many steps its largest phase has.
        loop_ns: its loop, as far as anything was recorded of it.
        phases: its phases, as events name them.
        ordinary: its steps with what follows them, without those that hold a pause.
        recorded: from its first recorded step to its last, without steps that were not recorded.
        is_partial: whether such steps are known to have run.
    """

    worker: str
    n_steps: int
    loop_ns: int
    phases: tuple[str, ...]
    pauses: Pauses
    ordinary: Union
    recorded: Union
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """All steps of a worker in order of time; ``phase`` is the place of each step's phase."""

    phases: tuple[SlowSteps, ...]
    start_ns: Instants
    end_ns: Instants
    next_ns: Instants
    step: Integers
    phase: Integers
    in_rhythm: Mask


@fact
def pauses_of_workers(part: NodeProfile, *, least_steps: int) -> tuple[WorkerPauses, ...]:
    """Return when each worker of a node paused; phases with fewer steps are not known enough."""
    workers: dict[str, list[SlowSteps]] = {}
    for times in step_times_of(part.spans):
        workers.setdefault(times.steps.worker, []).append(slow_steps_of(times))
    gone = union_of(*unrecorded_ns(part.system, part.spans))
    return tuple(
        _of_worker(_joined(phases), gone, part.spans, least_steps) for phases in workers.values()
    )


def _joined(phases: Sequence[SlowSteps]) -> _Steps:
    steps = [slow.times.steps for slow in phases]
    codes = np.repeat(np.arange(len(phases)), [phase.n_steps for phase in steps])
    in_rhythm = np.concatenate([slow.in_rhythm for slow in phases])
    columns = {
        name: np.concatenate([getattr(phase, name) for phase in steps])
        for name in ("start_ns", "end_ns", "next_ns", "step")
    }
    order = np.argsort(columns["start_ns"], kind="stable")
    ordered = {name: values[order] for name, values in columns.items()}
    return _Steps(phases=tuple(phases), phase=codes[order], in_rhythm=in_rhythm[order], **ordered)


def _of_worker(every: _Steps, gone: Union, spans: SpanTable, least_steps: int) -> WorkerPauses:
    main = max((slow.times.steps for slow in every.phases), key=lambda steps: steps.n_steps)
    parts = [
        _of_phase(slow, code)
        for code, slow in enumerate(every.phases)
        if slow.times.steps.n_steps >= least_steps
    ]
    parts.append(_long_gaps(every, main, is_known=main.n_steps >= least_steps))
    pauses = merge(parts)
    pauses = pauses.where(np.argsort(pauses.start_ns, kind="stable"))
    is_gone = 2 * covered_each(gone, pauses.start_ns, pauses.end_ns) > pauses.length_ns
    of_worker = spans.where(spans.worker == spans.workers.index(main.worker))
    is_gone |= loads_as_usual(of_worker, pauses.start_ns, pauses.end_ns)
    pauses = pauses.where(~is_gone)
    rows = np.searchsorted(every.start_ns, pauses.start_ns, side="right") - 1
    ordinary = np.delete(np.arange(every.start_ns.size), rows)
    first_ns, last_ns = int(every.start_ns[0]), int(every.end_ns.max())
    whole = Union(start_ns=np.array([first_ns]), end_ns=np.array([last_ns]))
    lost = clip(minus(gone, main.skipped), first_ns, last_ns)
    return WorkerPauses(
        worker=main.worker,
        n_steps=main.n_steps,
        loop_ns=main.loop_ns - lost.length_ns,
        phases=tuple(slow.times.steps.phase for slow in every.phases),
        pauses=pauses,
        ordinary=union_of(every.start_ns[ordinary], every.next_ns[ordinary]),
        recorded=minus(whole, main.skipped),
        is_partial=main.skipped.length_ns > 0 or int(main.number[0]) > WARM_UP_STEPS,
    )


def _stands_out(length_ns: Integers, cycle_ns: Integers) -> Mask:
    """Return which of (n,) lengths, n >= 1, are far out of the usual; cycles are the scale."""
    usual_ns, tail_ns = _usual_and_tail_ns(length_ns)
    limit_ns, least_ns = STOPS_CYCLES * float(np.median(cycle_ns)), OVER_TAIL * (tail_ns - usual_ns)
    return np.asarray(length_ns - usual_ns > max(limit_ns, least_ns))


def _of_phase(slow: SlowSteps, code: int) -> Pauses:
    """Return the steps of a phase that are pauses: a few that stand out, outside of rhythms."""
    steps = slow.times.steps
    is_free = (np.arange(steps.n_steps) >= WARM_UP_STEPS) & ~slow.in_rhythm
    long = steps.where(is_free & _stands_out(steps.duration_ns, steps.cycle_ns))
    usual_ns = float(np.median(steps.duration_ns))
    return _a_few(long.start_ns, long.end_ns, usual_ns=usual_ns, step=long.step, phase=code)


def _long_gaps(every: _Steps, main: PhaseSteps, *, is_known: bool) -> Pauses:
    """Return the stops between the steps of any phase; none where these are not known enough."""
    gap_ns = every.next_ns - every.end_ns
    is_long = _stands_out(gap_ns, main.cycle_ns) & ~every.in_rhythm
    is_long[:1] = False
    rows = np.flatnonzero(is_long & is_known)
    return _a_few(
        every.end_ns[rows],
        every.next_ns[rows],
        usual_ns=float(np.median(gap_ns)),
        step=every.step[rows],
        phase=every.phase[rows],
        is_between=True,
    )


# GPUs, or cores, where no steps were recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePauses:
    """When all devices of a node idled, or waited for those that did, from first work to last.

    Attributes:
        work_ns: first start and last end of work; equal for a node that never works.
        n_ticks: samples of it.
        busy: when all GPUs look busy, as those do that wait in a collective.
    """

    work_ns: tuple[int, int]
    n_ticks: int
    busy: Union
    pauses: Pauses


def idle_pauses_of(system: SystemTable) -> IdlePauses | None:
    """Return when the GPUs of a node paused, or the cores of one without a GPU.

    Edge cases: ``None`` where none of them is ever used.
    """
    is_busy, is_known = at_work(system)
    busy = np.flatnonzero(is_busy)
    if not busy.size:
        return None
    length_ns, _ = tick_lengths_ns(system)
    end_ns = system.tick_ns + length_ns
    n_there, n_idle, n_full = _counts_at_work(system)
    # In a collective GPUs look busy that wait for one that idles.
    are_held_up = (n_idle > 0) & (n_full > 0) & (n_idle + n_full == n_there)
    is_idle: Mask = np.asarray((~is_busy & is_known) | are_held_up)
    is_idle[: busy[0]] = is_idle[busy[-1] + 1 :] = False
    idle, full = (
        union_of(system.tick_ns[mask], end_ns[mask])
        for mask in (is_idle, (n_full > 0) & (n_full == n_there))
    )
    work_ns = int(system.tick_ns[busy[0]]), int(end_ns[busy[-1]])
    return IdlePauses(
        work_ns=work_ns,
        n_ticks=int(busy[-1] - busy[0]) + 1,
        busy=full,
        pauses=_idle_pauses(idle),
    )


def _counts_at_work(system: SystemTable) -> tuple[Counts, Counts, Counts]:
    """Return (n_ticks,) how many used GPUs are between first and last work, idle, and busy then."""
    n_gpus, n_idle, n_busy = np.zeros((3, system.n_ticks), dtype=np.int64)
    for use in in_use(system):
        is_idle = use < IDLE_BELOW_PCT
        works = np.flatnonzero(~is_idle & np.isfinite(use))
        there = slice(works[0], works[-1] + 1) if works.size else slice(0)
        n_gpus[there] += 1
        n_idle[there] += is_idle[there]
        n_busy[there] += use[there] > BUSY_ABOVE_PCT
    return n_gpus, n_idle, n_busy


def pauses_beside_steps(system: SystemTable, workers: Sequence[WorkerPauses]) -> IdlePauses | None:
    """Return when all devices of a node paused while steps ran of which none was recorded.

    Where all steps were recorded, they tell of each pause themselves.
    """
    idle = idle_pauses_of(system)
    if idle is None:
        return None
    pauses = idle.pauses
    recorded = join([worker.recorded for worker in workers])
    is_outside = 2 * covered_each(recorded, pauses.start_ns, pauses.end_ns) < pauses.length_ns
    is_partial = any(worker.is_partial for worker in workers)
    return replace(idle, pauses=pauses.where(is_outside & is_partial))


def _idle_pauses(idle: Union) -> Pauses:
    length_ns = idle.end_ns - idle.start_ns
    usual_ns = tail_ns = 0.0
    if length_ns.size >= LEAST_RUNS:
        usual_ns, tail_ns = _usual_and_tail_ns(length_ns)
    rows = np.flatnonzero(length_ns > max(LEAST_IDLE_NS, OVER_TAIL * tail_ns))
    return _a_few(idle.start_ns[rows], idle.end_ns[rows], usual_ns=usual_ns)
