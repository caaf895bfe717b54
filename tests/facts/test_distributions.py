from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from reportgen.facts.distributions import (
    aws_histogram,
    bin_index,
    bin_together,
    box_of,
    jensen_shannon,
    pct_histogram,
)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_bins_are_round_and_hold_every_value() -> None:
    edge_ns, counts = bin_together([ints([401_000_000, 402_000_000, 449_000_000])])

    assert edge_ns[0] == 401_000_000
    assert edge_ns[1] - edge_ns[0] == 1_000_000
    assert counts[0].tolist()[:2] == [1, 1]
    assert counts[0].tolist()[-1] == 1
    assert counts.sum() == 3


def test_no_values_make_no_bins() -> None:
    edge_ns, counts = bin_together([ints([])])

    assert edge_ns.size == 0
    assert counts.shape == (1, 0)


@pytest.mark.parametrize(
    ("value", "place"),
    [(0.0, 0), (1.99, 0), (2.0, 1), (97.99, 48), (98.0, 49), (100.0, 49), (-1.0, 0), (250.0, 49)],
)
def test_a_value_goes_to_its_bin_and_what_is_out_of_range_to_the_edge(value, place) -> None:
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


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_box_is_in_order_and_inside_the_data(values: list[float]) -> None:
    box = box_of(np.array(values))

    assert min(values) <= box.lower
    assert box.upper <= max(values)
    assert box.p25 <= box.p50 <= box.p75 <= box.p95
    reach = 1.5 * (box.p75 - box.p25)
    assert box.upper == min(max(values), box.p75 + reach)
    assert box.lower == max(min(values), box.p25 - reach)
