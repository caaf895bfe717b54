"""Steps of kernel traces by hand-made numbers."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import SliceKind
from reportgen.results import Status
from reportgen.rules.step_time import RULE
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import column, run

ANNOTATION = {"kind": int(SliceKind.ANNOTATION)}


def steps(*periods: float) -> RankTrace:
    """A trace of steps of these lengths, the GPU busy for half of each."""
    starts = np.concatenate([[0.0], np.cumsum(periods)])[:-1].tolist()
    rows = list(zip(starts, periods, strict=True))
    calls = [("c", at, 1.0, {"correlation": n}) for n, (at, _) in enumerate(rows)]
    gpu = [("k", at + 1, length / 2, {"correlation": n}) for n, (at, length) in enumerate(rows)]
    marks = [(5 + n, at, length) for n, (at, length) in enumerate(rows)]
    return rank_trace(gpu=gpu, calls=calls, steps=marks)


def test_steps_have_periods_and_gpu_time() -> None:
    result = run(RULE, steps(10.0, 20.0, 10.0))

    assert column(result, "steps", "step") == [5, 6, 7]
    assert column(result, "steps", "period_us") == [10.0, 20.0, 10.0]
    assert column(result, "steps", "gpu_busy_us") == [5.0, 10.0, 5.0]


def test_work_that_runs_on_after_its_step_makes_no_gpu_busier_than_full() -> None:
    steps = [(1, 0.0, 20.0), (2, 20.0, 20.0)]
    calls = [("cudaLaunchKernel", 1.0, 1.0, {"correlation": 1})]
    long = ("a", 10.0, 90.0, {"correlation": 1, "device": 0})
    short = ("b", 10.0, 6.0, {"correlation": 1, "device": 1})

    one = run(RULE, rank_trace(gpu=[long], calls=calls, steps=steps))
    two = run(RULE, rank_trace(gpu=[long, short], calls=calls, steps=steps))

    assert column(one, "step_percentiles", "gpu_busy_pct") == [75.0]
    assert column(two, "step_percentiles", "gpu_busy_pct") == [(75.0 + 15.0) / 2]


@pytest.mark.parametrize(("slow_us", "is_fault"), [(20.0, False), (21.0, True)])
def test_a_step_is_slow_above_twice_the_median(slow_us: float, is_fault: bool) -> None:
    found = {item.id: item for item in run(RULE, steps(10, 10, slow_us, 10, 10)).findings}

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
    found = run(RULE, rank_trace(gpu=gpu, calls=calls, steps=marks)).findings

    assert ("STEPT-3" in {item.id for item in found}) is is_told


def test_a_gap_in_the_numbers_is_no_period() -> None:
    marks = [(1, 0.0, 10.0), (2, 10.0, 12.0), (50, 900.0, 11.0)]
    result = run(RULE, rank_trace(gpu=[("k", 0.0, 1.0)], steps=marks))

    assert column(result, "steps", "period_us") == [10.0, 12.0, 11.0]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["Optimizer.step#SGD.step"] * 4, [0, 1, 2]),
        (["my phase"] * 3, [0, 1, 2]),
        (["nccl:all_reduce"] * 3, None),
        (["my phase"] * 2, None),
    ],
)
def test_steps_are_told_by_annotations_where_the_profiler_told_none(names, numbers) -> None:
    slices = [(name, 10.0 * place, 8.0, ANNOTATION) for place, name in enumerate(names)]
    result = run(RULE, rank_trace(gpu=[("k", 0.0, 1.0)], slices=slices))

    if numbers is None:
        assert result.status is Status.SKIPPED
    else:
        assert column(result, "steps", "step") == numbers


def test_numbered_marks_are_steps_that_the_script_tells() -> None:
    slices = [(f"step_{number}", 10.0 * number, 8.0, ANNOTATION) for number in (41, 42)]
    marks = [(number, 10.0 * number, 8.0) for number in (41, 42)]
    result = run(RULE, rank_trace(gpu=[("k", 0.0, 1.0)], slices=slices, steps=marks))

    assert column(result, "steps", "step") == [41, 42]


def test_a_host_that_runs_ahead_makes_no_step_slow() -> None:
    """The GPU works 100 µs for each step; the host launches three at once and waits then."""
    starts = [0.0, 10.0, 20.0, 30.0, 340.0, 440.0]
    marks = [
        (number, at, end - at)
        for number, (at, end) in enumerate(zip(starts, [*starts[1:], 540.0], strict=True))
    ]
    calls = [("c", at + 1, 1.0, {"correlation": n}) for n, at in enumerate(starts)]
    gpu = [("k", 5 + 100.0 * n, 100.0, {"correlation": n}) for n in range(len(starts))]

    found = {item.id for item in run(RULE, rank_trace(gpu=gpu, calls=calls, steps=marks)).findings}
    assert "STEPT-1" not in found


def test_a_step_on_the_gpu_lasts_from_its_first_to_its_last_operation() -> None:
    """Whatever stream and GPU they run on, and however long they run on after the host's step."""
    marks = [(1, 0.0, 100.0), (2, 100.0, 100.0), (3, 200.0, 50.0)]
    calls = [("c", at, 1.0, {"correlation": n}) for n, at in enumerate((10.0, 20.0, 110.0, 120.0))]
    gpu = [
        ("k", 30.0, 5.0, {"correlation": 0}),
        ("k", 60.0, 90.0, {"correlation": 1, "stream": 20, "device": 1}),
        ("k", 155.0, 10.0, {"correlation": 2}),
        ("k", 165.0, 7.0, {"correlation": 3}),
    ]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, steps=marks))

    assert column(result, "steps", "gpu_span_us") == [150.0 - 30.0, 172.0 - 155.0, 0.0]
    assert column(result, "step_percentiles", "gpu_span_p50_us") == [68.5]


