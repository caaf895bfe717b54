"""A GPU that idles while its node receives as much as the network gives."""

from __future__ import annotations

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Cause, Counters, ReasonCode, Severity, Status
from reportgen.rules.network_bottleneck import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

SMALL = {"patience": 10}
FAST = 100e6


def node(
    gpu: list[float], received: list[float], *, name: str = "algo-1", interval_s: float = 1
) -> NodeProfile:
    columns = {"gpu0": gpu, "receive": received}
    return node_profile(columns, interval_s=interval_s, node=name)


def test_an_idle_gpu_at_full_rate_is_an_episode_with_its_numbers() -> None:
    gpu = [95.0] * 60 + [4.0] * 40 + [95.0] * 80
    received = [1e6] * 60 + [FAST] * 40 + [1e6] * 80

    result = run(RULE, node(gpu, received), **SMALL)

    assert result.status is Status.TRIGGERED
    # START_S is a full minute: ticks 60 to 99 lie in the second one.
    assert result.counters == Counters(rule_triggered=1, violations=40, datapoints=180)
    assert result.details == {
        "limit_bytes_per_s": {"algo-1": FAST},
        "limit_source": "own_p99",
        "episodes": {
            "algo-1": [
                {
                    "start": START_S + 60,
                    "end": START_S + 99,
                    "mean_bytes_per_s": FAST,
                    "gpu_mean": 4.0,
                }
            ]
        },
    }
    found = known(finding(result, "SYS-5"))
    assert found.severity is Severity.WARNING
    assert found.estimate is None
    assert "100 MB/s for 39 s" in found.text
    assert "the job's own maximum" in found.text
    assert (found.where.start_s, found.where.end_s) == (START_S + 60, START_S + 99)
    (row,) = rows_of(result, "episodes")
    assert (row["duration_s"], row["received"], row["limit"]) == (39.0, FAST, FAST)


@pytest.mark.parametrize(("n_ticks", "length_s", "is_told"), [(180, 30, True), (180, 29, False)])
def test_a_job_of_a_few_minutes_is_judged_without_any_setting(
    n_ticks: int, length_s: int, is_told: bool
) -> None:
    n_before = (n_ticks - length_s) // 2
    n_after = n_ticks - length_s - n_before
    gpu = [95.0] * n_before + [4.0] * length_s + [95.0] * n_after
    received = [1e6] * n_before + [FAST] * length_s + [1e6] * n_after
    result = run(RULE, node(gpu, received))

    assert (finding(result, "SYS-5") is not None) is is_told
    assert result.status is (Status.TRIGGERED if is_told else Status.OK)


@pytest.mark.parametrize(("n_ticks", "severity"), [(900, "warning"), (1500, "info")])
def test_an_episode_that_costs_less_than_three_percent_is_a_reading(
    n_ticks: int, severity: str
) -> None:
    gpu = [95.0] * 200 + [4.0] * 35 + [95.0] * (n_ticks - 235)
    received = [1e6] * 200 + [FAST] * 35 + [1e6] * (n_ticks - 235)
    found = known(finding(run(RULE, node(gpu, received)), "SYS-5"))

    assert found.severity == severity


def test_an_hour_of_thirty_kilobytes_with_an_idle_gpu_is_quiet() -> None:
    result = run(RULE, node([0.0] * 3600, [30_000.0] * 3600), **SMALL)
    assert result.status is Status.OK
    assert result.counters == Counters(datapoints=3600)
    assert (result.findings, result.details["episodes"]) == ((), {})


def test_a_given_limit_can_be_critical_and_replaces_the_own_maximum() -> None:
    part = node([5.0] * 100, [FAST] * 100)
    busy = run(RULE, part, limit_bytes_per_s=FAST, **SMALL)
    idle = run(RULE, part, limit_bytes_per_s=2 * FAST, **SMALL)

    found = known(finding(busy, "SYS-5"))
    assert found.severity is Severity.CRITICAL
    assert "The limit is 100 MB/s, as given." in found.text
    assert found.threshold == 90e6
    assert busy.details["limit_source"] == "parameter"
    assert idle.counters.violations == 0


@pytest.mark.parametrize(
    ("gpu", "rate", "violations"),
    [(9.99, 90e6, 100), (10.0, 90e6, 0), (9.99, 90e6 - 1, 0)],
)
def test_the_gpu_is_below_and_the_rate_at_least_at_its_threshold(
    gpu: float, rate: float, violations: int
) -> None:
    result = run(RULE, node([gpu] * 100, [rate] * 100), limit_bytes_per_s=FAST, **SMALL)
    assert result.counters.violations == violations


