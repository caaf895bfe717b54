"""AWS's own results of real jobs, shown by rules that never saw the jobs.

Source: docs/rules.md, Imported results.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen.results import Counters, ExhibitKind, RuleResult, Status
from reportgen.results.codec import decode, encode
from reportgen.rules import (
    dataloader,
    max_initialization_time,
    overall_framework_metrics,
    step_outlier,
)
from reportgen.rules.base import AnyRule, Presentation
from reportgen.rules.runner import present_details
from tests.shared_data import SHARED_DATA, needs_shared_data

pytestmark = needs_shared_data

RULES = (
    max_initialization_time.RULE,
    step_outlier.RULE,
    overall_framework_metrics.RULE,
    dataloader.RULE,
)
REPORTS = sorted((SHARED_DATA / "aws-reports").glob("*"))


def imported(rule: AnyRule, folder: Path) -> tuple[Counters, dict[str, Any], Presentation]:
    aws = json.loads((folder / f"{rule.id}.json").read_text())
    counters = Counters(
        rule_triggered=aws["RuleTriggered"],
        violations=aws["Violations"],
        datapoints=aws["Datapoints"],
    )
    return counters, aws["Details"], present_details(rule, counters, aws["Details"], rule.params())


@pytest.mark.parametrize("folder", REPORTS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_real_results_are_shown_and_saved(rule: AnyRule, folder: Path) -> None:
    counters, details, presented = imported(rule, folder)
    result = RuleResult(
        id=rule.id,
        status=Status.OK,
        counters=counters,
        details=details,
        findings=presented.findings,
        exhibits=presented.exhibits,
    )

    assert encode(decode(encode(result), path="x.json")) == encode(result)
    ids = [item.id for item in presented.exhibits]
    assert len(set(ids)) == len(ids)
    for item in presented.exhibits:
        if item.kind is ExhibitKind.SHARES:
            total = sum(value for value in item.columns[2].values if isinstance(value, float))
            assert total == pytest.approx(100, abs=1e-6)
    if rule is not max_initialization_time.RULE and details:
        assert bool(presented.exhibits) == any(bool(details[key]) for key in details)


def test_slow_steps_of_a_real_job_are_named() -> None:
    folder = SHARED_DATA / "aws-reports" / "two-nodes-framework"
    _, details, presented = imported(step_outlier.RULE, folder)
    (found,) = presented.findings
    assert found.id == "STEP-1"
    steps = [set(entry["step_numbers"]) for entry in details["step_details"].values()]
    assert found.measured == max(map(len, steps))  # SageMaker lists some steps twice
    assert found.where.device in details["step_details"]
