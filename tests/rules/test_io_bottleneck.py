from __future__ import annotations

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Cause, Counters, ReasonCode, Severity, Status
from reportgen.rules.io_bottleneck import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import finding
from tests.rules.samples import run

SMALL = {"patience": 10}


def node(gpu: list[float], wait: list[float], *, name: str = "algo-1") -> NodeProfile:
    columns = {"gpu0": gpu, "cpu0": [99.0] * len(gpu), "cpu0_iowait": wait}
    return node_profile(columns, interval_s=6, node=name)


def test_waiting_cores_count_and_busy_ones_do_not() -> None:
    waiting = run(RULE, node([5.0] * 20, [60.0] * 20), **SMALL)
    busy = run(RULE, node([5.0] * 20, [0.0] * 20), **SMALL)

    assert waiting.status is Status.TRIGGERED
    assert waiting.counters == Counters(rule_triggered=1, violations=20, datapoints=20)
    assert busy.counters == Counters(datapoints=20)
    assert busy.details["low_gpu_utilization"] == 20
    assert busy.findings == ()


@pytest.mark.parametrize(
    ("gpu", "wait", "violations"), [(9.99, 50.01, 20), (10.0, 50.01, 0), (9.99, 50.0, 0)]
)
def test_both_comparisons_are_strict(gpu: float, wait: float, violations: int) -> None:
    assert run(RULE, node([gpu] * 20, [wait] * 20), **SMALL).counters.violations == violations


@pytest.mark.parametrize(("n_waiting", "triggers"), [(10, 0), (11, 1)])
def test_the_share_must_exceed_the_threshold(n_waiting: int, triggers: int) -> None:
    wait = [60.0] * n_waiting + [0.0] * (20 - n_waiting)

    assert run(RULE, node([5.0] * 20, wait), **SMALL).counters.rule_triggered == triggers


def test_the_finding_speaks_of_io() -> None:
    found = known(finding(run(RULE, node([5.0] * 20, [60.0] * 20), **SMALL), "IO-1"))

    assert found.severity is Severity.CRITICAL
    assert "the I/O wait of a core was above 50.0 %" in found.text
    assert "faster or local storage" in found.advice
    assert found.where.start_s == START_S


@pytest.mark.parametrize(("cores", "severity"), [(10, Severity.CRITICAL), (11, Severity.WARNING)])
def test_one_waiting_thread_still_holds_up_the_gpu(cores: int, severity: Severity) -> None:
    columns = {"gpu0": [5.0] * 20, "cpu0_iowait": [60.0] * 20}
    columns |= {f"cpu{core}_iowait": [0.0] * 20 for core in range(1, cores)}
    found = known(finding(run(RULE, node_profile(columns, interval_s=6), **SMALL), "IO-1"))

    assert found.severity is severity
    assert ("a single thread waits" in found.text) is (severity is Severity.WARNING)


def test_too_few_samples_no_gpu_and_no_cores_are_told_apart() -> None:
    short = run(RULE, node([5.0] * 10, [60.0] * 10), **SMALL)
    cpu_only = run(RULE, node_profile({"cpu0_iowait": [60.0] * 20}), **SMALL)
    no_wait = run(RULE, node_profile({"gpu0": [5.0] * 20}), **SMALL)

    assert known(short.reason).text == (
        "Too few to judge: 10 samples of the machines' utilization; this check needs more than 10."
    )
    assert known(cpu_only.reason).code is ReasonCode.NO_GPU
    assert cpu_only.details == {"low_gpu_utilization": 0, "bottlenecks": {}}
    assert known(no_wait.reason).code is ReasonCode.NOT_SAMPLED


def test_all_nodes_are_added_up() -> None:
    result = run(
        RULE,
        node([5.0] * 20, [60.0] * 20, name="algo-1"),
        node([95.0] * 20, [60.0] * 20, name="algo-2"),
        **SMALL,
    )

    assert result.counters == Counters(violations=20, datapoints=40)


@pytest.mark.parametrize(
    ("gpu", "lost_ratio", "severity"),
    [([100.0, 60.0], 0.2, Severity.WARNING), ([100.0, 12.0, 12.0, 12.0], 0.66, Severity.CRITICAL)],
)
def test_gaps_that_are_shorter_than_a_tick_count_and_before_the_patience_too(
    gpu: list[float], lost_ratio: float, severity: Severity
) -> None:
    # No GPU is ever below 10 %.
    result = run(RULE, node(gpu * (200 // len(gpu)), [60.0] * 200))

    assert result.status is Status.TRIGGERED
    assert result.counters == Counters(datapoints=200)
    found = known(finding(result, "IO-1"))
    assert (found.severity, found.cause) == (severity, Cause.IO_WAIT)
    assert known(found.estimate).share_ratio == pytest.approx(lost_ratio)
    assert "0.6 of 1 cores waited for I/O and 0.4 computed" in found.text


def test_gaps_of_a_job_that_reads_enough_are_not_blamed_on_the_disk() -> None:
    result = run(RULE, node([100.0, 60.0] * 100, [30.0] * 200))

    assert result.status is Status.SKIPPED
    assert result.findings == ()
