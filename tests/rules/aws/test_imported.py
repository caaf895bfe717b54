"""What becomes of SageMaker's five keys: status, reason, parameters, remarks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reportgen.results import Counters, ReasonCode, RuleId, Status
from reportgen.rules.aws.imported import has_gpus, judge_imported, parse_parameters
from reportgen.rules.aws.remarks import remarks_on
from reportgen.rules.registry import BUILTIN_RULES

RULES = {rule.id: rule for rule in BUILTIN_RULES}
BOX = {"p25": 1.0, "p50": 2.0, "p75": 3.0, "p95": 4.0, "upper": 5.0, "lower": 0.0}


def judged(name: str, counts: tuple[int, int, int], details: Any, **more: Any) -> Any:
    triggered, violations, datapoints = counts
    counters = Counters(rule_triggered=triggered, violations=violations, datapoints=datapoints)
    options = {"rule_parameters": "", "has_gpu": True, **more}
    return judge_imported(RULES[RuleId(name)], counters, details, **options)


def test_a_trigger_makes_the_status_even_below_the_patience() -> None:
    details = {"algo-1": {"gpu0": {"gpu_max": 9.0, "gpu_95": 8.0, "gpu_5": 0.0, **BOX}}}
    result = judged("LowGPUUtilization", (1, 1, 10), details)
    assert result.status is Status.TRIGGERED
    assert [finding.id for finding in result.findings] == ["GPU-1"]
    assert result.reason.code is ReasonCode.IMPORTED


@pytest.mark.parametrize(("datapoints", "status"), [(1000, Status.SKIPPED), (1001, Status.OK)])
def test_no_more_samples_than_the_patience_is_no_look(datapoints: int, status: Status) -> None:
    result = judged("LowGPUUtilization", (0, 0, datapoints), {})
    assert result.status is status
    assert result.reason.code is ReasonCode.IMPORTED
    assert ("Too short to judge" in result.reason.text) == (status is Status.SKIPPED)


def test_the_patience_is_the_one_that_sagemaker_printed() -> None:
    text = "threshold_p95:70\nthreshold_p5:10\nwindow:500\npatience:50"
    result = judged("LowGPUUtilization", (0, 0, 51), {}, rule_parameters=text)
    assert (result.status, result.params["patience"]) == (Status.OK, 50)


def test_without_a_gpu_bottlenecks_were_not_looked_for() -> None:
    details = {"low_gpu_utilization": 0, "bottlenecks": {}}
    result = judged("CPUBottleneck", (0, 0, 28273), details, has_gpu=False)
    assert (result.status, result.findings) == (Status.SKIPPED, ())
    assert result.reason.text.startswith("The job has no GPU.")


def test_details_that_break_a_rule_fail_this_rule_only() -> None:
    def broken(*_: object) -> Any:
        raise KeyError("workloads")

    rule = replace(RULES[RuleId("LoadBalancing")], from_details=broken)
    details: Any = {"algo-1": {"workloads": {"gpu0": [1], "gpu1": [1]}}}
    result = judge_imported(rule, Counters(datapoints=2000), details, "", has_gpu=True)
    assert result.status is Status.FAILED
    assert result.reason is not None
    assert result.reason.code is ReasonCode.ERROR
    assert result.reason.text == (
        "SageMaker's rule triggered 0 times, but its details are not of the shape that it writes "
        "and cannot be shown. (The rule broke in present: KeyError: 'workloads')"
    )
    assert result.details == details


def test_usage_says_whether_there_is_a_gpu() -> None:
    usage = RuleId("OverallSystemUsage")
    assert has_gpus({usage: {"GPU": {}}}, {}) is False
    assert has_gpus({usage: {"GPU": {"algo-1": {}}}}, {}) is True
    assert has_gpus({}, {RuleId("LowGPUUtilization"): 0}) is False
    assert has_gpus({}, {RuleId("LowGPUUtilization"): 5}) is True
    assert has_gpus({}, {}) is True


@pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: rule.id)
def test_parameters_that_a_rule_prints_are_read_back(rule: Any) -> None:
    assert parse_parameters(rule, rule.describe_params(rule.params())) == (rule.params(), ())


def test_parameters_that_cannot_be_are_named_and_defaults_stand() -> None:
    text = "threshold:0.5\npatience:-3\nnew:1\n?"
    params, unread = parse_parameters(RULES[RuleId("LoadBalancing")], text)
    assert params.threshold == 0.5
    assert params.patience == 1000
    assert unread == ("new", "patience")


def remarks(name: str, details: Any, *, triggered: int = 1, datapoints: int = 2000) -> str:
    counters = Counters(rule_triggered=triggered, violations=triggered, datapoints=datapoints)
    return " ".join(remarks_on(RuleId(name), counters, details))


def test_impossible_whiskers_and_a_stale_time_are_remarked() -> None:
    broken = {"algo-1": {"gpu0_memory": {**BOX, "upper": -102.0}}}
    said = remarks("BatchSize", broken)
    assert "the upper one lies below the box" in said
    assert "first minute of the job" in said
    assert "lies below" not in remarks("BatchSize", {"algo-1": {"gpu0_memory": BOX}})
    assert remarks("BatchSize", {}, triggered=0) == ""


def test_lost_samples_of_the_histogram_are_counted() -> None:
    lost = {"algo-1": {"workloads": {"gpu0": [900, 1], "gpu1": [2000]}}}
    assert "up to 1,099 samples" in remarks("LoadBalancing", lost)
    whole = {"algo-1": {"workloads": {"gpu0": [2000]}}}
    assert "missing" not in remarks("LoadBalancing", whole)


def test_shares_that_changed_places_are_told_by_the_sums() -> None:
    sums = {"CPU_total": {"a": 111}, "GPU_total": {"b": 123}}
    swapped = {**sums, "ratio": {"cpu_functions": 52.5, "gpu_functions-dev:0": 47.5}}
    right = {**sums, "ratio": {"cpu_functions": 47.5, "gpu_functions-dev:0": 52.5}}
    assert "have changed places" in remarks("CPUBottleneck", swapped)
    assert "have changed places" not in remarks("CPUBottleneck", right)


@pytest.mark.parametrize(
    ("others", "said"), [(-74.0, "A negative share"), (40.0, "about half of the time")]
)
def test_others_are_never_right(others: float, said: str) -> None:
    assert said in remarks("OverallFrameworkMetrics", {"phase": {"others": others}})


def test_impossible_shares_are_told_and_possible_ones_stay_as_they_are() -> None:
    right = judged(
        "OverallFrameworkMetrics", (0, 0, 0), {"phase": {"a": 95.4564, "others": 4.5436}}
    )
    shares = right.exhibit("phase_shares")
    assert {column.name: column.values for column in shares.columns}["pct"] == (95.4564, 4.5436)

    wrong = judged("OverallFrameworkMetrics", (0, 0, 0), {"phase": {"a": 174.0, "others": -74.0}})
    assert "a 174.0 %, others -74.0 %" in wrong.exhibit("phase_shares").caption
