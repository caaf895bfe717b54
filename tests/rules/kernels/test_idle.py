"""Idle causes and activity by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.facts.device_busy import time_in, unions_of, windows_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.results import Severity, Status
from reportgen.rules import gpu_activity, gpu_time_budget, idle_time
from reportgen.rules.kernels.idle import idle_causes
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
ANNOTATION = {"kind": int(SliceKind.ANNOTATION)}


def gap_trace(call: tuple[float, float] | None, **more: Any) -> RankTrace:
    """A trace with one gap of 100 µs at 100; ``call`` launches the kernel after it."""
    calls = [("cudaLaunchKernel", 0.0, 1.0, {"correlation": 1}), *more.pop("calls", ())]
    if call is not None:
        calls.append(("cudaLaunchKernel", *call, {"correlation": 2}))
    gpu = [("a", 0.0, 100.0, {"correlation": 1}), ("b", 200.0, 100.0, {"correlation": 2})]
    return rank_trace(gpu=gpu, calls=calls, **more)


def causes(trace: RankTrace, place: int = 0) -> dict[str, float]:
    """Return the causes of the first device in a window that are not 0."""
    found = idle_causes(trace, unions_of(trace)[0], windows_of(trace)[place])
    return {cause: time_ns / 1000 for cause, time_ns in found.items() if time_ns}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((150.0, 10.0), {"host_late:other": 50, "in_launch_call": 10, "waiting": 40}),
        ((150.0, 25.0), {"host_late:other": 50, "in_launch_call": 25, "kernel_gap": 25}),
        ((10.0, 5.0), {"waiting": 100}),
        ((150.0, 90.0), {"host_late:other": 50, "in_launch_call": 50}),
        ((90.0, 80.0), {"in_launch_call": 70, "waiting": 30}),
        ((90.0, 80.5), {"in_launch_call": 70.5, "kernel_gap": 29.5}),
        (None, {"launch_not_recorded": 100}),
    ],
)
def test_a_gap_is_split_by_the_launch_that_ends_it(
    call: tuple[float, float] | None, expected: dict[str, float]
) -> None:
    assert causes(gap_trace(call)) == expected


def test_the_host_is_late_for_the_first_reason_that_holds() -> None:
    trace = gap_trace(
        (200.0, 1.0),
        calls=[
            ("cudaStreamSynchronize", 105.0, 15.0),
            ("cudaMemcpyAsync", 115.0, 10.0),
            ("cudaMalloc", 170.0, 5.0),
        ],
        slices=[
            (LOADER, 100.0, 10.0, ANNOTATION),
            ("Optimizer.step#SGD.step", 120.0, 20.0, ANNOTATION),
            ("autograd::engine::evaluate_function: MulBackward0", 130.0, 20.0),
            ("train.py(1): f", 160.0, 20.0, {"kind": int(SliceKind.PYTHON)}),
        ],
    )

    assert causes(trace) == {
        "host_late:dataloader": 10,
        "host_late:sync": 10,
        "host_late:copy": 5,
        "host_late:optimizer": 15,
        "host_late:autograd": 10,
        "host_late:alloc": 5,
        "host_late:python": 15,
        "host_late:other": 30,
    }


def test_what_other_threads_do_is_no_reason_but_for_the_loader() -> None:
    trace = gap_trace(
        (200.0, 1.0),
        calls=[("cudaStreamSynchronize", 100.0, 50.0, {"thread": "other"})],
        slices=[(LOADER, 190.0, 10.0, ANNOTATION | {"thread": "other"})],
    )

    assert causes(trace) == {"host_late:dataloader": 10, "host_late:other": 90}


def test_of_operations_that_start_together_the_first_launched_ends_the_gap() -> None:
    calls = [
        ("cudaLaunchKernel", 0.0, 1.0, {"correlation": 1}),
        ("cudaLaunchKernel", 2.0, 1.0, {"correlation": 2}),
        ("cudaLaunchKernel", 150.0, 1.0, {"correlation": 3}),
    ]
    gpu = [
        ("a", 0.0, 100.0, {"correlation": 1}),
        ("b", 200.0, 9.0, {"correlation": 2, "stream": 8}),
        ("c", 200.0, 3.0, {"correlation": 3}),
    ]

    assert causes(rank_trace(gpu=gpu, calls=calls)) == {"waiting": 100}


def test_the_window_of_steps_has_a_head_and_a_tail() -> None:
    trace = gap_trace((200.0, 1.0), steps=[(1, -50.0, 200.0), (2, 150.0, 250.0)])

    found = causes(trace, 1)

    assert windows_of(trace)[1].length_ns == 450_000
    assert found["tail"] == 100
    assert found["host_late:other"] == 150
    assert "tail" not in causes(trace, 0)


def test_a_device_that_ends_before_another_of_its_rank_has_a_tail() -> None:
    gpu = [
        ("a", 0.0, 100.0, {"correlation": 1, "device": 0}),
        ("b", 0.0, 160.0, {"correlation": 1, "device": 1}),
    ]

    assert causes(rank_trace(gpu=gpu, calls=[("cudaLaunchKernel", 0.0, 1.0)])) == {"tail": 60}


def test_steps_extend_to_the_end_of_what_they_launched() -> None:
    trace = gap_trace((10.0, 1.0), steps=[(1, 0.0, 20.0)])

    assert windows_of(trace)[1].end_ns == 300_000


def test_devices_are_told_apart_in_the_window_of_their_rank() -> None:
    gpu: list[Any] = [("a", 0.0, 100.0, {"device": 0}), ("b", 50.0, 10.0, {"device": 1})]
    result = run(gpu_activity.RULE, rank_trace(gpu=gpu))
    table = result.exhibit("activity_by_device")
    assert table is not None
    columns = {column.name: column.values for column in table.columns}

    assert columns["device"] == (0, 1)
    assert columns["busy_us"] == (100.0, 10.0)
    assert columns["idle_us"] == (0.0, 90.0)


def test_overlapping_communication_is_hidden_the_rest_is_exposed() -> None:
    gpu: list[Any] = [("k", 0.0, 60.0), ("ncclKernel_AllReduce", 40.0, 60.0, {"stream": 9})]
    trace = rank_trace(gpu=gpu)

    time = time_in(unions_of(trace)[0], windows_of(trace)[0], rank=0)

    assert (time.overlap_ns, time.exposed_communication_ns) == (20_000, 40_000)
    assert (time.compute_ns, time.communication_ns, time.busy_ns) == (60_000, 60_000, 100_000)


def test_a_kernel_that_says_its_collective_is_communication() -> None:
    gpu = [("mystery", 0.0, 5.0, {"collective": {"name": "allreduce"}})]
    trace = rank_trace(gpu=gpu)

    assert time_in(unions_of(trace)[0], windows_of(trace)[0], rank=0).communication_ns == 5_000


@pytest.mark.parametrize(("late_us", "is_fault"), [(4.9, False), (5.0, True)])
def test_waiting_for_the_loader_is_a_fault_from_its_threshold_on(
    late_us: float, is_fault: bool
) -> None:
    trace = rank_trace(
        gpu=[("a", 0.0, 50.0), ("b", 50 + late_us, 50 - late_us, {"correlation": 1})],
        calls=[("cudaLaunchKernel", 50 + late_us, 1.0, {"correlation": 1})],
        slices=[(LOADER, 50.0, late_us, ANNOTATION)],
    )
    result = run(idle_time.RULE, trace)

    assert (result.status is Status.TRIGGERED) is is_fault
    if is_fault:
        (finding,) = result.findings
        assert finding.id == "IDLE-1"
        assert finding.severity is Severity.WARNING
        assert finding.measured == late_us
        assert finding.estimate is not None
        assert finding.estimate.speedup_at_most == 1.05


@pytest.mark.parametrize(("exposed_us", "is_fault"), [(9.0, False), (10.0, True)])
def test_exposed_communication_is_a_fault_from_its_threshold_on(
    exposed_us: float, is_fault: bool
) -> None:
    gpu = [("k", 0.0, 100 - exposed_us), ("ncclKernel", 100 - exposed_us, exposed_us)]
    ids = [item.id for item in run(gpu_activity.RULE, rank_trace(gpu=gpu)).findings]

    assert ("ACT-1" in ids) is is_fault


@pytest.mark.parametrize(("most_us", "is_fault"), [(60.0, False), (90.0, True)])
def test_uneven_ranks_are_named(most_us: float, is_fault: bool) -> None:
    def rank(number: int, compute_us: float) -> RankTrace:
        gpu = [("k", 0.0, compute_us), ("ncclKernel", compute_us, 100 - compute_us)]
        return rank_trace(gpu=gpu, rank=number)

    findings = run(gpu_activity.RULE, rank(0, 50.0), rank(1, most_us)).findings
    uneven = [item for item in findings if item.id == "ACT-2"]

    assert bool(uneven) is is_fault
    if uneven:
        assert uneven[0].where.node == "rank 1"


def test_the_budget_of_a_job_with_kernels_is_theirs() -> None:
    result = run(gpu_time_budget.RULE, gap_trace((150.0, 10.0)))

    assert result.status is Status.OK
    assert result.metrics["gpu_busy_ratio"] == pytest.approx(2 / 3, abs=1e-6)
    assert result.metrics["host_late_ratio"] == pytest.approx(50 / 300, abs=1e-6)
    assert "Computed from kernels" in result.findings[0].text


def stretches(trace: RankTrace, *more: RankTrace, least_pct: float) -> list[dict[str, Any]]:
    """Return the listed stretches as mappings; [] where none is listed."""
    result = run(idle_time.RULE, trace, *more, params=idle_time.Params(min_stretch_pct=least_pct))
    found = result.exhibit("idle_stretches")
    if found is None:
        return []
    names = [column.name for column in found.columns]
    values = zip(*(column.values for column in found.columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def test_a_long_idle_stretch_says_when_how_long_why_and_before_what() -> None:
    trace = gap_trace((190.0, 10.0), origin_ns=1_783_071_000_000_000_000)
    (found,) = stretches(trace, least_pct=10.0)

    assert (found["lane"], found["name"]) == ("gpu0", "host late: operators and other")
    assert (found["duration_us"], found["before"]) == (100.0, "b")
    assert found["start_s"] == pytest.approx(1_783_071_000.0001, abs=1e-6)
    assert found["end_s"] == pytest.approx(1_783_071_000.0002, abs=1e-6)


@pytest.mark.parametrize(("least_pct", "n_listed"), [(33.0, 1), (33.4, 0), (0.0, 1)])
def test_a_stretch_is_listed_from_its_share_of_the_window_on(
    least_pct: float, n_listed: int
) -> None:
    assert len(stretches(gap_trace((10.0, 5.0)), least_pct=least_pct)) == n_listed


def test_a_stretch_after_the_last_operation_ends_with_the_window() -> None:
    trace = rank_trace(gpu=[("a", 0.0, 10.0)], steps=[(1, 0.0, 100.0)])

    assert [row["before"] for row in stretches(trace, least_pct=1.0)] == ["the end of the window"]


def test_stretches_of_ranks_recorded_far_apart_begin_together() -> None:
    early, late = (gap_trace((10.0, 5.0), rank=rank, origin_ns=rank * 10**12) for rank in (0, 1))
    rows = stretches(early, late, least_pct=1.0)

    assert [row["lane"] for row in rows] == ["rank 0 gpu0", "rank 1 gpu1"]
    assert rows[0]["start_s"] == rows[1]["start_s"]


def test_a_fault_of_idling_says_when_its_longest_stretch_was() -> None:
    trace = gap_trace((190.0, 10.0), origin_ns=1_783_071_000_000_000_000)
    (finding,) = (item for item in run(idle_time.RULE, trace).findings if item.id == "IDLE-5")

    assert finding.where.start_s == pytest.approx(1_783_071_000.0001, abs=1e-6)
    assert finding.where.end_s == pytest.approx(1_783_071_000.0002, abs=1e-6)


def start_trace(length_us: float, **more: Any) -> RankTrace:
    """A kernel, a stretch in which the host allocates, and 500 ms of kernels."""
    begin = 500_000.0 + length_us
    return rank_trace(
        gpu=[
            ("a", 0.0, 500_000.0, {"correlation": 1}),
            ("b", begin, 500_000.0, {"correlation": 2}),
        ],
        calls=[
            ("cudaMalloc", 500_000.0, length_us - 10, {}),
            ("cudaLaunchKernel", begin - 10, 5.0, {"correlation": 2}),
        ],
        **more,
    )


@pytest.mark.parametrize(("length_us", "is_start"), [(1_000_000.0, True), (999_000.0, False)])
def test_a_recording_of_a_start_is_told_instead_of_its_causes(
    length_us: float, is_start: bool
) -> None:
    params = idle_time.Params(threshold_start_pct=40.0)
    findings = run(idle_time.RULE, start_trace(length_us), params=params).findings

    assert [item.id for item in findings] == (["IDLE-9", "IDLE-4"] if is_start else ["IDLE-4"])
    assert findings[0].severity is Severity.WARNING
    if is_start:
        assert "host late: allocating call" in findings[0].text
        assert findings[1].severity is Severity.INFO
        assert findings[1].estimate is None


def test_with_steps_a_long_stretch_is_a_fault_of_the_steps() -> None:
    trace = start_trace(3_000_000.0, steps=[(1, 0.0, 4_000_000.0)])

    assert [item.id for item in run(idle_time.RULE, trace).findings] == ["IDLE-4"]


@pytest.mark.parametrize(("limit_pct", "is_start"), [(75.0, True), (75.1, False)])
def test_a_start_begins_at_its_share(limit_pct: float, is_start: bool) -> None:
    params = idle_time.Params(threshold_start_pct=limit_pct)
    findings = run(idle_time.RULE, start_trace(3_000_000.0), params=params).findings

    assert ("IDLE-9" in {item.id for item in findings}) is is_start
