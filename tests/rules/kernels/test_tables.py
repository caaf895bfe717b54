"""Kernels, copies, steps, launches, queues, annotations, memory and threads by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.facts.kernel_names import short_names
from reportgen.profile.trace import Device, RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.results import RuleResult, Status
from reportgen.rules import annotations as annotations_rule
from reportgen.rules import (
    collectives,
    device_memory,
    gpu_activity,
    gpu_time_budget,
    kernel_precision,
    kernel_time,
    launch_latency,
    launch_queue,
    memory_operations,
    operator_time,
    step_time,
)
from reportgen.rules.base import AnyRule
from reportgen.rules.memory_operations import direction_of
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run

ANNOTATION = {"kind": int(SliceKind.ANNOTATION)}


def column(result: RuleResult, exhibit_id: str, name: str) -> list[Any]:
    """Return the values of one column of an exhibit."""
    found = result.exhibit(exhibit_id)
    assert found is not None
    return list(next(item.values for item in found.columns if item.name == name))


def kernels(*durations: float, name: str = "k", rank: int = 0) -> RankTrace:
    """A trace of kernels one after the other."""
    starts = np.concatenate([[0.0], np.cumsum(durations)])[:-1].tolist()
    gpu = [(name, start, duration) for start, duration in zip(starts, durations, strict=True)]
    return rank_trace(gpu=gpu, rank=rank)


def test_kernels_of_all_ranks_are_joined_by_name() -> None:
    one, two = (1.0, 2.0, 2.0, 9.0), (2.0, 4.0)
    result = run(kernel_time.RULE, kernels(*one), kernels(*two, rank=1))
    every = np.array([*one, *two])

    for name, value in {
        "count": 6,
        "sum_us": every.sum(),
        "mean_us": every.mean(),
        "p50_us": np.percentile(every, 50),
        "p95_us": np.percentile(every, 95),
        "min_us": 1.0,
        "max_us": 9.0,
        "std_us": every.std(ddof=1),
        "pct_of_kernel_time": 100.0,
        "pct_of_profile_time": 100.0,
    }.items():
        assert column(result, "kernels", name) == [pytest.approx(value)]


def test_a_kernel_that_ran_once_has_no_deviation() -> None:
    assert column(run(kernel_time.RULE, kernels(3.0)), "kernels", "std_us") == [0.0]


def test_the_largest_are_told_apart_and_the_rest_is_others() -> None:
    gpu = [(f"k{number}", 10.0 * number, 1.0 + number) for number in range(5)]
    params = kernel_time.RULE.params(top=2)
    result = run(kernel_time.RULE, rank_trace(gpu=gpu), params=params)

    assert column(result, "top_by_time", "part") == ["k4", "k3", "others (3 kernels)"]
    assert column(result, "top_by_time", "time_us") == [5.0, 4.0, 6.0]
    assert len(column(result, "kernels", "name")) == 5


@pytest.mark.parametrize(("call_us", "ratio"), [(19.0, 0.0), (31.0, 1.0)])
def test_kernels_of_a_graph_share_its_launch(call_us: float, ratio: float) -> None:
    calls = [("cudaGraphLaunch", 0.0, call_us, {"correlation": 1})]
    gpu: list[Any] = [("k", 40.0 + 10 * n, 3.0, {"correlation": 1}) for n in range(10)]

    metrics = run(kernel_time.RULE, rank_trace(gpu=gpu, calls=calls)).metrics

    assert metrics["tiny_kernels_ratio"] == ratio


@pytest.mark.parametrize(("n_long", "is_fault"), [(11, False), (10, True)])
def test_tiny_kernels_are_a_fault_when_they_are_many_and_the_gpu_waits(
    n_long: int, is_fault: bool
) -> None:
    tiny: list[Any] = [("t", 40.0 * n, 2.0, {"correlation": n}) for n in range(10)]
    long: list[Any] = [("l", 1000 + 40.0 * n, 30.0, {"correlation": 50 + n}) for n in range(n_long)]
    numbers = [row[3]["correlation"] for row in (*tiny, *long)]
    calls = [
        ("cudaLaunchKernel", 5.0 * at, 4.0, {"correlation": n}) for at, n in enumerate(numbers)
    ]
    result = run(kernel_time.RULE, rank_trace(gpu=[*tiny, *long], calls=calls))

    assert ("KERN-1" in {item.id for item in result.findings}) is is_fault


def test_a_name_that_says_nothing_is_read_off_the_operators_inputs() -> None:
    trace = rank_trace(
        gpu=[
            ("triton_poi_0", 0.0, 8.0, {"external_id": 1}),
            ("triton_poi_0", 10.0, 2.0, {"external_id": 2}),
            ("triton_poi_1", 20.0, 10.0, {"correlation": 9}),
        ],
        calls=[("cuLaunchKernel", 19.0, 1.0, {"correlation": 9, "external_id": 2})],
        slices=[
            ("op", 0.0, 1.0, {"external_id": 1, "input_type": "c10::BFloat16"}),
            ("op", 2.0, 1.0, {"external_id": 2, "input_type": "float"}),
        ],
    )
    result = run(kernel_precision.RULE, trace)

    assert column(result, "precision", "precision") == ["FP32", "BF16"]
    assert column(result, "precision", "time_us") == [12.0, 8.0]
    names = column(run(kernel_time.RULE, trace), "kernels", "name")
    labels = column(run(kernel_time.RULE, trace), "kernels", "precision")
    assert dict(zip(names, labels, strict=True)) == {"triton_poi_0": "BF16", "triton_poi_1": "FP32"}


@pytest.mark.parametrize(
    ("exhibit_id", "parts", "times"),
    [
        ("kernels_by_shape", ["k", "k", "ncclKernel"], [8.0, 2.0, 5.0]),
        ("kernels_by_operator", ["aten::mm", "nccl:all_reduce"], [10.0, 5.0]),
        ("kernels_by_category", ["compute", "communication"], [10.0, 5.0]),
    ],
)
def test_kernels_are_added_up_in_several_ways(
    exhibit_id: str, parts: list[str], times: list[float]
) -> None:
    result = run(kernel_time.RULE, launched_kernels())
    first = result.exhibit(exhibit_id)

    assert first is not None
    order = np.argsort(-np.array(times), kind="stable").tolist()
    assert list(first.columns[0].values) == [parts[at] for at in order]
    assert column(result, exhibit_id, "sum_us") == [times[at] for at in order]
    assert sum(column(result, exhibit_id, "pct_of_kernel_time")) == pytest.approx(100.0)


def test_rankings_leave_communication_out_where_there_is_some() -> None:
    result = run(kernel_time.RULE, launched_kernels())

    assert column(result, "top_by_time_compute", "time_us") == [10.0]
    assert column(result, "top_by_time_operator", "part") == ["aten::mm", "nccl:all_reduce"]
    assert column(result, "top_by_time_operator_compute", "pct") == [100.0]
    assert column(result, "top_by_launches_shape_compute", "launches") == [1, 1]
    quiet = run(kernel_time.RULE, rank_trace(gpu=[("k", 0.0, 1.0)]))
    assert {item.id for item in quiet.exhibits if item.id.startswith("top_")} == {
        "top_by_time",
        "top_by_launches",
    }


def launched_kernels() -> RankTrace:
    """One kernel in two sizes of one operator, and communication; ids tell only the latter's."""
    return rank_trace(
        gpu=[
            ("k", 10.0, 8.0, {"correlation": 1, "external_id": 1, "shape": "[4, 1, 1] [128,1,1]"}),
            ("k", 20.0, 2.0, {"correlation": 2, "external_id": 2, "shape": "[8, 1, 1] [128,1,1]"}),
            ("ncclKernel", 30.0, 5.0, {"correlation": 3, "external_id": 77}),
        ],
        calls=[
            ("cudaLaunchKernel", 1.0, 1.0, {"correlation": 1}),
            ("cudaLaunchKernel", 3.0, 1.0, {"correlation": 2}),
            ("cudaLaunchKernel", 9.0, 1.0, {"correlation": 3}),
        ],
        slices=[
            ("aten::linear", 0.0, 6.0, {"external_id": 2}),
            ("aten::mm", 0.5, 5.0, {"external_id": 4}),
            ("nccl:all_reduce", 8.0, 2.0, {"external_id": 77}),
        ],
    )


