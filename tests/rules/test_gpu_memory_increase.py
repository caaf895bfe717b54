from __future__ import annotations

import numpy as np
import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ReasonCode, Severity, Status
from reportgen.rules.aws.aws_gpu_memory_increase import Params, increases_of
from reportgen.rules.gpu_memory_increase import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

SMALL = {"patience": 20}


def node(
    memory: list[float],
    *,
    gpu: list[float] | float = 90.0,
    name: str = "algo-1",
    interval_s: float = 6,
) -> NodeProfile:
    """Return a node that samples every six seconds, ten samples a minute."""
    use = gpu if isinstance(gpu, list) else [gpu] * len(memory)
    return node_profile({"gpu0": use, "gpu0_memory": memory}, interval_s=interval_s, node=name)


def step(height: float, *, base: float = 20.0, before: int = 40, after: int = 40) -> list[float]:
    return [base] * before + [base + height] * after


def test_the_increase_is_that_of_its_definition() -> None:
    values = np.round(np.random.default_rng(3).random(60) * 100, 2)

    increases, _ = increases_of(values, Params())

    for index in range(60):
        if index < 11:
            assert np.isnan(increases[index])
        else:
            newer = values[index - 9 : index + 1].mean()
            older = values[index - 10 : index - 1].mean()
            # Sums of hundredths are exact; the means above round in their last digits.
            assert increases[index] == pytest.approx(newer - older, abs=1e-9)


def test_a_step_of_more_than_25_points_triggers_up_to_four_samples() -> None:
    # A step of J gives 0.2 J, 0.1889 J, 0.1778 J, 0.1667 J at the samples that follow its first.
    assert [
        run(RULE, node(step(height)), **SMALL).counters.rule_triggered
        for height in (20.0, 25.0, 25.1, 26.5, 28.2, 30.1)
    ] == [0, 0, 1, 2, 3, 4]


def test_a_step_that_stays_is_growth() -> None:
    result = run(RULE, node(step(30.0)), **SMALL)
    found = known(finding(result, "MEM-1"))
    (gpu,) = rows_of(result, "memory")

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(rule_triggered=3, violations=3, datapoints=80)
    assert found.severity is Severity.WARNING
    assert "from 20.0 % to 50.0 %" in found.title
    assert "not allocated bytes" in found.text
    assert found.measured == 30.0
    assert (found.where.device, found.where.start_s) == ("gpu0", START_S + 41 * 6)
    assert (gpu["jump_from_pct"], gpu["jump_to_pct"], gpu["episodes"]) == (20, 50, 1)


def test_details_hold_the_history_up_to_the_last_violation() -> None:
    result = run(RULE, node(step(30.0)), **SMALL)

    entry = result.details["algo-1"]
    assert isinstance(entry, dict)
    assert isinstance(entry["gpu0"], dict)
    assert list(entry["gpu0"]) == [
        "increase", "gpu_max", "p05", "p25", "p50", "p75", "p95", "upper", "lower",
    ]  # fmt: skip
    # The last violating sample is the fourth of the new level: 4 of 10 newer, 2 of 9 older.
    assert entry["gpu0"]["increase"] == pytest.approx(5.333333333, abs=1e-9)
    assert result.details["last_timestamp"] == int(START_S + 240) * 1_000_000


def test_a_load_that_comes_and_goes_is_no_alarm() -> None:
    memory = ([0.0] * 15 + [40.0] * 15) * 6
    result = run(RULE, node(memory), **SMALL)

    assert result.counters.rule_triggered > 10
    assert finding(result, "MEM-1") is None
    assert result.findings == ()


def test_the_start_of_the_work_is_no_growth() -> None:
    assert finding(run(RULE, node(step(40.0, base=0.0)), **SMALL), "MEM-1") is None


@pytest.mark.parametrize(("rise", "is_told"), [(9.9, True), (10.0, False)])
def test_a_step_together_with_more_gpu_work_is_load(rise: float, is_told: bool) -> None:
    gpu = [50.0] * 40 + [50.0 + rise] * 40

    assert (finding(run(RULE, node(step(30.0), gpu=gpu), **SMALL), "MEM-1") is not None) is is_told


def test_a_level_that_was_reached_before_is_no_new_height() -> None:
    memory = [50.0] * 30 + [10.0] * 30 + [52.0] * 30
    assert finding(run(RULE, node(memory), **SMALL), "MEM-1") is None


