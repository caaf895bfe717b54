"""What ran inside moments and windows, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.breakdown import (
    FunctionSums,
    event_sums,
    function_sums,
    is_step,
    largest_increase,
)
from reportgen.facts.inside import NodeGauge, Windows, Work, loads_inside, window_contents
from reportgen.merging import merge
from reportgen.profile import SpanTable
from tests.builders import START_S, ns, span_table, system_table

STEP = "Step:ModeKeys.TRAIN"


def spans(*rows: tuple[str, str, float, float]) -> SpanTable:
    return span_table([(phase, name, START_S + a, START_S + b) for phase, name, a, b in rows])


def windows(*edges_s: tuple[float, float]) -> Windows:
    first, last = zip(*edges_s, strict=True)
    return Windows(
        first_ns=np.array([ns(START_S + at) for at in first]),
        last_ns=np.array([ns(START_S + at) for at in last]),
    )


THREE = spans(("Load", "next", 0, 4), ("Load", "next", 6, 7), (STEP, STEP, 0, 8))


def test_steps_are_no_functions_and_each_event_counts_once_with_its_full_length() -> None:
    found = function_sums(THREE, np.ones(3, dtype=bool))

    assert found.count == {("next", "Load"): 2}
    assert found.total_ns == {("next", "Load"): 5_000_000_000}
    assert found.n_events == 2
    assert is_step(THREE).sum() == 1


def test_the_part_inside_windows_is_that_of_their_union() -> None:
    two = windows((3, 5), (4, 6.5))
    found = event_sums(THREE, ~is_step(THREE), windows=(two.first_ns, two.last_ns))

    assert found.inside_ns == {("next", "Load"): 1_500_000_000}
    assert found.total_ns == {("next", "Load"): 5_000_000_000}


def sums(**seconds: tuple[int, float]) -> FunctionSums:
    return FunctionSums(
        count={(name, "phase"): count for name, (count, _) in seconds.items()},
        total_ns={(name, "phase"): ns(length_s) for name, (_, length_s) in seconds.items()},
    )


def test_the_function_whose_share_rose_by_most_points_stands_out() -> None:
    found = largest_increase(
        sums(wait=(20, 6.0), conv=(20, 3.0), rare=(9, 9.0)), sums(wait=(20, 1.0), conv=(20, 9.0))
    )

    assert found is not None
    assert (found.name, found.other_share_pct) == ("wait", 10.0)
    assert found.share_pct == pytest.approx(100 / 3)
    assert found.factor == pytest.approx(10 / 3)


def test_thin_evidence_names_nothing() -> None:
    many = sums(wait=(20, 6.0))

    assert largest_increase(many, sums(conv=(9, 1.0))) is None
    assert largest_increase(sums(wait=(9, 6.0)), sums(conv=(20, 1.0))) is None
    assert largest_increase(many, many) is None


def test_sums_of_nodes_add_up() -> None:
    both = merge([FunctionSums(), sums(a=(1, 2.0)), sums(a=(2, 1.0), b=(1, 1.0))])

    assert both.count == {("a", "phase"): 3, ("b", "phase"): 1}
    assert both.share_pct == {("a", "phase"): 75.0, ("b", "phase"): 25.0}


def test_time_in_windows_is_the_union_of_a_functions_events() -> None:
    table = spans(
        ("Callback", "log", 10, 12),
        ("Callback", "log", 11, 13),
        ("DataLoaderIter", "It::GetNext", 20, 20.5),
        ("Life", "process", 0, 100),  # much longer than a window: it lives, it does not run
    )
    found = window_contents(table, windows((10, 14)), windows((20, 21), (30, 31)))

    assert (found.n_slow, found.n_normal) == (1, 2)
    assert (found.slow_ns, found.normal_ns) == (4_000_000_000, 2_000_000_000)
    assert found.in_slow_ns == {
        ("log", Work.OTHER): 3_000_000_000,
        ("no recorded function", Work.UNSEEN): 1_000_000_000,
    }
    assert found.in_normal_ns[("no recorded function", Work.UNSEEN)] == 1_500_000_000


def test_waiting_for_a_batch_is_known_as_such() -> None:
    table = spans(("DataLoaderIter", "It::GetNext", 10, 12))
    found = window_contents(table, windows((10, 14)), windows((20, 21)))

    assert [work for _, work in found.in_slow_ns] == [Work.LOADER, Work.UNSEEN]


def test_gauges_are_means_over_ticks_inside_and_outside() -> None:
    system = system_table({"gpu0": [0.0, 10.0, 80.0, 90.0], "cpu0": [5.0] * 4}, interval_s=1.0)
    loop_ns = (ns(START_S), ns(START_S + 2))
    found = loads_inside(system, windows((0, 1)), loop_ns)

    assert set(found) == {NodeGauge.GPU, NodeGauge.CPU, NodeGauge.CORE}
    gpu = found[NodeGauge.GPU]
    assert (gpu.n_inside, gpu.inside_pct, gpu.n_outside, gpu.outside_pct) == (2, 5.0, 1, 80.0)
