"""A GPU that idles while its node receives as much as the network gives."""

from __future__ import annotations

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Cause, ReasonCode, Severity, Status
from reportgen.rules.network_bottleneck import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

FAST = 100e6


def node(
    gpu: list[float], received: list[float], *, name: str = "algo-1", interval_s: float = 1
) -> NodeProfile:
    return node_profile({"gpu0": gpu, "receive": received}, interval_s=interval_s, node=name)


def test_an_idle_gpu_at_full_rate_is_an_episode_with_its_numbers() -> None:
    gpu = [95.0] * 60 + [4.0] * 40 + [95.0] * 80
    received = [1e6] * 60 + [FAST] * 40 + [1e6] * 80

    result = run(RULE, node(gpu, received))

    assert result.status is Status.TRIGGERED
    assert result.metrics["starved_ratio"] == round(40 / 180, 6)
    found = known(finding(result, "SYS-5"))
    assert found.severity is Severity.WARNING
    assert found.estimate is None
    assert "100 MB/s for 39 s" in found.text
    assert "the job's own maximum" in found.text
    assert (found.where.start_s, found.where.end_s) == (START_S + 60, START_S + 99)
    (row,) = rows_of(result, "episodes")
    assert (row["duration_s"], row["received"], row["limit"]) == (39.0, FAST, FAST)


@pytest.mark.parametrize(("n_ticks", "length_s", "is_told"), [(180, 30, True), (180, 29, False)])
def test_a_job_of_a_few_minutes_is_judged_without_any_setting(n_ticks, length_s, is_told) -> None:
    n_before = (n_ticks - length_s) // 2
    n_after = n_ticks - length_s - n_before
    gpu = [95.0] * n_before + [4.0] * length_s + [95.0] * n_after
    received = [1e6] * n_before + [FAST] * length_s + [1e6] * n_after
    result = run(RULE, node(gpu, received))

    assert (finding(result, "SYS-5") is not None) is is_told
    assert result.status is (Status.TRIGGERED if is_told else Status.OK)


@pytest.mark.parametrize(("n_ticks", "severity"), [(700, "warning"), (900, "info")])
def test_an_episode_that_costs_little_is_a_reading(n_ticks, severity) -> None:
    gpu = [95.0] * 200 + [4.0] * 35 + [95.0] * (n_ticks - 235)
    received = [1e6] * 200 + [FAST] * 35 + [1e6] * (n_ticks - 235)
    assert known(finding(run(RULE, node(gpu, received)), "SYS-5")).severity == severity


def test_an_hour_of_thirty_kilobytes_with_an_idle_gpu_is_quiet() -> None:
    result = run(RULE, node([0.0, 90.0] * 1800, [30_000.0] * 3600))
    assert result.status is Status.OK
    assert result.findings == ()
    assert result.metrics == {"starved_ratio": 0.0, "steady_input_ratio": 0.0}


def test_a_given_limit_can_be_critical_and_replaces_the_own_maximum() -> None:
    part = node([90.0, *[5.0] * 98, 90.0], [FAST] * 100)
    busy = run(RULE, part, limit_bytes_per_s=FAST)
    idle = run(RULE, part, limit_bytes_per_s=2 * FAST)

    found = known(finding(busy, "SYS-5"))
    assert found.severity is Severity.CRITICAL
    assert "The limit is 100 MB/s, as given." in found.text
    assert found.threshold == 90e6
    assert idle.metrics["starved_ratio"] == 0


@pytest.mark.parametrize(
    ("gpu", "rate", "is_starved"),
    [(9.99, 90e6, True), (10.0, 90e6, False), (9.99, 90e6 - 1, False)],
)
def test_the_gpu_is_below_and_the_rate_at_least_at_its_threshold(gpu, rate, is_starved) -> None:
    result = run(RULE, node([90.0, *[gpu] * 98, 90.0], [rate] * 100), limit_bytes_per_s=FAST)
    assert result.metrics["starved_ratio"] == (0.98 if is_starved else 0)


@pytest.mark.parametrize(("rate", "is_starved"), [(10_000_000.0, True), (9_999_999.0, False)])
def test_slower_than_the_floor_is_never_a_bottleneck(rate: float, is_starved: bool) -> None:
    result = run(RULE, node([90.0] * 2 + [0.0] * 96 + [90.0] * 2, [rate] * 100))
    assert bool(result.metrics["starved_ratio"]) is is_starved


@pytest.mark.parametrize(("hole", "n_episodes"), [(2, 1), (3, 2)])
def test_holes_of_two_ticks_do_not_end_an_episode(hole: int, n_episodes: int) -> None:
    gpu = [95.0, *([0.0] * 40), *([95.0] * hole), *([0.0] * 40), 95.0]
    assert len(rows_of(run(RULE, node(gpu, [FAST] * len(gpu))), "episodes")) == n_episodes


def test_what_is_lacking_is_told_apart() -> None:
    no_gpu = run(RULE, node_profile({"receive": [FAST] * 80}))
    no_bytes = run(RULE, node_profile({"gpu0": [0.0] * 80}))
    short = run(RULE, node([0.0] * 60, [FAST] * 60))

    assert known(no_gpu.reason).code is ReasonCode.NO_GPU
    assert "were not sampled" in known(no_bytes.reason).text
    assert known(short.reason).text == (
        "Too few to judge: 60 samples of the machines' utilization; this check needs more than 60."
    )


def test_nodes_have_limits_and_episodes_of_their_own() -> None:
    result = run(
        RULE,
        node([95.0] * 100, [FAST] * 100, name="algo-1"),
        node([95.0] * 2 + [0.0] * 96 + [95.0] * 2, [FAST / 2] * 100, name="algo-2"),
    )
    assert [(row["node"], row["limit"]) for row in rows_of(result, "episodes")] == [
        ("algo-2", FAST / 2)
    ]
    assert result.metrics["starved_ratio"] == 0.48


def test_a_gpu_that_the_job_never_uses_waits_for_nothing() -> None:
    columns = {"gpu0": [95.0] * 180, "gpu1": [0.0] * 180, "receive": [FAST] * 180}
    unused = node_profile(columns, interval_s=1)
    columns["gpu0"] = [95.0] * 60 + [4.0] * 60 + [95.0] * 60
    used = node_profile(columns, interval_s=1)

    assert run(RULE, unused).findings == ()
    found = known(finding(run(RULE, used), "SYS-5"))
    assert "for 59 s" in found.text
    assert "33.3 % of the job" in found.title


def test_gaps_that_are_shorter_than_a_tick_count_and_before_the_patience_too() -> None:
    columns = {"gpu0": [95.0, 57.0] * 100, "cpu0": [10.0] * 200, "receive": [FAST] * 200}
    result = run(RULE, node_profile(columns, interval_s=1))

    assert result.status is Status.TRIGGERED
    found = known(finding(result, "SYS-5"))
    assert (found.severity, found.cause) == (Severity.WARNING, Cause.NETWORK_INPUT)
    assert known(found.estimate).share_ratio == pytest.approx(0.2)
    assert "received 100 MB/s more than it sent. This rate was steady" in found.text
    assert "0.1 of 1 cores computed" in found.text
