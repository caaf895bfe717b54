"""Kernels by hand-made numbers: added up, ranked, and tiny ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.rules.kernel_time import RULE
from tests.rules.kernels.builders import launched_kernels, rank_trace
from tests.rules.samples import column, run


def kernels(*durations: float, name: str = "k", rank: int = 0) -> RankTrace:
    """A trace of kernels one after the other."""
    starts = np.concatenate([[0.0], np.cumsum(durations)])[:-1].tolist()
    gpu = [(name, start, duration) for start, duration in zip(starts, durations, strict=True)]
    return rank_trace(gpu=gpu, rank=rank)


def test_kernels_of_all_ranks_are_joined_by_name() -> None:
    one, two = (1.0, 2.0, 2.0, 9.0), (2.0, 4.0)
    result = run(RULE, kernels(*one), kernels(*two, rank=1))
    every = np.array([*one, *two])

    for name, value in {
        "count": 6,
        "sum_us": every.sum(),
        "mean_us": every.mean(),
        "p50_us": np.percentile(every, 50),
        "p95_us": np.percentile(every, 95),
        "p99_us": np.percentile(every, 99),
        "min_us": 1.0,
        "max_us": 9.0,
        "std_us": every.std(ddof=1),
        "pct_of_kernel_time": 100.0,
        "pct_of_profile_time": 100.0,
    }.items():
        assert column(result, "kernels", name) == [pytest.approx(value)]


FUSIBLE = "void at::native::vectorized_elementwise_kernel<4, silu_kernel>"
LAYOUT, COLLECTIVE = "batched_transpose_16x32_half", ("ncclDevKernel_AllReduce", 200.0, 500.0)


@pytest.mark.parametrize(
    ("gpu", "advice", "title"),
    [
        ([("gemm", 0.0, 61.0), (FUSIBLE, 100.0, 39.0)], "", ""),
        ([("gemm", 0.0, 59.0), (FUSIBLE, 100.0, 41.0)], "torch.compile", "or copy take 41.0 %"),
        ([("gemm", 0.0, 96.0), (LAYOUT, 100.0, 4.0), COLLECTIVE], "", ""),
        ([("gemm", 0.0, 94.0), (LAYOUT, 100.0, 6.0), COLLECTIVE], "channels_last", "take 6.0 %"),
    ],
)
def test_kernels_that_fusing_or_one_layout_saves_are_told_with_their_share(gpu, advice, title):
    found = [item for item in run(RULE, rank_trace(gpu=gpu)).findings if item.id == "KERN-3"]

    assert len(found) == bool(advice)
    assert all(advice in item.advice and title in item.title for item in found)


def test_a_kernel_that_ran_once_has_no_deviation() -> None:
    assert column(run(RULE, kernels(3.0)), "kernels", "std_us") == [0.0]


def test_the_largest_are_told_apart_and_the_rest_is_others() -> None:
    gpu = [(f"k{number}", 10.0 * number, 1.0 + number) for number in range(5)]
    result = run(RULE, rank_trace(gpu=gpu), params=RULE.params(top=2))

    assert column(result, "top_by_time", "part") == ["k4", "k3", "others (3 kernels)"]
    assert column(result, "top_by_time", "time_us") == [5.0, 4.0, 6.0]
    assert len(column(result, "kernels", "name")) == 5


@pytest.mark.parametrize(("call_us", "ratio"), [(19.0, 0.0), (31.0, 1.0)])
def test_kernels_of_a_graph_share_its_launch(call_us: float, ratio: float) -> None:
    calls = [("cudaGraphLaunch", 0.0, call_us, {"correlation": 1})]
    gpu: list[Any] = [("k", 40.0 + 10 * n, 3.0, {"correlation": 1}) for n in range(10)]

    assert run(RULE, rank_trace(gpu=gpu, calls=calls)).metrics["tiny_kernels_ratio"] == ratio


@pytest.mark.parametrize(("long_us", "is_fault"), [(1_970.0, True), (1_990.0, False)])
def test_small_kernels_are_a_fault_from_what_fusing_them_wins_on(long_us, is_fault) -> None:
    """Four kernels of 2 µs, launched every 22 µs, and a long one that nothing waits for."""
    small: list[Any] = [("t", 22.0 * n + 8, 2.0, {"correlation": n}) for n in range(4)]
    calls = [("cudaLaunchKernel", 22.0 * n, 4.0, {"correlation": n}) for n in range(5)]
    long = ("l", 96.0, long_us, {"correlation": 4})
    found = {
        item.id: item for item in run(RULE, rank_trace(gpu=[*small, long], calls=calls)).findings
    }

    assert ("KERN-1" in found) is is_fault
    if is_fault:
        assert found["KERN-1"].measured == pytest.approx(100 * 62 / (88 + long_us), abs=1e-3)
        where = found["KERN-1"].where
        assert [where.start_s, where.end_s] == pytest.approx([8e-6, 70e-6])


@pytest.mark.parametrize(
    ("call", "operator", "advice"),
    [
        ("cudaLaunchKernel", "Optimizer.step#SGD.step", "CUDA graphs, fused optimizers, or"),
        ("cudaLaunchKernel", "aten::mm", "torch.compile, CUDA graphs, or"),
        ("cudaGraphLaunch", "AddmmBackward0", "torch.compile, fused optimizers, or"),
        ("hipLaunchKernel", "aten::mm", "torch.compile, or"),
    ],
)
def test_advice_on_small_kernels_fits_the_job(call: str, operator: str, advice: str) -> None:
    """No CUDA graphs on AMD's GPUs or where some run; no optimizers without training."""
    gpu: list[Any] = [("t", 22.0 * n + 8, 2.0, {"correlation": n}) for n in range(5)]
    calls = [(call, 22.0 * n, 4.0, {"correlation": n}) for n in range(5)]
    trace = rank_trace(gpu=gpu, calls=calls, slices=[(operator, 0.0, 100.0)])
    found = {item.id: item for item in run(RULE, trace).findings}

    assert advice in found["KERN-1"].advice


