"""How each cause changes a healthy job of the queue model, and how it is undone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.job import UnsuitableError
from benchmarks.exam.making import GPU_TIME, GPU_TIME_OF_JOB, JOB, LOOP, NOTHING
from benchmarks.exam.noise import Noise
from benchmarks.exam.queue_model.machines import Wishes, with_cores
from benchmarks.exam.queue_model.params import Params
from benchmarks.exam.truth import EVERYWHERE
from reportgen.results.causes import Cause
from sample_data.spec import node_name

Changes = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a fault changes.

    Attributes:
        base: The job that has the cause removed; it may differ from the drawn one, for instance
            in its cores.
        bad: Fields of ``Params`` that plant the fault into ``base``.
        places: As in the truth.
        also_right: As in the truth.
    """

    base: Params
    bad: Changes
    places: tuple[str, ...] = (EVERYWHERE,)
    also_right: tuple[Cause, ...] = ()


Planter = Callable[[Params, np.random.Generator, float], Change]
"""Takes the job, random numbers, and the time that a cycle shall gain, relative to the cycle."""


def _cycle(params: Params) -> float:
    """Return the time from step to step when nothing waits."""
    update_s = (params.exchange_s + params.optimizer_s) / params.accumulate
    return params.compute_s + update_s + params.between_s


def _per_worker_cores(params: Params) -> float:
    return params.machine.cores / params.machine.workers_per_node


def _too_few_loaders(params: Params, rng: np.random.Generator, gain: float) -> Change:
    cycle_s = _cycle(params)
    most = 4 if gain < 3 else 2
    n_bad = int(rng.choice([0, 0, 1, 1, 2, most]))
    load_s = cycle_s * gain if n_bad == 0 else cycle_s * (1 + gain) * n_bad
    if n_bad == 0 and rng.random() < 0.3:
        n_bad, load_s = 1, cycle_s * (1 + gain)
    n_good = max(n_bad + 1, math.ceil(1.5 * load_s / cycle_s))
    base = with_cores(params, params.machine.workers_per_node * (n_good + 1) * 1.2)
    if _per_worker_cores(base) < n_good + 1:
        raise UnsuitableError
    reads_s = min(params.load_read_s, 0.15 * load_s)
    receives_s = min(params.load_receive_s, 0.15 * load_s)
    base = replace(
        base,
        num_workers=n_good,
        load_cpu_s=load_s - reads_s - receives_s,
        load_read_s=reads_s,
        load_receive_s=receives_s,
    )
    return Change(base=base, bad={"num_workers": n_bad})


def _steady(params: Params) -> Changes:
    """Return changes after which batches cost about equally much.

    Batches are handed over in order, so an expensive one holds up those behind it, whatever the
    cores could do.
    """
    return {"load_noise": Noise.GAMMA, "load_spread": min(params.load_spread, 0.12)}


def _too_many_loaders(params: Params, rng: np.random.Generator, gain: float) -> Change:
    """Many more processes than cores, all with work to do: they slow down each other and the host.

    Without the fault the same work just fits the cores.
    """
    cores = _per_worker_cores(params)
    if cores < 2:
        raise UnsuitableError
    n_good = max(1, math.floor(cores) - 1)
    over = float(rng.uniform(2.0, 3.0) + 3 * min(gain, 1.0))
    n_bad = max(n_good + 2, math.ceil(cores * over))
    if n_bad > 64:
        raise UnsuitableError
    load_s = _cycle(params) * n_good * float(rng.uniform(0.88, 0.97))
    base = replace(
        params,
        num_workers=n_good,
        load_cpu_s=load_s,
        load_read_s=min(params.load_read_s, 0.02 * load_s),
        load_receive_s=min(params.load_receive_s, 0.02 * load_s),
        host_s=params.compute_s * float(rng.uniform(0.6, 0.98)),
        **_steady(params),
    )
    return Change(base=base, bad={"num_workers": n_bad})


def _cpu_preprocessing(params: Params, rng: np.random.Generator, gain: float) -> Change:
    params = with_cores(params, 4 * params.machine.workers_per_node)
    cores = _per_worker_cores(params)
    n_loaders = math.ceil(cores * float(rng.uniform(1.0, 1.12)))
    cycle_s = _cycle(params)
    at_once = min(n_loaders, cores)
    bad_s = cycle_s * (1 + gain) * at_once * 0.95
    base = replace(
        params,
        num_workers=n_loaders,
        load_cpu_s=cycle_s * max(0.5 * (cores - 1), 0.25),
        load_read_s=min(params.load_read_s, 0.05 * cycle_s),
        load_receive_s=min(params.load_receive_s, 0.05 * cycle_s),
        host_s=0.45 * params.compute_s,
        **_steady(params),
    )
    return Change(base=base, bad={"load_cpu_s": bad_s})


