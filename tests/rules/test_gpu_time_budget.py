"""What each GPU's time went into, by hand-made numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from reportgen.errors import ConfigError
from reportgen.results import Counters, ReasonCode, RuleResult, Status
from reportgen.results.packed_columns import unpack
from reportgen.rules.gpu_time_budget import RULE
from reportgen.rules.settings import resolve_params
from reportgen.units import NS_PER_S
from tests.builders import START_S, known, node_profile, ns, system_table
from tests.rules.framework_jobs import rows_of
from tests.rules.kernels.builders import gap_trace
from tests.rules.samples import run

STEP = "Step:ModeKeys.TRAIN"


def step(first_s: float, last_s: float, *, worker: str = "algo-1-27") -> tuple[Any, ...]:
    return (STEP, STEP, START_S + first_s, START_S + last_s, {"worker": worker})


def event(phase: str, name: str, first_s: float, last_s: float, **more: Any) -> tuple[Any, ...]:
    return (phase, name, START_S + first_s, START_S + last_s, more)


node = partial(node_profile, interval_s=1)


def parts(result: RuleResult, device: str = "gpu0") -> dict[str, float]:
    rows = rows_of(result, "gpu_time_budget")
    return {row["part"]: row["gpu_s"] for row in rows if row["device"] == device}


def in_loop(result_of: Mapping[str, Sequence[float | None]], *more: tuple[Any, ...]) -> RuleResult:
    """Run on ten ticks that all lie in one step."""
    return run(RULE, node(result_of, [step(0, 9), *more]))


def test_busy_above_ninety_at_work_above_ten_and_idle_up_to_ten() -> None:
    result = in_loop({"gpu0": [90.01, 100.0, 90.0, 50.0, 10.01, 10.0, 5.0, 0.0, 0.0, 0.0]})
    assert parts(result) == {"busy_high": 2.0, "busy_partial": 3.0, "unexplained": 5.0}
    assert result.status is Status.OK
    assert (result.counters, result.details, result.rule_parameters) == (Counters(), {}, "")
    assert result.metrics["gpu_busy_ratio"] == 0.5
    assert result.metrics["gpu_idle_ratio"] == 0.5
    assert result.metrics["busy_partial_ratio"] == 0.3
    assert result.metrics["network_ratio"] == 0.0
    assert sum(name.endswith("_ratio") for name in result.metrics) == 2 + 12


def test_the_loop_is_from_the_first_step_to_the_last_whatever_the_gpu_does() -> None:
    result = run(RULE, node({"gpu0": [95.0] * 10}, [step(2, 4), step(5, 7)]))
    assert parts(result) == {"initialization": 2.0, "busy_high": 6.0, "finalization": 2.0}


def test_before_and_behind_a_window_of_steps_gpus_train_too() -> None:
    use = [0.0] * 5 + [95.0] * 40 + [5.0] * 5 + [95.0] * 45 + [0.0] * 5
    result = run(RULE, node({"gpu0": use}, [step(60, 70), step(71, 90)]))
    outside = {"initialization": 5.0, "finalization": 5.0}
    assert parts(result) == {**outside, "busy_high": 85.0, "unexplained": 5.0}
    assert "or those of less than half of the time" in known(result.exhibit("budget")).caption


@pytest.mark.parametrize(
    ("gpu_after_loop", "worked_s"),
    [([95.0, 95.0, 11.0, 0.0, 0.0, 0.0], 3.0), ([95.0, 95.0, 10.0, 0.0, 0.0, 0.0], 2.0)],
)
def test_it_is_measured_how_long_gpus_work_after_the_last_recorded_step(gpu_after_loop, worked_s):
    result = run(RULE, node({"gpu0": [95.0] * 4 + gpu_after_loop}, [step(0, 3)]))

    assert parts(result) == {"busy_high": 4.0, "finalization": 6.0}
    assert result.metrics["worked_outside_loop_s"] == worked_s


def test_steps_of_nodes_without_gpus_are_not_said_to_lack() -> None:
    gpus = node({"gpu0": [0.0, 95.0, 95.0, 0.0]})
    steps = node({}, [step(1, 2, worker="host-27")], node="host")

    bar = known(run(RULE, gpus, steps).exhibit("budget"))
    assert "No steps were recorded on nodes with GPUs," in bar.caption


def test_without_steps_the_first_and_last_activity_bound_the_loop_and_it_is_said() -> None:
    result = run(RULE, node({"gpu0": [0.0, 10.0, 10.01, 0.0, 0.0, 95.0, 0.0, 0.0, 0.0, 0.0]}))
    assert parts(result) == {
        "initialization": 2.0,
        "busy_high": 1.0,
        "busy_partial": 1.0,
        "unexplained": 2.0,
        "finalization": 4.0,
    }
    bar = known(result.exhibit("budget"))
    assert "from the first to the last GPU utilization above 10 %" in bar.caption
    # The job's phases are shares of its time: these are of GPU time, in ticks.
    assert bar.caption.endswith("Shares of the time of all GPUs, counted in whole samples.")
    assert "No steps were recorded" in bar.caption


def test_a_gpu_that_never_works_has_neither_start_nor_end_without_steps() -> None:
    assert parts(run(RULE, node({"gpu0": [0.0] * 10}))) == {"unexplained": 10.0}


@pytest.mark.parametrize(
    ("cores", "part"),
    [
        ((20.0, 20.0), "unexplained"),
        ((20.1, 20.1), "io_wait"),
        ((50.0, -10.0), "unexplained"),
        ((50.1, 0.0), "io_wait"),
    ],
)
def test_cores_wait_above_twenty_percent_on_average_or_one_above_fifty(cores, part) -> None:
    columns = {"gpu0": [0.0] * 10, "cpu0_iowait": [cores[0]] * 10, "cpu1_iowait": [cores[1]] * 10}
    assert parts(in_loop(columns)) == {part: 10.0}


def test_full_rate_with_an_idle_gpu_is_network_and_slow_rates_are_not() -> None:
    received = [100e6] * 4 + [1e6] * 6
    assert parts(in_loop({"gpu0": [0.0] * 10, "receive": received})) == {
        "network": 4.0,
        "unexplained": 6.0,
    }
    slow = [30_000.0] * 10
    assert parts(in_loop({"gpu0": [0.0] * 10, "receive": slow})) == {"unexplained": 10.0}


def test_a_hot_core_or_a_wait_for_a_batch_is_cpu_input() -> None:
    cores = [90.01, 90.0] + [0.0] * 8
    fetch = event("DataLoaderIter", "It::GetNext", 3.5, 6.5)
    result = in_loop({"gpu0": [0.0] * 10, "cpu0": cores}, fetch)
    # Tick 0 has a hot core; the wait spans ticks 4, 5 and 6.
    assert parts(result) == {"cpu_input": 4.0, "unexplained": 6.0}


def test_a_gpu_whose_worker_waits_in_its_step_while_another_is_busy_waits_for_it() -> None:
    columns = {"gpu0": [95.0] * 5 + [90.0] * 5, "gpu1": [0.0] * 10}
    both = [step(0, 9), step(0, 9, worker="algo-1-28")]
    assert parts(run(RULE, node(columns, both)), "gpu1") == {"straggler": 5.0, "unexplained": 5.0}


@pytest.mark.parametrize(
    ("phase", "name", "more"),
    [
        ("gradient.cpu", "NEGOTIATE", {"source": "horovod_timeline"}),
        ("comm", "broadcast", {"source": "smdataparallel_timeline"}),
        ("gpu_functions-dev:1", "ncclKernel_AllReduce_RING", {}),
    ],
)
def test_communication_shows_waiting_too(phase: str, name: str, more: dict[str, Any]) -> None:
    result = in_loop({"gpu0": [95.0] * 10, "gpu1": [0.0] * 10}, event(phase, name, 2, 4, **more))
    assert parts(result, "gpu1") == {"straggler": 3.0, "unexplained": 7.0}


def test_the_first_cause_that_fits_takes_the_tick() -> None:
    """Every tick drops the strongest cause that is left: each part gets one second."""
    columns: dict[str, Sequence[float | None]] = {
        "gpu0": [95.0, 95.0, 95.0, 5.0, 5.0, 5.0, 5.0, 5.0, 95.0, None],
        "gpu1": [0.0, 95.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None],
        "cpu0": [99.0, 99.0, 99.0, 99.0, 99.0, 99.0, 0.0, 0.0, 99.0, 99.0],
        "cpu0_iowait": [60.0, 60.0, 60.0, 60.0, 0.0, 0.0, 0.0, 0.0, 60.0, 60.0],
        "receive": [100e6] * 5 + [0.0] * 3 + [100e6] * 2,
    }
    result = run(RULE, node(columns, [step(1, 3), step(7, 7), event("comm", "nccl", 0, 9)]))
    assert parts(result, "gpu1") == {
        "initialization": 1.0,
        "busy_high": 1.0,
        "straggler": 1.0,
        "io_wait": 1.0,
        "network": 1.0,
        "cpu_input": 1.0,
        "between_steps": 1.0,
        "unexplained": 1.0,
        "finalization": 1.0,
        "not_measured": 1.0,
    }


def test_gaps_and_absent_samples_are_not_measured_and_nothing_is_lost() -> None:
    part = node({"gpu0": [95.0, 95.0, None, 95.0, 95.0, 95.0], "cpu0": [99.0] * 6}, [step(0, 60)])
    tick_ns = ns(START_S) + np.array([0, 1, 2, 3, 30, 31], dtype=np.int64) * ns(1)
    system = replace(part.system, tick_ns=tick_ns, last_ns=int(tick_ns[-1]))
    result = run(RULE, replace(part, system=system))
    # From 0 s to one interval after 31 s; the gap from 4 s to 30 s and the absent sample at 2 s.
    assert parts(result) == {"busy_high": 5.0, "not_measured": 27.0}
    assert sum(parts(result).values()) == 32.0


def test_a_late_tick_is_no_gap_and_weighs_its_length() -> None:
    part = node({"gpu0": [95.0, 0.0, 95.0]}, [step(0, 9)])
    tick_ns = ns(START_S) + np.array([ns(0), ns(1), ns(2.4)], dtype=np.int64)
    result = run(RULE, replace(part, system=replace(part.system, tick_ns=tick_ns)))
    assert parts(result) == {"busy_high": 2.0, "unexplained": 1.4}


def test_nodes_and_gpus_are_rows_and_shares_are_of_the_whole_job() -> None:
    result = run(
        RULE,
        node({"gpu0": [95.0] * 10, "gpu1": [50.0] * 10}, [step(0, 9)], node="algo-1"),
        node({"gpu0": [0.0] * 10}, node="algo-2"),
    )
    names = [column.name for column in known(result.exhibit("gpu_time_budget")).columns]
    assert names == ["node", "device", "part", "gpu_s", "pct", "usd"]
    assert [tuple(row.values()) for row in rows_of(result, "gpu_time_budget")] == [
        ("algo-1", "gpu0", "busy_high", 10.0, 33.3334, None),
        ("algo-1", "gpu1", "busy_partial", 10.0, 33.3333, None),
        ("algo-2", "gpu0", "unexplained", 10.0, 33.3333, None),
    ]
    assert [tuple(row.values()) for row in rows_of(result, "budget")] == [
        ("busy_high", 10.0, 33.3334),
        ("busy_partial", 10.0, 33.3333),
        ("unexplained", 10.0, 33.3333),
    ]
    assert "1 of 2 nodes (the first of them is algo-2)" in known(result.exhibit("budget")).caption


def test_what_is_lacking_is_told_apart() -> None:
    no_gpu = run(RULE, node({"cpu0": [1.0] * 10}))
    one_tick = run(RULE, node({"gpu0": [1.0]}))
    assert known(no_gpu.reason).code is ReasonCode.NO_GPU
    assert known(one_tick.reason).code is ReasonCode.TOO_FEW_SAMPLES
    assert one_tick.metrics == {}


def stretches(result: RuleResult) -> list[tuple[str, float, float, str]]:
    """Return (device, start, end, cause) of each listed stretch, seconds since the job's start."""
    if result.exhibit("idle_stretches") is None:
        return []
    return [
        (row["device"], row["start_s"] - START_S, row["end_s"] - START_S, row["cause"])
        for row in rows_of(result, "idle_stretches")
    ]


