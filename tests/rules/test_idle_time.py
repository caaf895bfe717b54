"""Faults of idling, long stretches and recordings of a start, by hand-made numbers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile.trace import RankTrace
from reportgen.results import Severity, Status
from reportgen.rules.idle_time import RULE, texts
from reportgen.rules.idle_time.measure import Params
from tests.builders import known
from tests.rules.kernels.builders import ANNOTATION, LOADER, gap_trace, rank_trace
from tests.rules.samples import run


@pytest.mark.parametrize(("late_us", "is_fault"), [(2.9, False), (3.0, True)])
def test_waiting_for_the_loader_is_a_fault_from_its_threshold_on(late_us, is_fault) -> None:
    trace = rank_trace(
        gpu=[("a", 0.0, 50.0), ("b", 50 + late_us, 50 - late_us, {"correlation": 1})],
        calls=[("cudaLaunchKernel", 50 + late_us, 1.0, {"correlation": 1})],
        slices=[(LOADER, 50.0, late_us, ANNOTATION)],
    )
    result = run(RULE, trace)

    assert (result.status is Status.TRIGGERED) is is_fault
    if is_fault:
        (finding,) = result.findings
        assert finding.id == "IDLE-1"
        assert finding.severity is Severity.WARNING
        assert finding.measured == late_us
        assert known(finding.estimate).speedup_at_most == 1.03


def stretches(trace: RankTrace, *more: RankTrace, least_pct: float) -> list[dict[str, Any]]:
    """Return the listed stretches as mappings; [] where none is listed."""
    result = run(RULE, trace, *more, params=Params(min_stretch_pct=least_pct))
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
def test_a_stretch_is_listed_from_its_share_of_the_window_on(least_pct, n_listed) -> None:
    assert len(stretches(gap_trace((10.0, 5.0)), least_pct=least_pct)) == n_listed


def test_a_stretch_after_the_last_operation_ends_with_the_window() -> None:
    trace = rank_trace(gpu=[("a", 0.0, 10.0)], steps=[(1, 0.0, 100.0)])

    assert [row["before"] for row in stretches(trace, least_pct=1.0)] == ["the end of the window"]


def test_stretches_of_ranks_recorded_far_apart_begin_together() -> None:
    early, late = (gap_trace((10.0, 5.0), rank=rank, origin_ns=rank * 10**12) for rank in (0, 1))
    rows = stretches(early, late, least_pct=1.0)

    assert [row["lane"] for row in rows] == ["rank 0 gpu0", "rank 1 gpu1"]
    assert rows[0]["start_s"] == rows[1]["start_s"]


@pytest.mark.parametrize(
    ("n_ranks", "idling"), [(1, "The GPU was"), (2, "The 2 GPUs together were")]
)
def test_a_fault_says_whose_idle_time_it_counts(n_ranks: int, idling: str) -> None:
    """What is won is of one rank, the idle time of all."""
    traces = [gap_trace((190.0, 10.0), rank=rank) for rank in range(n_ranks)]
    (finding,) = (item for item in run(RULE, *traces).findings if item.id == "IDLE-5")

    assert f" {idling} idle for " in finding.text
    assert "keep the GPU busy, which costs " in finding.title  # what is won, not the idle time


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


def test_a_cost_behind_others_says_so_before_its_figure() -> None:
    messages = {fault.message.id: fault.message for fault in texts.FAULTS}
    hidden, plain = messages["IDLE-2"], messages["IDLE-1"]
    assert hidden.text.startswith("If its other costs were mended first, without")
    assert hidden.text.index("Until then") < hidden.text.index("{idle:pct} of the GPU")
    assert ("could cost" in hidden.title, "could cost" in plain.title) == (True, False)


@pytest.mark.parametrize(("length_us", "is_start"), [(1_000_000.0, True), (999_000.0, False)])
def test_a_recording_of_a_start_is_told_instead_of_its_causes(length_us, is_start) -> None:
    findings = run(RULE, start_trace(length_us), params=Params(threshold_start_pct=40.0)).findings

    assert [item.id for item in findings] == ["IDLE-9" if is_start else "IDLE-10", "IDLE-4"]
    assert findings[0].severity is Severity.WARNING
    if is_start:
        assert "host late: allocating call" in findings[0].text
        assert findings[1].severity is Severity.INFO
        assert findings[1].estimate is None


def once_trace(*, name: str, call_us: float = 5.0, **more: Any) -> RankTrace:
    """Ten kernels of 1 ms; 2 ms pass before the sixth."""
    gpu, calls, now = [], [], 0.0
    for number in range(10):
        if number == 5:
            now += 2_000.0 - call_us
        length = call_us if number == 5 else 5.0
        calls.append(("cudaLaunchKernel", now, length, {"correlation": number}))
        kernel = name if number == 5 else "gemm"
        gpu.append((kernel, now + length + 5.0, 990.0, {"correlation": number}))
        now += length + 995.0
    return rank_trace(gpu=gpu, calls=calls, **more)


def test_a_single_long_stretch_says_before_what_and_what_the_host_did() -> None:
    slices = [("save_checkpoint", 5_000.0, 1_990.0, ANNOTATION)]
    findings = {item.id: item for item in run(RULE, once_trace(name="b", slices=slices)).findings}

    assert findings["IDLE-10"].cause == "long_gap"
    assert "before b; at this time the host was in save_checkpoint" in findings["IDLE-10"].text
    assert findings["IDLE-10"].where.start_s == pytest.approx(5e-3, abs=1e-4)
    assert findings["IDLE-10"].where.end_s == pytest.approx(7e-3, abs=1e-4)
    assert "IDLE-5" not in findings


def test_a_first_use_is_told_apart_from_steady_state() -> None:
    findings = {item.id: item for item in run(RULE, once_trace(name="b", call_us=1_990.0)).findings}

    assert findings["IDLE-11"].cause == "first_use"
    assert "IDLE-10" not in findings


def test_what_was_won_is_listed_for_each_cost() -> None:
    found = known(run(RULE, once_trace(name="b")).exhibit("host_costs"))
    won_us = dict(zip(found.columns[1].values, found.columns[2].values, strict=True))
    assert won_us["long gap"] == pytest.approx(1_950, abs=50)
    assert won_us["loader"] == 0
