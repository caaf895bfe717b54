"""What is wrong with the GPUs of a job, or with how they are used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.exam.job import UnsuitableError
from benchmarks.exam.making import GPU_TIME, NOTHING, Plant, Seen, unused
from benchmarks.exam.threads_model.fault import Fault, Maker, longer
from benchmarks.exam.threads_model.params import Floats, Params
from reportgen.results.causes import Cause

_LEAST_UNUSED = 0.36
"""From here on a GPU is called under-used; less is what launching kernels costs anyway."""
_LEAST_UNEVEN = 0.06


def _underused(params: Params, share: float, _rng: np.random.Generator) -> Fault:
    """Launch kernels that are too small to fill the GPU."""
    used = 1 - max(share, _LEAST_UNUSED)

    def twist(one: Params) -> Params:
        return replace(
            one, launch_s=one.gpu_s, gpu_s=one.gpu_s * used, optimizer_s=one.optimizer_s * used
        )

    return Fault(
        base=params.looking(fill_s=0.0),
        twist=twist,
        plant=Plant(cause=Cause.GPU_UNDERUSED, share_of=GPU_TIME, cost=unused),
    )


def _swings(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let the GPU wait for the next portion of work again and again."""
    n = params.n_train
    work_s = float(rng.uniform(4, 20))
    every = max(1, round(work_s / params.cycle_s))
    each_s = longer(share) * every * params.cycle_s
    if n / every < 12 or each_s < 2.5 * params.machine.interval_ms / 1000:
        raise UnsuitableError
    gap_s = np.zeros(n)
    size = gap_s[every - 1 :: every].size
    gap_s[every - 1 :: every] = each_s * rng.uniform(0.7, 1.3, size)
    return Fault(
        base=params,
        twist=lambda one: replace(one, gap_extra_s=one.gap_extra_s + gap_s),
        plant=Plant(cause=Cause.GPU_SWINGS),
    )


def _idle(params: Params, _share: float, _rng: np.random.Generator) -> Fault:
    """Start fewer processes than there are GPUs."""
    machine = params.machine
    used = machine.workers_per_node * len(params.weights)
    places = tuple(
        f"algo-{node + 1}/gpu{index}"
        for node in range(machine.nodes)
        for index in range(used, machine.gpus)
    )
    if not places:
        raise UnsuitableError
    share = 1 - used / machine.gpus
    return Fault(
        base=params,
        twist=lambda one: one,
        plant=Plant(
            cause=Cause.GPU_IDLE, places=places, share_of=GPU_TIME, cost=lambda _seen: share
        ),
    )


def _stopped(params: Params, _share: float, rng: np.random.Generator) -> Fault:
    """Let one of the processes end early; the others go on without it."""
    machine = params.machine
    n = machine.n_workers
    if n < 2 or machine.workers_per_node < 2:
        raise UnsuitableError
    rank = int(rng.integers(n))
    after = float(rng.uniform(0.2, 0.85))
    node, local = divmod(rank, machine.workers_per_node)

    def stops(seen: Seen) -> tuple[float, float]:
        first_s, last_s = seen.steps.loop_s
        return first_s + after * (last_s - first_s), last_s

    return Fault(
        base=replace(params, is_synced=False),
        twist=lambda one: replace(one, stop=(rank, after)),
        plant=Plant(
            cause=Cause.GPU_STOPPED,
            places=(f"algo-{node + 1}/gpu{local}",),
            share_of=GPU_TIME,
            cost=lambda _seen: (1 - after) / n,
            when=stops,
        ),
    )


def _imbalance(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let one process give its GPUs unequal work."""
    n = len(params.weights)
    if n < 2:
        raise UnsuitableError
    least = 1 - max(share, _LEAST_UNEVEN) * n / (n - 1)
    if least < 0.12:
        raise UnsuitableError
    others = np.clip(least * rng.uniform(0.92, 1.08, n - 1), 0.08, 0.97)
    weights: Floats = np.r_[1.0, others]
    cost = 1 - float(weights.mean())
    places = tuple(
        place
        for node in range(1, params.machine.nodes + 1)
        for place in (f"algo-{node}", *(f"algo-{node}/gpu{index}" for index in range(n)))
    )
    return Fault(
        base=params.looking(fill_s=0.0),
        twist=lambda one: replace(one, weights=tuple(weights.tolist())),
        plant=Plant(
            cause=Cause.GPU_IMBALANCE, places=places, share_of=GPU_TIME, cost=lambda _seen: cost
        ),
    )


def _growth(params: Params, _share: float, rng: np.random.Generator) -> Fault:
    """Let the use of GPU memory grow."""
    start, grown = float(rng.uniform(12, 35)), float(rng.uniform(15, 55))
    return Fault(
        base=params.looking(memory_pct=start, saw_pct=float(rng.choice([0, 3]))),
        twist=lambda one: one.looking(growth_pct=grown),
        plant=Plant(cause=Cause.MEMORY_GROWTH, share_of=NOTHING, cost=lambda _seen: None),
    )


GPU_MAKERS: dict[Cause, Maker] = {
    Cause.GPU_UNDERUSED: _underused,
    Cause.GPU_SWINGS: _swings,
    Cause.GPU_IDLE: _idle,
    Cause.GPU_STOPPED: _stopped,
    Cause.GPU_IMBALANCE: _imbalance,
    Cause.MEMORY_GROWTH: _growth,
}
"""Who makes faults of GPUs and of what they do."""
