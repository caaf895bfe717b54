"""GPUPower: slowed down, at the power limit, shared with another job, energy of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.profile import NodeProfile
from reportgen.profile.monitoring import Monitoring, Progress
from reportgen.recorded_job import RecordedGpu, RecordedNode
from reportgen.results import ReasonCode, RuleResult, Severity, Status
from reportgen.rules.gpu_power import RULE, Params
from tests.builders import START_S, Row, known, node_profile, system_table
from tests.rules.framework_jobs import rows_of
from tests.rules.samples import column, run

N = 100
HEAT, CAP, IDLE = 0x40, 0x4, 0x1
TRAIN = "Step:ModeKeys.TRAIN"


def gpu(number: int = 0, **columns: list[float | None]) -> dict[str, list[float | None]]:
    """A busy GPU of 100 samples, with other columns instead."""
    usual: dict[str, list[float | None]] = {
        "use": [90.0] * N,
        "watts": [300.0] * N,
        "mhz": [1500.0] * N,
        "celsius": [60.0] * N,
        "throttle": [0.0] * N,
    }
    named = {**usual, **columns}
    return {
        f"gpu{number}" if name == "use" else f"gpu{number}_{name}": values
        for name, values in named.items()
    }


def node(name: str = "node-1", steps: int = 0, /, **columns: list[float | None]) -> NodeProfile:
    rows: list[Row] = [
        (TRAIN, TRAIN, START_S + 10 + step, START_S + 11 + step, {"step": step})
        for step in range(steps)
    ]
    return node_profile(columns, rows, node=name)


def ids(result: RuleResult) -> list[str]:
    return [finding.id for finding in result.findings]


def split(first: float, n_first: int, then: float) -> list[float | None]:
    return [*[first] * n_first, *[then] * (N - n_first)]


def test_a_gpu_that_is_too_hot_is_reported_with_what_it_costs() -> None:
    hot = gpu(throttle=split(HEAT, 20, 0), mhz=split(900, 20, 1500), celsius=split(91, 20, 70))
    (finding,) = run(RULE, node(**hot, **gpu(1))).findings
    assert (finding.id, finding.severity) == ("POWER-1", Severity.WARNING)
    assert finding.title == (
        "gpu0 is slowed down for 20.0 % of its busy time by heat (the hardware lowers the clocks)"
    )
    assert "900 MHz then and 1500 MHz otherwise" in finding.text
    assert "91 °C" in finding.text
    assert "1 of 2 GPUs" in finding.text
    assert known(finding.estimate).share_ratio == pytest.approx(0.2 * (1 - 900 / 1500))
    assert (finding.where.node, finding.where.device) == ("node-1", "gpu0")
    assert finding.where.start_s == START_S


@pytest.mark.parametrize(("n_hot", "is_reported"), [(5, False), (6, True)])
def test_both_sides_of_the_threshold(n_hot: int, is_reported: bool) -> None:
    findings = run(RULE, node(**gpu(throttle=split(HEAT, n_hot, 0)))).findings

    assert [finding.id for finding in findings] == ["POWER-1"] * is_reported


@pytest.mark.parametrize(
    "columns",
    [
        gpu(use=split(5, 30, 90), throttle=split(HEAT | IDLE, 30, 0)),
        gpu(use=split(90, 59, 0), throttle=[float(HEAT)] * N),
    ],
    ids=["hot while idle", "too few busy samples"],
)
def test_only_enough_busy_samples_count(columns: dict[str, list[float | None]]) -> None:
    assert ids(run(RULE, node(**columns))) == []


def test_reasons_are_named_together() -> None:
    both: list[float | None] = [float(0x8 | 0x80)] * N

    (finding,) = run(RULE, node(**gpu(throttle=both))).findings
    assert finding.title.endswith(
        "by a hardware slowdown (heat or power) and an external power brake"
    )
    assert finding.estimate is None


def test_a_power_limit_is_a_column_and_no_finding() -> None:
    result = run(RULE, node(**gpu(throttle=split(CAP, 60, 0), mhz=split(1400, 60, 1500))))

    assert result.findings == ()
    assert rows_of(result, "gpu_power")[0]["at_power_limit_pct"] == 60.0


def looks(*counts: float) -> list[float | None]:
    """A look at the processes every 20 samples."""
    values: list[float | None] = [None] * N
    for place, value in enumerate(counts):
        values[20 * place] = value
    return values


def test_another_job_on_a_gpu_is_reported() -> None:
    (finding,) = run(RULE, node(**gpu(others=looks(0, 1, 2, 0, 0)))).findings
    assert (finding.id, finding.measured) == ("POWER-3", 40.0)
    assert finding.title == "Another job computes on gpu0"
    assert "5 checks" in finding.text


def test_looks_that_meet_nobody_say_nothing() -> None:
    assert run(RULE, node(**gpu(others=looks(0, 0, 0, 0, 0)))).findings == ()


def counter(per_tick: float, *, reset_at: int = N + 1) -> list[float | None]:
    return [per_tick * (tick if tick < reset_at else tick - reset_at) for tick in range(N)]


def test_the_energy_of_a_step_is_that_of_all_gpus_in_the_loop() -> None:
    # 150 J in half a second are 300 W; the loop of 20 steps lasts 20 s on both GPUs.
    columns = {**gpu(joules=counter(150)), **gpu(1, joules=counter(150))}
    result = run(RULE, node("node-1", 20, **columns))

    assert result.metrics["gpu_energy_per_step_j"] == pytest.approx(600)
    assert result.metrics["gpu_energy_kj"] == pytest.approx(2 * 99 * 0.15)
    assert result.metrics["gpu_power_mean_w"] == 600
    assert column(result, "energy", "energy_in_training_loop_kj") == [12.0]


def test_nodes_that_make_their_steps_together_share_them() -> None:
    columns = gpu(joules=counter(150))
    result = run(RULE, node("node-1", 20, **columns), node("node-2", 20, **columns))

    assert result.metrics["gpu_energy_per_step_j"] == pytest.approx(600)


def test_a_counter_that_begins_anew_is_no_negative_energy() -> None:
    result = run(RULE, node(**gpu(joules=counter(150, reset_at=50))))

    assert result.metrics["gpu_energy_kj"] == pytest.approx(98 * 0.15)


def test_what_a_gpu_does_not_have_is_absent_and_not_zero() -> None:
    result = run(RULE, node(**gpu(watts=[None] * N)))

    assert column(result, "gpu_power", "mean_w") == [None]
    assert column(result, "gpu_power", "energy_kj") == [None]
    assert column(result, "gpu_power", "sm_activity_pct") == [None]
    assert result.metrics["gpu_power_mean_w"] is None


def test_a_job_whose_power_was_not_recorded_is_skipped() -> None:
    samples: dict[str, Any] = {"gpu0": [90.0] * N}
    result = run(RULE, node(**samples), params=Params())

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is ReasonCode.NO_EVENTS


def test_energy_is_integrated_where_there_is_no_counter() -> None:
    result = run(RULE, node(**gpu(watts=split(100.0, 50, 300.0), use=split(0.0, 50, 90.0))))
    assert column(result, "gpu_power", "energy_from") == ["power every 500 ms"]
    assert column(result, "gpu_power", "energy_kj") == [
        pytest.approx((49 * 100 + 200 + 49 * 300) * 0.5 / 1000)
    ]
    result = run(RULE, node(**gpu(joules=[float(at) for at in range(N)])))
    assert column(result, "gpu_power", "energy_from") == ["counter"]
    assert column(result, "gpu_power", "energy_kj") == [0.1]


def test_a_hole_in_the_samples_has_no_energy() -> None:
    whole = system_table({"gpu0": [90.0] * N, "gpu0_watts": [100.0] * N})
    late_ns = whole.tick_ns.copy()
    late_ns[50:] += 3_600 * 1_000_000_000
    result = run(RULE, node_profile(system=replace(whole, tick_ns=late_ns)))
    assert column(result, "gpu_power", "energy_kj") == [pytest.approx(98 * 100 * 0.5 / 1000)]


def test_energy_drawn_while_idle_stands_in_the_table_beside_the_price_of_all() -> None:
    part = node(**gpu(watts=[360.0] * N, use=split(0.0, 22, 90.0)))
    result = run(RULE, part, params=Params(usd_per_kwh=10.0, pue=1.5))
    kwh = 99 * 0.5 * 360 / 3.6e6
    assert column(result, "energy", "energy_of_all_gpus_kwh") == [pytest.approx(kwh, abs=1e-4)]
    assert column(result, "energy", "energy_cost_usd") == [pytest.approx(15 * kwh, abs=1e-4)]
    assert column(result, "energy", "energy_while_idle_pct") == [pytest.approx(2100 / 99, abs=0.01)]
    assert result.findings == ()


def test_energy_of_a_step_by_the_log_of_a_monitored_job() -> None:
    time_ns = np.array([START_S, START_S + 40], dtype=np.int64) * 1_000_000_000
    log = Progress(counter="global_step", time_ns=time_ns, step=np.array([10.0, 30.0]))
    part = node(**gpu(watts=[100.0] * N))
    logged = replace(part, monitoring=Monitoring(source="a monitor", progress=(log,)))
    assert run(RULE, logged).metrics["gpu_energy_per_step_j"] == pytest.approx(200.0, rel=0.01)
    calls = replace(log, counter="_step")
    other = replace(part, monitoring=Monitoring(source="a monitor", progress=(calls,)))
    assert run(RULE, other).metrics["gpu_energy_per_step_j"] is None


def test_the_clock_of_the_peak_stands_beside_that_of_the_busy_gpu() -> None:
    gpus = (RecordedGpu(index=0, name="NVIDIA A100-SXM4-80GB"), RecordedGpu(index=1, name="X1"))
    two = replace(node(**gpu(), **gpu(1)), recorded=RecordedNode(node="node-1", gpus=gpus))

    result = run(RULE, two)

    assert column(result, "gpu_power", "clock_busy_mhz") == [1500, 1500]
    assert column(result, "gpu_power", "clock_of_peak_mhz") == [1410, None]
