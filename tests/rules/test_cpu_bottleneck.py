from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ReasonCode, Severity, Status
from reportgen.rules.cpu_bottleneck import RULE
from reportgen.units import seconds_key
from tests.builders import START_S, known, node_profile, ns
from tests.rules.framework_jobs import TRAIN, finding, rows_of
from tests.rules.samples import run

SMALL = {"patience": 10}
Columns = dict[str, list[float]]


def node(columns: Columns, *, rows: Any = (), name: str = "algo-1") -> NodeProfile:
    """Return a node that samples every six seconds, ten samples a minute."""
    return node_profile(columns, rows, interval_s=6, node=name)


def starved(pattern: str, *, cores: int = 2, hot: float = 95.0, low: float = 5.0) -> Columns:
    """Return columns from letters: b bottleneck, i idle GPU with a cool host, w GPU at work."""
    columns = {"gpu0": [95.0 if letter == "w" else low for letter in pattern]}
    columns["cpu0"] = [hot if letter == "b" else 20.0 for letter in pattern]
    return columns | {f"cpu{index}": [20.0] * len(pattern) for index in range(1, cores)}


def time_of(tick: int) -> str:
    return seconds_key(ns(START_S) + tick * 6_000_000_000)


def test_planted_bottlenecks_are_found_one_by_one() -> None:
    result = run(RULE, node(starved("wbwwbbiwww" * 3)), **SMALL)

    assert result.status is Status.OK
    assert result.counters == Counters(violations=9, datapoints=30)
    assert list(result.details) == ["low_gpu_utilization", "bottlenecks"]
    assert result.details["low_gpu_utilization"] == 12
    bottlenecks = result.details["bottlenecks"]
    assert isinstance(bottlenecks, dict)
    assert list(bottlenecks) == [time_of(10 * k + j) for k in range(3) for j in (1, 4, 5)]
    assert set(map(str, bottlenecks.values())) == {"{'GPUs': 1, 'CPUs': 1}"}


@pytest.mark.parametrize(
    ("gpu", "cpu", "violations"), [(9.99, 90.01, 20), (10.0, 90.01, 0), (9.99, 90.0, 0)]
)
def test_both_comparisons_are_strict(gpu: float, cpu: float, violations: int) -> None:
    result = run(RULE, node({"gpu0": [gpu] * 20, "cpu0": [cpu] * 20}), **SMALL)

    assert result.counters.violations == violations


def test_the_share_of_the_whole_job_is_what_stands_against_the_threshold() -> None:
    # After minutes 2, 3, 4 the share is 20 / 20, 30 / 30, 30 / 40: it was higher than at the end.
    found = known(finding(run(RULE, node(starved("b" * 30 + "w" * 10)), **SMALL), "CPU-1"))
    assert found.measured == 75.0
    assert "(75.0 %)" in found.text


def test_each_minute_above_the_share_triggers_and_the_ratio_may_fall_later() -> None:
    # After minutes 2, 3, 4 the share is 12 / 20, 15 / 30, 15 / 40; minute 1 is not judged yet.
    pattern = "b" * 10 + "bbwwwwwwww" + "bbbwwwwwww" + "w" * 10
    result = run(RULE, node(starved(pattern)), **SMALL)

    assert result.counters == Counters(rule_triggered=1, violations=15, datapoints=40)
    assert result.findings == (), "SageMaker's minute is no reason for a finding of ours"


@pytest.mark.parametrize(("n_hot", "triggers"), [(10, 0), (11, 1)])
def test_the_share_must_exceed_the_threshold(n_hot: int, triggers: int) -> None:
    pattern = "b" * n_hot + "w" * (20 - n_hot)

    assert run(RULE, node(starved(pattern)), **SMALL).counters.rule_triggered == triggers


def test_as_many_ticks_as_patience_are_too_few() -> None:
    part = node(starved("b" * 10))

    short, enough = run(RULE, part, patience=10), run(RULE, part, patience=9)

    assert short.status is Status.SKIPPED
    assert known(short.reason).text == (
        "Too few to judge: 10 samples of the machines' utilization; this check needs more than 10."
    )
    assert short.findings == ()
    assert short.counters.violations == 10
    assert enough.counters.rule_triggered == 1


