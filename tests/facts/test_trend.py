from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.trend import (
    above_median,
    deviation_threshold_ns,
    excess_of,
    scatter_of,
    trend_of,
    usual_of,
)
from reportgen.rules.aws.aws_step_outlier import outliers_by_minute
from reportgen.units import NS_PER_MINUTE, NS_PER_S


def test_a_straight_line_has_its_slope_and_full_agreement() -> None:
    trend = trend_of(np.array([1.0, 3.0, 5.0, 7.0]))

    assert (trend.slope, trend.rise, trend.agreement) == (2.0, 6.0, 1.0)


def test_one_outlier_changes_the_slope_little() -> None:
    values = np.arange(20.0)
    values[10] = 500.0

    assert trend_of(values).slope == pytest.approx(1.0, abs=0.1)


def test_the_usual_value_follows_a_drift() -> None:
    values = np.linspace(100.0, 200.0, 1000)
    assert usual_of(values)[100:900] == pytest.approx(values[100:900], abs=4.0)


def test_a_short_series_has_one_usual_value() -> None:
    assert usual_of(np.array([1.0, 1.0, 1.0, 9.0])).tolist() == [1.0] * 4


def test_scatter_of_normal_values_is_about_their_deviation() -> None:
    noise = np.random.default_rng(7).normal(0.0, 2.0, 20_000)
    assert scatter_of(noise) == pytest.approx(2.0, rel=0.1)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_the_threshold_uses_the_population_deviation() -> None:
    # mean 5, population variance ((-3)^2 + 3 * 1^2) / 4 = 3; the sample variance would be 4
    assert deviation_threshold_ns(ints([2, 6, 6, 6]), 3) == pytest.approx(5 + 3 * 3**0.5, rel=1e-15)


def test_a_series_is_judged_only_with_more_than_enough_steps() -> None:
    ends = ints([index * NS_PER_S for index in range(8)])
    durations = ints([1] * 8)

    assert outliers_by_minute(ends, durations, stddev=3, min_steps=8)[0].size == 0
    assert outliers_by_minute(ends, durations, stddev=3, min_steps=7)[0].tolist() == [0]


def test_minute_by_minute_equals_judging_each_beginning_alone() -> None:
    rng = np.random.default_rng(7)
    ends = np.sort(rng.integers(0, 30 * NS_PER_MINUTE, 3000))
    durations = rng.gamma(2.0, 1e8, 3000).astype(np.int64)
    minutes, counts = outliers_by_minute(ends, durations, stddev=2, min_steps=100)

    for minute, count in zip(minutes, counts, strict=True):
        so_far = durations[ends < minute + NS_PER_MINUTE]
        assert count == (so_far > deviation_threshold_ns(so_far, 2)).sum()


def test_a_duration_of_exactly_twice_the_median_is_normal() -> None:
    assert above_median(ints([1, 1, 1, 2, 3])).tolist() == [False] * 4 + [True]
    assert above_median(ints([1, 1, 1, 2, 3]), factor=1.5).tolist() == [False] * 3 + [True] * 2


def test_what_is_slow_against_its_time_follows_a_drift() -> None:
    durations = np.linspace(100, 200, 640) + np.random.default_rng(1).normal(0, 1, 640)
    durations[50] += 40
    excess, is_slow = excess_of(durations)

    assert np.flatnonzero(is_slow).tolist() == [50]
    assert excess[50] == pytest.approx(40, abs=8)
    assert not (durations[50] > durations[-50:]).any()