def test_kernels_are_also_added_up_by_the_size_of_their_launches() -> None:
    result = run(RULE, launched_kernels())

    assert column(result, "kernels_by_shape", "name") == ["k", "ncclKernel", "k"]
    assert column(result, "kernels_by_shape", "sum_us") == [8.0, 5.0, 2.0]
    assert sum(column(result, "kernels_by_shape", "pct_of_kernel_time")) == pytest.approx(100.0)


@pytest.mark.parametrize(("middle", "is_told"), [("aten::_softmax", True), ("aten::relu", False)])
def test_attention_in_single_kernels_is_named_with_what_to_call(middle: str, is_told: bool) -> None:
    names = ["aten::bmm", middle, "aten::dropout", "aten::bmm"]
    slices = [(name, 10.0 * at, 9.0, {"external_id": at + 1}) for at, name in enumerate(names)]
    gpu: list[Any] = [
        (f"k{at}", 100.0 * at + 50, 20.0, {"external_id": at + 1}) for at in range(len(names))
    ]
    result = run(RULE, rank_trace(gpu=[*gpu, ("gemm", 900.0, 40.0)], slices=slices))
    found = [item for item in result.findings if item.id == "KERN-3"]

    assert bool(found) is is_told
    if is_told:
        assert found[0].measured == 50.0  # three kernels of 20 µs of 120 µs
        assert "scaled_dot_product_attention" in found[0].advice


def test_no_compilation_is_advised_for_a_compiled_model() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, silu_kernel>"
    gpu = [("triton_poi_fused_add_0", 0.0, 20.0), (name, 100.0, 80.0)]
    (found,) = run(RULE, rank_trace(gpu=gpu)).findings

    assert "graph breaks" in found.advice
    assert "torch.compile" not in found.advice


def test_elementwise_work_of_known_sizes_is_judged_by_efficiency() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, silu_kernel>"
    trace = rank_trace(
        gpu=[("gemm", 0.0, 20.0), (name, 100.0, 80.0)],
        slices=[("aten::silu", 0.0, 10.0, {"input_dims": "[8]"})],
    )

    assert run(RULE, trace).findings == ()


def test_recorded_stacks_are_named_where_the_host_is_the_limit() -> None:
    gpu: list[Any] = [("t", 22.0 * n + 8, 2.0, {"correlation": n}) for n in range(5)]
    calls = [("cudaLaunchKernel", 22.0 * n, 4.0, {"correlation": n}) for n in range(5)]
    slices = [("train.py(1): step", 0.0, 100.0, {"kind": int(SliceKind.PYTHON)})]
    (found,) = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices)).findings

    assert "without with_stack=True" in found.advice


def test_a_kernel_has_the_same_short_name_by_time_and_by_launches() -> None:
    long, often = "void conv<float, 128>(int)", "void conv<float, 64>(int)"
    gpu = [(long, 0.0, 90.0), (often, 90.0, 1.0), (often, 91.0, 1.0)]
    result = run(RULE, rank_trace(gpu=gpu), params=RULE.params(top=1))

    assert column(result, "top_by_time", "part")[0] == "conv<128>"
    assert column(result, "top_by_launches", "part")[0] == "conv<64>"