def test_operators_have_times_of_their_own_and_of_what_they_launched() -> None:
    one = launched_kernels()
    other = replace(one, rank=1)
    result = run(operator_time.RULE, one, other)

    assert column(result, "operators", "name") == ["aten::mm", "nccl:all_reduce", "aten::linear"]
    assert column(result, "operators", "count") == [2, 2, 2]
    assert column(result, "operators", "sum_us") == [10.0, 4.0, 12.0]
    assert column(result, "operators", "self_us") == [10.0, 4.0, 2.0]
    assert column(result, "operators", "gpu_time_us") == [20.0, 10.0, 0.0]
    assert column(result, "operators", "pct_of_self_time") == pytest.approx([62.5, 25.0, 12.5])
    assert column(result, "top_by_gpu_time", "operator") == column(result, "operators", "name")


def test_a_launch_at_the_rounded_end_of_an_operator_is_not_inside() -> None:
    slices = [("outer", 0.0, 100.0), ("inner", 10.0, 20.000001), ("next", 60.000001, 20.0)]
    calls = [("cudaLaunchKernel", at, 5.0, {"correlation": at}) for at in (30.0, 60.0)]
    gpu: list[Any] = [("k", at + 9, 1.0, {"correlation": at}) for at in (30.0, 60.0)]

    result = run(operator_time.RULE, rank_trace(gpu=gpu, calls=calls, slices=slices))

    assert column(result, "operators", "name") == ["outer", "inner", "next"]
    assert column(result, "operators", "gpu_time_us") == [1.0, 0.0, 1.0]


