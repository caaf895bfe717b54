"""How each cause spoils a healthy job of the fluid model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.fluid_model.draw import Frame
from benchmarks.exam.fluid_model.plan import Plan
from benchmarks.exam.job import UnsuitableError
from benchmarks.exam.making import (
    GPU_TIME,
    GPU_TIME_OF_JOB,
    JOB,
    NOTHING,
    Plant,
    Seen,
    end_of,
    pauses_of,
    start_of,
    unused,
)
from reportgen.results.causes import Cause
from sample_data.spec import node_name

Spoil = Callable[[Plan], Plan]
_GPUS = (1, 2, 4, 8)
_EVENTS = (Input.PYTORCH, Input.TENSORFLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sabotage:
    """A fault in the making: the job it needs, what spoils it, and the truth about it."""

    base: Plan
    spoil: Spoil
    plant: Plant


Saboteur = Callable[[Plan, np.random.Generator, float], Sabotage]
"""Takes a job, random numbers, and the share of the time that the fault should cost."""


def _gain(share: float) -> float:
    """Return how much longer a cycle becomes, relative to the healthy one."""
    return share / (1 - share)


def _cores_per_worker(plan: Plan) -> float:
    return plan.machine.cores / plan.machine.workers_per_node


def _few_loaders(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Start fewer loaders than the batches need, on a host with cores to spare."""
    cycle_s = plan.cycle_s
    room = math.floor(0.8 * _cores_per_worker(plan) - 1)
    few = 0 if share < 0.45 and rng.random() < 0.5 else int(rng.integers(1, max(2, room // 3)))
    each_s = cycle_s * (_gain(share) if few == 0 else few / (1 - share))
    many = max(few + 1, math.ceil(each_s / cycle_s * 1.6))
    if many > room:
        raise UnsuitableError
    stored = 0.1 * each_s if plan.feed.disk_s else 0.0
    feed = replace(plan.feed, core_s=each_s - stored, disk_s=stored, net_s=0.0, processes=many)
    if stored * plan.machine.workers_per_node > 0.5 * cycle_s:
        feed = replace(feed, core_s=each_s, disk_s=0.0)
    return Sabotage(
        base=replace(plan, feed=feed),
        spoil=lambda job: replace(job, feed=replace(job.feed, processes=few)),
        plant=Plant(cause=Cause.TOO_FEW_LOADERS),
    )


def _many_loaders(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Start several loaders per core, with so much work that they take the cores from the host."""
    cores = _cores_per_worker(plan)
    fit = max(1, round(cores) - 1)
    many = math.ceil(cores * rng.uniform(1.8, 2.6 + 4 * share)) + 1
    work_s = plan.cycle_s * (cores - 0.8) * float(rng.uniform(0.8, 0.95))
    feed = replace(plan.feed, processes=fit, core_s=work_s, disk_s=0.0, net_s=0.0, wobble=0.05)
    pace = replace(plan.pace, launch_s=plan.pace.kernels_s * float(rng.uniform(0.7, 0.97)))
    return Sabotage(
        base=replace(plan, feed=replace(feed, jitter=min(feed.jitter, 0.15)), pace=pace),
        spoil=lambda job: replace(job, feed=replace(job.feed, processes=many)),
        plant=Plant(cause=Cause.TOO_MANY_LOADERS),
    )


def _heavy_batches(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Let the batches need more than all cores can do."""
    cores = _cores_per_worker(plan)
    processes = math.ceil(cores * rng.uniform(1.0, 1.15))
    usable = cores - 0.3
    feed = replace(plan.feed, processes=processes, disk_s=0.0, net_s=0.0)
    feed = replace(feed, core_s=0.45 * usable * plan.cycle_s)
    pace = replace(plan.pace, launch_s=min(plan.pace.launch_s, 0.5 * plan.pace.kernels_s))
    heavy_s = usable * plan.cycle_s / (1 - share)
    return Sabotage(
        base=replace(plan, feed=feed, pace=pace),
        spoil=lambda job: replace(job, feed=replace(job.feed, core_s=heavy_s)),
        plant=Plant(cause=Cause.CPU_PREPROCESSING),
    )


def _roomy(plan: Plan, rng: np.random.Generator) -> Plan:
    """Return the job with loaders whose cores are never the limit."""
    room = math.floor(_cores_per_worker(plan)) - 1
    if room < 2:
        raise UnsuitableError
    processes = int(rng.integers(2, min(room, 10) + 1))
    core_s = plan.cycle_s * processes * float(rng.uniform(0.08, 0.3))
    return replace(plan, feed=replace(plan.feed, processes=processes, core_s=core_s))


def _slow_disk(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    plan = _roomy(plan, rng)
    fair_s = plan.cycle_s / plan.machine.workers_per_node
    slow_s = fair_s / (1 - share)
    feed = replace(plan.feed, disk_s=0.3 * fair_s, net_s=0.0)
    bytes_per_s = float(10 ** rng.uniform(7.5, 8.9))
    return Sabotage(
        base=replace(plan, feed=replace(feed, batch_bytes=bytes_per_s * slow_s)),
        spoil=lambda job: replace(job, feed=replace(job.feed, disk_s=slow_s)),
        plant=Plant(cause=Cause.IO_WAIT),
    )


def _slow_network(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    plan = _roomy(plan, rng)
    fair_s = plan.cycle_s / plan.machine.workers_per_node
    slow_s = fair_s / (1 - share)
    feed = replace(plan.feed, net_s=0.3 * fair_s, disk_s=0.0)
    bytes_per_s = float(rng.choice([6e7, 1.25e8, 3e8, 6e8, 1.2e9]))
    return Sabotage(
        base=replace(plan, feed=replace(feed, batch_bytes=bytes_per_s * slow_s)),
        spoil=lambda job: replace(job, feed=replace(job.feed, net_s=slow_s)),
        plant=Plant(cause=Cause.NETWORK_INPUT),
    )


def _pageable(plan: Plan, _rng: np.random.Generator, share: float) -> Sabotage:
    copy_s = plan.pace.copy_s + plan.cycle_s * _gain(share)

    def spoil(job: Plan) -> Plan:
        feed, pace = replace(job.feed, is_pinned=False), replace(job.pace, copy_s=copy_s)
        return replace(job, feed=feed, pace=pace)

    return Sabotage(base=plan, spoil=spoil, plant=Plant(cause=Cause.UNPINNED_MEMORY))


def _logging(plan: Plan, _rng: np.random.Generator, share: float) -> Sabotage:
    logging_s = plan.pace.logging_s + plan.cycle_s * _gain(share)
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(job, pace=replace(job.pace, logging_s=logging_s)),
        plant=Plant(cause=Cause.WORK_BETWEEN_STEPS),
    )


def _late_start(plan: Plan, _rng: np.random.Generator, share: float) -> Sabotage:
    extra_s = (plan.n_steps * plan.cycle_s + plan.setup_s) * _gain(share)
    if not 12 < extra_s < 1200:
        raise UnsuitableError
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(job, setup_s=job.setup_s + extra_s),
        plant=Plant(cause=Cause.LONG_START, share_of=JOB, when=start_of),
    )


def _hiccups(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    every = float(10 ** rng.uniform(1.2, 2.1))
    extra_s = plan.cycle_s * _gain(share) * every
    if extra_s < 1.5 * plan.cycle_s or plan.n_steps / every < 9 or extra_s > 45:
        raise UnsuitableError
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job, trouble=replace(job.trouble, hiccup_every=every, hiccup_s=extra_s)
        ),
        plant=Plant(cause=Cause.RANDOM_SLOW_STEPS),
    )


def _beat(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    beat = int(rng.choice([10, 16, 20, 25, 32, 50, 64, 100, 128, 200]))
    extra_s = plan.cycle_s * _gain(share) * beat
    n_train = sum(train for train, _ in plan.passes)
    if extra_s < 1.5 * plan.cycle_s or n_train / beat < 10 or extra_s > 45:
        raise UnsuitableError
    is_inside = bool(rng.random() < 0.5)
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job,
            trouble=replace(job.trouble, beat=beat, beat_s=extra_s, is_beat_inside=is_inside),
        ),
        plant=Plant(cause=Cause.PERIODIC_SLOW_STEPS),
    )


def _rollouts(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Let the host play for seconds, of varying length, before the GPU learns again."""
    least_s = max(4.0, 8 * plan.machine.interval_ms / 1000)
    every = max(2, round(least_s * rng.uniform(1, 3) / min(_gain(share), 1) / plan.cycle_s))
    mean_s = every * plan.cycle_s * _gain(share)
    n_train = sum(train for train, _ in plan.passes)
    if mean_s < least_s or mean_s > 60 or n_train / every < 9:
        raise UnsuitableError
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job, trouble=replace(job.trouble, rollout_every=every, rollout_s=mean_s)
        ),
        plant=Plant(cause=Cause.GPU_SWINGS, also_right=(Cause.PERIODIC_SLOW_STEPS,)),
    )


def _creep(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    power = float(rng.choice([1.0, 1.0, 2.0]))
    last_s = plan.cycle_s * _gain(share) * (power + 1)
    is_inside = bool(rng.random() < 0.6)
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job,
            trouble=replace(
                job.trouble, creep_s=last_s, creep_power=power, is_creep_inside=is_inside
            ),
        ),
        plant=Plant(cause=Cause.SLOWING_DOWN),
    )


def _stall(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    total_s = plan.n_steps * plan.cycle_s * _gain(share)
    least_s = max(15.0, 12 * plan.machine.interval_ms / 1000, 30 * plan.cycle_s)
    n_stalls = max(1, math.ceil(total_s / 180))
    if total_s / n_stalls < least_s or n_stalls > 3:
        raise UnsuitableError
    at = np.sort(rng.uniform(0.08, 0.92, n_stalls))
    if any(after - before < 0.1 for before, after in pairwise(at.tolist())):
        raise UnsuitableError
    stalls = tuple((float(share_at), total_s / n_stalls) for share_at in at)
    rows = tuple(round(share_at * plan.n_steps) for share_at, _ in stalls)
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(job, trouble=replace(job.trouble, stalls=stalls)),
        plant=Plant(cause=Cause.LONG_PAUSE, when=pauses_of(rows)),
    )


def _laggard(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Slow down one worker, or all of a node."""
    machine = plan.machine
    per_node = machine.workers_per_node
    rank = int(rng.integers(machine.n_workers))
    node = rank // per_node
    laggards, places = [rank], [f"{node_name(node)}/gpu{rank % per_node}"]
    if machine.nodes > 1 and (per_node == 1 or rng.random() < 0.3):
        laggards = list(range(node * per_node, (node + 1) * per_node))
        places = [node_name(node), *(f"{node_name(node)}/gpu{at}" for at in range(per_node))]
    places += [machine.worker_name(each) for each in laggards]
    ratio = _gain(share) * plan.cycle_s / plan.pace.kernels_s
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job, trouble=replace(job.trouble, laggards=tuple(laggards), lag_ratio=ratio)
        ),
        plant=Plant(cause=Cause.SLOW_WORKER, places=tuple(places)),
    )


def _small_kernels(plan: Plan, rng: np.random.Generator, _share: float) -> Sabotage:
    used = float(rng.uniform(0.1, 0.6))
    whole_s = plan.pace.kernels_s
    pace = replace(plan.pace, launch_s=whole_s, update_s=0.0)
    devices = replace(plan.devices, spins=False)
    return Sabotage(
        base=replace(plan, pace=pace, devices=devices),
        spoil=lambda job: replace(job, pace=replace(job.pace, kernels_s=used * whole_s)),
        plant=Plant(cause=Cause.GPU_UNDERUSED, share_of=GPU_TIME, cost=unused),
    )


def _idle_gpus(plan: Plan, rng: np.random.Generator, _share: float) -> Sabotage:
    """Leave GPUs of a node that one process drives without work."""
    machine = plan.machine
    node = int(rng.integers(machine.nodes))
    n_idle = int(rng.integers(1, machine.gpus))
    kept = rng.permutation(machine.gpus - 1)[: machine.gpus - 1 - n_idle] + 1
    idle = tuple((node, at) for at in range(1, machine.gpus) if at not in kept)
    cost = len(idle) / (machine.nodes * machine.gpus)
    places = (node_name(node), *(f"{node_name(node)}/gpu{at}" for _, at in idle))
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(job, devices=replace(job.devices, unused=idle)),
        plant=Plant(
            cause=Cause.GPU_IDLE, places=places, share_of=GPU_TIME, cost=lambda _seen: cost
        ),
    )