@pytest.mark.parametrize(("rate", "violations"), [(10_000_000.0, 100), (9_999_999.0, 0)])
def test_slower_than_the_floor_is_never_a_bottleneck(rate: float, violations: int) -> None:
    assert run(RULE, node([0.0] * 100, [rate] * 100), **SMALL).counters.violations == violations


@pytest.mark.parametrize(("n_ticks", "violations"), [(29, 0), (30, 30)])
def test_shorter_episodes_do_not_count(n_ticks: int, violations: int) -> None:
    gpu = [95.0, *([0.0] * n_ticks), *([95.0] * (99 - n_ticks))]
    assert run(RULE, node(gpu, [FAST] * 100), **SMALL).counters.violations == violations


@pytest.mark.parametrize(("hole", "n_episodes"), [(2, 1), (3, 2)])
def test_holes_of_two_ticks_do_not_end_an_episode(hole: int, n_episodes: int) -> None:
    gpu = [95.0, *([0.0] * 40), *([95.0] * hole), *([0.0] * 40), 95.0]
    result = run(RULE, node(gpu, [FAST] * len(gpu)), **SMALL)
    assert len(rows_of(result, "episodes")) == n_episodes
    assert result.counters.violations == 80


@pytest.mark.parametrize(("patience", "triggers"), [(59, 2), (60, 1), (99, 1)])
def test_minutes_count_once_there_are_more_samples_than_the_patience(
    patience: int, triggers: int
) -> None:
    result = run(RULE, node([0.0] * 100, [FAST] * 100), patience=patience)
    assert result.counters.rule_triggered == triggers


def test_what_is_lacking_is_told_apart() -> None:
    no_gpu = run(RULE, node_profile({"receive": [FAST] * 20}), **SMALL)
    no_bytes = run(RULE, node_profile({"gpu0": [0.0] * 20}), **SMALL)
    short = run(RULE, node([0.0] * 10, [FAST] * 10), **SMALL)

    assert known(no_gpu.reason).code is ReasonCode.NO_GPU
    assert "were not sampled" in known(no_bytes.reason).text
    assert known(short.reason).text == (
        "Too few to judge: 10 samples of the machines' utilization; this check needs more than 10."
    )


def test_nodes_have_limits_and_episodes_of_their_own() -> None:
    result = run(
        RULE,
        node([95.0] * 100, [FAST] * 100, name="algo-1"),
        node([95.0, *[0.0] * 98, 95.0], [FAST / 2] * 100, name="algo-2"),
        **SMALL,
    )
    assert result.details["limit_bytes_per_s"] == {"algo-1": FAST, "algo-2": FAST / 2}
    assert [row["node"] for row in rows_of(result, "episodes")] == ["algo-2"]
    assert result.counters.violations == 98
    assert result.counters.datapoints == 200


def test_a_gpu_that_the_job_never_uses_waits_for_nothing() -> None:
    columns = {"gpu0": [95.0] * 180, "gpu1": [0.0] * 180, "receive": [FAST] * 180}
    unused = node_profile(columns, interval_s=1)
    columns["gpu0"] = [95.0] * 60 + [4.0] * 60 + [95.0] * 60
    used = node_profile(columns, interval_s=1)

    result = run(RULE, unused, **SMALL)
    assert (result.counters.violations, result.findings) == (180, ())
    found = known(finding(run(RULE, used, **SMALL), "SYS-5"))
    assert "for 59 s" in found.text
    assert "33.3 % of the job" in found.title


def test_gaps_that_are_shorter_than_a_tick_count_and_before_the_patience_too() -> None:
    columns = {"gpu0": [95.0, 57.0] * 100, "cpu0": [10.0] * 200, "receive": [FAST] * 200}
    part = node_profile(columns, interval_s=1)
    result = run(RULE, part)

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(datapoints=200)
    found = known(finding(result, "SYS-5"))
    assert (found.severity, found.cause) == (Severity.WARNING, Cause.NETWORK_INPUT)
    assert known(found.estimate).share_ratio == pytest.approx(0.2)
    assert "received 100 MB/s more than it sent, at a steady rate" in found.text
    assert "0.1 of 1 cores computed" in found.text
