"""Make jobs from drafts: run them with and without each fault, and write down the truth."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.job import Job, Order, UnsuitableError
from benchmarks.exam.log import StepLog
from benchmarks.exam.recording import Machine, Recording
from benchmarks.exam.truth import EVERYWHERE, Planted, Truth, sight_of
from reportgen.results.causes import Cause

LOOP, JOB = "loop", "job"
GPU_TIME = "GPU time of the loop"
GPU_TIME_OF_JOB = "GPU time of the job"
NOTHING = "nothing yet"

_TRIES = 60
_GROWTH = 1.05
_MOST_WANTED = 0.75
_LEAST_SHARE, _MOST_SHARE = 0.03, 0.85
_FULL_CORES, _FREE_CORES = 0.9, 0.8
"""Load from which on the cores are used up, and below which a loader more has room."""
_NEEDS_FULL_CORES = {Cause.CPU_PREPROCESSING, Cause.TOO_MANY_LOADERS}
_MOST_WAITING, _MOST_UNUSED = 0.03, 0.14
"""What a healthy job may show: the rest of a GPU's time goes into launches and other workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A job that was simulated.

    Attributes:
        used_ratio: Mean share of the loop in which kernels ran on the workers' GPUs; ``None``
            without GPUs.
        core_ratio: Mean load of the first node's cores in the loop.
        record: Returns what the profiler records of it.
        facts: For the truth.
    """

    machine: Machine
    steps: StepLog
    total_s: float
    used_ratio: float | None
    core_ratio: float
    record: Callable[[], Recording]
    facts: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A fault of a draft.

    Attributes:
        cause, places, also_right: As in the truth.
        share_of: ``loop`` and ``job`` are found by a run without the fault; else see ``cost``.
        cost: Returns the share of the GPUs' time that it wastes, or ``None`` for nothing.
        when: Returns when it acts, seconds; the loop by default.
    """

    cause: Cause
    places: tuple[str, ...] = (EVERYWHERE,)
    also_right: tuple[Cause, ...] = ()
    share_of: str = LOOP
    cost: Callable[[Seen], float | None] | None = None
    when: Callable[[Seen], tuple[float, float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job that is decided on; ``run`` simulates it with some of its faults only."""

    input: Input
    run: Callable[[Collection[Cause]], Seen]
    plants: tuple[Plant, ...] = field(default=())


Drafter = Callable[[Order, np.random.Generator, int], Draft]
"""Draws a job for an order; the number is the seed of all random lengths."""


def make_job(order: Order, draft: Drafter) -> Job:
    """Return the job of an order; the same order gives the same job.

    What cannot be had on the machine drawn, or turns out too small, is tried again, a bit larger.
    """
    for attempt in range(_TRIES):
        entropy = [order.seed, order.number, attempt]
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
        share = min(order.share_ratio * _GROWTH**attempt, _MOST_WANTED)
        wanted = replace(order, share_ratio=share)
        try:
            return _finish(wanted, draft(wanted, np.random.default_rng(seed), seed))
        except UnsuitableError:
            continue
    raise UnsuitableError(f"{order.name}: no fitting job in {_TRIES} attempts")


def _finish(order: Order, draft: Draft) -> Job:
    causes = {plant.cause for plant in draft.plants}
    _refuse_other_faults(draft.run([]))
    seen = draft.run(causes)
    _refuse_other_cores(seen, causes)
    planted = tuple(_planted(draft, plant, seen) for plant in draft.plants)
    truth = Truth(
        name=order.name,
        family=order.family,
        kind=order.kind,
        input=draft.input,
        start_unix_s=seen.machine.start_unix_s,
        duration_s=seen.total_s,
        loop_s=seen.steps.loop_s,
        planted=planted,
        facts=_facts(seen),
    )
    return Job(recording=seen.record(), truth=truth)


def _refuse_other_faults(seen: Seen) -> None:
    """Refuse a job that has another fault than those planted, such as too few cores."""
    is_used = seen.used_ratio is None or seen.used_ratio >= 1 - _MOST_UNUSED
    if seen.steps.waited_ratio > _MOST_WAITING or not is_used:
        raise UnsuitableError


def _refuse_other_cores(seen: Seen, causes: Collection[Cause]) -> None:
    """Refuse a job whose cores do not show what its loaders suffer from."""
    if _NEEDS_FULL_CORES & set(causes) and seen.core_ratio < _FULL_CORES:
        raise UnsuitableError
    if Cause.TOO_FEW_LOADERS in causes and seen.core_ratio > _FREE_CORES:
        raise UnsuitableError


def _planted(draft: Draft, plant: Plant, seen: Seen) -> Planted:
    share = _share(draft, plant, seen)
    if share is not None and not _LEAST_SHARE <= share <= _MOST_SHARE:
        raise UnsuitableError
    start_s, end_s = plant.when(seen) if plant.when else seen.steps.loop_s
    return Planted(
        cause=plant.cause,
        share_ratio=share,
        share_of=plant.share_of,
        places=plant.places,
        start_s=start_s,
        end_s=end_s,
        sight=sight_of(plant.cause, draft.input),
        also_right=plant.also_right,
    )


def _share(draft: Draft, plant: Plant, seen: Seen) -> float | None:
    if plant.cost is not None:
        return plant.cost(seen)
    good = draft.run([other.cause for other in draft.plants if other is not plant])
    if plant.share_of == LOOP:
        length_s = seen.steps.loop_length_s
        return (length_s - good.steps.loop_length_s) / length_s
    return (seen.total_s - good.total_s) / seen.total_s


def _facts(seen: Seen) -> dict[str, object]:
    machine, steps = seen.machine, seen.steps
    return {
        "nodes": machine.nodes,
        "gpus": machine.gpus,
        "cores": machine.cores,
        "workers_per_node": machine.workers_per_node,
        "interval_ms": machine.interval_ms,
        "n_steps": steps.number.size,
        "step_s": round(float(np.median(steps.end_s - steps.start_s)), 4),
        "waited_ratio": round(steps.waited_ratio, 4),
        "core_ratio": round(seen.core_ratio, 2),
        "used_ratio": None if seen.used_ratio is None else round(seen.used_ratio, 4),
        **seen.facts,
    }


def start_of(seen: Seen) -> tuple[float, float]:
    """Return the time before the loop."""
    return 0.0, seen.steps.loop_s[0]


def end_of(seen: Seen) -> tuple[float, float]:
    """Return the time after the loop."""
    return seen.steps.loop_s[1], seen.total_s


def unused(seen: Seen) -> float:
    """Return the share of the loop in which the workers' GPUs ran no kernels."""
    return 1 - (seen.used_ratio or 0.0)


def pauses_of(rows: tuple[int, ...]) -> Callable[[Seen], tuple[float, float]]:
    """Return what finds the time from the first to the last of the pauses after some steps."""

    def when(seen: Seen) -> tuple[float, float]:
        steps = seen.steps
        return float(steps.optimized_s[0, rows[0]]), float(steps.kept_s[0, rows[-1]])

    return when
