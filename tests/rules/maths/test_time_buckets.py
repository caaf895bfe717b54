from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.time_buckets import bucket_by_time, coarsen, join_lines, lay_over

points = st.lists(
    st.tuples(st.integers(0, 10**13), st.floats(0, 100)), min_size=1, max_size=80
).map(sorted)


def line(pairs: list[tuple[int, float]], *, width_ns: int = 1, buckets: int = 16):
    times = np.array([time for time, _ in pairs], dtype=np.int64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    return bucket_by_time(times, values, least_width_ns=width_ns, buckets=buckets)


def test_a_bucket_keeps_minimum_mean_and_maximum() -> None:
    (only,) = lay_over([line([(0, 1.0), (3, 2.0), (5, 6.0)], width_ns=8)])[1]

    assert (only.low.tolist(), only.mean.tolist(), only.high.tolist()) == ([1.0], [3.0], [6.0])


def test_lines_of_different_pace_get_common_instants() -> None:
    fast = line([(0, 1.0), (2, 2.0), (4, 3.0)], width_ns=2)
    slow = line([(5, 9.0)], width_ns=4)
    time_ns, (first, second) = lay_over([fast, slow])

    assert time_ns.tolist() == [0, 4]
    assert first.high.tolist() == [2.0, 3.0]
    assert np.isnan(second.high[0])
    assert second.high[1] == 9.0


def test_nothing_to_draw_is_an_empty_line() -> None:
    time_ns, (only,) = lay_over([line([])])

    assert time_ns.size == only.low.size == 0


@given(points)
def test_no_extreme_is_lost_and_buckets_are_few(pairs: list[tuple[int, float]]) -> None:
    found = line(pairs)
    values = [value for _, value in pairs]

    assert found.index.size <= 17
    assert found.low.min() == min(values)
    assert found.high.max() == max(values)
    assert found.count.sum() == len(values)


@given(points)
def test_coarse_buckets_equal_those_made_at_once(pairs: list[tuple[int, float]]) -> None:
    fine = line(pairs)
    coarse, direct = coarsen(fine, fine.width_ns * 4), line(pairs, width_ns=fine.width_ns * 4)

    assert coarse.index.tolist() == direct.index.tolist()
    assert coarse.low.tolist() == direct.low.tolist()
    assert coarse.high.tolist() == direct.high.tolist()
    assert coarse.count.tolist() == direct.count.tolist()


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
