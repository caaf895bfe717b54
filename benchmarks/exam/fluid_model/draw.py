"""Healthy jobs of the fluid model, drawn at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.fluid_model.plan import Devices, Feed, Pace, Plan, Trouble
from benchmarks.exam.job import UnsuitableError
from benchmarks.exam.recording import Machine

_HOSTS = ((1, 4), (1, 8), (1, 16), (2, 12), (2, 32), (4, 24), (4, 48), (4, 64), (8, 64), (8, 96))
"""GPUs and cores of a node: what clouds rent out."""
_PLAIN_HOSTS = (2, 8, 16, 36, 72)
"""Cores of nodes without a GPU."""
_MOST_LINES = 300_000
_MOST_WORKER_STEPS = 9_000
_MOST_STEPS = 2_600
_FIRST_DAY_S = 1_770_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a kind of job asks for."""

    inputs: tuple[Input, ...] = tuple(Input)
    gpus: tuple[int, ...] = (0, 1, 2, 4, 8)
    nodes: tuple[int, ...] = (1, 2, 3, 4)
    least_workers: int = 1
    most_workers: int = 16
    least_cores_per_worker: float = 2.0
    drives_all: bool = False
    may_run_behind: bool = True


def joint(frames: list[Frame]) -> Frame:
    """Return what all of them ask for."""
    first, *rest = frames
    for other in rest:
        first = Frame(
            inputs=tuple(kind for kind in first.inputs if kind in other.inputs),
            gpus=tuple(n for n in first.gpus if n in other.gpus),
            nodes=tuple(n for n in first.nodes if n in other.nodes),
            least_workers=max(first.least_workers, other.least_workers),
            most_workers=min(first.most_workers, other.most_workers),
            least_cores_per_worker=max(first.least_cores_per_worker, other.least_cores_per_worker),
            drives_all=first.drives_all or other.drives_all,
            may_run_behind=first.may_run_behind and other.may_run_behind,
        )
    if not (first.inputs and first.gpus and first.nodes):
        raise UnsuitableError
    return first


def draw(rng: np.random.Generator, seed: int, frame: Frame) -> Plan:
    """Return a healthy job, whose passes are still empty."""
    chances = {Input.PYTORCH: 0.55, Input.TENSORFLOW: 0.25, Input.SYSTEM: 0.2}
    weights = np.array([chances[kind] for kind in frame.inputs])
    kind = Input(rng.choice([str(item) for item in frame.inputs], p=weights / weights.sum()))
    machine = _machine(rng, frame, kind)
    n_workers = machine.n_workers
    is_behind = frame.may_run_behind and kind is Input.PYTORCH and rng.random() < 0.35
    is_behind = is_behind and machine.gpus > 0
    kernels_s = float(10 ** rng.uniform(-1.0, 0.25)) * (1 + 0.04 * n_workers)
    launch_ratio = rng.uniform(0.2, 0.6) if is_behind else rng.uniform(0.3, 0.85)
    return Plan(
        machine=machine,
        input=kind,
        seed=seed,
        passes=(),
        feed=_feed(rng, machine, kernels_s),
        pace=Pace(
            kernels_s=kernels_s,
            launch_s=kernels_s * launch_ratio,
            is_behind=is_behind,
            forward_ratio=float(rng.uniform(0.28, 0.4)),
            buckets=float(rng.choice([0.0, 0.0, 0.03, 0.08])),
            jitter=float(10 ** rng.uniform(-2.3, -1.4)),
            shock_rate_hz=0.0,
            shock_s=kernels_s * float(rng.choice([0.0, 0.05, 0.15])),
            reduce_s=kernels_s * float(rng.uniform(0.01, 0.05)) if n_workers > 1 else 0.0,
            reduce_every=int(rng.choice([1, 1, 1, 1, 2, 8])),
            update_s=kernels_s * float(rng.uniform(0.01, 0.12)),
            logging_s=kernels_s * float(rng.uniform(0.001, 0.01)),
            copy_s=kernels_s * 0.002,
            validation_ratio=float(rng.uniform(0.3, 0.6)),
        ),
        trouble=Trouble(),
        devices=Devices(
            occupied=float(rng.uniform(0.88, 1.0)),
            spins=bool(rng.random() < 0.7),
            window_s=float(rng.choice([0.0, 0.0, 0.17])),
            memory_ratio=float(rng.uniform(0.1, 0.55)),
        ),
        setup_s=float(rng.uniform(5, 18)),
        teardown_s=float(rng.uniform(1, 4)),
        warm_up_s=float(rng.exponential(1.2)),
    )


