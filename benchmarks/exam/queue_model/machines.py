"""Healthy jobs of the queue model, drawn at random: machine, pace, loaders, schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.job import Shape
from benchmarks.exam.noise import Noise
from benchmarks.exam.queue_model.params import Params
from benchmarks.exam.queue_model.simulate import simulate
from benchmarks.exam.recording import Machine

_CORES = (2, 4, 8, 16, 32, 48, 64, 96)
_INTERVALS_MS = (100, 200, 500, 1000)
_PATIENCE = 1100
_FEW_SAMPLES_RATIO = 0.2
_MOST_LINES = 330_000
_MOST_STEPS = 3_500
_MOST_STEPS_OF_ALL = 22_000
_PILOT_STEPS = 120
_STEPS_S = {Shape.FAST: (0.02, 0.06), Shape.LONG: (5.0, 25.0), Shape.SHORT: (0.1, 6.0)}
_LEAST_STEPS, _FEW_STEPS = 60, (30, 90)
_START_UNIX_S = 1_785_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a kind of job asks of its machine and its pace; ``None`` leaves it to chance."""

    input: Input | None = None
    nodes: int | None = None
    gpus: int | None = None
    least_gpus: int = 0
    least_workers: int = 1
    most_workers: int = 32
    least_cores: int = 2
    one_process: bool = False
    shape: Shape = Shape.USUAL


def draw_healthy(rng: np.random.Generator, seed: int, wishes: Wishes) -> Params:
    """Return a job without faults; its steps do not fill its time yet (see ``filled``)."""
    kind = wishes.input or Input(rng.choice(["pytorch", "tensorflow", "system"], p=[0.6, 0.2, 0.2]))
    machine = _machine(rng, wishes, kind)
    n_workers = machine.n_workers
    low_s, high_s = _STEPS_S.get(wishes.shape, (0.08, 2.0))
    middle = math.sqrt(low_s * high_s) if wishes.shape in _STEPS_S else math.exp(-1.0)
    compute_s = float(np.clip(middle * rng.lognormal(0.0, 0.8), low_s, high_s))
    compute_s *= 1 + 0.06 * n_workers
    per_worker = machine.cores / machine.workers_per_node
    spare = max(per_worker - 1.0, 0.4)
    num_workers = int(rng.integers(1, max(2, min(12, int(spare)) + 1)))
    load_s = compute_s * min(num_workers * rng.uniform(0.12, 0.55), 0.55 * spare)
    reads = rng.random() < 0.7
    most_read_s = 0.25 * compute_s / machine.workers_per_node
    init_s = float(rng.uniform(8, 35))
    return Params(
        machine=machine,
        input=kind,
        seed=seed,
        n_epochs=int(rng.integers(1, 6)),
        train_steps=100,
        eval_steps=0,
        num_workers=num_workers,
        is_persistent=bool(rng.random() < 0.5),
        load_cpu_s=load_s,
        load_read_s=float(rng.uniform(0.02, 1.0)) * most_read_s if reads else 0.0,
        load_receive_s=0.0 if reads else float(rng.uniform(0.02, 1.0)) * most_read_s,
        batch_bytes=float(rng.lognormal(16.0, 0.8)),
        load_noise=rng.choice(list(Noise)),
        load_spread=float(rng.uniform(0.05, 0.4)),
        gpu_s=compute_s * rng.uniform(0.93, 1.0),
        host_s=compute_s * rng.uniform(0.35, 0.9),
        step_noise=rng.choice(list(Noise)),
        step_spread=float(rng.uniform(0.005, 0.05)),
        length_spread=float(rng.choice([0.0, 0.0, rng.uniform(0.05, 0.2)])),
        forward_ratio=float(rng.uniform(0.25, 0.42)),
        eval_ratio=float(rng.uniform(0.25, 0.5)),
        first_step_s=float(rng.uniform(0.0, 4.0)),
        is_pinned=machine.gpus > 0,
        accumulate=int(rng.choice([1, 1, 1, 2, 4])),
        exchange_s=compute_s * float(rng.uniform(0.01, 0.06)) if n_workers > 1 else 0.0,
        optimizer_s=compute_s * float(rng.uniform(0.005, 0.1)),
        between_s=compute_s * float(rng.uniform(0.002, 0.012)),
        init_s=init_s,
        finish_s=float(rng.uniform(1.5, 5)),
        is_waiting_busy=bool(rng.random() < 0.6),
        gpu_level=float(rng.uniform(0.9, 0.99)),
        memory_ratio=float(rng.uniform(0.15, 0.6)),
        loader_load=float(rng.uniform(0.9, 1.0)),
    )


