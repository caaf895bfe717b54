"""Noise that lasts: what a difference must exceed, by random numbers with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.comparison import Verdict
from reportgen.comparison.compare import verdict_of
from reportgen.comparison.steps import LEAST_RATIO, difference_of


def lasting(rng: np.random.Generator, n: int, *, memory: float, spread: float) -> np.ndarray:
    """Return times of steps in ns around 100 ms whose noise is forgotten slowly."""
    noise = np.empty(n)
    noise[0] = rng.normal()
    fresh = rng.normal(size=n) * np.sqrt(1 - memory**2)
    for step in range(1, n):
        noise[step] = memory * noise[step - 1] + fresh[step]
    return 1e8 * (1 + spread * noise)


def test_two_runs_with_noise_of_hundreds_of_steps_do_not_differ() -> None:
    rng = np.random.default_rng(5)
    ends = [
        verdict_of(
            difference_of(
                lasting(rng, 1000, memory=0.95, spread=0.05),
                lasting(rng, 1000, memory=0.95, spread=0.05),
            )
        )
        for _ in range(100)
    ]

    assert ends.count(Verdict.NO_DIFFERENCE) >= 98


def test_three_percent_are_found_through_noise_that_is_soon_forgotten() -> None:
    rng = np.random.default_rng(6)
    ends = [
        verdict_of(
            difference_of(
                lasting(rng, 1000, memory=0.5, spread=0.05),
                1.03 * lasting(rng, 1000, memory=0.5, spread=0.05),
            )
        )
        for _ in range(100)
    ]

    assert ends.count(Verdict.SLOWER) >= 95


@pytest.mark.parametrize(("factor", "verdict"), [(1.004, "no_difference"), (1.006, "slower")])
def test_a_difference_that_two_runs_of_one_job_have_is_none(factor: float, verdict: str) -> None:
    times = 1e8 * np.random.default_rng(7).lognormal(0, 0.001, 2000)

    step = difference_of(times, factor * times)

    assert verdict_of(step) == verdict
    assert step.least_s >= LEAST_RATIO * step.before_p50_s
