"""Models of noise: factors with the mean 1."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Noise(StrEnum):
    """How the lengths of like things vary."""

    GAUSSIAN = "gaussian"
    LOGNORMAL = "lognormal"
    GAMMA = "gamma"
    AR1 = "ar1"
    HEAVY_TAIL = "heavy_tail"


_MEMORY = 0.97
_LEAST = 0.2


def factors(rng: np.random.Generator, kind: Noise, spread: float, size: tuple[int, ...]) -> Floats:
    """Return factors of mean 1 and relative standard deviation of about ``spread``.

    The last axis of ``size`` is time: ``AR1`` is correlated along it.
    """
    if spread <= 0:
        return np.ones(size)
    if kind is Noise.GAUSSIAN:
        values = rng.normal(1.0, spread, size)
    elif kind is Noise.LOGNORMAL:
        sigma = np.sqrt(np.log1p(spread**2))
        values = rng.lognormal(-(sigma**2) / 2, sigma, size)
    elif kind is Noise.GAMMA:
        values = rng.gamma(1 / spread**2, spread**2, size)
    elif kind is Noise.AR1:
        values = 1.0 + spread * _ar1(rng, size)
    else:
        tail = np.clip(rng.standard_t(3, size), -4, 12) / np.sqrt(3)
        values = 1.0 + spread * tail
    return np.maximum(values, _LEAST)


def _ar1(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Return a process of variance 1 whose neighbours are correlated."""
    shocks = rng.normal(0.0, np.sqrt(1 - _MEMORY**2), size)
    out = np.empty(size)
    state = rng.normal(0.0, 1.0, size[:-1])
    for at in range(size[-1]):
        state = _MEMORY * state + shocks[..., at]
        out[..., at] = state
    return out
