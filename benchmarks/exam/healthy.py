"""Healthy jobs that look suspicious, most of them just below a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.draw import Wish, log_uniform
from benchmarks.exam.setup import Extra, How, Program, Setup, Sync, Where

Twist = Callable[[Setup, np.random.Generator], Setup]


def _plain(setup: Setup, _rng: np.random.Generator) -> Setup:
    return setup


def _start(setup: Setup, rng: np.random.Generator) -> Setup:
    """Start for 90 to 140 seconds, in whatever short a job."""
    start_s = float(rng.uniform(90, 140))
    parts = rng.dirichlet([2, 2, 1])
    ends = replace(
        setup.ends,
        download_s=start_s * parts[0],
        import_s=start_s * parts[1],
        scan_s=start_s * parts[2],
    )
    return replace(setup, ends=ends)


def _validation(setup: Setup, rng: np.random.Generator) -> Setup:
    """Validate for 15 to 26 % of the loop."""
    ratio = float(rng.uniform(0.15, 0.26))
    return replace(setup, valid_steps=max(1, int(ratio / (1 - ratio) * setup.train_steps / 0.36)))


def _extra(setup: Setup, where: Where, how: How, seconds: np.ndarray) -> Setup:
    return replace(setup, extras=(*setup.extras, Extra(where=where, how=how, seconds=seconds)))


def _checkpoints(setup: Setup, rng: np.random.Generator) -> Setup:
    every = max(10, setup.n_train // int(rng.integers(5, 30)))
    seconds = np.zeros(setup.n_train)
    seconds[every - 1 :: every] = every * setup.cycle_s * float(rng.uniform(0.008, 0.016))
    return _extra(setup, Where.BETWEEN, How.WRITE, seconds)


def _hiccups(setup: Setup, rng: np.random.Generator) -> Setup:
    """Let a few steps take several times as long: 1.5 % of the loop at most."""
    hit = rng.random(setup.n_train) < 0.01
    cost_s = setup.n_train * setup.cycle_s * float(rng.uniform(0.005, 0.015))
    seconds = hit * cost_s / max(int(hit.sum()), 1)
    return _extra(setup, Where(rng.choice(list(Where))), How.SLEEP, seconds)


def _short_pause(setup: Setup, rng: np.random.Generator) -> Setup:
    seconds = np.zeros(setup.n_train)
    at = int(rng.uniform(0.1, 0.9) * setup.n_train)
    seconds[at] = setup.loop_s * float(rng.uniform(0.005, 0.015))
    return _extra(setup, Where.BETWEEN, How.SLEEP, seconds)


def _some_logging(setup: Setup, rng: np.random.Generator) -> Setup:
    seconds = np.full(setup.n_train, setup.cycle_s * float(rng.uniform(0.005, 0.015)))
    return _extra(setup, Where.BETWEEN, How.COMPUTE, seconds)


def _drift(setup: Setup, rng: np.random.Generator) -> Setup:
    """Let the GPUs grow warm: the last steps take up to 3 % longer."""
    factor = 1 + np.linspace(0, float(rng.uniform(0.01, 0.03)), setup.n_train)
    return replace(setup, gpu_factors=dict.fromkeys(range(setup.machine.n_workers), factor))


def _uneven_ranks(setup: Setup, rng: np.random.Generator) -> Setup:
    rank = int(rng.integers(setup.machine.n_workers))
    factor = np.full(setup.n_train, 1 + float(rng.uniform(0.005, 0.015)))
    return replace(setup, gpu_factors={rank: factor})


def _warm_up(setup: Setup, rng: np.random.Generator) -> Setup:
    warm_up_s = setup.loop_s * float(rng.uniform(0.008, 0.018))
    return replace(setup, ends=replace(setup.ends, warm_up_s=warm_up_s))


def _noisy(setup: Setup, rng: np.random.Generator) -> Setup:
    return replace(setup, shape_spread=float(rng.uniform(0.12, 0.2)), rank_spread=0.003)


def _lengths(setup: Setup, rng: np.random.Generator) -> Setup:
    """Vary the lengths of sequences, the same for all ranks."""
    spread, memory = float(rng.uniform(0.2, 0.5)), float(rng.choice([0.0, 0.97]))
    return replace(setup, shape_spread=spread, shape_memory=memory, rank_spread=0.003)


def _accumulation(setup: Setup, rng: np.random.Generator) -> Setup:
    return replace(
        setup,
        accumulate=int(rng.choice([2, 4, 8, 16])),
        optimizer_ratio=float(rng.uniform(0.05, 0.3)),
    )


def _optimizer(setup: Setup, rng: np.random.Generator) -> Setup:
    return replace(setup, optimizer_ratio=float(rng.uniform(0.12, 0.35)))


def _ahead(setup: Setup, _rng: np.random.Generator) -> Setup:
    return replace(setup, sync=Sync.NOWHERE, host_s=0.1 * setup.gpu_s)


def _read_after(setup: Setup, _rng: np.random.Generator) -> Setup:
    """Read the loss behind the optimizer: the GPU's work ends between the steps."""
    return replace(setup, sync=Sync.AFTER, host_s=0.15 * setup.gpu_s)


