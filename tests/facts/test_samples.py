from __future__ import annotations

import numpy as np

from reportgen.facts.samples import mean_over, present_values, sum_over

NAN = np.nan


def test_absent_values_do_not_count_in_a_mean() -> None:
    found = mean_over(np.array([[10.0, 20.0], [NAN, 30.0], [NAN, NAN]]))

    np.testing.assert_array_equal(found, [15.0, 30.0, NAN])


def test_absent_values_do_not_count_in_a_sum() -> None:
    found = sum_over(np.array([[10.0, 20.0], [NAN, 30.0], [NAN, NAN]]))

    np.testing.assert_array_equal(found, [30.0, 30.0, NAN])


def test_a_node_without_such_a_series_has_nothing_at_any_tick() -> None:
    nothing = np.empty((3, 0))

    np.testing.assert_array_equal(mean_over(nothing), [NAN] * 3)
    np.testing.assert_array_equal(sum_over(nothing), [NAN] * 3)


def test_absent_values_are_left_out() -> None:
    assert present_values(np.array([1.0, np.nan, 3.0])).tolist() == [1.0, 3.0]