def test_a_job_without_gpus_has_datapoints_and_the_empty_details() -> None:
    result = run(RULE, node({"cpu0": [99.0] * 20}), **SMALL)

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is ReasonCode.NO_GPU
    assert result.counters == Counters(datapoints=20)
    assert result.details == {"low_gpu_utilization": 0, "bottlenecks": {}}


def test_without_cores_nothing_was_looked_at() -> None:
    result = run(RULE, node({"gpu0": [5.0] * 20}), **SMALL)

    assert result.status is Status.SKIPPED
    assert known(result.reason).text == "The use of the CPU cores was not sampled."
    assert result.exhibits == ()


def test_ticks_without_a_gpu_sample_are_a_slice_of_their_own() -> None:
    columns = starved("w" * 18)
    columns["gpu0"] += [None, None]  # type: ignore[list-item]
    columns["cpu0"] += [95.0, 95.0]

    rows = rows_of(run(RULE, node(columns), **SMALL), "slices")

    assert [row["ticks"] for row in rows] == [18, 0, 0, 2]


def test_the_finding_tells_when_how_wide_and_how_long() -> None:
    rows = [
        (TRAIN, "step", START_S + 6, START_S + 90),
        ("DataLoaderIter", "It::GetNext", START_S + 6, START_S + 90),
        ("cpu_functions", "aten::conv2d", START_S + 100, START_S + 119),
    ]
    pattern = "b" + "b" * 12 + "wwbb" + "www"
    result = run(RULE, node(starved(pattern, cores=4), rows=rows), **SMALL)
    found = known(finding(result, "CPU-1"))
    assert found.severity is Severity.CRITICAL
    assert found.title.endswith("86.7 % of the training loop")
    assert "In 15 of 20 samples (75.0 %)" in found.text
    assert (
        "13 of them lie in the training loop (86.7 % of its samples), 1 before and 1 after it"
        in found.text
    )
    assert "In these samples 25.0 % of the cores were busy (median)" in found.text
    assert "The samples form 2 intervals; the longest lasts 1 min 18 s on algo-1 and" in found.text
    assert (found.where.start_s, found.where.end_s) == (START_S, START_S + 78)
    assert known(found.estimate).share_ratio == round(13 / 15, 6)
    assert [row["bottlenecks"] for row in rows_of(result, "when")] == [1, 13, 1]
    assert [row["ticks"] for row in rows_of(result, "when")] == [1, 15, 4]


def test_a_bottleneck_outside_the_loop_is_a_reading() -> None:
    rows = [(TRAIN, "step", START_S + 15 * 6, START_S + 20 * 6)]
    result = run(RULE, node(starved("b" * 15 + "w" * 5), rows=rows), **SMALL)
    found = finding(result, "CPU-1")

    assert result.counters.rule_triggered == 1
    assert known(found).severity is Severity.INFO


@pytest.mark.parametrize(("cores", "severity"), [(10, Severity.CRITICAL), (11, Severity.INFO)])
def test_one_hot_core_of_many_is_hardly_a_bottleneck(cores: int, severity: Severity) -> None:
    found = known(finding(run(RULE, node(starved("b" * 20, cores=cores)), **SMALL), "CPU-1"))
    assert found.severity is severity
    assert ("CPU is hardly the bottleneck" in found.text) is (severity is Severity.INFO)
    assert ("one busy thread" in found.advice) is (severity is Severity.INFO)


@pytest.mark.parametrize(("n_hot", "is_told"), [(3, False), (4, True)])
def test_a_large_share_of_the_loop_is_told_without_a_trigger(n_hot: int, is_told: bool) -> None:
    rows = [(TRAIN, "step", START_S, START_S + 19 * 6)]
    pattern = "b" * n_hot + "w" * (20 - n_hot)
    result = run(RULE, node(starved(pattern), rows=rows), **SMALL)

    assert result.status is Status.OK
    assert [item.severity for item in result.findings] == [Severity.INFO] * is_told