def _busy_cores(setup: Setup, rng: np.random.Generator) -> Setup:
    """Keep four fifths of the cores busy with loading, which is fast enough."""
    per_rank = setup.machine.cores / setup.machine.workers_per_node - 0.7
    n = max(1, int(np.ceil(per_rank)))
    cpu_s = setup.cycle_s * per_rank * float(rng.uniform(0.6, 0.82))
    loading = replace(
        setup.loading, num_workers=n, cpu_s=cpu_s, spread=0.08, disk_bytes=0.0, net_bytes=0.0
    )
    return replace(setup, loading=loading, programs=(), rank_spread=0.003)


def _idle_loaders(setup: Setup, rng: np.random.Generator) -> Setup:
    n = min(64, round(setup.machine.cores / setup.machine.workers_per_node * 2.2) + 1)
    cpu_s = setup.cycle_s * float(rng.uniform(0.01, 0.1))
    loading = replace(setup.loading, num_workers=n, cpu_s=cpu_s, begin_s=0.01, is_persistent=True)
    return replace(setup, loading=loading)


def _inline(setup: Setup, rng: np.random.Generator) -> Setup:
    cpu_s = setup.cycle_s * float(rng.uniform(0.002, 0.015))
    loading = replace(
        setup.loading, num_workers=0, cpu_s=cpu_s, disk_bytes=0.0, net_bytes=0.0, copy_s=0.0
    )
    return replace(setup, loading=loading)


def _unpinned(setup: Setup, rng: np.random.Generator) -> Setup:
    copy_s = setup.cycle_s * float(rng.uniform(0.003, 0.015))
    return replace(setup, loading=replace(setup.loading, is_pinned=False, copy_s=copy_s))


def _reading(setup: Setup, rng: np.random.Generator) -> Setup:
    """Read at 60 to 75 % of what the disk or the network gives, without waiting for it."""
    per_rank_s = setup.cycle_s / setup.machine.workers_per_node
    rate = log_uniform(rng, 1e8, 1e9)
    size = rate * per_rank_s * float(rng.uniform(0.6, 0.75))
    is_disk = rng.random() < 0.5
    loading = replace(
        setup.loading,
        num_workers=max(setup.loading.num_workers, 4),
        disk_bytes=size if is_disk else 0.0,
        net_bytes=0.0 if is_disk else size,
        cpu_s=0.2 * setup.cycle_s,
        spread=0.1,
        only_first_epoch=False,
    )
    limits = replace(
        setup.limits, disk_rate=rate, disk_each=rate, net_rate=rate * 1.02, net_each=rate
    )
    return replace(setup, loading=loading, limits=limits)


def _company(setup: Setup, rng: np.random.Generator) -> Setup:
    """Let others use the cores that the job leaves free."""
    machine = setup.machine
    mine = machine.workers_per_node * (
        1.0 + setup.loading.cpu_s / setup.cycle_s if setup.has_gpus else setup.threads + 1.0
    )
    threads = int(machine.cores - mine - 1)
    if threads < 1:
        return setup
    program = Program(
        node=int(rng.integers(machine.nodes)),
        threads=threads,
        duty_ratio=float(rng.uniform(0.6, 1.0)),
        start_s=0.0,
        end_s=2 * (setup.start_s + setup.loop_s),
    )
    return replace(setup, programs=(program,))


def _apart(setup: Setup, _rng: np.random.Generator) -> Setup:
    """Let each process train on its own."""
    return replace(setup, is_synced=False, exchange_s=0.0, rank_spread=0.003)


_GPUS = Wish(gpus=(1, 1, 2, 4, 8))
_LOADERS = Wish(inputs=(Input.PYTORCH,), gpus=(1, 1, 2, 4, 8))
HEALTHY: dict[str, tuple[Twist, Wish]] = {
    "plain": (_plain, Wish()),
    "start": (_start, Wish()),
    "validation": (_validation, Wish(inputs=(Input.PYTORCH, Input.TENSORFLOW))),
    "checkpoints": (_checkpoints, Wish()),
    "hiccups": (_hiccups, Wish()),
    "short_pause": (_short_pause, Wish()),
    "some_logging": (_some_logging, Wish()),
    "drift": (_drift, _GPUS),
    "uneven_ranks": (_uneven_ranks, Wish(least_ranks=2)),
    "warm_up": (_warm_up, Wish()),
    "noisy": (_noisy, Wish()),
    "lengths": (_lengths, Wish()),
    "accumulation": (_accumulation, Wish()),
    "optimizer": (_optimizer, _GPUS),
    "ahead": (_ahead, _GPUS),
    "read_after": (_read_after, _GPUS),
    "busy_cores": (_busy_cores, _GPUS),
    "idle_loaders": (_idle_loaders, _LOADERS),
    "inline": (_inline, _LOADERS),
    "unpinned": (_unpinned, _LOADERS),
    "reading": (_reading, _GPUS),
    "company": (_company, Wish()),
    "apart": (_apart, Wish(gpus=(2, 4), least_ranks=2)),
    "cpu_only": (_plain, Wish(gpus=(0,))),
}
"""Each kind: what makes it look suspicious, and what it must have."""
