from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.thinning import thin


def times(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) * 1_000_000_000


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300), st.integers(1, 50))
def test_extremes_survive_and_buckets_are_never_too_many(
    samples: list[float], buckets: int
) -> None:
    values = np.array(samples)

    curve = thin(times(values.size), values, buckets=buckets)

    assert curve.time_ns.size == min(buckets, values.size)
    assert (curve.low.min(), curve.high.max()) == (values.min(), values.max())
    assert np.all(curve.low <= curve.high)
    assert curve.n_points == values.size


def test_short_curves_stay_as_they_are() -> None:
    curve = thin(times(3), np.array([1.0, 2.0, 3.0]), buckets=10)

    assert curve.low.tolist() == curve.mean.tolist() == curve.high.tolist() == [1.0, 2.0, 3.0]
    assert curve.time_ns.tolist() == times(3).tolist()


def test_absent_samples_are_left_out_and_empty_buckets_are_absent() -> None:
    curve = thin(times(4), np.array([np.nan, 4.0, np.nan, np.nan]), buckets=2)

    np.testing.assert_array_equal(curve.mean, [4.0, np.nan])
    np.testing.assert_array_equal(curve.low, [4.0, np.nan])


def test_nothing_stays_nothing() -> None:
    curve = thin(times(0), np.empty(0))

    assert curve.time_ns.size == curve.mean.size == curve.n_points == 0