def test_idle_stretches_of_three_seconds_are_listed_and_marked() -> None:
    result = in_loop({"gpu0": [90.0, 0.0, 0.0, 90.0, 5.0, 5.0, 5.0, 90.0, 0.0, 90.0]})
    assert stretches(result) == [("gpu0", 4.0, 7.0, "unexplained")]
    (marked,) = rows_of(result, "idle_stretches")
    assert (marked["lane"], marked["name"]) == ("algo-1 gpu0", "idle 3 s, unexplained")
    assert (marked["start_s"], marked["end_s"]) == (START_S + 4, START_S + 7)
    assert (result.metrics["idle_stretches"], result.metrics["longest_idle_s"]) == (1, 3.0)


def test_a_single_idle_sample_tells_no_stretch_however_long_the_interval() -> None:
    table = system_table({"gpu0": [90.0, 0.0, 90.0, 90.0]}, interval_s=60)
    assert stretches(run(RULE, node_profile(system=table, rows=[step(0, 200)]))) == []


def test_a_gap_in_the_sampling_ends_a_stretch() -> None:
    table = system_table({"gpu0": [90.0, *[0.0] * 8, 90.0]}, interval_s=1)
    ticks = table.tick_ns + np.where(np.arange(10) >= 4, 60_000_000_000, 0)
    part = node_profile(system=replace(table, tick_ns=ticks), rows=[step(0, 70)])
    assert [(start, end) for _, start, end, _ in stretches(run(RULE, part))] == [
        (1.0, 4.0),
        (64.0, 69.0),
    ]


