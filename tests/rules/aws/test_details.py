from __future__ import annotations

import numpy as np

from reportgen.results import Counters
from reportgen.rules.aws.details import Found, Violations, counted
from tests.builders import START_S, ns


def node(name: str, *found: Found) -> Violations:
    return Violations(node=name, n_samples=400, found=found)


def violations(device: str, *at_s: float) -> Found:
    return np.array([ns(START_S + one_s) for one_s in at_s]), {device: {"p50": 1.0}}


def test_without_violations_there_are_no_details() -> None:
    assert counted([node("algo-1")]) == {"counters": Counters(datapoints=400), "details": {}}


def test_nodes_stand_in_the_order_of_their_first_violation_and_the_stamp_after_the_first() -> None:
    one = node("algo-1", violations("gpu0", 130), violations("gpu1", 70))
    result = counted([one, node("algo-2", violations("gpu0", 10, 100, 190))])
    details = result["details"]

    assert list(details) == ["algo-2", "last_timestamp", "algo-1"]
    assert list(details["algo-1"]) == ["gpu1", "gpu0"]  # type: ignore[arg-type]
    assert details["last_timestamp"] == int(START_S + 180) * 1_000_000
    assert result["counters"] == Counters(rule_triggered=5, violations=5, datapoints=400)


def test_within_a_minute_nodes_stand_in_their_own_order() -> None:
    nodes = [node("algo-1", violations("gpu0", 50)), node("algo-2", violations("gpu0", 10))]

    assert list(counted(nodes)["details"]) == ["algo-1", "last_timestamp", "algo-2"]
