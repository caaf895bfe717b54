"""Measurements of several parts become one as their fields declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reportgen.merging import (
    concat,
    distinct_codes,
    greatest,
    joint_codes,
    least,
    merge,
    merge_by,
    merged,
    order_of_codes,
    rows_by_code,
    sum_by_key,
    sums_by_code,
)


@dataclass(frozen=True, kw_only=True)
class Copies:
    rank: int
    n_ops: int = merged(sum)
    deepest: int = merged(max)
    names: tuple[str, ...] = merged(concat)
    spent_ns: Mapping[str, int] = merged(sum_by_key)


def test_measurements_merge_as_their_fields_declare() -> None:
    one = Copies(rank=0, n_ops=1, deepest=5, names=("x",), spent_ns={"h2d": 1, "d2h": 2})
    two = Copies(rank=1, n_ops=2, deepest=3, names=("y", "x"), spent_ns={"d2h": 3, "p2p": 4})

    assert merge([one, two]) == Copies(
        rank=0, n_ops=3, deepest=5, names=("x", "y", "x"), spent_ns={"h2d": 1, "d2h": 5, "p2p": 4}
    )
    assert merge([one]) == one


def test_measurements_of_one_key_merge_and_keys_stay_in_order() -> None:
    items = [
        Copies(rank=rank, n_ops=n_ops, deepest=n_ops, names=(), spent_ns={})
        for rank, n_ops in ((2, 1), (0, 5), (2, 3))
    ]
    found = merge_by(items, lambda item: item.rank)

    assert [(rank, item.n_ops, item.deepest) for rank, item in found.items()] == [
        (2, 4, 3),
        (0, 5, 5),
    ]


def test_values_that_are_absent_do_not_count() -> None:
    assert (least([None, 3, 2]), greatest([None, 3, 2])) == (2, 3)
    assert (least([None]), greatest([])) == (None, None)


def test_sums_are_exact_where_floats_would_round() -> None:
    huge = 2**60
    assert sums_by_code(np.array([2, 0, 2]), np.array([huge, 5, 1]), 3).tolist() == [5, 0, huge + 1]


def test_rows_of_a_code_keep_their_order() -> None:
    found = [(code, rows.tolist()) for code, rows in rows_by_code(np.array([7, 3, 7, 3]))]

    assert found == [(3, [1, 3]), (7, [0, 2])]


def test_joint_codes_are_equal_only_where_all_columns_are() -> None:
    assert joint_codes(np.array([1, 1, 9, 1]), np.array([-1, 500, -1, -1])).tolist() == [0, 1, 2, 0]


CODES = st.lists(st.integers(-5, 70_000) | st.integers(-(2**62), 2**62), max_size=30)


@given(CODES, st.sampled_from([np.int8, np.int32, np.int64]))
def test_codes_are_found_and_sorted_as_numpy_does(numbers: list[int], dtype: type) -> None:
    codes: NDArray[np.integer] = np.array(numbers, dtype=np.int64).astype(dtype)

    for found, expected in zip(
        distinct_codes(codes), np.unique(codes, return_inverse=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(order_of_codes(codes), np.argsort(codes, kind="stable"))