def _machine(rng: np.random.Generator, wishes: Wishes, kind: Input) -> Machine:
    nodes = wishes.nodes or int(rng.choice([1, 2, 3, 4], p=[0.65, 0.2, 0.07, 0.08]))
    gpus = wishes.gpus
    if gpus is None:
        gpus = int(rng.choice([0, 1, 2, 4, 8], p=[0.08, 0.42, 0.18, 0.2, 0.12]))
        gpus = max(gpus, wishes.least_gpus)
    is_mirrored = kind is Input.TENSORFLOW and rng.random() < 0.5
    per_node = 1 if wishes.one_process or is_mirrored else max(gpus, 1)
    if nodes * per_node < wishes.least_workers:
        nodes = max(nodes, 2)
    while nodes * per_node > wishes.most_workers:
        nodes -= 1
    least = max(wishes.least_cores, 2 * per_node if rng.random() < 0.9 else per_node)
    cores = int(rng.choice([n for n in _CORES if n >= least][:4]))
    skew = rng.choice([0.0, 0.01, 0.4, 2.0])
    offsets = (0.0, *(float(rng.normal(0, skew)) for _ in range(nodes - 1)))
    return Machine(
        nodes=nodes,
        gpus=gpus,
        cores=cores,
        workers_per_node=per_node,
        interval_ms=500,
        start_unix_s=_START_UNIX_S + float(rng.integers(0, 4_000_000)) + float(rng.random()),
        clock_offsets_s=offsets,
    )


def with_cores(params: Params, least: float) -> Params:
    """Return the job on a machine with at least so many cores per node."""
    fitting = [n for n in _CORES if n >= max(least, params.machine.cores)]
    if not fitting:
        return params
    return replace(params, machine=replace(params.machine, cores=fitting[0]))


def cycle_s(params: Params) -> float:
    """Return the mean time from step to step in training, once the loaders run."""
    pilot = replace(
        params, n_epochs=1, train_steps=_PILOT_STEPS, eval_steps=0, pauses=(), save_every=0
    )
    asked_s = simulate(pilot).steps.asked_s.mean(axis=0)
    skipped = _PILOT_STEPS // 3
    return float(asked_s[-1] - asked_s[skipped]) / (_PILOT_STEPS - 1 - skipped)


def filled(
    params: Params,
    rng: np.random.Generator,
    *,
    cycle: float,
    has_eval: bool,
    is_short: bool,
    shape: Shape = Shape.USUAL,
) -> Params:
    """Return the job with as many steps, and samples as often, as its time allows.

    Args:
        cycle: Mean time from step to step, faults included.
    """
    n_series = (2 * params.machine.cores + 2 * params.machine.gpus + 8) * params.machine.nodes
    most_steps = min(_MOST_STEPS, _MOST_STEPS_OF_ALL // params.machine.n_workers)
    wanted_s = 110.0 if is_short else float(np.clip(rng.lognormal(6.35, 0.5), 240, 2400))
    loop_s = min(wanted_s * float(rng.uniform(0.9, 1.1)), most_steps * cycle)
    least_steps = _LEAST_STEPS
    if shape is Shape.SHORT:
        least_steps = _FEW_STEPS[0]
        loop_s = cycle * float(rng.uniform(*_FEW_STEPS))
    fitting = [each for each in _INTERVALS_MS if loop_s * 1000 / each * n_series <= _MOST_LINES]
    enough = [each for each in fitting if loop_s * 1000 / each > _PATIENCE] or fitting[:1]
    is_few = rng.random() < _FEW_SAMPLES_RATIO
    interval_ms = int(rng.choice((fitting if is_few else enough) or [1000]))
    n_steps = int(np.clip(loop_s / cycle, least_steps, most_steps))
    init_s = min(params.init_s, 3.0 + 0.025 * loop_s)
    n_epochs = min(params.n_epochs, max(1, n_steps // 40))
    eval_ratio = float(rng.uniform(0.05, 0.25)) if has_eval else 0.0
    train = math.ceil(n_steps / n_epochs / (1 + eval_ratio * params.eval_ratio))
    return replace(
        params,
        machine=replace(params.machine, interval_ms=interval_ms),
        init_s=init_s,
        n_epochs=n_epochs,
        train_steps=train,
        eval_steps=round(train * eval_ratio),
    )