@pytest.mark.parametrize(("first", "triggers"), [(17, 0), (18, 1), (19, 2), (20, 3)])
def test_only_samples_beyond_patience_are_judged(first: int, triggers: int) -> None:
    # The samples with index first to first + 2 exceed the threshold; index 20 is the 21st.
    memory = [20.0] * (first - 1) + [50.0] * 30

    assert run(RULE, node(memory), patience=20).counters.rule_triggered == triggers


def test_too_few_samples_and_no_gpu_are_told_apart() -> None:
    short = run(RULE, node([20.0] * 20), **SMALL)
    cpu_only = run(RULE, node_profile({"cpu0": [5.0] * 80}), **SMALL)

    assert known(short.reason).text == (
        "Too few to judge: 20 samples of the machines' utilization; this check needs more than 20."
    )
    assert known(cpu_only.reason).code is ReasonCode.NO_GPU
    assert (cpu_only.details, cpu_only.exhibits[:-1]) == ({}, ())


def test_a_quiet_gpu_is_fine() -> None:
    result = run(RULE, node([20.0, 22.0] * 60), **SMALL)

    assert result.status is Status.OK
    assert (result.details, result.findings) == ({}, ())


def test_a_slow_climb_is_a_trend_although_nothing_jumps() -> None:
    result = run(RULE, node([20.0 + index // 10 for index in range(160)]), **SMALL)
    found = known(finding(result, "MEM-2"))

    assert result.counters.rule_triggered == 0
    assert result.status is Status.TRIGGERED
    assert found.severity is Severity.WARNING
    assert (found.measured, found.threshold, found.unit) == (15.0, 5.0, "points")
    # 159 intervals of six seconds
    assert "rises by 0.94 points a minute" in found.text
    assert result.metrics["memory_trend_max_pct_per_min"] == pytest.approx(15 / 15.9)


@pytest.mark.parametrize(("minutes", "is_told"), [(6, False), (7, True)])
def test_a_trend_must_rise_by_more_than_the_threshold(minutes: int, is_told: bool) -> None:
    flat = 8 - minutes
    memory = [20.0] * (10 * flat) + [20.0 + 1 + index // 10 for index in range(10 * minutes)]
    result = run(RULE, node(memory), patience=20, increase=minutes - 0.9 if is_told else 8)

    assert (finding(result, "MEM-2") is not None) is is_told


@pytest.mark.parametrize(
    ("n", "every_s", "told"), [(60, 0.5, False), (61, 0.5, True), (23, 6, False), (24, 6, True)]
)
def test_a_trend_needs_half_a_minute_and_eight_parts(n: int, every_s: float, told: bool) -> None:
    climb = node([20.0 + index // 2 for index in range(n)], interval_s=every_s)
    assert (finding(run(RULE, climb, patience=20), "MEM-2") is not None) is told


def test_a_job_of_three_minutes_shows_its_trend_in_parts() -> None:
    # 150 samples: too few for SageMaker, and three minutes. The level rises by 0.2 a sample.
    result = run(RULE, node([20.0 + 0.2 * index for index in range(150)], interval_s=1.2))
    assert finding(result, "MEM-2")

    assert result.counters == Counters(datapoints=150)
    assert result.metrics["memory_trend_max_pct_per_min"] == pytest.approx(10.0, rel=0.08)


@pytest.mark.parametrize("seed", range(5))
def test_a_short_job_whose_memory_follows_a_noisy_load_has_no_trend(seed: int) -> None:
    gpu = np.random.default_rng(seed).uniform(0, 100, 300)

    result = run(RULE, node((gpu * 0.4).tolist(), gpu=gpu.tolist(), interval_s=0.5))

    assert finding(result, "MEM-2") is None


def test_all_nodes_are_counted_and_the_highest_jump_is_named() -> None:
    result = run(
        RULE,
        node(step(28.1), name="algo-1"),
        node(step(60.0), name="algo-2"),
        node([20.0] * 50, name="algo-10"),
        **SMALL,
    )
    found = known(finding(result, "MEM-1"))

    assert found.where.node == "algo-2"
    assert "2 of 3 GPUs" in found.text
    assert list(result.details) == ["algo-1", "last_timestamp", "algo-2"]
    assert [row["node"] for row in rows_of(result, "memory")] == ["algo-1", "algo-2", "algo-10"]
