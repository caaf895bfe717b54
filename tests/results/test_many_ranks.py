"""The few ranks of many that a chart shows, by hand-made numbers."""

from __future__ import annotations

from reportgen.results.many_ranks import MOST_UNUSUAL, unusual


def test_few_values_are_all_shown() -> None:
    assert unusual([3.0, 1.0, 2.0]) == [0, 1, 2]


def test_of_many_the_median_and_the_most_unusual_are_shown() -> None:
    values = [10.0] * 100
    values[40], values[70] = 50.0, 0.0
    found = unusual(values)

    assert len(found) == MOST_UNUSUAL + 1
    assert {40, 70} <= set(found)
    assert found == sorted(found)
