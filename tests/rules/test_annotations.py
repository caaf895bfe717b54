"""Annotations by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile.trace_tables import SliceKind
from reportgen.rules.annotations import RULE
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
    steps = [(1, 0.0, 200.0)]
    result = run(RULE, rank_trace(gpu=gpu[1:], calls=calls, slices=slices, steps=steps))

    assert column(result, "annotations", "name") == [
        "## backward ##",
        "fill the cache",
        "## exchange ##",
    ]
    assert column(result, "annotations", "gpu_time_us") == [10.0 + 100.0 + 1000.0, 0.0, 1000.0]
