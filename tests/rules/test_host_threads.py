"""What host threads did, by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile.trace_tables import SliceKind
from reportgen.results import ReasonCode, RuleResult, Status
from reportgen.rules.host_threads import RULE
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run


def column(result: RuleResult, exhibit: str, name: str) -> list[Any]:
    """Return the values of one column."""
    found = result.exhibit(exhibit)
    assert found is not None
    return next(list(item.values) for item in found.columns if item.name == name)


def test_threads_are_busy_but_for_calls_that_block() -> None:
    slices: list[Any] = [("aten::mm", 0.0, 40.0), ("ProfilerStep#1", 0.0, 100.0)]
    calls: list[Any] = [
        ("cudaStreamSynchronize", 30.0, 30.0, {"external_id": 5}),
        ("cudaMalloc", 80.0, 5.0),
    ]
    slices.append(("aten::item", 28.0, 35.0, {"external_id": 5}))
    result = run(RULE, rank_trace(slices=slices, calls=calls, steps=[(1, 0.0, 100.0)]))

    assert column(result, "host_threads", "busy_us") == [30.0 + 3.0 + 5.0]
    assert column(result, "host_threads", "blocked_us") == [30.0]
    assert column(result, "blocking_calls", "caller") == ["aten::item"]


def test_a_python_thread_that_waits_is_not_busy() -> None:
    python = {"kind": int(SliceKind.PYTHON)}
    slices = [
        ("threading.py(1032): _bootstrap", 0.0, 100.0, python),
        ("tqdm/_monitor.py(60): run", 1.0, 98.0, python),
        ("threading.py(359): wait", 10.0, 80.0, python),
        ("<built-in method sleep of module object at 0x7f>", 92.0, 4.0, python),
    ]
    result = run(RULE, rank_trace(slices=slices, steps=[(1, 0.0, 100.0)]))

    assert column(result, "host_threads", "busy_us") == [16.0]
    assert column(result, "host_threads", "blocked_us") == [0.0]


def test_blocking_calls_of_all_ranks_are_joined_by_name_and_caller() -> None:
    calls = [("cudaStreamSynchronize", 10.0, 4.0), ("cudaMemcpy", 20.0, 5.0)]
    ranks = [rank_trace(slices=[("a", 0.0, 9.0)], calls=calls, rank=rank) for rank in (0, 1)]
    result = run(RULE, *ranks)

    assert column(result, "blocking_calls", "name") == ["cudaMemcpy", "cudaStreamSynchronize"]
    assert column(result, "blocking_calls", "count") == [2, 2]
    assert column(result, "blocking_calls", "time_us") == [10.0, 8.0]
    assert column(result, "host_threads", "rank") == [0, 1]


@pytest.mark.parametrize("n_ranks", [0, 1])
def test_without_threads_the_rule_says_so(n_ranks: int) -> None:
    result = run(RULE, *[rank_trace(gpu=[("k", 0.0, 5.0)])] * n_ranks)

    assert result.status is Status.SKIPPED
    assert result.reason is not None
    assert result.reason.code is ReasonCode.NO_EVENTS
