"""Healthy jobs, and what each might be mistaken for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.threads_model.draw import Wishes
from benchmarks.exam.threads_model.params import Params, Phase

Shape = Callable[[Params, np.random.Generator], Params]


def _plain(params: Params, _rng: np.random.Generator) -> Params:
    return params


def _bursts(params: Params, rng: np.random.Generator) -> Params:
    """Let loaders finish together: bursts that the queue of batches takes in."""
    machine = params.machine
    loaders = max(2, min(12, int(0.7 * machine.cores / machine.workers_per_node)))
    decode_s = loaders * params.gpu_s * float(rng.uniform(0.5, 0.75))
    return replace(params, loaders=loaders, decode_s=decode_s, load_spread=0.03)


def _checkpoints(params: Params, rng: np.random.Generator) -> Params:
    """Save now and then: less than 2 % of the loop."""
    every = max(20, params.n_train // int(rng.integers(3, 9)))
    gap_s = params.gap_extra_s.copy()
    gap_s[every - 1 :: every] = float(rng.uniform(0.005, 0.015)) * every * params.cycle_s
    return replace(params, gap_extra_s=gap_s)


def _logging(params: Params, rng: np.random.Generator) -> Params:
    """Log every few steps: less than 2 % of the loop."""
    every = int(rng.choice([10, 25, 50]))
    gap_s = params.gap_extra_s.copy()
    gap_s[every - 1 :: every] = float(rng.uniform(0.004, 0.015)) * every * params.cycle_s
    return replace(params, gap_extra_s=gap_s)


def _validation(params: Params, rng: np.random.Generator) -> Params:
    """Validate before, between and after."""
    epochs = int(rng.integers(2, 6))
    each = max(12, params.n_train // epochs)
    checked = max(4, int(each * rng.uniform(0.05, 0.3)))
    phases = [Phase(is_train=False, epoch=0, steps=3)]
    for epoch in range(epochs):
        phases += [
            Phase(is_train=True, epoch=epoch, steps=each),
            Phase(is_train=False, epoch=epoch, steps=checked),
        ]
    n_train = epochs * each
    extra_s = np.zeros((params.machine.n_workers, n_train))
    extra_s[:, 0] = params.step_extra_s[:, 0]
    return replace(
        params,
        phases=tuple(phases),
        step_extra_s=extra_s,
        gap_extra_s=np.zeros(n_train),
        growth=np.ones(n_train),
        is_persistent=True,
    )


def _varying(params: Params, rng: np.random.Generator) -> Params:
    """Let lengths of steps vary, as those of sentences do."""
    kind = str(rng.choice(["lognormal", "buckets"]))
    return replace(params, noise=kind, spread=float(rng.uniform(0.12, 0.25)))


def _inline(params: Params, rng: np.random.Generator) -> Params:
    """Load within the worker what costs nearly nothing."""
    cheap_s = float(rng.uniform(0.001, 0.012)) * params.cycle_s
    return replace(params, loaders=0, decode_s=cheap_s, read_bytes=0.0, load_spread=0.1)


def _busy_cores(params: Params, rng: np.random.Generator) -> Params:
    """Keep most cores busy, yet fast enough."""
    machine = params.machine
    each = machine.cores / machine.workers_per_node
    loaders = max(2, int(0.9 * each))
    decode_s = params.cycle_s * each * float(rng.uniform(0.55, 0.7))
    looks = replace(params.looks, spins=0.08)
    return replace(params, loaders=loaders, decode_s=decode_s, load_spread=0.08, looks=looks)


def _idle_loaders(params: Params, _rng: np.random.Generator) -> Params:
    """Have as many loaders as cores, nearly all of them idle."""
    machine = params.machine
    loaders = max(1, machine.cores // machine.workers_per_node)
    return replace(params, loaders=loaders, decode_s=0.4 * params.gpu_s)


def _memory(params: Params, rng: np.random.Generator) -> Params:
    """Let the use of GPU memory go up and down."""
    return params.looking(saw_pct=float(rng.uniform(6, 14)), saw_s=float(rng.uniform(25, 120)))


def _not_full(params: Params, rng: np.random.Generator) -> Params:
    """Leave small gaps between kernels: 90 % use of GPUs, no room for more."""
    launch_s = params.gpu_s * float(rng.uniform(1.02, 1.06))
    return replace(params, launch_s=launch_s, looks=replace(params.looks, fill_s=0.0))


_GPUS = (Input.PYTORCH, Input.TENSORFLOW, Input.SYSTEM)
_TORCH = (Input.PYTORCH,)
HEALTHY: dict[str, tuple[Shape, Wishes]] = {
    "plain": (_plain, Wishes()),
    "slow_steps": (_plain, Wishes(step_s=(5.0, 20.0), length_s=(900.0, 3600.0))),
    "bursts": (_bursts, Wishes(inputs=_TORCH)),
    "checkpoints": (_checkpoints, Wishes()),
    "logging": (_logging, Wishes()),
    "validation": (_validation, Wishes()),
    "heavy_tail": (_plain, Wishes(noises=("tail", "drifting"))),
    "varying": (_varying, Wishes()),
    "short": (_plain, Wishes(length_s=(120.0, 200.0))),
    "long": (_plain, Wishes(length_s=(2400.0, 3700.0), step_s=(0.4, 10.0), cores=(4, 8, 16))),
    "big_host": (_plain, Wishes(cores=(48, 64, 96))),
    "several_nodes": (_plain, Wishes(nodes=(2, 3, 4), gpus=(1, 1, 2))),
    "cpu_only": (_plain, Wishes(gpus=(0,))),
    "inline": (_inline, Wishes(inputs=_TORCH)),
    "busy_cores": (_busy_cores, Wishes(inputs=_TORCH, cores=(8, 16, 32), gpus=(1, 2))),
    "idle_loaders": (_idle_loaders, Wishes(inputs=_TORCH)),
    "memory": (_memory, Wishes()),
    "not_full": (_not_full, Wishes()),
    "one_process": (_plain, Wishes(one_process=True, gpus=(2, 4, 8))),
}
"""Each healthy kind: what makes it look suspicious, and on what machines."""