def test_the_breakdown_counts_each_event_once_and_only_after_a_trigger() -> None:
    rows = [
        (TRAIN, TRAIN, START_S, START_S + 60),
        ("DataLoaderIter", "next", START_S, START_S + 45),
        ("Forward", "Net", START_S + 5, START_S + 20),
        ("Forward", "late", START_S + 200, START_S + 220),
    ]
    triggered = run(RULE, node(starved("b" * 20), rows=rows), **SMALL)
    quiet = run(RULE, node(starved("b" * 5 + "w" * 15), rows=rows), **SMALL)

    assert list(triggered.details) == [
        "low_gpu_utilization", "bottlenecks", "ratio", "phase", "phase_time", "general",
    ]  # fmt: skip
    assert triggered.details["general"] == {"DataLoaderIter": 75.0, "Forward": 25.0}
    assert triggered.details["phase"] == {TRAIN: 100.0}
    assert triggered.exhibit("general") is not None
    assert list(quiet.details) == ["low_gpu_utilization", "bottlenecks"]


def test_what_ran_is_compared_with_what_runs_while_the_gpu_works() -> None:
    # 20 bottlenecks from the first second on, then 20 ticks of work at 95 %, 0.5 s each.
    waits = [("Loader", "GetNext", START_S + k / 2, START_S + k / 2 + 0.4) for k in range(20)]
    quick = [("Loader", "GetNext", START_S + 10 + k, START_S + 10.1 + k) for k in range(10)]
    conv = [("Forward", "conv", START_S + k, START_S + k + 0.1) for k in range(20)]
    steps = [(TRAIN, TRAIN, START_S, START_S + 20)]
    columns = {"gpu0": [0.0] * 20 + [95.0] * 20, "cpu0": [99.0] * 20 + [20.0] * 20}
    part = node_profile(columns, [*steps, *waits, *quick, *conv])
    result = run(RULE, part, threshold=40, patience=4)

    loader, forward = rows_of(result, "functions")
    assert (loader["function"], loader["count"], loader["other_count"]) == ("GetNext", 20, 10)
    assert (loader["mean_s"], loader["other_mean_s"]) == (0.4, pytest.approx(0.1))
    assert loader["times_as_long"] == pytest.approx(4.0)
    assert (forward["count"], forward["other_count"]) == (10, 10)
    assert forward["share_pct"] == pytest.approx(100 / 9)
    assert (
        "GetNext takes 88.9 % of the time of all functions during bottlenecks and 50.0 % while a "
        "GPU works: 1.8 times as much."
    ) in result.findings[0].text


def test_neighbours_are_merged_over_one_missing_tick_but_not_over_two() -> None:
    rows = rows_of(run(RULE, node(starved("bbwbwwbwww" * 2)), **SMALL), "intervals")

    names = ["3 bottlenecks", "1 bottleneck", "3 bottlenecks", "1 bottleneck"]
    assert [row["name"] for row in rows] == names
    assert (rows[0]["start_s"], rows[0]["end_s"]) == (START_S, START_S + 24)
    assert rows[0]["lane"] == "algo-1"


def test_nodes_are_never_merged_even_at_the_same_instant() -> None:
    result = run(
        RULE,
        node(starved("w" * 5 + "b" * 15), name="algo-1"),
        node(starved("b" * 20), name="algo-2"),
        **SMALL,
    )
    bottlenecks = result.details["bottlenecks"]

    assert result.counters == Counters(rule_triggered=2, violations=35, datapoints=40)
    assert isinstance(bottlenecks, dict)
    assert len(bottlenecks) == 35
    # Within a minute node by node: algo-1 has five ticks of the first minute, then algo-2 ten.
    assert list(bottlenecks)[:6] == [*(time_of(tick) for tick in range(5, 10)), time_of(0)]


def test_minutes_of_all_nodes_are_added_before_they_are_judged() -> None:
    quiet, busy = node(starved("w" * 20), name="algo-1"), node(starved("b" * 20), name="algo-2")

    assert run(RULE, quiet, busy, **SMALL).counters.rule_triggered == 0
    assert run(RULE, quiet, busy, patience=10, threshold=49).counters.rule_triggered == 2


def test_gpus_that_the_job_never_uses_are_no_bottleneck() -> None:
    columns = starved("b" * 40) | {"gpu0": [0.0] * 40, "gpu1": [90.0] * 40}
    result = run(RULE, node(columns), **SMALL)
    found = finding(result, "CPU-1")

    assert result.counters.violations == 40, "counted as SageMaker counts"
    assert found is None
