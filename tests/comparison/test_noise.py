"""Noise that lasts: what a difference must exceed, by random numbers with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.comparison import Verdict, compare
from reportgen.comparison.compare import is_mean_beyond_noise, is_median_beyond_noise, verdict_of
from reportgen.comparison.steps import LEAST_RATIO, difference_of
from reportgen.report import Report
from tests.comparison.builders import report_of, steps_table


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
        for _ in range(50)
    ]

    assert ends.count(Verdict.NO_DIFFERENCE) >= 49


def run(inside_ms: np.ndarray, wait_ms: float) -> Report:
    waits_ms = np.full(inside_ms.shape, wait_ms)
    return report_of(steps_table(inside_ms + waits_ms, inside_ms=inside_ms, wait_ms=waits_ms))


def test_waiting_is_seen_through_a_gpu_that_drifts() -> None:
    rng = np.random.default_rng(3)
    before, after = (lasting(rng, 1000, memory=0.97, spread=0.05) / 1e6 for _ in range(2))

    there = compare(run(before, 5.0), run(after, 8.0))
    back = compare(run(after, 8.0), run(before, 5.0))

    assert there.step is not None
    assert not is_median_beyond_noise(there.step)
    assert not is_mean_beyond_noise(there.step)
    assert (there.verdict, back.verdict) == (Verdict.SLOWER, Verdict.FASTER)
    assert "but waiting for data between steps changed by +3 ms" in there.lead


def burst_run(rng: np.random.Generator, *, wait_ms: float) -> Report:
    """Return a run on a noisy machine that waits for data at the start of each of ten epochs."""
    n, n_epochs, burst = 1000, 10, 12
    waits_ms = np.abs(rng.normal(0.1, 0.01, n))
    for first in range(0, n, n // n_epochs):
        length = rng.geometric(1 / burst)
        waits_ms[first : first + length] += rng.exponential(wait_ms * n / n_epochs / burst)
    inside_ms = lasting(rng, n, memory=0.9, spread=0.04) / 1e6
    return report_of(steps_table(inside_ms + waits_ms, inside_ms=inside_ms, wait_ms=waits_ms))


def test_bursts_of_slow_input_are_found_and_bursts_of_both_runs_are_no_difference() -> None:
    rng = np.random.default_rng(8)
    runs = [[burst_run(rng, wait_ms=wait_ms) for wait_ms in (0.0, 3.0, 3.0)] for _ in range(15)]

    slower = [compare(before, after).verdict for before, after, _ in runs]
    same = [compare(after, again).verdict for _, after, again in runs]
    faster = [compare(after, before).verdict for before, after, _ in runs]

    assert slower.count(Verdict.SLOWER) == faster.count(Verdict.FASTER) >= 10
    assert same.count(Verdict.NO_DIFFERENCE) >= 14


@pytest.mark.parametrize(("factor", "verdict"), [(1.004, "no_difference"), (1.006, "slower")])
def test_a_difference_that_two_runs_of_one_job_have_is_none(factor: float, verdict: str) -> None:
    times = 1e8 * np.random.default_rng(7).lognormal(0, 0.001, 2000)

    step = difference_of(times, factor * times)

    assert verdict_of(step) == verdict
    assert step.least_s >= LEAST_RATIO * step.before_p50_s