def test_a_number_of_several_operators_tells_none_of_them() -> None:
    ids = {"external_id": 7}
    slices = [("first", 0.0, 10.0, ids), ("second", 100.0, 20.0, ids)]
    calls = [("cudaLaunchKernel", at, 5.0, {"correlation": at}) for at in (1.0, 101.0)]
    gpu: list[Any] = [("k", at + 9, 1.0, {"correlation": at} | ids) for at in (1.0, 101.0)]

    result = run(operator_time.RULE, rank_trace(gpu=gpu, calls=calls, slices=slices))

    assert column(result, "operators", "gpu_time_us") == [1.0, 1.0]


def test_without_operators_it_says_so() -> None:
    result = run(operator_time.RULE, rank_trace(gpu=[("k", 0.0, 1.0)]))

    assert result.status is Status.SKIPPED
    assert result.reason is not None
    assert "no operators" in result.reason.text


def test_formats_are_folded_into_those_of_sagemaker_profiler() -> None:
    names = {
        "volta_sgemm_64x64_nt": 4.0,
        "sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n": 3.0,
        "void k<c10::BFloat16>()": 2.0,
        "void k<double>()": 1.0,
    }
    trace = rank_trace(gpu=[(name, 10.0 * at, us) for at, (name, us) in enumerate(names.items())])
    result = run(kernel_precision.RULE, trace)

    assert column(result, "precision_shares_folded", "part") == ["FP32", "FP16", "other"]
    assert column(result, "precision_shares_folded", "time_us") == [7.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("other", "expected"),
    [("c10::BFloat16", {"BF16": 12.0}), ("float", {"BF16": 8.0, "FP32": 3.0, "Unknown": 1.0})],
)
def test_launches_that_agree_tell_the_precision_of_those_that_say_nothing(
    other: str, expected: dict[str, float]
) -> None:
    trace = rank_trace(
        gpu=[
            ("triton_poi_0", 0.0, 8.0, {"external_id": 1}),
            ("triton_poi_0", 10.0, 3.0, {"external_id": 2}),
            ("triton_poi_0", 20.0, 1.0),
        ],
        slices=[
            ("op", 0.0, 1.0, {"external_id": 1, "input_type": "c10::BFloat16"}),
            ("op", 2.0, 1.0, {"external_id": 2, "input_type": other}),
        ],
    )
    result = run(kernel_precision.RULE, trace)
    rows = zip(
        column(result, "precision", "precision"),
        column(result, "precision", "time_us"),
        strict=True,
    )

    assert dict(rows) == expected


