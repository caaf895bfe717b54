"""What ran inside windows, counted by hand."""

from __future__ import annotations

import numpy as np

from reportgen.facts.contrast import (
    Gauge,
    WorkKind,
    contrast_of,
    differences_of,
    loads_of,
    window_contents,
)
from reportgen.facts.intervals import Union
from reportgen.profile import SpanTable
from tests.builders import START_S, node_profile, ns, span_table, system_table


def spans(*rows: tuple[str, str, float, float]) -> SpanTable:
    return span_table([(phase, name, START_S + a, START_S + b) for phase, name, a, b in rows])


def windows(*edges_s: tuple[float, float]) -> Union:
    first, last = zip(*edges_s, strict=True)
    return Union(
        start_ns=np.array([ns(START_S + at) for at in first]),
        end_ns=np.array([ns(START_S + at) for at in last]),
    )


def test_time_in_windows_is_the_union_of_a_functions_events() -> None:
    table = spans(
        ("Callback", "log", 10, 12),
        ("Callback", "log", 11, 13),
        ("DataLoaderIter", "It::GetNext", 20, 20.5),
        ("Life", "process", 0, 100),  # much longer than a window: it lives, it does not run
    )
    found = window_contents(table, windows((10, 14)), windows((20, 21), (30, 31)), usual_ns=0)

    assert found.n_slow == 1
    assert (found.slow_ns, found.normal_ns) == (4_000_000_000, 2_000_000_000)
    assert found.in_slow_ns == {
        ("log", WorkKind.OTHER): 3_000_000_000,
        ("no recorded function", WorkKind.UNSEEN): 1_000_000_000,
    }
    assert found.in_normal_ns[("no recorded function", WorkKind.UNSEEN)] == 1_500_000_000


def test_what_runs_within_a_wait_for_a_batch_is_part_of_it() -> None:
    wait, handing_over = "DataIterator", "IteratorGetNextOp::DoCompute"
    table = spans((wait, handing_over, 10, 12), (wait, "dataset::GetNext", 10.1, 12))
    found = window_contents(table, windows((10, 14)), windows((20, 21)), usual_ns=0)

    assert ("dataset::GetNext", WorkKind.LOADER) in found.in_slow_ns


def test_gauges_are_means_over_ticks_inside_and_outside() -> None:
    system = system_table({"gpu0": [0.0, 10.0, 80.0, 90.0], "cpu0": [5.0] * 4}, interval_s=1.0)
    found = loads_of(system, windows((0, 1)), (ns(START_S), ns(START_S + 2)))

    assert set(found) == {Gauge.GPU, Gauge.CPU, Gauge.CORE}
    gpu = found[Gauge.GPU]
    assert (gpu.n_inside, gpu.inside, gpu.n_outside, gpu.outside) == (2, 5.0, 1, 80.0)


def test_a_function_is_compared_by_what_its_windows_would_have_lasted() -> None:
    """Of 4 s that usually last 1 s, 3 are more: what ran in 2.5 of them, and never else."""
    table = spans(
        ("Callback", "log", 10, 12.5),
        ("Forward", "net", 12.5, 13),
        ("Forward", "net", 20, 20.5),
        ("Callback", "quiet", 20.5, 21),
    )
    contents = window_contents(table, windows((10, 14)), windows((20, 21)), usual_ns=1e9)
    found = {item.function: item for item in differences_of(contents)}

    assert next(iter(found)) == "log"
    assert found["log"].excess_ratio == 2.5 / 3
    assert found["net"].excess_ratio == 0
    assert "quiet" not in found


def test_nothing_differs_in_windows_that_last_as_usual() -> None:
    table = spans(("Callback", "log", 10, 12))
    contents = window_contents(table, windows((10, 14)), windows((20, 24)), usual_ns=4e9)

    assert differences_of(contents) == []


def test_each_time_may_take_several_windows_and_the_time_between_epochs_is_no_function() -> None:
    table = spans(
        ("EpochEnd", "between two epochs", 10, 14),
        ("DataLoaderIterInitialize", "It.__init__", 10, 13),
    )
    part = node_profile(spans=table)
    contrast = contrast_of(
        part, windows((10, 12), (12, 14)), windows((20, 21)), worker=table.workers[0], n_times=1
    )
    (longest, *_) = differences_of(contrast.contents)

    assert (longest.function, longest.slow_ns) == ("It.__init__", 3e9)
