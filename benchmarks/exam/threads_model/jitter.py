"""How lengths of like things vary, drawn the same way with and without a fault."""

from __future__ import annotations

import numpy as np

from benchmarks.exam.threads_model.params import Floats

KINDS = ("normal", "lognormal", "tail", "drifting", "buckets", "paired")
_LEAST = 0.25
_MEMORY = 0.95
_TAIL = 0.004
_BUCKETS = np.array([0.7, 0.9, 1.0, 1.15, 1.3])


def jitter(seed: int, stream: int, kind: str, spread: float, size: tuple[int, int]) -> Floats:
    """Return (workers, n) factors whose mean is about 1."""
    rng = np.random.default_rng([seed, stream])
    own = rng.normal(0.0, 1.0, size)
    values = np.exp(spread * own - spread**2 / 2)
    if kind == "normal":
        values = 1 + spread * own
    elif kind == "tail":
        values = values * np.where(rng.random(size) < _TAIL, rng.uniform(1.3, 2.2, size), 1.0)
    elif kind == "drifting":
        values = 1 + spread * 0.3 * own + spread * _remember(rng, size[1])
    elif kind == "buckets":
        values = (1 + 0.2 * spread * own) * rng.choice(_BUCKETS, size[1])
    elif kind == "paired":
        values = (1 + 0.2 * spread * own) * np.where(np.arange(size[1]) % 2, 1 + spread, 1 - spread)
    return np.maximum(values, _LEAST)


def _remember(rng: np.random.Generator, n: int) -> Floats:
    """Return a process of variance 1 with a memory, the same for all workers."""
    shocks = rng.normal(0.0, np.sqrt(1 - _MEMORY**2), n)
    out = np.empty(n)
    state = float(rng.normal())
    for at in range(n):
        state = _MEMORY * state + shocks[at]
        out[at] = state
    return out