def test_communication_has_no_precision() -> None:
    trace = rank_trace(gpu=[("ncclDevKernel_AllReduce_Sum_bf16", 0.0, 9.0), ("sgemm_", 9.0, 1.0)])
    result = run(kernel_precision.RULE, trace)

    assert column(result, "precision", "precision") == ["FP32"]
    assert column(run(kernel_time.RULE, trace), "kernels", "category") == [
        "communication",
        "compute",
    ]


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
        ("Memcpy DtoA (Device -> Array)", "DtoD"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("Memcpy HtoH", "HtoH"),
        ("CopyHostToDevice", "HtoD"),
        ("Memcpy", "other"),
    ],
)
def test_directions_are_read_off_names(name: str, direction: str) -> None:
    assert direction_of(name) == direction


@pytest.mark.parametrize(("pageable_us", "status"), [(1.9, Status.OK), (2.0, Status.TRIGGERED)])
def test_pageable_copies_are_a_fault_from_their_threshold_on(
    pageable_us: float, status: Status
) -> None:
    copy = ("Memcpy HtoD (Pageable -> Device)", 0.0, pageable_us, {"bytes": 4_000_000})
    trace = rank_trace(gpu=[copy, ("k", 50.0, 50.0)])
    result = run(memory_operations.RULE, trace)

    assert result.status is status
    assert [item.id for item in result.findings] == ["COPY-1"]
    assert column(result, "memory_operations", "gb_per_s") == [
        pytest.approx(4_000_000 / pageable_us / 1000)
    ]


@pytest.mark.parametrize(("kernel_us", "is_fault"), [(100.0, True), (101.0, False)])
def test_copies_are_a_fault_where_no_kernel_hides_them(kernel_us: float, is_fault: bool) -> None:
    """Of 200 µs a copy takes 120, all but 20 (or 19) of them beside a kernel."""
    copy = "Memcpy DtoD (Device -> Device)"
    gpu: list[Any] = [
        ("k", 0.0, 80.0),
        (copy, 80.0, 120.0, {"stream": 8}),
        ("k", 80.0, kernel_us),
    ]
    found = {item.id: item for item in run(memory_operations.RULE, rank_trace(gpu=gpu)).findings}

    assert ("COPY-2" in found) is is_fault
    if is_fault:
        assert found["COPY-2"].measured == 10.0
        assert "mostly DtoD" in found["COPY-2"].title
        assert found["COPY-2"].estimate is not None


def test_pinned_copies_are_no_fault() -> None:
    copy = ("Memcpy HtoD (Pinned -> Device)", 0.0, 90.0, {"bytes": 4_000_000})

    trace = rank_trace(gpu=[copy, ("k", 0.0, 90.0)])

    assert run(memory_operations.RULE, trace).findings == ()


def steps(*periods: float) -> RankTrace:
    """A trace of steps of these lengths, the GPU busy for half of each."""
    starts = np.concatenate([[0.0], np.cumsum(periods)])[:-1].tolist()
    rows = list(zip(starts, periods, strict=True))
    calls = [("c", at, 1.0, {"correlation": n}) for n, (at, _) in enumerate(rows)]
    gpu = [("k", at + 1, length / 2, {"correlation": n}) for n, (at, length) in enumerate(rows)]
    marks = [(5 + n, at, length) for n, (at, length) in enumerate(rows)]
    return rank_trace(gpu=gpu, calls=calls, steps=marks)


