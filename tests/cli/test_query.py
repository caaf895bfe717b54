"""The command ``reportgen query``: answers are those of the JSON, and say what they leave out."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reportgen.cli.family import family
from reportgen.errors import ConfigError, LocationError
from tests.end_to_end.command import run_command


@pytest.fixture(scope="module")
def report(input_bound_job: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the saved report of the sample job."""
    output = tmp_path_factory.mktemp("query")
    made = run_command(input_bound_job, "--output", output, "--format", "json", cwd=output)
    assert made.code == 0, made.stderr
    return output


def said(report: Path, *words: str) -> str:
    answer = CliRunner().invoke(family, ["query", str(report), *words], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def asked(report: Path, *words: str) -> Any:
    return json.loads(said(report, *words, "--json"))


def rows_of(report: Path, *words: str) -> Any:
    return asked(report, *words)["rows"]


def pairs_of(report: Path, *words: str) -> Any:
    return {row["key"]: row["value"] for row in rows_of(report, *words)}


def saved(report: Path, rule: str) -> Any:
    read = json.loads((report / "profiler-report" / f"{rule}.json").read_text(encoding="utf-8"))
    return read.get("reportgen", read)


def exhibit(report: Path, name: str) -> Any:
    rule, _, wanted = name.partition(".")
    return next(item for item in saved(report, rule)["exhibits"] if item["id"] == wanted)


def true_rows(report: Path, name: str) -> list[dict[str, Any]]:
    item = exhibit(report, name)
    names = [column["name"] for column in item["columns"]]
    return [dict(zip(names, row, strict=True)) for row in item["rows"]]


def test_questions_are_answered_as_the_json_says(report: Path) -> None:
    whole = saved(report, "report")
    job = pairs_of(report, "job")
    first = pairs_of(report, "DL-1")
    dataloader = next(item for item in whole["findings"] if item["id"] == "DL-1")
    outlier = saved(report, "StepOutlier")
    operators = true_rows(report, "OverallFrameworkMetrics.gpu_operators")
    budget = true_rows(report, "GPUTimeBudget.budget")
    skipped = {name for name, rule in whole["rules"].items() if rule["status"] == "skipped"}
    answers_and_truths = [
        (job["job.name"], whole["job"]["name"]),
        (job["figures.step_p50_s"], whole["figures"]["step_p50_s"]),
        (job["data_quality.counters.files_read"], whole["data_quality"]["files_read"]),
        (
            [row["id"] for row in rows_of(report, "findings")],
            [item["id"] for item in whole["findings"]],
        ),
        (
            {row["id"] for row in rows_of(report, "findings", "--where", "severity = critical")},
            {item["id"] for item in whole["findings"] if item["severity"] == "critical"},
        ),
        (first["text"], dataloader["text"]),
        (first["attributed_ratio"], dataloader["attributed_ratio"]),
        (first["exhibit"], f"Dataloader.{dataloader['exhibit']}"),
        ({row["rule"] for row in rows_of(report, "rules", "--where", "status=skipped")}, skipped),
        (pairs_of(report, "StepOutlier")["metrics.step_p50_s"], outlier["metrics"]["step_p50_s"]),
        (
            rows_of(report, "StepOutlier.steps", "--columns", "worker,phase,p50_s"),
            [
                {key: row[key] for key in ("worker", "phase", "p50_s")}
                for row in true_rows(report, "StepOutlier.steps")
            ],
        ),
        (
            rows_of(report, "GPUTimeBudget.budget", "--sort", "-pct", "--rows", "1")[0]["part"],
            max(budget, key=lambda row: row["pct"])["part"],
        ),
        (
            rows_of(
                report,
                "OverallFrameworkMetrics.gpu_operators",
                *("--where", "operator ~ CONV", "--where", "self_us > 0"),
            ),
            [row for row in operators if "conv" in row["operator"].lower() and row["self_us"] > 0],
        ),
    ]
    for number, (answer, truth) in enumerate(answers_and_truths, start=1):
        assert answer, number
        assert answer == truth, number


def test_every_name_of_the_list_can_be_asked(report: Path) -> None:
    names = [row["name"] for row in rows_of(report)]
    assert len(names) > 50
    for name in names:
        assert asked(report, name.upper())["columns"], name


def test_a_long_answer_says_what_it_left_out(report: Path) -> None:
    answer = asked(report, "StepOutlier.step_numbers", "--rows", "3")
    assert len(answer["rows"]) == 3
    assert answer["left_out"]["rows"] == answer["n_rows"] - 3 == 172
    text = said(report, "StepOutlier.step_numbers", "--rows", "3")
    assert "left out: 172 of 175 rows; --rows 175 shows all" in text
    assert len(asked(report, "StepOutlier.step_numbers")["rows"]) == 20
    wide = asked(report, "StepOutlier.steps")
    assert len(wide["columns"]) == 12
    assert "outliers" in wide["left_out"]["columns"]
    assert "1.2991" not in said(report, "StepOutlier.steps", "--columns", "outliers")


def test_a_cut_text_is_counted(report: Path) -> None:
    text = said(report, "findings", "--columns", "id,text")
    assert "…" in text
    assert "cut: " in text
    assert asked(report, "findings", "--columns", "id,text")["left_out"]["cut_cells"] == 0


def test_csv_holds_nothing_but_the_table(report: Path) -> None:
    words = ["query", str(report), "findings", "--csv", "--rows", "2", "--columns", "id,node"]
    answer = CliRunner().invoke(family, words)
    rows = list(csv.DictReader(io.StringIO(answer.stdout)))
    assert [row["id"] for row in rows] == ["DL-1", "GPU-2"]
    assert "left out" in answer.stderr


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("pct > 5.9722", lambda row: row["pct"] > 5.9722),
        ("pct<5.9722", lambda row: row["pct"] < 5.9722),
        ("pct >= 5.9722", lambda row: row["pct"] >= 5.9722),
        ("pct <= 5.9722", lambda row: row["pct"] <= 5.9722),
        ("part != busy_high", lambda row: row["part"] != "busy_high"),
        ("part ~ BUSY", lambda row: "busy" in row["part"]),
        ("part = null", lambda row: row["part"] is None),
        ("part = -", lambda row: row["part"] is None),
        ("part = ", lambda row: row["part"] is None),
    ],
)
def test_conditions_choose_rows(report: Path, condition, is_met) -> None:
    name = "GPUTimeBudget.budget"
    expected = [row for row in true_rows(report, name) if is_met(row)]
    assert rows_of(report, name, "--where", condition) == expected


