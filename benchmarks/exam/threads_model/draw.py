"""Draw a job that has no fault: a machine, steps, loaders that keep up, and its looks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine
from benchmarks.exam.threads_model.jitter import KINDS
from benchmarks.exam.threads_model.params import Floats, Looks, Params, Phase, Source

_MOST_STEPS = 4500
_MOST_LINES = 160_000
_T = TypeVar("_T")
_START_UNIX_S = 1_790_000_000.0
_INTERVALS_MS = (100, 200, 500, 1000)
_ROOM = 0.72
"""Of the cores that loading may take so that it keeps up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a job must have."""

    inputs: Collection[Input] = (Input.PYTORCH, Input.TENSORFLOW, Input.SYSTEM)
    nodes: Collection[int] = (1, 1, 1, 1, 1, 1, 2, 2, 3, 4)
    gpus: Collection[int] = (1, 1, 1, 2, 2, 4, 4, 8)
    cores: Collection[int] = (2, 4, 4, 8, 8, 16, 16, 32, 48, 64, 96)
    length_s: tuple[float, float] = (140.0, 2400.0)
    step_s: tuple[float, float] = (0.02, 12.0)
    least_steps: int = 90
    one_process: bool | None = None
    least_workers: int = 1
    idle_gpus: int = 0
    noises: Collection[str] = KINDS


def draw(rng: np.random.Generator, seed: int, wishes: Wishes) -> Params:
    """Return a job without a fault."""
    machine, n_gpus_each = _machine(rng, wishes)
    length_s = _log_uniform(rng, *wishes.length_s)
    most_steps = _MOST_STEPS // machine.n_workers
    shortest_s = max(wishes.step_s[0], length_s / most_steps)
    longest_s = max(shortest_s * 1.01, min(wishes.step_s[1], length_s / wishes.least_steps))
    step_s = _log_uniform(rng, shortest_s, longest_s)
    n_steps = max(wishes.least_steps, int(length_s / step_s))
    phases = _phases(rng, n_steps)
    n_train = sum(phase.steps for phase in phases if phase.is_train)
    kind = Input(_choose(rng, wishes.inputs))
    start_s = min(float(rng.uniform(4, 25)), 0.025 * length_s)
    looks = _looks(rng, machine)
    params = Params(
        seed=seed,
        input=kind,
        machine=_sampled(rng, machine, length_s),
        phases=phases,
        gpu_s=step_s,
        launch_s=step_s * float(rng.uniform(0.02, 0.3)),
        copy_s=step_s * float(rng.uniform(0.001, 0.008)),
        exchange_s=step_s * float(rng.uniform(0.01, 0.08)),
        exchange_bytes=float(_log_uniform(rng, 2e6, 4e8)) * min(1.0, step_s),
        optimizer_s=step_s * float(rng.uniform(0.01, 0.06)),
        host_s=step_s * float(rng.uniform(0.002, 0.02)),
        is_host_busy=bool(rng.random() < 0.6),
        noise=str(_choose(rng, wishes.noises)),
        spread=float(rng.uniform(0.01, 0.07)),
        source=Source(rng.choice(list(Source))),
        read_bytes=1.0,
        decode_s=0.0,
        load_spread=float(rng.uniform(0.02, 0.2)),
        loaders=1,
        is_persistent=kind is Input.TENSORFLOW or bool(rng.random() < 0.5),
        is_pinned=True,
        boot_s=float(rng.uniform(0.1, 0.8)) if kind is Input.PYTORCH else 0.02,
        disk_bytes=1.0,
        network_bytes=1.0,
        thrash=0.0,
        step_extra_s=_warm_up(rng, machine.n_workers, n_train, step_s),
        gap_extra_s=np.zeros(n_train),
        is_extra_busy=bool(rng.random() < 0.5),
        growth=np.ones(n_train),
        slow=(1.0,) * machine.n_workers,
        weights=tuple(np.r_[1.0, rng.uniform(0.96, 1.0, n_gpus_each - 1)].tolist()),
        stop=None,
        cpu_threads=1,
        start_s=start_s,
        start_kind=str(rng.choice(["idle", "compile", "unpack", "download"])),
        tail_s=float(rng.uniform(1, min(15, 0.03 * length_s))),
        is_synced=True,
        looks=looks,
    )
    if not machine.gpus:
        params = replace(params, cpu_threads=max(1, machine.cores // (2 * machine.n_workers)))
    return keeping_up(rng, params)


def keeping_up(rng: np.random.Generator, params: Params) -> Params:
    """Return the job with loaders that keep up on its cores."""
    machine = params.machine
    free = max(1.0, _ROOM * machine.cores / machine.workers_per_node - params.cpu_threads)
    loaders = int(rng.integers(1, max(2, min(12, int(free) + 1)) + 1))
    load = float(rng.uniform(0.1, 0.65)) * min(loaders, free)
    read_bytes = _log_uniform(rng, 5e5, 6e7) * params.gpu_s
    rate = read_bytes * machine.workers_per_node / params.gpu_s
    return replace(
        params,
        loaders=loaders,
        decode_s=load * params.gpu_s,
        read_bytes=read_bytes,
        disk_bytes=rate * float(rng.uniform(4, 12)),
        network_bytes=rate * float(rng.uniform(4, 12)),
    )


def _machine(rng: np.random.Generator, wishes: Wishes) -> tuple[Machine, int]:
    """Return a machine, and the GPUs of each process."""
    for _ in range(400):
        nodes, gpus = int(_choose(rng, wishes.nodes)), int(_choose(rng, wishes.gpus))
        cores = int(_choose(rng, wishes.cores))
        one = bool(rng.random() < 0.2) if wishes.one_process is None else wishes.one_process
        one = one and gpus > 1
        used = gpus - wishes.idle_gpus
        workers = 1 if one or not gpus else used
        n_workers = workers * nodes
        has_cores = 2 * workers <= cores and gpus * 2 <= cores
        if used >= min(1, gpus) and wishes.least_workers <= n_workers <= 8 and has_cores:
            break
    machine = Machine(
        nodes=nodes,
        gpus=gpus,
        cores=cores,
        workers_per_node=workers,
        interval_ms=500,
        start_unix_s=_START_UNIX_S + round(float(rng.uniform(0, 4e6)), 3),
        clock_offsets_s=(0.0, *rng.normal(0, 0.02, nodes - 1).tolist()),
    )
    return machine, max(1, gpus if one else 1)


def _sampled(rng: np.random.Generator, machine: Machine, length_s: float) -> Machine:
    """Return the machine with an interval that leaves files of a handy size."""
    per_tick = machine.nodes * (2 * machine.gpus + 2 * machine.cores + 8)
    fits = [each for each in _INTERVALS_MS if length_s * 1e3 / each * per_tick <= _MOST_LINES]
    return replace(machine, interval_ms=int(rng.choice(fits)) if fits else 1000)


def _phases(rng: np.random.Generator, n_steps: int) -> tuple[Phase, ...]:
    """Return epochs of training, maybe with validation before, between and after them."""
    epochs = int(rng.choice([1, 1, 2, 3, 5]))
    each = max(10, n_steps // epochs)
    checked = int(each * rng.uniform(0.02, 0.15)) if rng.random() < 0.6 else 0
    parts = [[Phase(is_train=True, epoch=epoch, steps=each)] for epoch in range(epochs)]
    if checked >= 3:
        for epoch, part in enumerate(parts):
            part.append(Phase(is_train=False, epoch=epoch, steps=checked))
        if rng.random() < 0.3:
            parts.insert(0, [Phase(is_train=False, epoch=0, steps=min(4, checked))])
    return tuple(chain.from_iterable(parts))


def _warm_up(rng: np.random.Generator, workers: int, n_train: int, step_s: float) -> Floats:
    """Return a slow first step: libraries choose their algorithms."""
    extra_s = np.zeros((workers, n_train))
    most_s = 0.004 * n_train * step_s
    extra_s[:, 0] = min(float(rng.uniform(0.5, 8.0)), most_s)
    extra_s[:, 1] = extra_s[:, 0] * float(rng.uniform(0, 0.3))
    return extra_s


def _looks(rng: np.random.Generator, machine: Machine) -> Looks:
    return Looks(
        fill_s=float(rng.choice([0.0, 0.0, 0.01, 0.03])),
        window_s=float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.0, 1 / 6, 1.0])),
        spins=float(rng.choice([1.0, 1.0, 0.08])),
        memory_pct=float(rng.uniform(8, 60)),
        saw_pct=float(rng.choice([0.0, 0.0, 4.0])),
        saw_s=float(rng.uniform(20, 90)),
        noise_pct=float(rng.choice([0.4, 2.0, 4.0])),
        background_bytes=_log_uniform(rng, 3e3, 3e5),
        gap=_gap(rng),
        has_backward=bool(rng.random() < 0.7),
        has_mode=bool(rng.random() < 0.85),
        has_horovod=machine.n_workers > 1 and bool(rng.random() < 0.35),
        core_noise=float(rng.choice([0.15, 0.4, 0.9])),
    )


def _gap(rng: np.random.Generator) -> tuple[float, float] | None:
    if rng.random() > 0.12:
        return None
    first = float(rng.uniform(0.15, 0.8))
    return first, first + float(rng.uniform(0.02, 0.08))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(max(low, high)))))


def _choose(rng: np.random.Generator, values: Collection[_T]) -> _T:
    return list(values)[int(rng.integers(len(values)))]
