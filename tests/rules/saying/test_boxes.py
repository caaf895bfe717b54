from __future__ import annotations

from reportgen.facts.distributions import Box
from reportgen.rules.saying.boxes import MAX_BOXES, NamedBox, boxes_exhibit

NUMBERS = {"p25": 1.0, "p50": 2.0, "p75": 3.0, "p95": 4.0, "upper": 5.0, "lower": 0.0, "top": 9.0}


def test_a_box_is_drawn_from_exactly_its_numbers() -> None:
    box = NamedBox.from_numbers("gpu0", NUMBERS, "top")
    assert box is not None

    item = boxes_exhibit("boxes", [box], title="t", unit="%")

    assert [column.name for column in item.columns] == [
        "name", "lower", "p25", "p50", "p75", "upper", "p95", "max",
    ]  # fmt: skip
    assert [column.values[0] for column in item.columns] == ["gpu0", 0, 1, 2, 3, 5, 4, 9]
    assert "1.5 times the box" in item.caption


def test_an_incomplete_entry_has_no_box() -> None:
    assert NamedBox.from_numbers("gpu0", {"p25": 1.0}) is None


def test_a_missing_maximum_is_absent() -> None:
    box = NamedBox.from_numbers("cpu", NUMBERS)

    assert box is not None
    assert box.largest is None


def test_more_boxes_than_can_be_told_apart_are_cut_and_it_is_said() -> None:
    box = NamedBox(name="x", box=Box(p25=1, p50=2, p75=3, p95=4, upper=5, lower=0))

    item = boxes_exhibit("boxes", [box] * 100, title="t", unit="%")

    assert item.n_rows == MAX_BOXES
    assert "The first 64 of 100." in item.caption
