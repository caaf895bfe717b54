"""Annotations by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile.trace_tables import SliceKind
from reportgen.rules.annotations import RULE
from tests.builders import known, node_profile, span_table
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run

ANNOTATION = {"kind": int(SliceKind.ANNOTATION)}


def test_annotations_are_grouped_and_count_what_they_launched() -> None:
    slices: list[Any] = [
        ("of its own", 26.0, 10.0, ANNOTATION | {"thread": "other"}),
        ("phase_1", 0.0, 10.0, ANNOTATION),
        ("phase_2", 20.0, 30.0, ANNOTATION),
        ("ProfilerStep#1", 0.0, 60.0, ANNOTATION),
        ("Optimizer.step#SGD.step", 50.0, 5.0, ANNOTATION),
        ("aten::mm", 0.0, 5.0),
    ]
    calls: list[Any] = [
        ("c", 1.0, 1.0, {"correlation": 1}),
        ("c", 25.0, 1.0, {"correlation": 2}),
        ("c", 26.0, 1.0, {"correlation": 3, "thread": "autograd"}),
        ("c", 27.0, 1.0, {"correlation": 4, "thread": "other"}),
    ]
    gpu = [(f"k{n}", 100.0 * n, float(n), {"correlation": n}) for n in range(1, 5)]
    flows = [(2.0, "main", 26.0, "autograd")]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices, flows=flows))

    assert column(result, "annotations", "name") == ["phase_*", "of its own"]
    assert column(result, "annotations", "count") == [2, 1]
    assert column(result, "annotations", "sum_us") == [40.0, 10.0]
    assert column(result, "annotations", "p50_us") == [20.0, 10.0]
    assert column(result, "annotations", "p99_us") == pytest.approx([29.8, 10.0])
    assert column(result, "annotations", "gpu_time_us") == [1.0 + 2.0 + 3.0, 4.0]
    caption = known(result.exhibit("annotations")).caption
    assert caption.startswith("All ranks or nodes together, largest first. gpu_time_us is the time")


def test_a_range_owns_what_autograd_launches_meanwhile() -> None:
    """Nothing tells who woke autograd's thread, which marks its own exchange."""
    slices: list[Any] = [
        ("## backward ##", 0.0, 100.0, ANNOTATION),
        ("## exchange ##", 50.0, 10.0, ANNOTATION | {"thread": "autograd"}),
        ("fill the cache", 0.0, 100.0, ANNOTATION | {"thread": "loader"}),
    ]
    calls: list[Any] = [
        ("c", 10.0, 1.0, {"correlation": 1}),
        ("c", 20.0, 1.0, {"correlation": 2, "thread": "autograd"}),
        ("c", 55.0, 1.0, {"correlation": 3, "thread": "autograd"}),
        ("c", 150.0, 1.0, {"correlation": 4, "thread": "autograd"}),
    ]
    gpu = [(f"k{n}", 200.0 * n, 10.0**n, {"correlation": n}) for n in range(4, 0, -1)]
    result = run(RULE, rank_trace(gpu=gpu[1:], calls=calls, slices=slices, steps=[(1, 0.0, 200.0)]))

    assert column(result, "annotations", "name") == [
        "## backward ##",
        "fill the cache",
        "## exchange ##",
    ]
    assert column(result, "annotations", "gpu_time_us") == [10.0 + 100.0 + 1000.0, 0.0, 1000.0]


def test_a_range_inside_one_of_its_name_counts_with_it() -> None:
    slices: list[Any] = [
        ("walk_1", 0.0, 30.0, ANNOTATION),
        ("walk_2", 5.0, 10.0, ANNOTATION),
        ("other", 6.0, 2.0, ANNOTATION),
        ("walk_3", 40.0, 10.0, ANNOTATION),
        ("walk_4", 2.0, 5.0, ANNOTATION | {"thread": "second"}),
    ]
    gpu = [("k", 100.0, 7.0, {"correlation": 1})]
    calls: list[Any] = [("c", 6.0, 1.0, {"correlation": 1})]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices))

    assert column(result, "annotations", "name") == ["walk_*", "other"]
    assert column(result, "annotations", "count") == [3, 1]
    assert column(result, "annotations", "sum_us") == [45.0, 2.0]
    assert column(result, "annotations", "gpu_time_us") == [7.0, 7.0]


def test_ranges_of_a_recording_without_a_trace_have_percentiles_and_a_histogram() -> None:
    marks = [("annotation", f"load {at}", 10.0 * at, 1.0 + at) for at in range(4)]
    inside = [("annotation", "load 9", 10.2, 0.5), ("annotation", "once", 0.0, 3.0)]
    events = [("Step:ModeKeys.TRAIN", "step", 0.0, 9.0), *marks, *inside]
    spans = span_table([(phase, name, at, at + length_s) for phase, name, at, length_s in events])
    result = run(RULE, node_profile(spans=spans))

    assert column(result, "annotations", "name") == ["load *", "once"]
    assert column(result, "annotations", "count") == [4, 1]
    assert column(result, "annotations", "p50_us") == [2_500_000.0, 3_000_000.0]
    assert column(result, "annotations", "gpu_time_us") == [None, None]
    drawn = known(result.exhibit("histogram_1"))
    assert known(drawn.place.choice).label == "load *"
    assert "p95 3.85 s" in drawn.caption
    assert (
        known(result.exhibit("annotations")).caption
        == "All ranks or nodes together, largest first."
    )


def test_any_name_can_be_chosen_for_its_histogram() -> None:
    slices: list[Any] = [
        (name, 10.0 * at, 5.0, ANNOTATION)
        for at, name in enumerate([f"part {letter}" for letter in "abcdefghijklmnopqrst"] * 2)
    ]
    result = run(RULE, rank_trace(slices=slices))

    labels = [item.place.choice.label for item in result.exhibits if item.place.choice]
    assert labels == [f"part {letter}" for letter in "abcdefghijklmnopqrst"]