def test_a_missing_value_is_never_ordered_and_comes_last(report: Path) -> None:
    assert rows_of(report, "findings", "--where", "attributed_ratio < 2")[0]["id"] == "DL-1"
    assert rows_of(report, "findings", "--sort", "attributed_ratio")[-1]["attributed_ratio"] is None
    assert rows_of(report, "findings", "--where", "attributed_ratio = null")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["StepOutlier.stps"], "Did you mean StepOutlier.steps?"),
        (["findings", "--where", "severty = info"], "Did you mean severity?"),
        (["findings", "--where", "severity"], "is no condition"),
        (["findings", "--where", "measured > many"], "is no number"),
        (["findings", "--columns", "id,titel"], "Did you mean title?"),
        (["findings", "--sort", "-naem"], "There is no column"),
    ],
)
def test_a_wrong_question_is_refused_with_the_nearest_name(report: Path, words, message) -> None:
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        said(report, *words)


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match="no saved report"):
        said(tmp_path)


def test_the_questions_of_the_file_for_assistants_have_answers(report: Path) -> None:
    skill = CliRunner().invoke(family, ["query", "--skill"]).stdout
    commands = [line[2:] for line in skill.splitlines() if line.startswith("$ reportgen query")]
    assert len(commands) >= 5
    for line in commands:
        words = shlex.split(line, comments=True)[3:]
        assert said(report, *words), line


def test_a_rule_that_is_part_of_another_one_is_answered_with_it(report: Path) -> None:
    with pytest.raises(ConfigError, match="DeviceMemory is part of MemoryInUse"):
        said(report, "DeviceMemory")


@pytest.mark.parametrize("finding", ["sys-3", "KERN-2"])
def test_a_finding_that_is_none_any_more_is_answered_with_its_place(report: Path, finding) -> None:
    with pytest.raises(ConfigError, match=f"{finding.upper()} is no finding any more: see "):
        said(report, finding)


def test_the_gate_says_what_replaced_a_finding(report: Path) -> None:
    run = run_command(report / "profiler-report", "--fail-on", "SYS-1", cwd=report)
    assert run.code == 2
    assert "SYS-1 is no finding any more: see OverallSystemUsage.usage" in run.stderr
