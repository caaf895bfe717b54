"""Make the jobs of an exam, and write down the truth about them.

The cost of a fault is what the same job, with the same random numbers, takes less without it.
What a report says of a job is never asked, and no job is made a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from benchmarks.exam.causes import VISIBILITY, Input, Sight
from benchmarks.exam.draw import Wish, coarser, draw, log_uniform
from benchmarks.exam.events import INITIALIZED, timelines_of, windows_of
from benchmarks.exam.faults import FAULTS, Drawn, Fault
from benchmarks.exam.healthy import HEALTHY
from benchmarks.exam.recording import Recording
from benchmarks.exam.samples import busy_ratio, samples_of
from benchmarks.exam.setup import Setup
from benchmarks.exam.training import Run
from benchmarks.exam.truth import Planted, Truth
from reportgen.results.causes import Cause

HEALTHY_RATIO, SINGLE_RATIO = 0.36, 0.3
_SHARES = ((0.03, 0.05), (0.05, 0.12), (0.12, 0.3), (0.3, 0.6))
_MOST_SAVED = 0.03
_LEAST_OVERLAP = 0.15
_USUAL_START, _USUAL_VALIDATION = 0.15, 0.3
"""Of the job, and of the loop: up to here both are usual, whatever they cost."""
_GROUPS = ("ranks", "loading", "pace", "")
"""Faults of the first groups decide on machines and loaders, and are planted first."""
_WITHOUT_GPU = {Cause.LONG_START, Cause.LONG_PAUSE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A job to make: its number in an exam and what is planted, or which healthy kind it is."""

    seed: int
    number: int
    causes: tuple[Cause, ...] = ()
    healthy_kind: str = ""
    share_ratio: float = 0.0

    @property
    def kind(self) -> str:
        """Return the planted causes, or which healthy kind."""
        return "+".join(self.causes) if self.causes else f"healthy-{self.healthy_kind}"

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return f"{self.number:03d}-{self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is written, and what is known."""

    recording: Recording
    truth: Truth


