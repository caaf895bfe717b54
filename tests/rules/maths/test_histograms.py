from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from reportgen.rules.maths.histograms import (
    aws_histogram,
    bin_index,
    jensen_shannon,
    pct_histogram,
)


@pytest.mark.parametrize(
    ("value", "place"),
    [(0.0, 0), (1.99, 0), (2.0, 1), (97.99, 48), (98.0, 49), (100.0, 49), (-1.0, 0), (250.0, 49)],
)
def test_a_value_goes_to_its_bin_and_what_is_out_of_range_to_the_edge(
    value: float, place: int
) -> None:
    assert bin_index(np.array([value])).tolist() == [place]


def test_no_sample_is_lost_but_absent_ones() -> None:
    counts = pct_histogram(np.array([[0.0, 99.0], [np.nan, 100.0]]))

    assert counts.sum() == 3
    assert (counts[0], counts[49]) == (1, 2)
    assert counts.size == 50


def test_aws_closes_its_last_bin_and_drops_what_is_above_98() -> None:
    counts = aws_histogram(np.array([96.0, 98.0, 98.01, 99.0, 100.0, 1.0, 2.0]))

    assert counts.size == 49
    assert counts.sum() == 4
    assert (counts[48], counts[0], counts[1]) == (2, 1, 1)


counts_50 = arrays(np.int64, 50, elements=st.integers(0, 2000)).filter(lambda row: row.sum() > 0)


@given(counts_50, counts_50)
def test_the_distance_is_scipys(one: np.ndarray, other: np.ndarray) -> None:
    # Two nearly equal histograms have a divergence of a few 1e-17, whose root is about 1e-8.
    assert float(jensen_shannon(one, other)) == pytest.approx(
        float(jensenshannon(one, other)), abs=3e-8
    )


def test_the_distance_is_scipys_to_the_last_digits_for_different_histograms() -> None:
    one, other = np.arange(50), np.arange(50)[::-1].copy()

    assert float(jensen_shannon(one, other)) == pytest.approx(
        float(jensenshannon(one, other)), abs=1e-12
    )


def test_equal_histograms_are_at_distance_zero_and_disjoint_ones_at_most() -> None:
    busy, idle = np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64)
    busy[49], idle[0] = 1000, 1000

    assert float(jensen_shannon(busy, busy)) == 0.0
    assert float(jensen_shannon(busy, idle)) == pytest.approx(np.sqrt(np.log(2)), abs=1e-12)


def test_rows_are_compared_one_by_one() -> None:
    busy, idle = np.eye(50, dtype=np.int64)[49], np.eye(50, dtype=np.int64)[0]

    found = jensen_shannon(np.stack([busy, busy]), np.stack([busy, idle]))

    np.testing.assert_allclose(found, [0.0, np.sqrt(np.log(2))], atol=1e-12)
