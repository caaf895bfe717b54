from __future__ import annotations

from reportgen.facts.distributions import Box
from reportgen.results import Details, Role
from reportgen.rules.aws.details import (
    LastViolation,
    box_member,
    boxes_of,
    entries_of,
    last_timestamp_s,
    violation_details,
)
from tests.builders import START_S, ns


def violation(device: str, first_s: float, last_s: float) -> LastViolation:
    return LastViolation(
        first_ns=ns(START_S + first_s), last_ns=ns(START_S + last_s), members={device: {"p50": 1.0}}
    )


def test_without_violations_there_are_no_details() -> None:
    assert violation_details([("algo-1", [])]) == {}


def test_nodes_stand_in_the_order_of_their_first_violation_and_the_stamp_after_the_first() -> None:
    details = violation_details(
        [
            ("algo-1", [violation("gpu0", 130, 130), violation("gpu1", 70, 70)]),
            ("algo-2", [violation("gpu0", 10, 190)]),
        ]
    )

    assert list(details) == ["algo-2", "last_timestamp", "algo-1"]
    assert list(details["algo-1"]) == ["gpu1", "gpu0"]  # type: ignore[arg-type]
    assert details["last_timestamp"] == int(START_S + 180) * 1_000_000


def test_within_a_minute_nodes_stand_in_their_own_order() -> None:
    details = violation_details(
        [("algo-1", [violation("gpu0", 50, 50)]), ("algo-2", [violation("gpu0", 10, 10)])]
    )

    assert list(details) == ["algo-1", "last_timestamp", "algo-2"]


def test_entries_are_read_back_and_what_is_no_number_is_left_out() -> None:
    details: Details = {
        "algo-1": {"gpu0": {"p50": 3, "odd": "text", "flag": True}, "broken": 7},
        "last_timestamp": 1783158000000000,
        "algo-2": "not an entry",
    }

    assert entries_of(details) == [("algo-1", "gpu0", {"p50": 3.0})]
    assert last_timestamp_s(details) == 1783158000.0
    assert last_timestamp_s({"last_timestamp": "soon"}) is None


def test_a_box_is_read_from_exactly_its_numbers() -> None:
    box = Box(p25=1.0, p50=2.0, p75=3.0, p95=4.0, upper=5.0, lower=0.0)
    numbers = {
        "p25": 1.0,
        "p50": 2.0,
        "p75": 3.0,
        "p95": 4.0,
        "upper": 5.0,
        "lower": 0.0,
        "top": 9.0,
    }

    assert list(box_member(box)) == ["p25", "p50", "p75", "p95", "upper", "lower"]
    incomplete = ("algo-1", "gpu1", {"p25": 1.0})
    one, two = ("algo-1", "gpu0", numbers), ("algo-2", "cpu", numbers)
    shown = boxes_of([one, incomplete], title="Use", largest="top", role=Role.GPU)
    assert [column.values for column in shown.columns] == [
        ("gpu0",), (0.0,), (1.0,), (2.0,), (3.0,), (5.0,), (4.0,), (9.0,),
    ]  # fmt: skip
    assert (shown.role, shown.row_roles) == (Role.GPU, ())
    shown = boxes_of([one, two], title="Use", role_of=lambda name: Role(name[:3]))
    assert shown.columns[0].values == ("algo-1 gpu0", "algo-2 cpu")
    assert shown.columns[-1].values == (None, None)
    assert shown.row_roles == (Role.GPU, Role.CPU)