def orders_of(seed: int, n_jobs: int) -> tuple[Order, ...]:
    """Return the jobs of an exam: healthy ones, single faults in turn, pairs of faults in turn."""
    rng = np.random.default_rng([seed, 1])
    n_healthy, n_single = round(n_jobs * HEALTHY_RATIO), round(n_jobs * SINGLE_RATIO)
    kinds = rng.permutation(list(HEALTHY)).tolist()
    causes = [tuple(FAULTS)[at] for at in rng.permutation(len(FAULTS))]
    pairs = all_pairs()
    order = rng.permutation(len(pairs))
    parts: list[tuple[tuple[Cause, ...], str]] = [
        *(((), kinds[at % len(kinds)]) for at in range(n_healthy)),
        *(((causes[at % len(causes)],), "") for at in range(n_single)),
        *((pairs[order[at % order.size]], "") for at in range(n_jobs - n_healthy - n_single)),
    ]
    return tuple(
        Order(
            seed=seed,
            number=number,
            causes=planted,
            healthy_kind=kind,
            share_ratio=log_uniform(rng, *_SHARES[(number // len(causes) + number) % 4]),
        )
        for number, (planted, kind) in enumerate(parts)
    )


def all_pairs() -> list[tuple[Cause, Cause]]:
    """Return every pair of causes that one job can have."""
    return [
        pair
        for pair in combinations(FAULTS, 2)
        if not (FAULTS[pair[0]].group and FAULTS[pair[0]].group == FAULTS[pair[1]].group)
        and _both(FAULTS[pair[0]].wish, FAULTS[pair[1]].wish) is not None
    ]


def _both(one: Wish, other: Wish) -> Wish | None:
    inputs = tuple(each for each in one.inputs if each in other.inputs)
    gpus = tuple(each for each in one.gpus if each in other.gpus)
    if not inputs or not gpus:
        return None
    return Wish(
        inputs=inputs,
        gpus=gpus,
        least_ranks=max(one.least_ranks, other.least_ranks),
        one_process=one.one_process or other.one_process,
    )


def make(order: Order) -> Job:
    """Return the job of an order; the same order gives the same job."""
    base, drawn = drafted(order)
    run = Run(changed(base, drawn.values()))
    recording = recording_of(run)
    if not order.causes:
        return _healthy_job(order, run, recording)
    planted = []
    for cause in order.causes:
        others = [each for other, each in drawn.items() if other is not cause]
        planted.append(_planted(cause, drawn[cause], run, Run(changed(base, others)), recording))
    return Job(recording=recording, truth=_truth(order, run, tuple(planted)))


def drafted(order: Order) -> tuple[Setup, dict[Cause, Drawn]]:
    """Return a job without its faults, and these."""
    seed = int(np.random.SeedSequence([order.seed, order.number]).generate_state(1)[0])
    rng = np.random.default_rng(seed)
    if not order.causes:
        twist, wish = HEALTHY[order.healthy_kind]
        return coarser(twist(draw(rng, seed, wish), rng)), {}
    wish = FAULTS[order.causes[0]].wish
    for cause in order.causes[1:]:
        wish = _both(wish, FAULTS[cause].wish) or wish
    base, drawn = draw(rng, seed, wish), {}
    gain = order.share_ratio / (1 - order.share_ratio)
    for cause in sorted(order.causes, key=lambda each: _GROUPS.index(FAULTS[each].group)):
        base, drawn[cause] = FAULTS[cause].plant(base, rng, gain)
    return coarser(base), drawn


def changed(base: Setup, drawn: Iterable[Drawn]) -> Setup:
    """Return a job with some faults."""
    setup = base
    for each in drawn:
        setup = each.change(setup)
    return setup


def _healthy_job(order: Order, run: Run, recording: Recording) -> Job:
    saved = float(1 - Run(_ideal(run.setup)).loop_length_s / run.loop_length_s)
    truth = _truth(order, run, ())
    facts = {**truth.facts, "most_saved": round(saved, 4)}
    truth = replace(truth, facts=facts, is_healthy=saved < _MOST_SAVED)
    return Job(recording=recording, truth=truth)


def _ideal(setup: Setup) -> Setup:
    """Return the job with batches that cost nothing, and nothing else but training."""
    loading = replace(
        setup.loading, cpu_s=0.0, disk_bytes=0.0, net_bytes=0.0, begin_s=0.0, copy_s=0.0
    )
    return replace(setup, loading=loading, extras=(), programs=())


def recording_of(run: Run) -> Recording:
    """Return what the profiler records of a run."""
    machine, recorded = run.setup.machine, run.setup.recorded
    interval_s = machine.interval_ms / 1000
    at_s = np.arange(int(run.total_s / interval_s) + 1) * np.float64(interval_s)
    kept = np.ones(at_s.size, dtype=bool)
    for begin, end in recorded.pauses:
        kept &= (at_s < begin * run.total_s) | (at_s >= end * run.total_s)
    return Recording(
        machine=machine,
        samples=samples_of(run, at_s[kept]),
        ticks=np.flatnonzero(kept),
        timelines=timelines_of(run),
        is_finished=recorded.is_finished,
    )


def _planted(cause: Cause, drawn: Drawn, run: Run, twin: Run, recording: Recording) -> Planted:
    fault = FAULTS[cause]
    first_s, last_s = run.loop_s
    start_s, end_s = 0.0, first_s
    if drawn.when is not None:
        steps = [step for step in run.steps[0] if step.is_train]
        at = [min(int(part * len(steps)), len(steps) - 1) for part in drawn.when]
        start_s = steps[at[0]].start_s
        end_s = last_s if drawn.when[1] >= 1 else steps[at[1]].kept_s
    sight = _sight(cause, drawn, run, recording, (start_s, end_s))
    share = _share(fault, run, twin)
    if sight is Sight.EFFECT_ONLY and not _lowers_use(run, twin, share or 0.0):
        sight = Sight.INVISIBLE
    return Planted(
        cause=cause,
        share_ratio=share,
        share_of=fault.share_of,
        places=drawn.places,
        start_s=start_s,
        end_s=min(end_s, last_s),
        seen_s=_seen(run, start_s, min(end_s, last_s)),
        sight=sight,
        also_right=drawn.also_right,
        is_estimated=fault.is_estimated,
    )


def _lowers_use(run: Run, twin: Run, share_ratio: float) -> bool:
    """Return whether samples show at least half of a cost: devices do less than without the fault.

    GPUs that wait for a peer in a collective look busy, and cores that are used up stay so.
    """
    before, after = (
        used_ratio(each) if run.setup.has_gpus else _core_ratio(each) for each in (twin, run)
    )
    return bool(after <= before * (1 - share_ratio / 2))


def _seen(run: Run, start_s: float, end_s: float) -> tuple[float, float]:
    windows = windows_of(run)
    first_s, last_s = max(start_s, windows[0][0]), min(end_s, windows[-1][1])
    return (first_s, last_s) if first_s < last_s else (start_s, end_s)


def _share(fault: Fault, run: Run, twin: Run) -> float | None:
    if fault.share_of == "job":
        return float(1 - twin.total_s / run.total_s)
    if fault.share_of == "loop":
        return float(1 - twin.loop_length_s / run.loop_length_s)
    if fault.share_of.startswith("GPU"):
        return used_ratio(twin) - used_ratio(run)
    return None


def used_ratio(run: Run) -> float:
    """Return the mean part of the loop in which kernels ran on the GPUs of the job."""
    setup = run.setup
    if not setup.has_gpus:
        return 1.0
    used = sum(busy_ratio(spans, run.loop_s) for spans in run.gpu) / len(run.gpu)
    n_gpus = setup.machine.gpus * setup.machine.nodes
    used *= 1 - setup.n_idle_gpus / n_gpus
    return used * float(np.mean(setup.gpu_levels)) if setup.gpu_levels else used


def _sight(
    cause: Cause,
    drawn: Drawn,
    run: Run,
    recording: Recording,
    acts_s: tuple[float, float],
) -> Sight:
    """Return what the recording can tell of a fault: the table, and whether it was recorded."""
    setup = run.setup
    sight = VISIBILITY[cause, setup.input].sight
    if _is_usual(cause, run):
        return Sight.INVISIBLE
    if sight is not Sight.IDENTIFIABLE:
        return sight
    if drawn.is_hidden:
        return Sight.EFFECT_ONLY
    if setup.input is not Input.SYSTEM:
        if drawn.needs == "loader" and not _has_loader(recording):
            return Sight.EFFECT_ONLY
        length_s = max(acts_s[1] - acts_s[0], 1.0)
        seen_s = sum(
            max(0.0, min(end, acts_s[1]) - max(begin, acts_s[0])) for begin, end in windows_of(run)
        )
        if seen_s >= _LEAST_OVERLAP * length_s:
            return sight
        sight = VISIBILITY[cause, Input.SYSTEM].sight
    is_seen = setup.has_gpus or cause in _WITHOUT_GPU
    is_coarse = drawn.scale_s < 2 * setup.machine.interval_ms / 1000
    if sight is Sight.IDENTIFIABLE and (is_coarse or not is_seen):
        return Sight.EFFECT_ONLY
    return sight


def _is_usual(cause: Cause, run: Run) -> bool:
    """Return whether a start, or validation in what was recorded, is short enough to be usual."""
    if cause is Cause.LONG_START:
        return run.loop_s[0] < _USUAL_START * run.total_s
    if cause is Cause.MUCH_VALIDATION:
        recorded = [
            step
            for step in run.steps[0]
            if any(begin <= step.start_s <= end for begin, end in windows_of(run))
        ]
        lengths_s = np.array([step.kept_s - step.asked_s for step in recorded])
        is_valid = np.array([not step.is_train for step in recorded])
        return bool(lengths_s[is_valid].sum() < _USUAL_VALIDATION * lengths_s.sum())
    return False


def _has_loader(recording: Recording) -> bool:
    return any(event.phase == INITIALIZED for line in recording.timelines for event in line.events)


def _truth(order: Order, run: Run, planted: tuple[Planted, ...]) -> Truth:
    setup, machine = run.setup, run.setup.machine
    waited_s = max(sum(step.there_s - step.asked_s for step in steps) for steps in run.steps)
    return Truth(
        name=order.name,
        kind=order.kind,
        input=setup.input,
        start_unix_s=machine.start_unix_s,
        duration_s=run.total_s,
        loop_s=run.loop_s,
        planted=planted,
        facts={
            "nodes": machine.nodes,
            "gpus": machine.gpus,
            "cores": machine.cores,
            "ranks": machine.n_workers,
            "interval_ms": machine.interval_ms,
            "n_steps": len(run.steps[0]),
            "cycle_s": round(float(run.loop_length_s) / len(run.steps[0]), 4),
            "start_s": round(float(run.loop_s[0]), 1),
            "loop_s": round(float(run.loop_length_s), 1),
            "sync": setup.sync.value,
            "num_workers": setup.loading.num_workers,
            "waited_ratio": round(float(waited_s / run.loop_length_s), 4),
            "used_ratio": round(float(used_ratio(run)), 3),
            "windows": len(setup.recorded.windows),
            "programs": len(setup.programs),
            "loop_on_cores": round(float(_core_ratio(run)), 2),
        },
    )


def _core_ratio(run: Run) -> float:
    """Return the mean load of the first node's cores in the loop, without waiting for the GPU."""
    first_s, last_s = run.loop_s
    work = [
        done * max(0.0, min(end, last_s) - max(begin, first_s)) / max(end - begin, 1e-9)
        for _, begin, end, done in run.nodes[0].cores.done
    ]
    return sum(work) / (last_s - first_s) / run.setup.machine.cores
