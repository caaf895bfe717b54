"""The schemas are those of the types, and hold every file to them."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reportgen.intake import discover, read
from reportgen.profile import Quality
from reportgen.report import DataQuality, Report
from reportgen.report.codec import encode as encode_report
from reportgen.results.codec import encode
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from tests.builders import known
from tests.report.test_codec import small_report
from tests.results.test_codec import full_result
from tests.rules.samples import busy_node, run
from tests.schemas import complaints
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

ROOT = Path(__file__).resolve().parents[1]


def builder() -> ModuleType:
    path = ROOT / "docs" / "schema_build.py"
    spec = known(importlib.util.spec_from_file_location("schema_build", path))
    module = importlib.util.module_from_spec(spec)
    known(spec.loader).exec_module(module)
    return module


def whole_report() -> Report:
    """Return a report with every counter, as a run writes it."""
    counters = {quality.value: 0 for quality in Quality}
    return replace(small_report(), data_quality=DataQuality(counters=counters))


def test_the_schemas_are_fresh_and_shipped() -> None:
    for path, text in builder().fresh_schemas().items():
        assert path.read_text(encoding="utf-8") == text, "run: python docs/schema_build.py"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["docs/schema"] == "reportgen/_assets/schema"


def test_a_full_result_and_a_report_are_valid() -> None:
    assert complaints("result", encode(full_result())) == []
    assert complaints("report", encode_report(whole_report())) == []


@pytest.mark.parametrize("rule", BUILTIN_RULES, ids=lambda rule: str(rule.id))
def test_every_rule_writes_valid_files_with_and_without_data(rule: AnyRule) -> None:
    for parts in ((), (busy_node(), busy_node("algo-2", seed=2))):
        assert complaints("result", encode(run(rule, *parts))) == []


@needs_shared_data
@pytest.mark.parametrize("job", ORACLE_JOBS)
def test_results_of_the_oracle_jobs_are_valid(job: str) -> None:
    params = {rule.id: rule.params() for rule in BUILTIN_RULES}
    refs = discover(str(SHARED_DATA / "oracle" / job)).parts
    measured = [measure_part(read(ref), BUILTIN_RULES, params) for ref in refs]
    for result in judge_all(measured, BUILTIN_RULES, params):
        assert complaints("result", encode(result)) == [], result.id


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["RuleTriggered"], -1),
        (["Datapoints"], 1.5),
        (["Details"], []),
        (["Extra"], 1),
        (["reportgen", "status"], "fine"),
        (["reportgen", "format"], 4),
        (["reportgen", "reason"], {"code": "bored", "text": ""}),
        (["reportgen", "metrics"], {"a": "1"}),
        (["reportgen", "findings", 0, "severity"], "bad"),
        (["reportgen", "findings", 0, "advice"], None),
        (["reportgen", "findings", 0, "where"], {"node": None}),
        (["reportgen", "exhibits", 0, "kind"], "pie"),
        (["reportgen", "exhibits", 0, "columns", 0, "type"], "date"),
        (["reportgen", "exhibits", 0, "rows"], [[{}]]),
        (["reportgen", "exhibits", 3, "place", "dashboard"], {"headline": "no order"}),
        (["reportgen", "exhibits", 3, "role"], "purple"),
        (["reportgen", "about"], {"title": "T"}),
        (["reportgen", "data", 0, "columns", 0, "packed"], [1]),
    ],
)
def test_what_is_no_result_is_refused(path: list[str | int], value: object) -> None:
    tree: Any = json.loads(encode(full_result()))
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert complaints("result", json.dumps(tree).encode()) != []


@pytest.mark.parametrize("key", ["report_id", "job", "summary", "findings", "data_quality"])
def test_a_report_without_one_of_its_keys_is_refused(key: str) -> None:
    tree: Any = json.loads(encode_report(whole_report()))
    del tree[key]
    assert complaints("report", json.dumps(tree).encode()) != []
