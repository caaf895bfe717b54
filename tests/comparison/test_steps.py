"""The difference in time per step: medians, intervals, noise, the choice of steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reportgen.comparison.compare import verdict_of
from reportgen.comparison.model import Verdict
from reportgen.comparison.runs import run_of
from reportgen.comparison.steps import _rank_sums, choose, difference_of
from tests.builders import known
from tests.comparison.builders import report_of, steps_table

MS = 1e6


def series(seed: int, *, n: int = 800, mean_ms: float = 300.0, spread: float = 0.05) -> np.ndarray:
    return mean_ms * MS * np.random.default_rng(seed).lognormal(0.0, spread, n)


def test_medians_means_and_their_differences_are_those_of_the_steps() -> None:
    before, after = np.array([3.0, 1.0, 2.0, 9.0]) * MS, np.array([2.0, 6.0, 4.0]) * MS

    step = difference_of(before, after)

    assert step.before_p50_s == pytest.approx(0.0025)
    assert step.after_p50_s == pytest.approx(0.004)
    assert step.difference_s == pytest.approx(0.0015)
    assert step.ratio == pytest.approx(1.6)
    assert step.step_mean_difference_s == pytest.approx(0.004 - 0.00375)
    assert sum(step.histogram.before) == 4
    assert sum(step.histogram.after) == 3


def test_the_number_of_orders_is_that_of_all_of_them_counted() -> None:
    n, m = 3, 4
    counted = np.zeros(n * m + 1)
    for places in itertools.combinations(range(n + m), n):
        counted[sum(place - rank for rank, place in enumerate(places))] += 1

    assert _rank_sums(n, m).tolist() == counted.tolist()


def test_few_steps_that_all_differ_are_a_difference_and_three_are_not() -> None:
    slow, fast = (
        np.array([176.0, 174, 177, 178, 175]) * MS,
        np.array([126.0, 124, 127, 125, 123]) * MS,
    )

    assert verdict_of(difference_of(slow, fast)) is Verdict.FASTER
    assert verdict_of(difference_of(slow[:3], fast[:3])) is Verdict.NO_DIFFERENCE


def test_swapping_the_sides_flips_every_sign() -> None:
    one, other = series(1), 1.1 * series(2)

    there, back = difference_of(one, other), difference_of(other, one)

    assert there.difference_s == -back.difference_s
    assert there.step_mean_difference_s == -back.step_mean_difference_s
    assert verdict_of(there) is Verdict.SLOWER
    assert verdict_of(back) is Verdict.FASTER


def test_the_warm_up_is_left_out_and_numbered_steps_are_matched() -> None:
    before = known(run_of(report_of(steps_table(np.full(200, 10.0))), label="before").steps)
    after = known(run_of(report_of(steps_table(np.full(120, 10.0), first=50)), label="after").steps)

    chosen = choose(before, after)

    assert np.flatnonzero(chosen.before)[[0, -1]].tolist() == [60, 169]
    assert np.flatnonzero(chosen.after)[[0, -1]].tolist() == [10, 119]
    assert chosen.how == "steps 60 to 169 of both"


def test_steps_with_no_number_in_common_are_compared_whole() -> None:
    before = known(run_of(report_of(steps_table(np.full(50, 10.0))), label="before").steps)
    after = known(
        run_of(report_of(steps_table(np.full(50, 10.0), first=1_000)), label="after").steps
    )

    chosen = choose(before, after)

    assert int(chosen.before.sum()) == int(chosen.after.sum()) == 45
    assert chosen.how == "all steps after the warm-up"
