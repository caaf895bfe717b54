from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.rules.maths.nice_bins import bin_together, tally_values

values_ns = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_bins_are_round_and_hold_every_value() -> None:
    bins = bin_together([tally_values(ints([401_000_000, 402_000_000, 449_000_000]))])

    assert bins.edge_ns[0] == 401_000_000
    assert bins.edge_ns[1] - bins.edge_ns[0] == 1_000_000
    assert bins.counts[0].tolist()[:2] == [1, 1]
    assert bins.counts[0].tolist()[-1] == 1
    assert bins.counts.sum() == 3


def test_equal_values_share_one_bin_of_visible_width() -> None:
    bins = bin_together([tally_values(ints([4_000_000] * 116))])

    assert bins.counts.tolist() == [[116]]
    assert bins.edge_ns[1] - bins.edge_ns[0] >= 100


def test_workers_of_different_spread_share_bins() -> None:
    narrow, wide = tally_values(ints([1_000, 1_001])), tally_values(ints([0, 10_000_000]))
    bins = bin_together([narrow, wide])

    assert bins.counts.sum(axis=1).tolist() == [2, 2]
    assert bins.counts[0, 0] == 2


def test_no_values_make_no_bins() -> None:
    bins = bin_together([tally_values(ints([]))])

    assert bins.edge_ns.size == 0
    assert bins.counts.shape == (1, 0)


@given(st.lists(values_ns, min_size=1, max_size=4))
def test_bins_hold_each_value_once_in_its_place(groups: list[list[int]]) -> None:
    bins = bin_together([tally_values(ints(group)) for group in groups])

    assert bins.counts.shape[1] <= 60
    for group, counts in zip(groups, bins.counts, strict=True):
        expected, _ = np.histogram(ints(group), bins=np.append(bins.edge_ns[:-1], 2**62))
        np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("width_power", range(1, 12))
def test_the_width_is_one_two_or_five_times_a_power_of_ten(width_power: int) -> None:
    values = ints([0, 7 * 10**width_power, 35 * 10**width_power])
    bins = bin_together([tally_values(values)])
    width = int(bins.edge_ns[1] - bins.edge_ns[0])

    assert str(width).rstrip("0") in {"1", "2", "5"}
