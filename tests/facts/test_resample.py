from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.resample import align, bucket_by_time, even_buckets, join_lines, lay_over, thin

points = st.lists(
    st.tuples(st.integers(0, 10**13), st.floats(0, 100)), min_size=1, max_size=80
).map(sorted)


def line(pairs: list[tuple[int, float]], *, width_ns: int = 1, buckets: int = 16):
    times = np.array([time for time, _ in pairs], dtype=np.int64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    return bucket_by_time(times, values, least_width_ns=width_ns, buckets=buckets)


def test_lines_of_different_pace_get_common_instants() -> None:
    fast = line([(0, 1.0), (2, 2.0), (4, 3.0)], width_ns=2)
    slow = line([(5, 9.0)], width_ns=4)
    found = lay_over([fast, slow])

    assert found.time_ns.tolist() == [0, 4]
    np.testing.assert_array_equal(found.high, [[2.0, 3.0], [np.nan, 9.0]])


@given(points, points)
def test_joining_lines_keeps_every_value(
    first: list[tuple[int, float]], second: list[tuple[int, float]]
) -> None:
    joined = join_lines([line(first), line(second)])
    values = [value for _, value in (*first, *second)]

    assert joined.count.sum() == len(values)
    assert joined.low.min() == min(values)
    assert joined.high.max() == max(values)
    assert np.all(np.diff(joined.index) > 0)


def times(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) * 1_000_000_000


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300), st.integers(1, 50))
def test_extremes_survive_and_buckets_are_never_too_many(samples: list[float], buckets: int):
    values = np.array(samples)

    curve = thin(times(values.size), values, buckets=buckets)

    assert curve.time_ns.size == min(buckets, values.size)
    assert (curve.low.min(), curve.high.max()) == (values.min(), values.max())
    assert np.all(curve.low <= curve.high)
    assert curve.n_points == values.size


def test_absent_samples_are_left_out_and_empty_buckets_are_absent() -> None:
    curve = thin(times(4), np.array([np.nan, 4.0, np.nan, np.nan]), buckets=2)

    np.testing.assert_array_equal(curve.mean, [4.0, np.nan])
    np.testing.assert_array_equal(curve.low, [4.0, np.nan])


S = 1_000_000_000


@pytest.mark.parametrize("n_rows", [1, 659, 661, 700, 1320, 1380, 7200])
def test_a_curve_of_any_length_has_no_hole(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    time_ns = np.arange(n_rows, dtype=np.int64) * S + rng.integers(0, S // 20, n_rows)
    curve = thin(time_ns, np.ones(n_rows), buckets=even_buckets(n_rows, most=660))

    found = align([curve, curve], cells=600)

    assert not np.isnan(found.mean).any()
    assert curve.time_ns.size <= 660
    assert found.time_ns.size >= min(n_rows, 290)


def test_curves_of_two_nodes_share_one_axis() -> None:
    one = thin(np.arange(10, dtype=np.int64) * S, np.arange(10.0))
    late = thin(np.arange(5, 15, dtype=np.int64) * S + S // 7, np.arange(10.0) + 100)

    found = align([one, late], cells=600)

    assert found.mean.shape == (2, found.time_ns.size)
    assert np.isnan(found.mean[1, 0])
    assert np.isnan(found.mean[0, -1])
    assert (np.nanmin(found.low[1]), np.nanmax(found.high[1])) == (100.0, 109.0)
    assert np.all(np.diff(found.time_ns) > 0)


def test_a_pause_in_sampling_breaks_the_line_once() -> None:
    time_ns = np.concatenate((np.arange(20), np.arange(1000, 1020))).astype(np.int64) * S

    found = align([thin(time_ns, np.ones(40))], cells=600)

    assert np.isnan(found.mean[0]).sum() == 1
    assert found.time_ns.size <= 41


def test_a_curve_without_samples_stays_empty_beside_others() -> None:
    time_ns = np.arange(4, dtype=np.int64) * S

    found = align([thin(time_ns, np.full(4, np.nan)), thin(time_ns, np.ones(4))], cells=10)

    assert np.isnan(found.mean[0]).all()
    assert not np.isnan(found.mean[1]).any()


def test_the_means_of_a_cell_are_added_in_order_of_time() -> None:
    curve = thin(np.arange(4, dtype=np.int64) * S, np.array([0.1, 0.2, 0.3, 0.0]))

    # Another order gives 0.6 / 4: the last bit decides how a report rounds.
    assert align([curve], cells=1).mean[0, 0] == (0.1 + 0.2 + 0.3 + 0.0) / 4
