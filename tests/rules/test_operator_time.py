"""Operators by hand-made numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reportgen.profile.trace_tables import SliceKind
from reportgen.results import Status
from reportgen.rules.operator_time import RULE
from tests.builders import known
from tests.facts.test_modules import a_model
from tests.rules.kernels.builders import launched_kernels, rank_trace
from tests.rules.samples import column, run


def test_operators_have_times_of_their_own_and_of_what_they_launched() -> None:
    one = launched_kernels()
    result = run(RULE, one, replace(one, rank=1))

    assert column(result, "operators", "name") == ["aten::mm", "nccl:all_reduce", "aten::linear"]
    assert column(result, "operators", "count") == [2, 2, 2]
    assert column(result, "operators", "sum_us") == [10.0, 4.0, 12.0]
    assert column(result, "operators", "p99_us") == [5.0, 2.0, 6.0]
    assert column(result, "operators", "self_us") == [10.0, 4.0, 2.0]
    assert column(result, "operators", "gpu_time_us") == [20.0, 10.0, 0.0]
    assert column(result, "operators", "pct_of_self_time") == pytest.approx([62.5, 25.0, 12.5])
    assert column(result, "top_by_gpu_time", "operator") == column(result, "operators", "name")


def test_a_launch_at_the_rounded_end_of_an_operator_is_not_inside() -> None:
    slices = [("outer", 0.0, 100.0), ("inner", 10.0, 20.000001), ("next", 60.000001, 20.0)]
    calls = [("cudaLaunchKernel", at, 5.0, {"correlation": at}) for at in (30.0, 60.0)]
    gpu: list[Any] = [("k", at + 9, 1.0, {"correlation": at}) for at in (30.0, 60.0)]

    result = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices))

    assert column(result, "operators", "name") == ["outer", "inner", "next"]
    assert column(result, "operators", "gpu_time_us") == [1.0, 0.0, 1.0]


def test_a_number_of_several_operators_tells_none_of_them() -> None:
    ids = {"external_id": 7}
    slices = [("first", 0.0, 10.0, ids), ("second", 100.0, 20.0, ids)]
    calls = [("cudaLaunchKernel", at, 5.0, {"correlation": at}) for at in (1.0, 101.0)]
    gpu: list[Any] = [("k", at + 9, 1.0, {"correlation": at} | ids) for at in (1.0, 101.0)]

    result = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices))

    assert column(result, "operators", "gpu_time_us") == [1.0, 1.0]


def test_without_operators_it_says_so() -> None:
    result = run(RULE, rank_trace(gpu=[("k", 0.0, 1.0)]))

    assert result.status is Status.SKIPPED
    assert "no operators" in known(result.reason).text


def test_modules_are_a_tree_over_all_ranks() -> None:
    one = a_model()
    named = rank_trace(slices=[("aten::mm", 0.0, 5.0, {"kind": SliceKind.OPERATOR})], rank=1)

    result = run(RULE, one, replace(one, rank=2), named)

    assert column(result, "modules", "module") == ["Net", "· Block", "· · Linear"]
    assert column(result, "modules", "count") == [2, 4, 4]
    assert column(result, "modules", "host_time_us") == [200.0, 140.0, 60.0]
    assert column(result, "modules", "gpu_time_us") == [24.0, 24.0, 14.0]
    assert column(result, "modules", "own_gpu_time_us") == [0.0, 10.0, 14.0]


def test_an_operator_that_waits_for_the_gpu_does_no_work_of_the_host() -> None:
    slices = [("aten::to", 0.0, 100.0), ("aten::copy_", 10.0, 80.0)]
    calls = [("cudaMemcpyAsync", 12.0, 5.0), ("cudaStreamSynchronize", 20.0, 65.0)]

    result = run(RULE, rank_trace(slices=slices, calls=calls))

    waits = column(result, "operators", "gpu_wait_us")
    assert dict(zip(column(result, "operators", "name"), waits, strict=True)) == {
        "aten::copy_": 65.0,
        "aten::to": 0.0,
    }
    assert column(result, "top_by_self_time", "operator")[::-1] == ["aten::copy_", "aten::to"]
    assert sorted(column(result, "top_by_self_time", "time_us")) == [15.0, 20.0]
