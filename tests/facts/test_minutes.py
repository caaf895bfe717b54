from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.minutes import minutes_of, window_percentiles

MINUTE = 60_000_000_000


def test_minutes_are_those_of_the_wall_clock_and_only_those_with_data() -> None:
    time_ns = np.array([50, 59, 60, 61, 200]) * 1_000_000_000

    minutes = minutes_of(time_ns)

    assert (minutes.start_ns // MINUTE).tolist() == [0, 1, 3]
    assert minutes.stop.tolist() == [2, 4, 5]


def test_nothing_has_no_minutes() -> None:
    minutes = minutes_of(np.empty(0, dtype=np.int64))

    assert minutes.start_ns.size == minutes.stop.size == 0


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


def slow_percentile(values: list[float], point_pct: float) -> float:
    """Interpolate between the two order statistics around a place, in fractions."""
    ordered = sorted(values)
    place = Fraction(point_pct) / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = Fraction(ordered[below]), Fraction(ordered[above])
    return float(low + (high - low) * (place - below))


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.integers(1, 12),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_windows_are_those_of_a_slow_loop(
    values: list[float], window: int, stops: list[int]
) -> None:
    stops = [min(stop, len(values)) for stop in stops]

    found = window_percentiles(
        np.array(values), np.array(stops, dtype=np.int64), window=window, points_pct=(5, 50, 95)
    )

    for row, stop in zip(found, stops, strict=True):
        seen = values[max(stop - window, 0) : stop]
        if not seen:
            assert np.isnan(row).all()
            continue
        expected = [slow_percentile(seen, point) for point in (5, 50, 95)]
        # numpy interpolates in doubles: a few units in the last place of values up to 100.
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)
