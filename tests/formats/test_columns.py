"""Columns of whole numbers from whatever stands in the arguments."""

from __future__ import annotations

import pytest

from reportgen.formats.columns import Codes, whole_numbers


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


def test_codes_count_up_in_the_order_of_meeting() -> None:
    codes = Codes()
    assert codes.of(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert list(codes) == ["b", "a"]
