from __future__ import annotations

import numpy as np

from reportgen.rules.maths.windows import window_percentiles


def test_each_stop_looks_back_over_the_window_and_no_further() -> None:
    values = np.arange(20, dtype=np.float64)

    found = window_percentiles(values, np.array([10, 20]), window=5, points_pct=(0, 50, 100))

    np.testing.assert_array_equal(found, [[5, 7, 9], [15, 17, 19]])


def test_a_window_that_is_not_full_uses_what_is_there() -> None:
    values = np.array([4.0, 8.0, 6.0])

    found = window_percentiles(values, np.array([0, 1, 3]), window=5, points_pct=(50,))

    np.testing.assert_array_equal(found, [[np.nan], [4.0], [6.0]])


def test_percentiles_interpolate_between_neighbours() -> None:
    values = np.array([10.0, 20.0])

    found = window_percentiles(values, np.array([2]), window=2, points_pct=(95,))

    np.testing.assert_allclose(found, [[19.5]], rtol=1e-12)


def test_no_stops_give_no_rows() -> None:
    found = window_percentiles(
        np.arange(3.0), np.empty(0, dtype=np.int64), window=2, points_pct=(5, 95)
    )

    assert found.shape == (0, 2)
