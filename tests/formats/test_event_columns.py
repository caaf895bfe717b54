"""Columns of whole numbers from whatever stands in the arguments."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.formats.event_columns import Codes, join_numbers, whole_numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7),
        ("7", 7),
        (True, 1),
        ("true", 1),
        ("False", 0),
        (2.0, 2),
        ("1e3", 1000),
        (None, -1),
        ("many", -1),
        ("", -1),
        (float("inf"), -1),
        (2**80, -1),
    ],
)
def test_any_value_becomes_a_whole_number_or_absent(value: object, number: int) -> None:
    assert whole_numbers([value]).tolist() == [number]
    assert whole_numbers([value, None]).tolist() == [number, -1]


def test_a_column_that_says_nothing_takes_no_memory() -> None:
    column = whole_numbers([-1] * 1000)
    assert (column.strides, column.shape) == ((0,), (1000,))
    joined = join_numbers([column, whole_numbers([-1] * 24)])
    assert (joined.strides, joined.shape) == ((0,), (1024,))


def test_columns_that_say_different_things_are_joined() -> None:
    assert join_numbers([whole_numbers([-1, -1]), np.array([3])]).tolist() == [-1, -1, 3]
    assert join_numbers([]).tolist() == []


def test_codes_count_up_in_the_order_of_meeting() -> None:
    codes = Codes()
    assert codes.of(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert list(codes) == ["b", "a"]
