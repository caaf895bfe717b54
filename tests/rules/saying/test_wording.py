from __future__ import annotations

import pytest

from reportgen.rules.saying.wording import label, say_of, say_place, say_some, say_times


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, ""),
        (1, "g0"),
        (2, "g0 and g1"),
        (3, "g0, g1 and g2"),
        (4, "g0, g1, g2 and g3"),
        (5, "g0, g1, g2 and 2 more"),
    ],
)
def test_long_lists_are_cut_when_that_saves_words(count: int, expected: str) -> None:
    assert say_some([f"g{index}" for index in range(count)]) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (1, 1, "the only GPU"),
        (2, 2, "both GPUs"),
        (4, 4, "all 4 GPUs"),
        (1, 2, "1 of 2 GPUs"),
        (3, 512, "3 of 512 GPUs"),
    ],
)
def test_a_part_is_told_against_the_whole(part: int, whole: int, expected: str) -> None:
    assert say_of(part, whole, "GPU") == expected


def test_counts_have_their_plural() -> None:
    assert say_times(1, "minute") == "1 minute"
    assert say_times(1250, "tick") == "1,250 ticks"
    assert say_times(0, "tick") == "0 ticks"


def test_devices_are_named_with_their_node_only_when_there_are_several() -> None:
    assert say_place("algo-2", "gpu1") == "gpu1 on algo-2"
    assert label("algo-2", "gpu1", n_nodes=1) == "gpu1"
    assert label("algo-2", "gpu1", n_nodes=2) == "algo-2 gpu1"