def test_idling_before_and_after_the_loop_is_no_stretch() -> None:
    part = node({"gpu0": [0.0] * 5 + [90.0] * 5 + [0.0] * 5}, [step(5, 9)])
    assert stretches(run(RULE, part)) == []


def test_with_a_price_rows_and_totals_cost_money() -> None:
    priced = run(RULE, node({"gpu0": [100.0] * 5 + [0.0] * 5}, [step(0, 9)]), usd_per_gpu_hour=36.0)
    costs = {row["part"]: row["usd"] for row in rows_of(priced, "gpu_time_budget")}
    assert costs == {"busy_high": 0.05, "unexplained": 0.05}
    assert priced.metrics["gpu_usd"] == 0.1
    assert priced.metrics["gpu_idle_usd"] == 0.05
    assert priced.params["usd_per_gpu_hour"] == 36.0
    assert priced.rule_parameters == ""


def test_what_utilization_leaves_unused_has_a_price_beside_idling() -> None:
    use = [100.0] * 4 + [40.0] * 3 + [0.0] * 3
    part = node({"gpu0": use, "gpu1": [25.0] * 10}, [step(0, 9)])
    priced = run(RULE, part, usd_per_gpu_hour=36.0)
    # A tick lasts a second and costs a cent: three idle ones, and of all what is not used.
    unused_usd = sum(100 - value for value in [*use, *[25.0] * 10]) / 100 * 0.01
    bar = known(priced.exhibit("budget"))

    assert priced.metrics["gpu_idle_usd"] == 0.03
    assert priced.metrics["gpu_unused_usd"] == pytest.approx(unused_usd, abs=1e-6)
    assert (
        "36 USD an hour for each GPU they cost 0.20 USD: 0.03 USD of it while they are idle"
        in bar.caption
    )
    assert f"{unused_usd:.2f} USD for all unused utilization" in bar.caption


