from __future__ import annotations

from reportgen.rules.saying.boxes import NamedBox

NUMBERS = {"p25": 1.0, "p50": 2.0, "p75": 3.0, "p95": 4.0, "upper": 5.0, "lower": 0.0, "top": 9.0}


def test_a_box_and_its_largest_value_are_read_from_an_entry() -> None:
    box = NamedBox.from_numbers("gpu0", NUMBERS, "top")

    assert box is not None
    assert (box.name, box.box.p50, box.largest) == ("gpu0", 2.0, 9.0)


def test_an_incomplete_entry_has_no_box() -> None:
    assert NamedBox.from_numbers("gpu0", {"p25": 1.0}) is None


def test_a_missing_maximum_is_absent() -> None:
    box = NamedBox.from_numbers("cpu", NUMBERS)

    assert box is not None
    assert box.largest is None
