from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.quantiles import Box, box_of, percentiles, present_values


def test_percentiles_are_numpys_linear_ones() -> None:
    values = np.arange(500, dtype=np.float64)

    # 0.95 * 499 with the rounding that AWS's numbers carry as well.
    assert percentiles(values, (95,)).tolist() == [474.04999999999995]


def test_whiskers_are_held_to_the_data() -> None:
    values = np.array([10.0, 20.0, 30.0, 40.0, 50.0])

    assert box_of(values) == Box(p25=20, p50=30, p75=40, p95=48, upper=50, lower=10)


def test_whiskers_leave_outliers_outside() -> None:
    values = np.array([0.0, 50.0, 50.0, 52.0, 54.0, 54.0, 100.0])

    box = box_of(values)

    assert (box.p25, box.p75) == (50, 54)
    assert (box.lower, box.upper) == (44, 60)


def test_one_value_is_a_box() -> None:
    assert box_of(np.array([7.0])) == Box(p25=7, p50=7, p75=7, p95=7, upper=7, lower=7)


def test_absent_values_are_left_out() -> None:
    assert present_values(np.array([1.0, np.nan, 3.0])).tolist() == [1.0, 3.0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.floats(0, 100))
def test_a_percentile_lies_where_exact_fractions_put_it(
    values: list[float], point_pct: float
) -> None:
    ordered = [Fraction(value) for value in sorted(values)]
    place = Fraction(point_pct) / 100 * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    expected = float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))

    (found,) = percentiles(np.array(values), (point_pct,))

    # The place itself is rounded to a double: between neighbours far apart that moves the value.
    reach = float(ordered[-1] - ordered[0])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * (1 + reach))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_box_is_in_order_and_inside_the_data(values: list[float]) -> None:
    box = box_of(np.array(values))

    assert min(values) <= box.lower
    assert box.upper <= max(values)
    assert box.p25 <= box.p50 <= box.p75 <= box.p95
    reach = 1.5 * (box.p75 - box.p25)
    assert box.upper == min(max(values), box.p75 + reach)
    assert box.lower == max(min(values), box.p25 - reach)
