from __future__ import annotations

import pickle
from dataclasses import replace

from reportgen.profile import NodeProfile, fact
from tests.builders import node_profile


def test_a_fact_is_computed_once_for_each_part() -> None:
    calls: list[str] = []

    @fact
    def n_ticks(part: NodeProfile) -> int:
        calls.append(part.node)
        return part.system.n_samples

    first, second = node_profile(node="algo-1"), node_profile(node="algo-2")

    assert [n_ticks(first), n_ticks(first), n_ticks(second)] == [0, 0, 0]
    assert calls == ["algo-1", "algo-2"]


def test_a_changed_or_sent_part_starts_without_facts() -> None:
    @fact
    def name(part: NodeProfile) -> str:
        return str(part.node)

    part = node_profile(node="algo-1")
    assert name(part) == "algo-1"

    assert name(replace(part, node=node_profile(node="algo-2").node)) == "algo-2"
    assert name(pickle.loads(pickle.dumps(part))) == "algo-1"


def test_a_fact_with_options_is_computed_once_for_each_of_them() -> None:
    calls: list[tuple[int, int]] = []

    @fact
    def product(part: NodeProfile, first: int = 2, second: int = 3) -> int:
        calls.append((first, second))
        return 10 * first + second

    part = node_profile()

    assert [product(part, first=5), product(part, second=5), product(part, 5)] == [53, 25, 53]
    assert product(part, second=1, first=4) == product(part, first=4, second=1) == 41
    assert calls.count((4, 1)) == 1
