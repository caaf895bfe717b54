from __future__ import annotations

import numpy as np
import pytest

from reportgen.rules.maths.curves import align, even_buckets
from reportgen.rules.maths.thinning import thin

S = 1_000_000_000


def test_a_single_curve_keeps_its_extremes() -> None:
    time_ns = np.arange(5000, dtype=np.int64) * S
    values = np.full(5000, 50.0)
    values[1234], values[4321] = 0.0, 99.0

    found = align([thin(time_ns, values)], cells=600)

    assert found.time_ns.size <= 600
    assert (np.nanmin(found.low), np.nanmax(found.high)) == (0.0, 99.0)
    assert not np.isnan(found.mean).any()


def test_jitter_leaves_no_empty_cell() -> None:
    rng = np.random.default_rng(0)
    time_ns = np.arange(500, dtype=np.int64) * S + rng.integers(0, S // 20, 500)

    found = align([thin(time_ns, np.ones(500))], cells=600)

    assert not np.isnan(found.mean).any()


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


def test_more_cells_than_wanted_are_never_made() -> None:
    curves = [thin(np.arange(660, dtype=np.int64) * S, np.ones(660)) for _ in range(3)]

    assert align(curves, cells=120).time_ns.size <= 120
