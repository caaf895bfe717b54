from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.facts.resample import MAX_BUCKETS, align, bucket_by_time, join_lines, lay_over

points = st.lists(
    st.tuples(st.integers(0, 10**13), st.floats(0, 100)), min_size=1, max_size=80
).map(sorted)


def line(pairs: list[tuple[int, float]], *, width_ns: int = 1, buckets: int = 16):
    times = np.array([time for time, _ in pairs], dtype=np.int64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    return bucket_by_time(times, values, least_width_ns=width_ns, buckets=buckets)


def test_lines_of_different_pace_get_common_instants() -> None:
    fast = line([(0, 1.0), (2, 2.0), (4, 3.0)], width_ns=2)
    found = lay_over([fast, line([(5, 9.0)], width_ns=4)])

    assert found.time_ns.tolist() == [0, 4]
    np.testing.assert_array_equal(found.high, [[2.0, 3.0], [np.nan, 9.0]])


@given(points, points)
def test_joining_lines_keeps_every_value(first, second) -> None:
    joined = join_lines([line(first), line(second)])
    values = [value for _, value in (*first, *second)]

    assert joined.count.sum() == len(values)
    assert joined.low.min() == min(values)
    assert joined.high.max() == max(values)
    assert np.all(np.diff(joined.index) > 0)


@given(points, st.integers(2, 50))
def test_extremes_survive_and_buckets_are_never_too_many(samples, buckets) -> None:
    values = [value for _, value in samples]

    curve = line(samples, buckets=buckets)

    assert curve.index.size <= buckets
    assert (curve.low.min(), curve.high.max()) == (min(values), max(values))
    assert np.all(curve.low <= curve.high)
    assert curve.count.sum() == len(values)
    assert curve.first_ns[0] == samples[0][0]


def test_absent_samples_are_left_out() -> None:
    curve = line([(0, np.nan), (1, 4.0), (2, np.nan), (3, np.nan)])

    assert (curve.index.tolist(), curve.low.tolist(), curve.count.tolist()) == ([1], [4.0], [1])


S = 1_000_000_000


def sampled(seconds: np.ndarray, values: np.ndarray):
    """Return a curve of samples of each second."""
    return bucket_by_time((seconds * S).astype(np.int64), values, least_width_ns=S)


@pytest.mark.parametrize("n_rows", [1, 659, 661, 700, 1320, 1380, 7200])
def test_a_curve_of_any_length_has_no_hole(n_rows: int) -> None:
    late = np.random.default_rng(n_rows).integers(0, S // 20, n_rows) / S
    curve = sampled(np.arange(n_rows) + late, np.ones(n_rows))

    found = align([curve, curve], cells=600)

    assert not np.isnan(found.mean).any()
    assert curve.index.size <= MAX_BUCKETS
    assert found.time_ns.size >= min(n_rows, 290)
    assert found.time_ns[0] == curve.first_ns[0]


def test_curves_of_two_nodes_share_one_axis() -> None:
    one = sampled(np.arange(10.0), np.arange(10.0))
    found = align([one, sampled(np.arange(5.0, 15.0) + 1 / 7, np.arange(10.0) + 100)], cells=600)

    assert found.mean.shape == (2, found.time_ns.size)
    assert np.isnan(found.mean[1, 0])
    assert np.isnan(found.mean[0, -1])
    assert (np.nanmin(found.low[1]), np.nanmax(found.high[1])) == (100.0, 109.0)
    assert np.all(np.diff(found.time_ns) > 0)


def test_a_pause_in_sampling_breaks_the_line_once() -> None:
    seconds = np.concatenate((np.arange(20.0), np.arange(1000.0, 1020.0)))

    found = align([sampled(seconds, np.ones(40))], cells=600)

    assert np.isnan(found.mean[0]).sum() == 1
    assert found.time_ns.size <= 41


def test_a_curve_without_samples_stays_empty_beside_others() -> None:
    empty = sampled(np.arange(4.0), np.full(4, np.nan))

    found = align([empty, sampled(np.arange(4.0), np.ones(4))], cells=10)

    assert np.isnan(found.mean[0]).all()
    assert not np.isnan(found.mean[1]).any()
