"""Delays of launches by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.rules.launch_latency import RULE
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run


def test_delays_are_counted_per_call_and_per_operation() -> None:
    gpu: list[Any] = [
        ("a", 10.0, 1.0, {"correlation": 1}),
        ("b", 12.0, 1.0, {"correlation": 1}),
        ("c", 21.0, 1.0, {"correlation": 2}),
        ("d", 30.0, 1.0),
    ]
    calls = [
        ("cudaGraphLaunch", 0.0, 5.0, {"correlation": 1}),
        ("cudaLaunchKernel", 20.0, 4.0, {"correlation": 2}),
    ]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "launch_latency", "delay") == ["launch", "queue"]
    assert column(result, "launch_latency", "count") == [2, 3]
    assert column(result, "launch_latency", "p50_us") == [5.5, 5.0]
    assert column(result, "launch_latency", "max_us") == [10.0, 7.0]
    assert column(result, "launch_latency", "negative") == [0, 1]
    assert column(result, "launch_latency", "orphans") == [1, 1]


def test_operations_before_their_launch_tell_of_clocks_that_disagree() -> None:
    gpu: list[Any] = [("k", 10.0 * n, 1.0, {"correlation": n}) for n in range(3)]
    late = [("cudaLaunchKernel", 10.0 * n + 6, 1.0, {"correlation": n}) for n in range(3)]

    table = known(run(RULE, rank_trace(gpu=gpu, calls=late)).exhibit("launch_latency"))

    assert "3 operations begin before the launch call: the clocks of host and GPU" in table.caption


def test_without_launches_the_table_is_empty() -> None:
    assert column(run(RULE, rank_trace(gpu=[("k", 0.0, 1.0)])), "launch_latency", "rank") == []


def test_a_queue_grows_with_launches_and_shrinks_with_starts() -> None:
    gpu = [("k", 10.0 + n, 1.0, {"correlation": n}) for n in range(4)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(4)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "queue_depth", "max_depth") == [4]
    assert column(result, "queue_depth", "launches") == [4]
    assert column(result, "queue_depth", "mean_depth") == [pytest.approx(36 / 12)]


def test_the_time_of_a_full_queue_is_measured() -> None:
    gpu = [("k", 5000.0 + n, 1.0, {"correlation": n}) for n in range(1100)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(1100)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "queue_depth", "full_us") == [5100.0 - 1000.0]
