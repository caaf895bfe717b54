"""What becomes of SageMaker's five keys: status, reason, parameters, triggers."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.formats.sagemaker.rule_results import AWS_RULES
from reportgen.intake import list_files, read_aws_folder
from reportgen.pipeline.from_results import import_results
from reportgen.results import AwsResult, Counters, ReasonCode, RuleId, Severity, Status
from reportgen.results.codec import decode, encode
from reportgen.rules.aws.imported import has_gpus, judge_one, parse_parameters
from reportgen.rules.registry import BUILTIN_RULES
from tests.shared_data import SHARED_DATA, needs_shared_data

REPORTS = sorted(path for path in (SHARED_DATA / "aws-reports").glob("*") if path.is_dir())
RULES = {rule.id: rule for rule in BUILTIN_RULES}
BOX = {"p25": 1.0, "p50": 2.0, "p75": 3.0, "p95": 4.0, "upper": 5.0, "lower": 0.0}


def judged(name: str, counts: tuple[int, int, int], details: Any, **more: Any) -> Any:
    triggered, violations, datapoints = counts
    counters = Counters(rule_triggered=triggered, violations=violations, datapoints=datapoints)
    options = {"has_gpu": True, "has_events": True, **more}
    parameters = options.pop("rule_parameters", "")
    return judge_one(RULES[RuleId(name)], found(counters, details, parameters), **options)


def found(counters: Counters, details: Any, parameters: str = "") -> AwsResult:
    return AwsResult(raw=b"", counters=counters, details=details, rule_parameters=parameters)


def test_a_trigger_makes_the_status_even_below_the_patience() -> None:
    details = {"algo-1": {"gpu0": {"gpu_max": 9.0, "gpu_95": 8.0, "gpu_5": 0.0, **BOX}}}
    result = judged("LowGPUUtilization", (1, 1, 10), details)
    assert result.status is Status.TRIGGERED
    assert [finding.id for finding in result.findings] == ["LowGPUUtilization"]
    assert result.reason.code is ReasonCode.IMPORTED


@pytest.mark.parametrize(
    ("datapoints", "status", "code"),
    [
        (0, Status.SKIPPED, ReasonCode.NOT_SAMPLED),
        (1000, Status.SKIPPED, ReasonCode.TOO_FEW_SAMPLES),
        (1001, Status.OK, ReasonCode.IMPORTED),
    ],
)
def test_no_more_samples_than_the_patience_is_no_look(datapoints, status, code) -> None:
    result = judged("LowGPUUtilization", (0, 0, datapoints), {})
    assert result.status is status
    assert result.reason.code is code
    assert ("Too few to judge" in result.reason.text) == (code is ReasonCode.TOO_FEW_SAMPLES)


@pytest.mark.parametrize(
    ("has_events", "code"), [(True, ReasonCode.NO_EVENTS), (False, ReasonCode.NO_FRAMEWORK_METRICS)]
)
def test_a_rule_of_events_without_any_says_whether_there_are_others(has_events, code) -> None:
    result = judged("Dataloader", (0, 0, 0), {}, has_events=has_events)
    assert (result.status, result.reason.code) == (Status.SKIPPED, code)


def test_the_patience_is_the_one_that_sagemaker_printed() -> None:
    text = "threshold_p95:70\nthreshold_p5:10\nwindow:500\npatience:50"
    result = judged("LowGPUUtilization", (0, 0, 51), {}, rule_parameters=text)
    assert (result.status, result.params["patience"]) == (Status.OK, 50)


def test_without_a_gpu_bottlenecks_were_not_looked_for() -> None:
    details = {"low_gpu_utilization": 0, "bottlenecks": {}}
    result = judged("CPUBottleneck", (0, 0, 28273), details, has_gpu=False)
    assert (result.status, result.findings) == (Status.SKIPPED, ())
    assert result.reason.text.startswith("The job has no GPU.")


def test_details_of_another_shape_are_shown_as_far_as_they_are_numbers() -> None:
    details: Any = {"algo-1": {"workloads": {"gpu0": [1, "x"], "gpu1": 3}}, "algo-2": [1]}
    result = judged("LoadBalancing", (0, 0, 2000), details)
    assert (result.exhibits, result.details) == ((), details)


def test_details_that_cannot_be_drawn_fail_this_rule_only() -> None:
    details: Any = {"dataloading_time": {"probs": [1], "binedges": [[], {}]}}
    result = judged("Dataloader", (1, 1, 20), details)
    assert result.status is Status.FAILED
    assert result.reason.code is ReasonCode.ERROR
    assert result.reason.text.startswith(
        "SageMaker's rule triggered 1 time, but its details are not of the shape that it writes"
    )
    assert result.findings == ()
    assert result.details == details


def test_usage_says_whether_there_is_a_gpu() -> None:
    usage, low = RuleId("OverallSystemUsage"), RuleId("LowGPUUtilization")
    assert has_gpus({usage: found(Counters(), {"GPU": {}})}) is False
    assert has_gpus({usage: found(Counters(), {"GPU": {"algo-1": {}}})}) is True
    assert has_gpus({low: found(Counters(datapoints=0), {})}) is False
    assert has_gpus({low: found(Counters(datapoints=5), {})}) is True
    assert has_gpus({}) is True


@pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: rule.id)
def test_parameters_that_a_rule_prints_are_read_back(rule: Any) -> None:
    assert parse_parameters(rule, rule.describe_params(rule.params())) == (rule.params(), ())


def test_parameters_that_cannot_be_are_named_and_defaults_stand() -> None:
    text = "threshold:0.5\npatience:-3\nnew:1\n?"
    params, unread = parse_parameters(RULES[RuleId("LoadBalancing")], text)
    assert params.threshold == 0.5
    assert params.patience == 1000
    assert unread == ("new", "patience")


def test_impossible_shares_are_told_and_possible_ones_stay_as_they_are() -> None:
    right = judged(
        "OverallFrameworkMetrics", (0, 0, 0), {"phase": {"a": 95.4564, "others": 4.5436}}
    )
    shares = right.exhibit("phase_shares")
    assert {column.name: column.values for column in shares.columns}["pct"] == (95.4564, 4.5436)

    wrong = judged("OverallFrameworkMetrics", (0, 0, 0), {"phase": {"a": 174.0, "others": -74.0}})
    assert "a 174.0 %, others -74.0 %" in wrong.exhibit("phase_shares").caption


@pytest.mark.parametrize("name", AWS_RULES)
def test_a_trigger_is_one_finding_without_cost_or_explanation(name: str) -> None:
    (finding,) = judged(name, (3, 30, 2000), {}).findings

    follows_load = name == "GPUMemoryIncrease"
    severity = Severity.INFO if follows_load else Severity.WARNING
    assert (finding.id, finding.severity, finding.measured) == (name, severity, 1.5)
    assert "saw 2,000 datapoints and counted 30 violations (1.5 %). It checks " in finding.text
    assert "triggered 3 times" in finding.title
    assert (finding.estimate, finding.cause, finding.possible_causes) == (None, "observation", ())
    assert finding.advice


@needs_shared_data
@pytest.mark.parametrize("folder", REPORTS, ids=lambda folder: folder.name)
def test_real_results_have_a_finding_for_each_trigger_by_share_of_the_datapoints(folder) -> None:
    read = read_aws_folder(list_files(str(folder)))
    report = import_results(read)

    counters = {rule_id: item.counters for rule_id, item in read.results.items()}
    triggered = {rule_id for rule_id, item in counters.items() if item.rule_triggered}
    findings = [item.finding for item in report.findings]
    assert {item.id for item in findings} == triggered
    assert len(findings) == len(triggered)
    shares = [item.measured or 0.0 for item in findings if item.severity is Severity.WARNING]
    assert shares == sorted(shares, reverse=True)
    for item in findings:
        assert (item.estimate, item.symptom_of, item.attributed_ratio) == (None, (), None)
    for result in report.results.values():
        assert encode(decode(encode(result), path="x.json")) == encode(result)


@needs_shared_data
def test_the_cards_at_a_glance_are_made_of_real_results() -> None:
    report = import_results(read_aws_folder(list_files(str(REPORTS[-1]))))
    for rule, exhibit in (
        ("MaxInitializationTime", "phases"),
        ("OverallSystemUsage", "percentiles"),
        ("OverallFrameworkMetrics", "phase_shares"),
        ("StepOutlier", "step_percentiles"),
        ("CPUBottleneck", "gpu_samples"),
    ):
        assert report.results[RuleId(rule)].exhibit(exhibit) is not None, (rule, exhibit)