def _machine(rng: np.random.Generator, frame: Frame, kind: Input) -> Machine:
    gpus = int(rng.choice(frame.gpus))
    nodes = int(rng.choice(frame.nodes, p=_falling(len(frame.nodes))))
    drives_all = frame.drives_all or (kind is Input.TENSORFLOW and rng.random() < 0.4)
    per_node = 1 if drives_all else max(gpus, 1)
    if not frame.least_workers <= nodes * per_node <= frame.most_workers:
        raise UnsuitableError
    hosts = [cores for n, cores in _HOSTS if n == gpus] if gpus else list(_PLAIN_HOSTS)
    hosts = [cores for cores in hosts if cores >= frame.least_cores_per_worker * per_node]
    if not hosts:
        raise UnsuitableError
    ahead = rng.uniform(-0.5, 0.5, nodes) * rng.choice([0.0, 0.02, 1.0, 6.0])
    return Machine(
        nodes=nodes,
        gpus=gpus,
        cores=int(rng.choice(hosts)),
        workers_per_node=per_node,
        interval_ms=500,
        start_unix_s=_FIRST_DAY_S + round(float(rng.uniform(0, 9e6)), 3),
        clock_offsets_s=(0.0, *(float(value) for value in ahead[1:])),
    )


def _falling(n: int) -> list[float]:
    weights = [0.5**at for at in range(n)]
    return [weight / sum(weights) for weight in weights]


def _feed(rng: np.random.Generator, machine: Machine, kernels_s: float) -> Feed:
    """Return a loader that keeps up with ease."""
    per_worker = machine.cores / machine.workers_per_node
    processes = int(np.clip(round(rng.uniform(0.25, 1.0) * (per_worker - 1)), 1, 16))
    use = min(processes * rng.uniform(0.1, 0.5), 0.5 * max(per_worker - 1, 0.5))
    stored_s = kernels_s / machine.workers_per_node * float(rng.uniform(0.01, 0.2))
    is_remote = bool(rng.random() < 0.3)
    return Feed(
        processes=processes,
        depth=int(rng.choice([2, 2, 2, 4])),
        core_s=kernels_s * use,
        disk_s=0.0 if is_remote else stored_s,
        net_s=stored_s if is_remote else 0.0,
        batch_bytes=float(10 ** rng.uniform(6.2, 7.8)),
        wobble=float(rng.uniform(0.0, 0.2)),
        jitter=float(rng.uniform(0.08, 0.4)),
        keeps_processes=bool(rng.random() < 0.5),
        is_pinned=machine.gpus > 0,
    )


def fill(plan: Plan, rng: np.random.Generator, *, share: float, is_short: bool) -> Plan:
    """Return the job with steps for its time; a fault will cost ``share`` of it."""
    cycle_s = plan.cycle_s / (1 - share)
    most = min(_MOST_STEPS, _MOST_WORKER_STEPS // plan.machine.n_workers)
    wanted_s = float(rng.uniform(70, 150) if is_short else 10 ** rng.uniform(2.45, 3.25))
    n_steps = int(np.clip(wanted_s / cycle_s, 60, most))
    loop_s = n_steps * cycle_s
    machine = plan.machine
    n_lines = (2 * machine.cores + 2 * machine.gpus + 8) * machine.nodes * loop_s
    fitting = [each for each in (100, 200, 500, 1000) if n_lines * 1000 / each < _MOST_LINES]
    if not fitting or (loop_s < 240 and not is_short):
        raise UnsuitableError
    patient = [each for each in fitting if loop_s * 1000 / each > 1100]
    interval_ms = int(rng.choice(patient if patient and rng.random() < 0.85 else fitting))
    epochs = int(rng.integers(1, min(7, n_steps // 40 + 1) + 1))
    checked = float(rng.choice([0.0, 0.0, 0.08, 0.2]))
    train = math.ceil(n_steps / epochs)
    uneven = [max(20, round(train * float(rng.uniform(0.97, 1.03)))) for _ in range(epochs)]
    return replace(
        plan,
        machine=replace(machine, interval_ms=interval_ms),
        setup_s=min(plan.setup_s, 2 + 0.025 * loop_s),
        passes=tuple((n, round(n * checked)) for n in uneven),
    )
