from __future__ import annotations

from reportgen.rules.aws.details import LastViolation, violation_details
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
