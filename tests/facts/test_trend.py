from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.trend import MAX_POINTS, scatter_of, trend_of, usual_of


def test_a_straight_line_has_its_slope_and_full_agreement() -> None:
    trend = trend_of(np.array([1.0, 3.0, 5.0, 7.0]))

    assert (trend.slope, trend.rise, trend.agreement) == (2.0, 6.0, 1.0)


def test_a_flat_line_has_no_trend() -> None:
    trend = trend_of(np.full(10, 42.0))

    assert (trend.slope, trend.rise, trend.agreement) == (0.0, 0.0, 0.0)


def test_one_outlier_changes_the_slope_little() -> None:
    values = np.arange(20.0)
    values[10] = 500.0

    assert trend_of(values).slope == pytest.approx(1.0, abs=0.1)


def test_one_step_in_the_middle_agrees_only_half() -> None:
    trend = trend_of(np.array([10.0] * 10 + [50.0] * 10))

    assert trend.agreement == pytest.approx(100 / 190)


def test_a_long_series_is_cut_to_blocks_and_keeps_its_slope() -> None:
    values = np.arange(10 * MAX_POINTS) / 100

    trend = trend_of(values)

    # Medians of equal blocks lie on the line; only the stretch of the ends differs, by 1 %.
    assert trend.slope == pytest.approx(0.01, rel=0.01)
    assert trend.rise == pytest.approx(40, rel=0.01)


def test_the_usual_value_follows_a_drift() -> None:
    values = np.linspace(100.0, 200.0, 1000)
    assert usual_of(values)[100:900] == pytest.approx(values[100:900], abs=4.0)


def test_a_third_of_high_values_leaves_it_where_it_is() -> None:
    values = np.full(999, 10.0)
    values[::3] = 50.0
    assert (usual_of(values) == 10.0).all()


def test_a_short_series_has_one_usual_value() -> None:
    assert usual_of(np.array([1.0, 1.0, 1.0, 9.0])).tolist() == [1.0] * 4


def test_scatter_of_normal_values_is_about_their_deviation() -> None:
    noise = np.random.default_rng(7).normal(0.0, 2.0, 20_000)
    assert scatter_of(noise) == pytest.approx(2.0, rel=0.1)
