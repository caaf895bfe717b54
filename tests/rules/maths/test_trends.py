from __future__ import annotations

import numpy as np
import pytest

from reportgen.rules.maths.trends import MAX_POINTS, trend_of


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
