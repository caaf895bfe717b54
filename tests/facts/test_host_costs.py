"""What the host costs a rank, by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.facts.host_costs import Cost, host_costs
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from tests.builders import known
from tests.rules.kernels.builders import ANNOTATION, LOADER, Row, rank_trace


def costs_us(trace: RankTrace) -> dict[Cost, float]:
    found = known(host_costs(trace))
    return {cost: ns / 1000 for cost, ns in found.won_ns.items() if ns}


def stopped(us: float, *, slices: Any = (), call_us: float = 5.0, name: str = "gemm") -> RankTrace:
    """Ten kernels of 1 ms, one after the other; before the sixth the device idles."""
    gpu, calls, now = [], [], 0.0
    for number in range(10):
        pause = us if number == 5 else 0.0
        late = call_us if number == 5 else 5.0
        calls.append(("cudaLaunchKernel", now + pause, late, {"correlation": number}))
        kernel = name if number == 5 else "gemm"
        gpu.append((kernel, now + pause + late + 5.0, 990.0, {"correlation": number}))
        now += pause + late + 995.0
    return rank_trace(gpu=gpu, calls=calls, slices=slices)


def test_a_stop_names_the_operator_the_range_and_the_function_around_it() -> None:
    python = {"kind": int(SliceKind.PYTHON)}
    slices = [
        ("train.py(90): <module>", 0.0, 9_000.0, python),
        ("train.py(12): evaluate", 4_980.0, 2_950.0, python),
        ("validate", 4_985.0, 2_930.0, ANNOTATION),
        ("torch/_tensor.py(5): wrapped", 4_988.0, 2_920.0, python),
        ("<built-in function sleep>", 4_990.0, 2_900.0, python),
        ("train.py(70): short", 5_000.0, 100.0, python),
    ]
    found = known(host_costs(stopped(3_000.0, slices=slices)))
    assert [stop.doing for stop in found.stops] == ["sleep in validate in train.py(12): evaluate"]


def test_a_stop_in_which_nothing_was_recorded_names_nothing() -> None:
    assert [stop.doing for stop in known(host_costs(stopped(3_000.0))).stops] == [""]


def test_a_short_stretch_is_no_stop() -> None:
    assert not known(host_costs(stopped(900.0))).stops


def test_a_long_first_launch_of_a_kernel_is_its_first_use() -> None:
    first = stopped(0.0, call_us=3_000.0, name="flash_fwd")
    found = known(host_costs(first))
    assert not found.stops
    assert known(found.first_use).length_ns == 3_000_000
    assert 2_900 <= costs_us(first)[Cost.FIRST_USE] <= 3_000


def test_a_long_launch_of_a_known_kernel_is_none() -> None:
    assert Cost.FIRST_USE not in costs_us(stopped(0.0, call_us=3_000.0))


def test_a_wait_for_a_batch_is_the_loader_and_no_stop() -> None:
    trace = stopped(3_000.0, slices=[(LOADER, 5_000.0, 3_000.0, ANNOTATION)])
    assert not known(host_costs(trace)).stops
    assert costs_us(trace)[Cost.LOADER] > 2_900


def synchronized(work_us: float, *, once_us: float = 0.0) -> RankTrace:
    """Ten kernels of 100 µs, each of which the host waits for; then it works before the next."""
    gpu: list[Row] = []
    calls: list[Row] = []
    now = 0.0
    for number in range(10):
        calls.append(("cudaLaunchKernel", now, 5.0, {"correlation": number}))
        gpu.append(("gemm", now + 8.0, 100.0, {"correlation": number}))
        calls.append(("cudaStreamSynchronize", now + 6.0, 105.0))
        now += 111.0 + work_us + (once_us if number == 5 else 0.0)
    return rank_trace(gpu=gpu, calls=calls)


def test_waits_after_which_the_host_begins_anew_are_synchronization() -> None:
    found = costs_us(synchronized(20.0))
    assert found[Cost.SYNC] > 200
    assert found.get(Cost.HOST, 0.0) < 0.5 * found[Cost.SYNC]


def test_a_stop_after_one_of_many_waits_leaves_the_others_their_cause() -> None:
    found = costs_us(synchronized(20.0, once_us=3_000.0))
    assert found[Cost.LONG_GAP] > 2_900
    assert found[Cost.SYNC] > 200


def test_work_of_each_step_is_not_hidden_by_waits_that_would_be_won_instead() -> None:
    """Of 100 kernels of 200 µs the host waits for each, and works for 2 ms before every 25th."""
    gpu: list[Row] = []
    calls: list[Row] = []
    now = 0.0
    for number in range(100):
        now += 2_000.0 if number % 25 == 0 else 0.0
        calls.append(("cudaLaunchKernel", now, 5.0, {"correlation": number}))
        gpu.append(("gemm", now + 8.0, 200.0, {"correlation": number}))
        calls.append(("cudaStreamSynchronize", now + 6.0, 205.0))
        now += 290.0
    found = costs_us(rank_trace(gpu=gpu, calls=calls))

    assert found[Cost.SYNC] > 1_000
    assert 5_500 <= found[Cost.HOST] <= 6_500


def test_long_work_after_a_wait_is_the_host() -> None:
    found = costs_us(synchronized(600.0))
    assert Cost.SYNC not in found
    assert found[Cost.HOST] > 9 * 550


def small(us: float) -> RankTrace:
    """Thirty kernels in a row, launched every 20 µs."""
    calls = [("cudaLaunchKernel", 20.0 * n, 5.0, {"correlation": n}) for n in range(30)]
    gpu = [("add", 20.0 * n + 8.0, us, {"correlation": n}) for n in range(30)]
    return rank_trace(gpu=gpu, calls=calls)


def test_kernels_in_a_row_that_cannot_hide_a_launch_are_small() -> None:
    assert 450 <= costs_us(small(3.0))[Cost.SMALL] <= 29 * 20
    assert Cost.SMALL not in costs_us(small(15.0))


@pytest.mark.parametrize("returned_us", [1_020.0, 970.0])
def test_a_copy_from_pageable_memory_costs_its_wait_and_its_slowness(returned_us: float) -> None:
    """The call may return when the last piece is staged, before the copy is done."""
    trace = rank_trace(
        gpu=[
            (
                "Memcpy HtoD (Pageable -> Device)",
                10.0,
                1_000.0,
                {"correlation": 1, "bytes": 5_000_000},
            ),
            ("gemm", 1_060.0, 500.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaMemcpyAsync", 0.0, returned_us, {"correlation": 1}),
            ("cudaLaunchKernel", 1_050.0, 5.0, {"correlation": 2}),
        ],
    )
    assert costs_us(trace)[Cost.COPIES] == 850.0  # 200 µs at 25 GB/s stay, and no gap


def test_a_rank_without_a_gpu_has_no_costs() -> None:
    assert host_costs(rank_trace()) is None


@pytest.mark.parametrize(
    ("kind", "name", "has_stacks", "is_compiled"),
    [
        (SliceKind.PYTHON, "train.py(1): step", True, False),
        (SliceKind.OPERATOR, "Torch-Compiled Region: 0/0", False, True),
        (SliceKind.OPERATOR, "aten::mm", False, False),
    ],
)
def test_recorded_stacks_and_compiled_code_are_known(kind, name, has_stacks, is_compiled) -> None:
    found = known(host_costs(stopped(3_000.0, slices=[(name, 0.0, 10.0, {"kind": int(kind)})])))

    assert (found.has_stacks, found.is_compiled) == (has_stacks, is_compiled)