def _enough_loaders(params: Params, rng: np.random.Generator) -> Params:
    """Return the job with so many loaders that only what they share can slow them down."""
    base = with_cores(params, 4 * params.machine.workers_per_node)
    most = max(2, min(12, int(_per_worker_cores(base)) - 1))
    n_loaders = int(rng.integers(max(2, most // 2), most + 1))
    cpu_s = params.compute_s * n_loaders * float(rng.uniform(0.1, 0.45))
    return replace(base, num_workers=n_loaders, load_cpu_s=min(cpu_s, params.load_cpu_s))


def _io_wait(params: Params, rng: np.random.Generator, gain: float) -> Change:
    base = _enough_loaders(params, rng)
    per_worker_s = _cycle(base) / base.machine.workers_per_node
    base = replace(base, load_read_s=0.45 * per_worker_s, load_receive_s=0.0)
    return Change(base=base, bad={"load_read_s": per_worker_s * (1 + gain)})


def _network_input(params: Params, rng: np.random.Generator, gain: float) -> Change:
    base = _enough_loaders(params, rng)
    per_worker_s = _cycle(base) / base.machine.workers_per_node
    bad_s = per_worker_s * (1 + gain)
    rate = float(rng.choice([1.25e8, 3.1e8, 6.2e8, 1.2e9])) * float(rng.uniform(0.9, 1.0))
    base = replace(
        base, load_receive_s=0.45 * per_worker_s, load_read_s=0.0, batch_bytes=rate * bad_s
    )
    return Change(base=base, bad={"load_receive_s": bad_s})


def _unpinned_memory(params: Params, _rng: np.random.Generator, gain: float) -> Change:
    return Change(base=params, bad={"is_pinned": False, "copy_s": _cycle(params) * gain})


def _work_between_steps(params: Params, _rng: np.random.Generator, gain: float) -> Change:
    bad_s = params.between_s + _cycle(params) * gain
    return Change(base=params, bad={"between_s": bad_s})


def _long_start(params: Params, _rng: np.random.Generator, gain: float) -> Change:
    job_s = params.n_steps * _cycle(params) + params.init_s
    extra_s = gain * job_s
    if not 15 <= extra_s <= 1500:
        raise UnsuitableError
    return Change(base=params, bad={"init_s": params.init_s + extra_s})


def _random_slow_steps(params: Params, rng: np.random.Generator, gain: float) -> Change:
    cycle_s = _cycle(params)
    rate = float(np.exp(rng.uniform(np.log(0.006), np.log(0.06))))
    extra_s = cycle_s * gain / rate
    if extra_s < 1.2 * cycle_s or rate * params.n_steps < 8 or extra_s > 60:
        raise UnsuitableError
    return Change(base=params, bad={"random_ratio": rate, "random_extra_s": extra_s})


def _periodic_slow_steps(params: Params, rng: np.random.Generator, gain: float) -> Change:
    cycle_s = _cycle(params)
    period = int(np.exp(rng.uniform(np.log(8), np.log(250))))
    extra_s = cycle_s * gain * period
    n_train = params.n_epochs * params.train_steps
    if extra_s < 1.2 * cycle_s or n_train / period < 10 or extra_s > 60:
        raise UnsuitableError
    between = bool(rng.random() < 0.4)
    return Change(
        base=params,
        bad={"period": period, "period_extra_s": extra_s, "is_period_between": between},
    )


def _gpu_swings(params: Params, rng: np.random.Generator, gain: float) -> Change:
    """Let the host work alone in turn with the GPU, each for seconds."""
    cycle_s = _cycle(params)
    interval_s = params.machine.interval_ms / 1000
    least_s = max(3.0, 6 * interval_s)
    busy_s = float(rng.uniform(1.0, 4.0)) * least_s / min(gain, 1.0)
    period = max(2, round(busy_s / cycle_s))
    extra_s = period * cycle_s * gain
    n_train = params.n_epochs * params.train_steps
    if extra_s < least_s or n_train / period < 8 or extra_s > 60:
        raise UnsuitableError
    return Change(
        base=params,
        bad={"period": period, "period_extra_s": extra_s, "is_period_between": True},
        also_right=(Cause.PERIODIC_SLOW_STEPS,),
    )


def _slowing_down(params: Params, rng: np.random.Generator, gain: float) -> Change:
    ratio = 2 * gain * _cycle(params) / params.compute_s
    between = bool(rng.random() < 0.4)
    return Change(base=params, bad={"drift_ratio": ratio, "is_drift_between": between})


def _long_pause(params: Params, rng: np.random.Generator, gain: float) -> Change:
    total_s = gain * _cycle(params) * params.n_steps
    n_pauses = 1 if total_s < 150 else int(total_s // 100) + 1
    length_s = total_s / n_pauses
    usual_s = 25 * _cycle(params)
    if not max(12.0, 15 * params.machine.interval_ms / 1000, usual_s) <= length_s or n_pauses > 4:
        raise UnsuitableError
    at = np.sort(rng.uniform(0.1, 0.9, n_pauses))
    if n_pauses > 1 and np.diff(at).min() < 0.08:
        raise UnsuitableError
    lengths_s = length_s * rng.uniform(0.8, 1.2, n_pauses)
    pauses = tuple(zip(at.tolist(), lengths_s.tolist(), strict=True))
    return Change(base=params, bad={"pauses": pauses})


def _slow_worker(params: Params, rng: np.random.Generator, gain: float) -> Change:
    machine = params.machine
    if machine.n_workers < 2:
        raise UnsuitableError
    rank = int(rng.integers(machine.n_workers))
    node, local = divmod(rank, machine.workers_per_node)
    places = [machine.worker_name(rank), f"{node_name(node)}/gpu{local}"]
    if machine.workers_per_node == 1:
        places.append(node_name(node))
    ratio = gain * _cycle(params) / params.compute_s
    return Change(base=params, bad={"slow_rank": rank, "slow_ratio": ratio}, places=tuple(places))


def _gpu_underused(params: Params, rng: np.random.Generator, _gain: float) -> Change:
    used = float(rng.uniform(0.12, 0.62))
    base = replace(params, host_s=params.compute_s, gpu_s=0.97 * params.compute_s, optimizer_s=0.0)
    if params.machine.n_workers > 1:
        base = replace(base, is_waiting_busy=False)
    return Change(base=base, bad={"gpu_s": used * params.compute_s})


def _gpus_of(params: Params) -> tuple[str, ...]:
    machine = params.machine
    return tuple(
        f"{node_name(node)}/gpu{index}"
        for node in range(machine.nodes)
        for index in range(machine.gpus)
    )


def _gpu_idle(params: Params, rng: np.random.Generator, _gain: float) -> Change:
    """Leave the last GPUs of one node without a training process."""
    machine = params.machine
    if machine.gpus < 2:
        raise UnsuitableError
    node = int(rng.integers(machine.nodes))
    most = machine.gpus - 1
    n_idle = int(rng.integers(1, max(2, most // 2 + 1)))
    n_idle = machine.gpus - 1 if rng.random() < 0.25 else n_idle
    if machine.workers_per_node > 1:
        if machine.nodes > 1:
            raise UnsuitableError
        kept = machine.gpus - n_idle
        params = replace(params, machine=replace(machine, workers_per_node=kept))
    places = tuple(
        f"{node_name(node)}/gpu{index}" for index in range(machine.gpus - n_idle, machine.gpus)
    )
    return Change(
        base=params,
        bad={"n_idle_gpus": n_idle, "idle_node": node},
        places=(*places, node_name(node)),
    )


def _gpu_stopped(params: Params, rng: np.random.Generator, gain: float) -> Change:
    """Let one GPU stop for good while the job goes on, or the whole job hang until it is killed."""
    gpus = _gpus_of(params)
    if not gpus:
        raise UnsuitableError
    share = gain / (1 + gain)
    goes_on = params.machine.workers_per_node == 1 or params.input is Input.SYSTEM
    if len(gpus) == 1 or not goes_on or rng.random() < 0.4:
        job_s = params.n_steps * _cycle(params) + params.init_s
        extra_s = gain * job_s
        if extra_s < 30:
            raise UnsuitableError
        return Change(base=params, bad={"finish_s": params.finish_s + extra_s})
    stop_ratio = float(np.clip(1 - share * float(rng.uniform(1, 2)), 0.15, 0.9))
    which = int(rng.integers(len(gpus)))
    places = (gpus[which], gpus[which].partition("/")[0])
    return Change(base=params, bad={"stopped_gpu": which, "stop_ratio": stop_ratio}, places=places)


def _gpu_imbalance(params: Params, rng: np.random.Generator, gain: float) -> Change:
    """Let one process drive all GPUs of a node unevenly."""
    machine = params.machine
    if machine.gpus < 2 or machine.workers_per_node != 1:
        raise UnsuitableError
    share = min(gain / (1 + gain), 0.6)
    mean = float(np.clip(1 - share * machine.gpus / (machine.gpus - 1), 0.15, 0.72))
    others = np.clip(mean * rng.uniform(0.85, 1.15, machine.gpus - 1), 0.1, 0.9)
    return Change(
        base=params,
        bad={"gpu_shares": (1.0, *others.tolist())},
        places=(*_gpus_of(params), *(node_name(node) for node in range(machine.nodes))),
    )


def _memory_growth(params: Params, rng: np.random.Generator, _gain: float) -> Change:
    base = replace(params, memory_ratio=float(rng.uniform(0.15, 0.35)))
    return Change(base=base, bad={"memory_growth_pct": float(rng.uniform(20, 60))})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How a cause is planted, on what machines, and how its cost is counted.

    Attributes:
        plant: Makes the change.
        wishes: For the machine.
        share_of: In words. Costs in time are counted by running the job without the fault.
    """

    plant: Planter
    wishes: Wishes = field(default_factory=Wishes)
    share_of: str = LOOP


_ONE_GPU = Wishes(least_gpus=1)
IN_PART = frozenset(
    {
        Cause.CPU_PREPROCESSING,
        Cause.IO_WAIT,
        Cause.NETWORK_INPUT,
        Cause.WORK_BETWEEN_STEPS,
        Cause.RANDOM_SLOW_STEPS,
        Cause.PERIODIC_SLOW_STEPS,
        Cause.SLOW_WORKER,
    }
)
"""Causes that may act in a stretch of a job and not in the rest of it."""

FAULTS: dict[Cause, Fault] = {
    Cause.TOO_FEW_LOADERS: Fault(
        plant=_too_few_loaders, wishes=Wishes(input=Input.PYTORCH, least_gpus=1)
    ),
    Cause.TOO_MANY_LOADERS: Fault(
        plant=_too_many_loaders,
        wishes=Wishes(input=Input.PYTORCH, most_workers=8, least_gpus=1),
    ),
    Cause.CPU_PREPROCESSING: Fault(plant=_cpu_preprocessing, wishes=_ONE_GPU),
    Cause.IO_WAIT: Fault(plant=_io_wait, wishes=_ONE_GPU),
    Cause.NETWORK_INPUT: Fault(plant=_network_input, wishes=_ONE_GPU),
    Cause.UNPINNED_MEMORY: Fault(
        plant=_unpinned_memory, wishes=Wishes(input=Input.PYTORCH, least_gpus=1)
    ),
    Cause.WORK_BETWEEN_STEPS: Fault(plant=_work_between_steps, wishes=_ONE_GPU),
    Cause.LONG_START: Fault(plant=_long_start, share_of=JOB),
    Cause.RANDOM_SLOW_STEPS: Fault(plant=_random_slow_steps),
    Cause.PERIODIC_SLOW_STEPS: Fault(plant=_periodic_slow_steps),
    Cause.SLOWING_DOWN: Fault(plant=_slowing_down),
    Cause.LONG_PAUSE: Fault(plant=_long_pause),
    Cause.SLOW_WORKER: Fault(
        plant=_slow_worker, wishes=Wishes(least_gpus=1, least_workers=2, most_workers=16)
    ),
    Cause.GPU_UNDERUSED: Fault(plant=_gpu_underused, wishes=_ONE_GPU, share_of=GPU_TIME),
    Cause.GPU_SWINGS: Fault(plant=_gpu_swings, wishes=Wishes(input=Input.SYSTEM, least_gpus=1)),
    Cause.GPU_IDLE: Fault(plant=_gpu_idle, wishes=Wishes(least_gpus=2), share_of=GPU_TIME),
    Cause.GPU_STOPPED: Fault(plant=_gpu_stopped, wishes=_ONE_GPU, share_of=GPU_TIME_OF_JOB),
    Cause.GPU_IMBALANCE: Fault(
        plant=_gpu_imbalance, wishes=Wishes(least_gpus=2, one_process=True), share_of=GPU_TIME
    ),
    Cause.MEMORY_GROWTH: Fault(plant=_memory_growth, wishes=_ONE_GPU, share_of=NOTHING),
}
