from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.slow import (
    above_median,
    deviation_threshold_ns,
    excess_of,
    outliers_by_minute,
)
from reportgen.units import NS_PER_MINUTE, NS_PER_S


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_the_threshold_uses_the_population_deviation() -> None:
    # mean 5, population variance ((-3)^2 + 3 * 1^2) / 4 = 3; the sample variance would be 4
    assert deviation_threshold_ns(ints([2, 6, 6, 6]), 3) == pytest.approx(5 + 3 * 3**0.5, rel=1e-15)


def test_equal_durations_have_no_outlier() -> None:
    durations = ints([100_000_001] * 101)

    assert not (durations > deviation_threshold_ns(durations, 3)).any()


def test_a_series_is_judged_only_with_more_than_enough_steps() -> None:
    ends = ints([index * NS_PER_S for index in range(8)])
    durations = ints([1] * 8)

    assert outliers_by_minute(ends, durations, stddev=3, min_steps=8)[0].size == 0
    assert outliers_by_minute(ends, durations, stddev=3, min_steps=7)[0].tolist() == [0]


def test_each_minute_judges_all_steps_so_far() -> None:
    # Twenty steps of 10 a minute, and one of 1000 in the first: its own minute's threshold is
    # 57.1 + 3 * 210.8 = 690, later ones are lower still.
    ends, durations = [], []
    for minute in range(3):
        ends += [minute * NS_PER_MINUTE + index for index in range(20)]
        durations += [10] * 20
    ends.append(30)
    durations.append(1000)
    minutes, counts = outliers_by_minute(ints(ends), ints(durations), stddev=3, min_steps=20)

    assert minutes.tolist() == [0, NS_PER_MINUTE, 2 * NS_PER_MINUTE]
    assert counts.tolist() == [1, 1, 1]


def test_minutes_without_steps_are_not_judged() -> None:
    ends = ints([0, 1, 5 * NS_PER_MINUTE])
    minutes, _ = outliers_by_minute(ends, ints([1, 1, 1]), stddev=3, min_steps=1)

    assert minutes.tolist() == [0, 5 * NS_PER_MINUTE]


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
    rng = np.random.default_rng(1)
    durations = np.linspace(100, 200, 640) + rng.normal(0, 1, 640)
    durations[50] += 40
    excess, is_slow = excess_of(durations)

    assert np.flatnonzero(is_slow).tolist() == [50]
    assert excess[50] == pytest.approx(40, abs=8)
    assert not (durations[50] > durations[-50:]).any()