@pytest.mark.parametrize("price", ["-1", "nan", "1e999", "a lot"])
def test_a_price_must_be_a_number_of_at_least_zero(price: str) -> None:
    with pytest.raises(ConfigError, match="usd_per_gpu_hour"):
        resolve_params((RULE,), {"GPUTimeBudget.usd_per_gpu_hour": price})


def test_the_time_of_a_gpu_that_never_works_waits_for_nothing() -> None:
    columns = {"gpu0": [95.0] * 100, "gpu1": [0.0] * 100, "cpu0": [99.0] * 100}
    part = node_profile(columns, interval_s=1)

    rows = {row["part"]: row["gpu_s"] for row in rows_of(run(RULE, part), "budget")}

    assert rows == {"busy_high": 100.0, "never_used": 100.0}


def test_the_budget_of_a_job_with_kernels_is_theirs() -> None:
    result = run(RULE, gap_trace((150.0, 10.0)))

    assert result.status is Status.OK
    assert result.metrics["gpu_busy_ratio"] == pytest.approx(2 / 3, abs=1e-6)
    assert result.metrics["host_late_ratio"] == pytest.approx(50 / 300, abs=1e-6)


def steps_of(result: RuleResult, place: int = 0) -> dict[str, list[int]]:
    """Return the columns of one table of data that are not all 0, in whole seconds."""
    columns = unpack(result.data[place])
    return {name: (values // NS_PER_S).tolist() for name, values in columns.items() if values.any()}


def test_the_data_has_the_parts_of_each_step() -> None:
    gpu = [0.0, 95.0, 95.0, 50.0, 0.0, 0.0, 95.0, 95.0, None, 0.0]
    rows = [step(1, 4), step(5, 10), step(2, 8, worker="algo-1-28")]
    result = run(RULE, node({"gpu0": gpu, "gpu1": [95.0] * 10}, rows))

    first, second = result.data
    assert first.of == {"node": "algo-1", "device": "gpu0", "rows": "steps"}
    assert second.of["device"] == "gpu1"
    found = steps_of(result)
    assert found.pop("start_ns") == [START_S + 1, START_S + 5]
    assert found == {
        "duration_ns": [3, 5],
        "busy_high_ns": [2, 2],
        "busy_partial_ns": [1, 0],
        "straggler_ns": [0, 1],
        "not_measured_ns": [0, 1],
        "unexplained_ns": [0, 1],
    }


def test_parts_of_the_data_add_up_also_where_a_step_was_not_sampled() -> None:
    part = node({"gpu0": [95.0] * 4 + [0.0] * 4}, [step(-2, 3), step(3, 20)])
    columns = unpack(run(RULE, part).data[0])

    start, duration = columns.pop("start_ns"), columns.pop("duration_ns")
    assert np.sum([*columns.values()], axis=0).tolist() == duration.tolist()
    assert columns["not_measured_ns"].tolist() == [ns(2), ns(12)]
    assert start.tolist() == [ns(START_S - 2), ns(START_S + 3)]


def test_a_job_that_cannot_be_judged_has_no_data() -> None:
    assert run(RULE, node({"gpu0": [95.0]})).data == ()
    assert run(RULE, node({"cpu0": [95.0] * 9}, [step(0, 9)])).data == ()


def test_the_data_of_a_traced_rank_has_the_parts_of_each_step() -> None:
    steps = [(1, 0.0, 120.0), (2, 120.0, 200.0)]
    result = run(RULE, gap_trace((150.0, 10.0), steps=steps, rank=3, origin_ns=1_000_000))
    (table,) = result.data
    columns = unpack(table)

    assert table.of == {"rank": "3", "device": "gpu3", "rows": "steps"}
    assert {name: values.tolist() for name, values in columns.items() if values.any()} == {
        "start_ns": [1_000_000, 1_120_000],
        "duration_ns": [120_000, 200_000],
        "compute_ns": [100_000, 100_000],
        "host_late_ns": [20_000, 30_000],
        "launch_ns": [0, 10_000],
        "waiting_ns": [0, 40_000],
        "unexplained_ns": [0, 20_000],
    }
    shares = {row["part"]: row["gpu_s"] for row in rows_of(result, "gpu_time_budget")}
    assert shares["waiting"] == columns["waiting_ns"].sum() / NS_PER_S


def test_a_trace_without_steps_has_no_data() -> None:
    assert run(RULE, gap_trace((150.0, 10.0))).data == ()
