"""Draw an ordinary job: nothing in it costs more than a percent or two that could be saved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine
from benchmarks.exam.setup import (
    Ends,
    Extra,
    How,
    Limits,
    Loading,
    Program,
    Recorded,
    Setup,
    Sync,
    Where,
)

_MOST_RANK_STEPS = 4500
_INTERVALS_MS = {100: 0.08, 200: 0.12, 500: 0.4, 1000: 0.25, 5000: 0.1, 60_000: 0.05}
_CORES_OF_GPUS = {0: (2, 4, 8, 16), 1: (4, 8, 8, 16), 2: (8, 16), 4: (16, 32, 48), 8: (32, 64, 96)}
_MOST_TICKS = 400_000
_START_S, _START_RATIO = 145.0, 0.13
"""A start up to one of these is usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a job must have so that a fault can act in it at all.

    Attributes:
        inputs: One of them is drawn.
        gpus: Per node; one is drawn.
        least_ranks: Training processes at least.
        whole: Whether framework events must be recorded from the begin to the end.
        one_process: Whether one process drives all GPUs of a node.
    """

    inputs: tuple[Input, ...] = tuple(Input)
    gpus: tuple[int, ...] = (0, 1, 1, 2, 4, 8)
    least_ranks: int = 1
    whole: bool = False
    one_process: bool = False


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a random number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw(rng: np.random.Generator, seed: int, wish: Wish) -> Setup:
    """Return an ordinary job that meets a wish."""
    kind = _input(rng, wish)
    machine = _machine(rng, wish)
    is_short = rng.random() < 0.12
    loop_s = log_uniform(rng, 15, 60) if is_short else log_uniform(rng, 120, 2400)
    n_most = max(40, _MOST_RANK_STEPS // machine.n_workers)
    cycle_s = max(log_uniform(rng, 0.06, 2.5), loop_s / n_most)
    n_steps = int(np.clip(loop_s / cycle_s, 25, n_most))
    n_epochs = int(rng.choice([1, 1, 2, 3, 5])) if n_steps >= 400 else 1
    has_gpus = machine.gpus > 0
    train_steps = n_steps // n_epochs
    setup = Setup(
        seed=seed,
        input=kind,
        machine=machine,
        loading=Loading(num_workers=1, cpu_s=0.0),
        limits=Limits(),
        ends=_ends(rng, loop_s, has_gpus=has_gpus),
        recorded=_recorded(rng, wish, kind, n_steps),
        n_epochs=n_epochs,
        train_steps=train_steps,
        valid_steps=int(train_steps * rng.choice([0, 0.1, 0.2, 0.4]) * rng.uniform(0.5, 1)),
        gpu_s=cycle_s * 0.9,
        host_s=cycle_s * 0.9 * float(rng.uniform(0.05, 0.6)),
        forward_ratio=float(rng.uniform(0.28, 0.4)),
        optimizer_ratio=float(rng.choice([0.01, 0.03, 0.06])) if has_gpus else 0.01,
        between_s=cycle_s * float(rng.uniform(0.0005, 0.008)),
        exchange_s=cycle_s * float(rng.uniform(0.005, 0.03)) if machine.n_workers > 1 else 0.0,
        sync=Sync(rng.choice(list(Sync))),
        shape_spread=log_uniform(rng, 0.01, 0.15),
        shape_memory=float(rng.choice([0, 0, 0.9])),
        rank_spread=log_uniform(rng, 0.002, 0.015),
        threads=max(1, round(machine.cores / machine.workers_per_node * rng.uniform(0.4, 0.8))),
        memory_ratio=float(rng.uniform(0.15, 0.55)),
        is_synced=machine.n_workers > 1,
    )
    return _with_others(rng, with_loading(rng, setup))


def _input(rng: np.random.Generator, wish: Wish) -> Input:
    weights = {Input.PYTORCH: 0.5, Input.SYSTEM: 0.28, Input.TENSORFLOW: 0.22}
    odds = np.array([weights[each] for each in wish.inputs])
    return Input(rng.choice(list(wish.inputs), p=odds / odds.sum()))


def _machine(rng: np.random.Generator, wish: Wish) -> Machine:
    gpus = int(rng.choice(wish.gpus))
    ranks = 1 if wish.one_process or not gpus else gpus
    nodes = int(rng.choice([1, 1, 1, 2, 3, 4])) if ranks <= 4 else int(rng.choice([1, 1, 2]))
    if nodes * ranks < wish.least_ranks:
        nodes = wish.least_ranks
    intervals = list(_INTERVALS_MS)
    return Machine(
        nodes=nodes,
        gpus=gpus,
        cores=int(rng.choice(_CORES_OF_GPUS[gpus])),
        workers_per_node=ranks,
        interval_ms=int(rng.choice(intervals, p=list(_INTERVALS_MS.values()))),
        start_unix_s=1_774_000_000 + float(rng.uniform(0, 9e6)),
        clock_offsets_s=(0.0, *rng.normal(0, 0.004, nodes - 1).tolist()),
    )


def coarser(setup: Setup) -> Setup:
    """Return a job that is sampled no more often than people can afford for its size."""
    machine = setup.machine
    length_s = (setup.start_s + setup.loop_s) * machine.nodes * (2 * machine.cores + 12)
    usual = next((each for each in _INTERVALS_MS if length_s * 1000 / each <= _MOST_TICKS), 5000)
    least = max(machine.interval_ms, usual)
    if machine.interval_ms == 60_000 and setup.loop_s < 600:
        least = max(1000, usual)
    return replace(setup, machine=replace(machine, interval_ms=least))


def _ends(rng: np.random.Generator, loop_s: float, *, has_gpus: bool) -> Ends:
    end_s = min(log_uniform(rng, 2, 60), 0.2 * loop_s + 5)
    start_s = log_uniform(rng, 20, 300)
    start_s = min(start_s, max(_START_S - 20, _START_RATIO * (loop_s + end_s)))
    parts = rng.dirichlet([2, 2, 1, 1])
    warm_up_s = min(start_s * parts[3], 0.015 * loop_s) if has_gpus else 0.0
    return Ends(
        download_s=start_s * parts[0],
        import_s=start_s * parts[1],
        scan_s=start_s * parts[2],
        warm_up_s=warm_up_s,
        save_s=0.4 * end_s,
        upload_s=0.6 * end_s,
    )


def _recorded(rng: np.random.Generator, wish: Wish, kind: Input, n_steps: int) -> Recorded:
    windows: tuple[tuple[float, float], ...] = ()
    turn = rng.random()
    if kind is not Input.SYSTEM and not wish.whole and n_steps > 200 and turn < 0.3:
        first = float(rng.uniform(0, 0.5))
        windows = ((first, first + float(rng.uniform(0.2, 0.45))),)
        if turn < 0.1:
            windows = ((0.05, 0.15), (0.45, 0.55), (0.8, 0.9))
        elif turn < 0.18:
            windows = ((float(rng.uniform(0.05, 0.4)), 1.0),)
    pauses: tuple[tuple[float, float], ...] = ()
    if rng.random() < 0.06:
        first = float(rng.uniform(0.3, 0.7))
        pauses = ((first, first + 0.1),)
    return Recorded(
        windows=windows,
        pauses=pauses,
        is_finished=bool(rng.random() < 0.9),
        has_operators=bool(rng.random() < 0.4),
    )


def with_loading(rng: np.random.Generator, setup: Setup) -> Setup:
    """Return a job whose loaders have a third more time than they need, on free cores."""
    machine, cycle_s = setup.machine, setup.cycle_s
    taken = setup.threads if not setup.has_gpus else 1
    free = max(0.5, machine.cores / machine.workers_per_node - taken)
    most = max(1, int(free))
    num_workers = int(rng.integers(1, min(most, 8) + 1))
    cpu_s = cycle_s * min(num_workers, free) * float(rng.uniform(0.1, 0.6))
    per_node_s = cycle_s / machine.workers_per_node
    source = rng.choice(["memory", "disk", "net"])
    if rng.random() < 0.1 and setup.input is Input.PYTORCH and source == "memory":
        num_workers, cpu_s = 0, cycle_s * float(rng.uniform(0.001, 0.01))
    loading = Loading(
        num_workers=num_workers,
        cpu_s=cpu_s,
        disk_bytes=8e8 * per_node_s * 0.2 * rng.uniform(0.05, 1) if source == "disk" else 0.0,
        net_bytes=1.2e9 * per_node_s * 0.15 * rng.uniform(0.05, 1) if source == "net" else 0.0,
        spread=float(rng.uniform(0.02, 0.3)),
        begin_s=min(log_uniform(rng, 0.02, 0.3), 0.002 * setup.train_steps * cycle_s),
        is_persistent=bool(rng.random() < 0.4),
        is_pinned=bool(rng.random() < 0.7),
        copy_s=cycle_s * float(rng.uniform(0.0, 0.01)) if setup.has_gpus else 0.0,
        only_first_epoch=bool(rng.random() < 0.3),
    )
    return replace(setup, loading=loading)


def _with_others(rng: np.random.Generator, setup: Setup) -> Setup:
    """Add what many jobs have: cheap checkpoints, and small programs of others on free cores."""
    if rng.random() < 0.35:
        seconds = np.zeros(setup.n_train)
        every = max(setup.n_train // int(rng.integers(2, 12)), 20)
        cost_s = min(every * setup.cycle_s * float(rng.uniform(0.002, 0.012)), 10.0)
        seconds[every - 1 :: every] = cost_s
        saving = Extra(where=Where.BETWEEN, how=How.WRITE, seconds=seconds, ranks=(0,))
        setup = replace(setup, extras=(*setup.extras, saving))
    if rng.random() < 0.2:
        machine, loading = setup.machine, setup.loading
        threads = setup.threads if not setup.has_gpus else 1
        busy = machine.workers_per_node * (threads + loading.num_workers)
        free = machine.cores - busy
        if free >= 2:
            first_s = float(rng.uniform(0, 0.6)) * setup.loop_s
            program = Program(
                node=int(rng.integers(machine.nodes)),
                threads=max(1, int(free * rng.uniform(0.2, 0.8))),
                duty_ratio=float(rng.uniform(0.3, 1.0)),
                start_s=first_s,
                end_s=first_s + float(rng.uniform(0.2, 1.0)) * setup.loop_s,
            )
            setup = replace(setup, programs=(program,))
    return setup