def test_steps_have_periods_and_gpu_time() -> None:
    result = run(step_time.RULE, steps(10.0, 20.0, 10.0))

    assert column(result, "steps", "step") == [5, 6, 7]
    assert column(result, "steps", "period_us") == [10.0, 20.0, 10.0]
    assert column(result, "steps", "gpu_busy_us") == [5.0, 10.0, 5.0]


def test_work_that_runs_on_after_its_step_makes_no_gpu_busier_than_full() -> None:
    steps = [(1, 0.0, 20.0), (2, 20.0, 20.0)]
    calls = [("cudaLaunchKernel", 1.0, 1.0, {"correlation": 1})]
    long = ("a", 10.0, 90.0, {"correlation": 1, "device": 0})
    short = ("b", 10.0, 6.0, {"correlation": 1, "device": 1})

    one = run(step_time.RULE, rank_trace(gpu=[long], calls=calls, steps=steps))
    two = run(step_time.RULE, rank_trace(gpu=[long, short], calls=calls, steps=steps))

    assert column(one, "step_percentiles", "gpu_busy_pct") == [75.0]
    assert column(two, "step_percentiles", "gpu_busy_pct") == [(75.0 + 15.0) / 2]


@pytest.mark.parametrize(("slow_us", "is_fault"), [(20.0, False), (21.0, True)])
def test_a_step_is_slow_above_twice_the_median(slow_us: float, is_fault: bool) -> None:
    found = {item.id: item for item in run(step_time.RULE, steps(10, 10, slow_us, 10, 10)).findings}

    assert ("STEPT-1" in found) is is_fault
    if is_fault:
        assert "Step 7" in found["STEPT-1"].text


@pytest.mark.parametrize(("n_first", "is_told"), [(4, False), (3, True)])
def test_a_first_step_with_few_operations_is_told(n_first: int, is_told: bool) -> None:
    counts = (n_first, 5, 5)
    numbers = [(step, place) for step, count in enumerate(counts) for place in range(count)]
    at = {pair: 100.0 * pair[0] + 10 * pair[1] for pair in numbers}
    calls = [("c", at[pair], 1.0, {"correlation": n}) for n, pair in enumerate(numbers)]
    gpu = [("k", at[pair] + 2, 1.0, {"correlation": n}) for n, pair in enumerate(numbers)]
    marks = [(step, 100.0 * step, 100.0) for step in range(3)]
    found = run(step_time.RULE, rank_trace(gpu=gpu, calls=calls, steps=marks)).findings

    assert ("STEPT-3" in {item.id for item in found}) is is_told


def test_a_gap_in_the_numbers_is_no_period() -> None:
    marks = [(1, 0.0, 10.0), (2, 10.0, 12.0), (50, 900.0, 11.0)]
    result = run(step_time.RULE, rank_trace(gpu=[("k", 0.0, 1.0)], steps=marks))

    assert column(result, "steps", "period_us") == [10.0, 12.0, 11.0]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["step_41", "step_42"], [41, 42]),
        (["Optimizer.step#SGD.step"] * 4, [0, 1, 2]),
        (["my phase"] * 3, [0, 1, 2]),
        (["nccl:all_reduce"] * 3, None),
        (["my phase"] * 2, None),
    ],
)
def test_steps_are_told_by_annotations_where_the_profiler_told_none(
    names: list[str], numbers: list[int] | None
) -> None:
    slices = [(name, 10.0 * place, 8.0, ANNOTATION) for place, name in enumerate(names)]
    result = run(step_time.RULE, rank_trace(gpu=[("k", 0.0, 1.0)], slices=slices))

    if numbers is None:
        assert result.status is Status.SKIPPED
    else:
        assert column(result, "steps", "step") == numbers
        assert "They are told by" in result.findings[-1].text


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
    result = run(launch_latency.RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "launch_latency", "delay") == ["launch", "queue"]
    assert column(result, "launch_latency", "count") == [2, 3]
    assert column(result, "launch_latency", "p50_us") == [5.5, 5.0]
    assert column(result, "launch_latency", "max_us") == [10.0, 7.0]
    assert column(result, "launch_latency", "negative") == [0, 1]
    assert column(result, "launch_latency", "orphans") == [1, 1]


