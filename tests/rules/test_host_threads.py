"""What host threads did, by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile.trace_tables import GpuKind, SliceKind
from reportgen.results import ReasonCode, RuleResult, Status
from reportgen.rules.host_threads import RULE
from tests.builders import known
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run

MEMCPY = int(GpuKind.MEMCPY)


def column(result: RuleResult, exhibit: str, name: str) -> list[Any]:
    """Return the values of one column."""
    found = known(result.exhibit(exhibit))
    return next(list(item.values) for item in found.columns if item.name == name)


@pytest.mark.parametrize("mark", ["ProfilerStep#1", "step_1"])
def test_threads_are_busy_but_for_calls_that_block(mark: str) -> None:
    spans_all = (mark, 0.0, 100.0, {"kind": int(SliceKind.ANNOTATION)})
    slices: list[Any] = [("aten::mm", 0.0, 40.0), spans_all]
    calls: list[Any] = [
        ("cudaStreamSynchronize", 30.0, 30.0, {"external_id": 5}),
        ("cudaMalloc", 80.0, 5.0),
    ]
    slices.append(("aten::item", 28.0, 35.0, {"external_id": 5}))
    result = run(RULE, rank_trace(slices=slices, calls=calls, steps=[(1, 0.0, 100.0)]))

    assert column(result, "host_threads", "busy_us") == [30.0 + 3.0 + 5.0]
    assert column(result, "host_threads", "blocked_us") == [30.0]
    assert column(result, "host_threads", "blocked_pct") == [30.0]
    assert column(result, "blocking_calls", "caller") == ["aten::item"]


@pytest.mark.parametrize(
    ("name", "call_us", "blocked_us"),
    [
        ("cudaMemcpyAsync", 30.0, 30.0),
        ("cudaMemcpyAsync", 29.0, 0.0),
        ("cudaStreamWaitEvent", 30.0, 0.0),
        ("urEventWait", 29.0, 29.0),
    ],
)
def test_a_copy_blocks_where_its_call_returns_only_when_it_is_done(name, call_us, blocked_us):
    """A copy to pageable memory does, whatever its call is named; a stream waits by itself."""
    is_copy = name == "cudaMemcpyAsync"
    copy = ("Memcpy DtoH (Device -> Pageable)", 20.0, 20.0, {"correlation": 1, "kind": MEMCPY})
    trace = rank_trace(
        gpu=[copy] if is_copy else [],
        calls=[(name, 10.0, call_us, {"correlation": 1})],
        steps=[(1, 0.0, 100.0)],
    )

    assert column(run(RULE, trace), "host_threads", "blocked_us") == [blocked_us]


def test_the_caller_is_the_innermost_operator_whatever_the_numbers_say() -> None:
    slices: list[Any] = [
        ("aten::to", 0.0, 50.0, {"external_id": 1}),
        ("aten::copy_", 5.0, 40.0, {"external_id": 2}),
        ("detach", 60.0, 5.0, {"external_id": 3}),
        ("validate", 70.0, 20.0, {"kind": int(SliceKind.ANNOTATION)}),
        ("ProfilerStep#1", 0.0, 100.0, {"kind": int(SliceKind.ANNOTATION)}),
        ("train.py(12): step", 98.0, 8.0, {"kind": int(SliceKind.PYTHON)}),
    ]
    calls: list[Any] = [
        ("cudaStreamSynchronize", 10.0, 30.0, {"external_id": 3}),
        ("cudaDeviceSynchronize", 75.0, 9.0),
        ("cudaEventSynchronize", 95.0, 2.0),
        ("cudaEventSynchronize", 99.0, 1.0),
    ]
    result = run(RULE, rank_trace(slices=slices, calls=calls, steps=[(1, 0.0, 100.0)]))

    called = zip(
        column(result, "blocking_calls", "caller"),
        column(result, "blocking_calls", "time_us"),
        strict=True,
    )
    assert dict(called) == {"aten::copy_": 30, "validate": 9, "": 2, "train.py(12): step": 1}


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
    assert known(result.reason).code is ReasonCode.NO_EVENTS


def test_of_many_ranks_the_unusual_ones_are_drawn() -> None:
    ranks = [
        rank_trace(
            slices=[("aten::mm", 0.0, 10.0 if number == 30 else 80.0)],
            steps=[(1, 0.0, 100.0)],
            rank=number,
        )
        for number in range(40)
    ]
    curve = known(run(RULE, *ranks).exhibit("busy_threads"))

    assert len(curve.columns) == 1 + 9
    assert "rank 30" in {item.name for item in curve.columns}
    assert "Of 40 ranks, only the median one and those that differ most" in curve.caption
