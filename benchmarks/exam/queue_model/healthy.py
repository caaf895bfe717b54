"""Healthy jobs that look as if something were wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.noise import Noise
from benchmarks.exam.queue_model.machines import Wishes, with_cores
from benchmarks.exam.queue_model.params import Params

Twist = Callable[[Params, np.random.Generator], Params]


def _plain(params: Params, _rng: np.random.Generator) -> Params:
    return params


def _checkpoints(params: Params, rng: np.random.Generator) -> Params:
    """Save a few times: at most 1.5 % of the loop."""
    every = max(params.train_steps // 2, 30)
    save_s = min(every * params.compute_s * float(rng.uniform(0.004, 0.015)), 8.0)
    return replace(params, save_every=every, save_s=save_s)


def _warm_up(params: Params, rng: np.random.Generator) -> Params:
    loop_s = params.n_steps * params.compute_s
    return replace(params, first_step_s=min(0.02 * loop_s, float(rng.uniform(4, 20))))


def _noisy_steps(params: Params, rng: np.random.Generator) -> Params:
    kind = rng.choice([Noise.GAUSSIAN, Noise.LOGNORMAL, Noise.GAMMA, Noise.AR1])
    return replace(params, step_noise=kind, step_spread=float(rng.uniform(0.06, 0.14)))


def _varying_lengths(params: Params, rng: np.random.Generator) -> Params:
    return replace(
        params,
        step_noise=Noise.GAMMA,
        step_spread=0.01,
        length_spread=float(rng.uniform(0.15, 0.4)),
    )


def _idle_loaders(params: Params, rng: np.random.Generator) -> Params:
    """Start more loaders than cores, which hardly have anything to do."""
    n_loaders = min(48, round(params.machine.cores / params.machine.workers_per_node * 2.2) + 1)
    load_s = params.compute_s * float(rng.uniform(0.02, 0.15))
    return replace(params, num_workers=n_loaders, load_cpu_s=load_s, load_read_s=0.0)


def _inline(params: Params, rng: np.random.Generator) -> Params:
    """Load in the loop what costs next to nothing."""
    load_s = params.compute_s * float(rng.uniform(0.001, 0.012))
    return replace(params, num_workers=0, load_cpu_s=load_s, load_read_s=0.0, load_receive_s=0.0)


def _busy_cores(params: Params, rng: np.random.Generator) -> Params:
    """Keep the cores busy with loading, yet fast enough."""
    base = with_cores(params, 4 * params.machine.workers_per_node)
    per_worker = base.machine.cores / base.machine.workers_per_node
    n_loaders = max(2, round(per_worker) - 1)
    load_s = base.compute_s * n_loaders * float(rng.uniform(0.55, 0.7))
    return replace(base, num_workers=n_loaders, load_cpu_s=load_s, load_spread=0.1)


def _optimizer(params: Params, rng: np.random.Generator) -> Params:
    """Give the optimizer a large part of the cycle: the GPU works between the steps."""
    return replace(params, optimizer_s=params.compute_s * float(rng.uniform(0.12, 0.3)))


def _accumulation(params: Params, rng: np.random.Generator) -> Params:
    exchange_s = params.compute_s * float(rng.uniform(0.02, 0.05))
    return replace(params, accumulate=int(rng.choice([2, 4, 8])), exchange_s=exchange_s)


def _unpinned(params: Params, rng: np.random.Generator) -> Params:
    """Copy small batches from pageable memory."""
    return replace(params, is_pinned=False, copy_s=params.compute_s * float(rng.uniform(0, 0.01)))


HEALTHY: dict[str, tuple[Twist, Wishes]] = {
    "plain": (_plain, Wishes(least_gpus=1)),
    "validation": (_plain, Wishes(least_gpus=1)),
    "checkpoints": (_checkpoints, Wishes(least_gpus=1)),
    "warm_up": (_warm_up, Wishes(least_gpus=1)),
    "noisy_steps": (_noisy_steps, Wishes(least_gpus=1)),
    "varying_lengths": (_varying_lengths, Wishes(least_gpus=1)),
    "short": (_plain, Wishes(least_gpus=1)),
    "big_host": (_plain, Wishes(least_gpus=1, least_cores=48)),
    "several_nodes": (_plain, Wishes(nodes=2, least_gpus=1)),
    "cpu_only": (_plain, Wishes(gpus=0)),
    "idle_loaders": (_idle_loaders, Wishes(input=Input.PYTORCH, least_gpus=1)),
    "inline_loading": (_inline, Wishes(input=Input.PYTORCH, least_gpus=1)),
    "busy_cores": (_busy_cores, Wishes(least_gpus=1)),
    "optimizer": (_optimizer, Wishes(input=Input.PYTORCH, least_gpus=1)),
    "unpinned": (_unpinned, Wishes(input=Input.PYTORCH, least_gpus=1)),
    "accumulation": (_accumulation, Wishes(least_gpus=1)),
}
"""Each healthy kind: what makes it look suspicious, and on what machines."""
