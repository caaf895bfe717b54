"""Which functions ran at some moments, counted by hand; the members of AWS test the other sums."""

from __future__ import annotations

import numpy as np

from reportgen.facts.breakdown import FunctionSums, event_sums, function_sums, is_step
from reportgen.merging import merge
from tests.builders import START_S, ns, span_table

STEP = "Step:ModeKeys.TRAIN"
THREE = span_table(
    [
        ("Load", "next", START_S, START_S + 4),
        ("Load", "next", START_S + 6, START_S + 7),
        (STEP, STEP, START_S, START_S + 8),
    ]
)


def test_steps_are_no_functions_and_each_event_counts_once_with_its_full_length() -> None:
    found = function_sums(THREE, np.ones(3, dtype=bool))

    assert found.count == {("next", "Load"): 2}
    assert found.total_ns == {("next", "Load"): 5_000_000_000}
    assert found.n_events == 2
    assert is_step(THREE).sum() == 1


def test_the_part_inside_windows_is_that_of_their_union() -> None:
    first_ns, last_ns = (np.array([ns(START_S + at) for at in ends]) for ends in ((3, 4), (5, 6.5)))
    found = event_sums(THREE, ~is_step(THREE), windows=(first_ns, last_ns))

    assert found.inside_ns == {("next", "Load"): 1_500_000_000}
    assert found.total_ns == {("next", "Load"): 5_000_000_000}


def sums(**seconds: tuple[int, float]) -> FunctionSums:
    return FunctionSums(
        count={(name, "phase"): count for name, (count, _) in seconds.items()},
        total_ns={(name, "phase"): ns(length_s) for name, (_, length_s) in seconds.items()},
    )


def test_sums_of_nodes_add_up() -> None:
    both = merge([FunctionSums(), sums(a=(1, 2.0)), sums(a=(2, 1.0), b=(1, 1.0))])

    assert both.count == {("a", "phase"): 3, ("b", "phase"): 1}
    assert both.share_pct == {("a", "phase"): 75.0, ("b", "phase"): 25.0}