def test_operations_before_their_launch_tell_of_clocks_that_disagree() -> None:
    gpu: list[Any] = [("k", 10.0 * n, 1.0, {"correlation": n}) for n in range(3)]
    late = [("cudaLaunchKernel", 10.0 * n + 6, 1.0, {"correlation": n}) for n in range(3)]

    (said,) = run(launch_latency.RULE, rank_trace(gpu=gpu, calls=late)).findings

    assert said.title == "Operations begin 6 µs before their launch (median)"
    assert "3 operations begin before the launching call: the clocks of host and GPU" in said.text


def test_without_launches_the_table_is_empty() -> None:
    assert column(run(launch_latency.RULE, kernels(1.0)), "launch_latency", "rank") == []


def test_a_queue_grows_with_launches_and_shrinks_with_starts() -> None:
    gpu = [("k", 10.0 + n, 1.0, {"correlation": n}) for n in range(4)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(4)]
    result = run(launch_queue.RULE, rank_trace(gpu=gpu, calls=calls))

    assert column(result, "queue_depth", "max_depth") == [4]
    assert column(result, "queue_depth", "launches") == [4]
    assert column(result, "queue_depth", "mean_depth") == [pytest.approx(36 / 12)]


def test_a_full_queue_is_told() -> None:
    gpu = [("k", 5000.0 + n, 1.0, {"correlation": n}) for n in range(1100)]
    calls = [("c", float(n), 1.0, {"correlation": n}) for n in range(1100)]
    result = run(launch_queue.RULE, rank_trace(gpu=gpu, calls=calls))

    assert [item.id for item in result.findings] == ["QUEUE-1"]
    assert column(result, "queue_depth", "full_us") == [5100.0 - 1000.0]


def test_annotations_are_grouped_and_count_what_they_launched() -> None:
    slices: list[Any] = [
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
    result = run(
        annotations_rule.RULE, rank_trace(gpu=gpu, calls=calls, slices=slices, flows=flows)
    )

    assert column(result, "annotations", "name") == ["phase_*"]
    assert column(result, "annotations", "count") == [2]
    assert column(result, "annotations", "sum_us") == [40.0]
    assert column(result, "annotations", "p50_us") == [20.0]
    assert column(result, "annotations", "gpu_time_us") == [1.0 + 2.0 + 3.0]


def leak(*held: int) -> RankTrace:
    """A trace of steps that begin with so many bytes allocated."""
    memory = [
        {"time": 10.0 * n, "allocated": size, "reserved": 1000, "change": 0}
        for n, size in enumerate(held)
    ]
    marks = [(n, 10.0 * n + 1, 9.0) for n in range(len(held))]
    return rank_trace(memory=memory, steps=marks, gpu=[("k", 0.0, 1.0)])


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ((100, 110, 120, 130), ["DMEM-1"]),
        ((100, 110, 110, 130), []),
        ((100, 110, 120), []),
        ((1000, 1001, 1002, 1003), []),
    ],
)
def test_memory_that_grows_in_every_step_is_a_leak(held: tuple[int, ...], found: list[str]) -> None:
    result = run(device_memory.RULE, leak(*held))

    assert [item.id for item in result.findings] == found
    assert column(result, "device_memory", "growth_bytes") == [held[-1] - held[0]]


def test_without_totals_the_curve_counts_changes() -> None:
    memory = [{"time": 0.0, "change": 5}, {"time": 1.0, "change": 7}, {"time": 2.0, "change": -5}]
    result = run(device_memory.RULE, rank_trace(memory=memory))

    assert column(result, "device_memory", "peak_allocated_bytes") == [12.0]
    assert column(result, "device_memory", "peak_reserved_bytes") == [None]


@pytest.mark.parametrize(
    "rule", [kernel_time.RULE, launch_latency.RULE, annotations_rule.RULE, kernel_precision.RULE]
)
def test_how_many_are_shown_can_be_set(rule: AnyRule) -> None:
    assert rule.params().top == 15


