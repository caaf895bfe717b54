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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby

import numpy as np

from reportgen.arrays import Counts, Instants, Integers, Mask
from reportgen.facts.intervals import (
    NONE,
    NOTHING,
    Union,
    clip,
    covered_each,
    join,
    minus,
    union_of,
)
from reportgen.facts.loader import loads_as_usual
from reportgen.facts.samples import tick_lengths_ns, unrecorded_ns
from reportgen.facts.slow_steps import HANDFUL, OVER_TAIL, SlowSteps, slow_steps_of, tail_of
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import WARM_UP_STEPS
from reportgen.facts.usage import BUSY_ABOVE_PCT, IDLE_BELOW_PCT, at_work, in_use
from reportgen.merging import merge, merged
from reportgen.profile import NO_STEP, NodeProfile, SpanTable, SystemTable
from reportgen.units import NS_PER_S

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


def _pauses(
    start_ns: Instants,
    end_ns: Instants,
    *,
    usual_ns: float,
    step: Integers | int = NO_STEP,
    phase: int = NONE,
    is_between: bool = False,
) -> Pauses:
    return Pauses(
        start_ns=start_ns,
        end_ns=end_ns,
        usual_ns=np.full(start_ns.size, int(usual_ns)),
        is_between=np.full(start_ns.size, is_between),
        step=np.broadcast_to(step, start_ns.shape),
        phase=np.broadcast_to(phase, start_ns.shape),
    )


_NONE = _pauses(NOTHING.start_ns, NOTHING.end_ns, usual_ns=0)


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


def pauses_of_workers(part: NodeProfile, *, least_steps: int) -> tuple[WorkerPauses, ...]:
    """Return when each worker of a node paused; phases with fewer steps are not known enough."""
    every = [slow_steps_of(times) for times in step_times_of(part.spans)]
    gone = union_of(*unrecorded_ns(part.system, part.spans))
    return tuple(
        _of_worker(tuple(phases), gone, part.spans, least_steps)
        for _, phases in groupby(every, key=lambda slow: slow.times.steps.worker)
    )


def _of_worker(
    phases: Sequence[SlowSteps], gone: Union, spans: SpanTable, least_steps: int
) -> WorkerPauses:
    main = max((slow.times.steps for slow in phases), key=lambda steps: steps.n_steps)
    known = [(code, slow) for code, slow in enumerate(phases) if slow.n_steps >= least_steps]
    found = merge([_NONE, *(each for code, slow in known for each in _of_phase(slow, code))])
    found = found.where(np.argsort(found.start_ns, kind="stable"))
    is_gone = 2 * covered_each(gone, found.start_ns, found.end_ns) > found.length_ns
    of_worker = spans.where(spans.worker == spans.workers.index(main.worker))
    is_gone |= loads_as_usual(of_worker, found.start_ns, found.end_ns)
    whole = [(slow.times.steps.start_ns, slow.times.steps.next_ns) for slow in phases]
    all_steps = union_of(*map(np.concatenate, zip(*whole, strict=True)))
    first_ns, last_ns = int(all_steps.start_ns[0]), int(all_steps.end_ns[-1])
    span = Union(start_ns=np.array([first_ns]), end_ns=np.array([last_ns]))
    lost = clip(minus(gone, main.skipped), first_ns, last_ns)
    return WorkerPauses(
        worker=main.worker,
        n_steps=main.n_steps,
        loop_ns=main.loop_ns - lost.length_ns,
        phases=tuple(slow.times.steps.phase for slow in phases),
        pauses=found.where(~is_gone),
        ordinary=minus(all_steps, union_of(found.start_ns, found.end_ns)),
        recorded=minus(span, main.skipped),
        is_partial=main.skipped.length_ns > 0 or int(main.number[0]) > WARM_UP_STEPS,
    )


def _of_phase(slow: SlowSteps, code: int) -> Iterator[Pauses]:
    """Yield the steps of a phase that are pauses, and the times behind them that are."""
    steps = slow.times.steps
    edges_ns = (steps.start_ns, steps.end_ns, steps.next_ns)
    for is_between, is_pause in ((False, slow.is_pause_step), (True, slow.is_pause_between)):
        start_ns, end_ns = edges_ns[is_between : is_between + 2]
        usual_ns = float(np.median(end_ns - start_ns))
        yield _pauses(
            start_ns[is_pause],
            end_ns[is_pause],
            usual_ns=usual_ns,
            is_between=is_between,
            step=steps.step[is_pause],
            phase=code,
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
        usual_ns, tail_ns = float(np.median(length_ns)), tail_of(length_ns)
    rows = np.flatnonzero(length_ns > max(LEAST_IDLE_NS, OVER_TAIL * tail_ns))
    rows = rows[: rows.size if rows.size <= HANDFUL else 0]
    return _pauses(idle.start_ns[rows], idle.end_ns[rows], usual_ns=usual_ns)