def _dead_gpu(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Let a GPU stop for good; without others, or by chance, all stop and the job hangs."""
    machine = plan.machine
    if machine.gpus == 1 or machine.workers_per_node > 1 or rng.random() < 0.35:
        hung_s = (plan.n_steps * plan.cycle_s + plan.setup_s) * _gain(share)
        if hung_s < 40:
            raise UnsuitableError
        return Sabotage(
            base=plan,
            spoil=lambda job: replace(job, teardown_s=job.teardown_s + hung_s),
            plant=Plant(cause=Cause.GPU_STOPPED, share_of=JOB, when=end_of),
        )
    node, index = int(rng.integers(machine.nodes)), int(rng.integers(machine.gpus))
    since = float(rng.uniform(0.2, 0.85))

    def when(seen: Seen) -> tuple[float, float]:
        first_s, last_s = seen.steps.loop_s
        return first_s + since * (last_s - first_s), seen.total_s

    def cost(seen: Seen) -> float:
        lost_s = seen.steps.loop_s[1] - when(seen)[0]
        return lost_s / (seen.total_s * machine.nodes * machine.gpus)

    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job, devices=replace(job.devices, dead=(node, index), dead_from=since)
        ),
        plant=Plant(
            cause=Cause.GPU_STOPPED,
            places=(f"{node_name(node)}/gpu{index}", node_name(node)),
            share_of=GPU_TIME_OF_JOB,
            cost=cost,
            when=when,
        ),
    )


def _uneven(plan: Plan, rng: np.random.Generator, share: float) -> Sabotage:
    """Give the GPUs that one process drives unequal parts of the batch."""
    machine = plan.machine
    low = float(np.clip(1 - 2 * share, 0.1, 0.8))
    weights = np.sort(rng.uniform(low, 1.0, machine.gpus))[::-1]
    weights = rng.permutation(weights / weights.max())
    if weights.min() > 0.75:
        raise UnsuitableError
    cost = 1 - float(weights.mean())
    everywhere = [node_name(node) for node in range(machine.nodes)]
    gpus = [f"{node}/gpu{at}" for node in everywhere for at in range(machine.gpus)]
    return Sabotage(
        base=plan,
        spoil=lambda job: replace(
            job, devices=replace(job.devices, weights=tuple(weights.tolist()))
        ),
        plant=Plant(
            cause=Cause.GPU_IMBALANCE,
            places=(*everywhere, *gpus),
            share_of=GPU_TIME,
            cost=lambda _seen: cost,
        ),
    )


def _growing(plan: Plan, rng: np.random.Generator, _share: float) -> Sabotage:
    grown = float(rng.uniform(18, 65))
    stairs = int(rng.choice([0, 0, 8, 20]))
    base = replace(plan, devices=replace(plan.devices, memory_ratio=float(rng.uniform(0.1, 0.3))))
    return Sabotage(
        base=base,
        spoil=lambda job: replace(
            job, devices=replace(job.devices, growth_pct=grown, growth_stairs=stairs)
        ),
        plant=Plant(cause=Cause.MEMORY_GROWTH, share_of=NOTHING, cost=lambda _seen: None),
    )


_PYTORCH_GPU = Frame(inputs=(Input.PYTORCH,), gpus=_GPUS)
_LOADING = Frame(gpus=_GPUS, least_cores_per_worker=4)
_IN_STEP = Frame(gpus=_GPUS, may_run_behind=False)

SABOTEURS: Mapping[Cause, tuple[Saboteur, Frame]] = {
    Cause.TOO_FEW_LOADERS: (
        _few_loaders,
        Frame(inputs=(Input.PYTORCH,), gpus=_GPUS, least_cores_per_worker=6),
    ),
    Cause.TOO_MANY_LOADERS: (
        _many_loaders,
        Frame(inputs=(Input.PYTORCH,), gpus=_GPUS, most_workers=8, may_run_behind=False),
    ),
    Cause.CPU_PREPROCESSING: (_heavy_batches, _LOADING),
    Cause.IO_WAIT: (_slow_disk, _LOADING),
    Cause.NETWORK_INPUT: (_slow_network, _LOADING),
    Cause.UNPINNED_MEMORY: (_pageable, _PYTORCH_GPU),
    Cause.WORK_BETWEEN_STEPS: (_logging, _IN_STEP),
    Cause.LONG_START: (_late_start, Frame()),
    Cause.RANDOM_SLOW_STEPS: (_hiccups, Frame(gpus=_GPUS, may_run_behind=False)),
    Cause.PERIODIC_SLOW_STEPS: (_beat, _IN_STEP),
    Cause.SLOWING_DOWN: (_creep, Frame(may_run_behind=False)),
    Cause.LONG_PAUSE: (_stall, Frame()),
    Cause.SLOW_WORKER: (_laggard, Frame(gpus=_GPUS, least_workers=2, may_run_behind=False)),
    Cause.GPU_UNDERUSED: (_small_kernels, _IN_STEP),
    Cause.GPU_SWINGS: (_rollouts, Frame(inputs=(Input.SYSTEM,), gpus=_GPUS)),
    Cause.GPU_IDLE: (_idle_gpus, Frame(gpus=(2, 4, 8), drives_all=True)),
    Cause.GPU_STOPPED: (_dead_gpu, Frame(gpus=_GPUS)),
    Cause.GPU_IMBALANCE: (_uneven, Frame(gpus=(2, 4, 8), drives_all=True)),
    Cause.MEMORY_GROWTH: (_growing, Frame(gpus=_GPUS)),
}
"""How each cause is planted, and into what jobs."""