def test_times_on_the_gpu_and_from_step_to_step_have_a_histogram_and_percentiles_each() -> None:
    """The third step launches nothing: it has no time on the GPU."""
    marks = [(n, 100.0 * n, 100.0) for n in range(4)]
    calls = [("c", 100.0 * n, 1.0, {"correlation": n}) for n in (0, 1, 3)]
    gpu = [("k", 100.0 * n + 5, 20.0 + n, {"correlation": n}) for n in (0, 1, 3)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, steps=marks))

    on_gpu, period = result.exhibit("gpu_step_times"), result.exhibit("step_times")
    assert on_gpu is not None
    assert period is not None
    assert on_gpu.title.startswith("Step durations on the GPU: median 21 µs")
    assert period.title == "Time from step to step: 100 µs"
    assert sum(column(result, "gpu_step_times", "steps")) == 3
    assert sum(column(result, "step_times", "steps")) == 4
    assert column(result, "gpu_step_times", "bin_start")[0] == 20.0
    points = {"p50": 21.0, "p95": 22.8, "p99": 22.96, "max": 23.0}
    for point, us in points.items():
        assert column(result, "step_percentiles", f"gpu_span_{point}_us") == pytest.approx([us])
        assert result.metrics[f"step_gpu_span_{point}_us"] == pytest.approx(us)
        assert result.metrics[f"step_{point}_us"] == 100.0


@pytest.mark.parametrize(("waits_us", "is_named"), [(55.0, False), (70.0, True)])
def test_slow_steps_that_wait_for_the_loader_name_it(waits_us: float, is_named: bool) -> None:
    """The slow step takes 120 µs longer; waits of 5 µs are in every step."""
    periods = [100.0, 100.0, 220.0, 100.0, 100.0]
    starts = np.concatenate([[0.0], np.cumsum(periods)])[:-1].tolist()
    waits = [5.0, 5.0, 5.0 + waits_us, 5.0, 5.0]
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    slices = [(name, at, wait, ANNOTATION) for at, wait in zip(starts, waits, strict=True)]
    ends = [at + length - 20 for at, length in zip(starts, periods, strict=True)]
    calls = [("c", at, 1.0, {"correlation": n}) for n, at in enumerate(ends)]
    gpu = [("k", at + 2, 10.0, {"correlation": n}) for n, at in enumerate(ends)]
    marks = [(n, at, periods[n]) for n, at in enumerate(starts)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, slices=slices, steps=marks))

    slow = next(item for item in result.findings if item.id == "STEPT-1")
    assert (slow.cause == "slow_input") is is_named
    assert ("prefetch_factor" in slow.advice) is is_named
    assert ("take 120 µs longer in all; for 70 µs of it" in slow.text) is is_named