def test_short_names_are_different() -> None:
    names = ["void a::f<int>(int)", "void a::f<float>(int)", "g"]

    assert short_names(names) == ["f", "f (2)", "g"]


@pytest.mark.parametrize(
    ("capability", "versions", "severity"),
    [
        ("8.0", {}, "warning"),
        ("7.0", {}, "info"),
        (None, {}, "info"),
        ("9.4", {"hip_runtime": "6"}, "info"),
        ("6.1", {}, None),
    ],
)
def test_fp32_matrix_kernels_are_a_fault_where_one_switch_helps(
    capability: str | None, versions: dict[str, str], severity: str | None
) -> None:
    trace = rank_trace(gpu=[("ampere_sgemm_128x64_nn", 0.0, 20.0), ("k<float>", 20.0, 80.0)])
    device = Device(id=0, name="GPU", compute_capability=capability)
    trace = replace(trace, devices=(device,), versions=versions)
    found = [item for item in run(kernel_precision.RULE, trace).findings if item.id == "PREC-1"]

    assert [item.severity.value for item in found] == ([severity] if severity else [])


def test_matrix_kernels_are_told_by_their_own_name() -> None:
    products = [
        "void implicit_convolve_sgemm<float, float, 1024, 5>(int, int, float const*)",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "void cudnn::detail::dgrad_engine<float, 512, 6>(int, float const*)",
        "Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1",
    ]
    others = [
        "void cudnn::bn_bw_1C11_kernel_new<float, float>(float, cudnnTensorStruct, float const*)",
        "void split_embedding_codegen_forward<float>(fbgemm_gpu::Offsets<float>)",
        "void nchwToNhwcKernel<float, float, (cudnnKernelDataType_t)0>(int, float const*)",
        "void convertTensor_kernel<float, float>(float)",
    ]
    gpu = [(name, 10.0 * at, 10.0) for at, name in enumerate(products + others)]

    result = run(kernel_precision.RULE, rank_trace(gpu=gpu))

    assert sorted(column(result, "fp32_matrix", "name")) == [
        "Cijk_Ailk_Bljk_SB_MT64x64x16_SN_K1",
        "dgrad_engine",
        "implicit_convolve_sgemm",
        "volta_scudnn_128x64_relu_interior_nn_v1",
    ]


@pytest.mark.parametrize(("fp32_us", "is_told"), [(19.0, False), (20.0, True)])
def test_fp32_matrix_kernels_are_told_from_their_threshold_on(
    fp32_us: float, is_told: bool
) -> None:
    gpu = [("volta_sgemm_64x64_nt", 0.0, fp32_us), ("k<float>", fp32_us, 100 - fp32_us)]
    ids = {item.id for item in run(kernel_precision.RULE, rank_trace(gpu=gpu)).findings}

    assert ("PREC-1" in ids) is is_told


def test_names_of_ones_own_are_communication_in_every_rule() -> None:
    gpu = [("my_Exchange<float>", 0.0, 10.0), ("volta_sgemm_64x64_nt", 20.0, 10.0)]
    trace = rank_trace(gpu=gpu)
    own = "^MY_exchange"

    activity = run(
        gpu_activity.RULE, trace, params=gpu_activity.RULE.params(communication_names=own)
    )
    assert column(activity, "activity_by_device", "communication_us") == [10.0]
    times = run(kernel_time.RULE, trace, params=kernel_time.RULE.params(communication_names=own))
    assert column(times, "kernels_by_category", "category") == ["communication", "compute"]
    precision = run(
        kernel_precision.RULE, trace, params=kernel_precision.RULE.params(communication_names=own)
    )
    assert column(precision, "precision", "time_us") == [10.0]
    alone = run(collectives.RULE, trace, params=collectives.RULE.params(communication_names=own))
    assert alone.status is Status.OK
    budget = run(
        gpu_time_budget.RULE, trace, params=gpu_time_budget.RULE.params(communication_names=own)
    )
    parts = column(budget, "gpu_time_budget", "part")
    assert "exposed_communication" in parts
    assert run(collectives.RULE, trace).status is Status.SKIPPED
