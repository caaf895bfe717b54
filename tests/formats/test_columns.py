"""Columns of whole numbers from whatever stands in the arguments."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.formats.columns import Blocks, Codes, whole_numbers


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
    blocks = Blocks()
    blocks.add(1000, {"step": column})
    blocks.add(24, {})
    joined = blocks.take("step")
    assert (joined.strides, joined.shape) == ((0,), (1024,))
    assert joined[0] == -1


def test_columns_that_say_different_things_are_joined() -> None:
    blocks = Blocks()
    assert blocks.take("step").tolist() == []
    blocks.add(2, {"step": whole_numbers([-1, -1])})
    blocks.add(1, {"step": np.array([300])})
    blocks.add(2, {"step": -70_000})
    joined = blocks.take("step")
    assert joined.tolist() == [-1, -1, 300, -70_000, -70_000]
    assert joined.dtype == np.int32


def test_codes_count_up_in_the_order_of_meeting() -> None:
    codes = Codes()
    assert codes.of(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert list(codes) == ["b", "a"]
