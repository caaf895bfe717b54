"""``reportgen compare`` of reports that are old, imported, cut or partial, or that change."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reportgen import store
from reportgen.cli.compare import command
from reportgen.comparison import Comparison, load
from reportgen.errors import ReportgenError
from reportgen.plain_files import read_entry
from reportgen.report import Figures, Report, Setup
from reportgen.results import PackedTable
from tests.comparison.builders import report_of, save, steps_table
from tests.shared_data import SHARED_DATA, needs_shared_data

FORMAT_1 = Path(__file__).parents[1] / "store" / "format1.zip"
STEPS = np.random.default_rng(1).lognormal(0, 0.02, 400)


def compare(before: Path, after: Path, to: Path, *more: str) -> Result:
    options = ["-o", str(to), "--format", "md", *more]
    return CliRunner().invoke(command, [str(before), str(after), *options], standalone_mode=False)


def compared(before: Path, after: Path, to: Path) -> Comparison:
    answer = compare(before, after, to)
    assert answer.exception is None, answer.exception
    return load(to)


def without_gaps(table: PackedTable) -> PackedTable:
    kept = [item for item in table.columns if item.name not in {"cycle_ns", "input_wait_ns"}]
    return replace(table, columns=tuple(kept))


def row_of(comparison: Comparison, what: str) -> tuple[str, str, bool | None]:
    (row,) = [item for item in comparison.comparability if item.what == what]
    return row.before, row.after, row.same


@pytest.mark.parametrize("job", ["input_bound", "kernel_traces"])
def test_a_report_of_format_1_is_compared_as_far_as_it_goes(tmp_path: Path, job: str) -> None:
    with ZipFile(FORMAT_1) as saved:
        saved.extractall(tmp_path)
    old = tmp_path / job

    answer = compare(old, old, tmp_path / "out")

    comparison = load(tmp_path / "out")
    assert answer.return_value == 4
    assert comparison.reason == (
        "“before” was made by an older version, which did not keep the steps; report the job again."
    )
    assert comparison.findings
    assert {row.state.value for row in comparison.findings} == {"unchanged"}
    assert len(comparison.metrics) > 20


def test_a_report_that_did_not_keep_the_time_between_steps_is_refused(tmp_path: Path) -> None:
    whole = steps_table(150 * STEPS, inside_ms=100 * STEPS, wait_ms=50 * STEPS)
    new = save(tmp_path / "new", report_of(whole))
    old = save(tmp_path / "old", report_of(without_gaps(whole)))

    comparison = compared(new, old, tmp_path / "out")

    assert comparison.verdict == "not_comparable"
    assert comparison.reason == (
        "“after” was made by an older version, which did not keep the time between steps; report "
        "the job again."
    )


@needs_shared_data
def test_results_of_aws_alone_are_compared_without_a_verdict(tmp_path: Path) -> None:
    jobs = SHARED_DATA / "aws-reports"

    answer = compare(jobs / "one-gpu-dataloader", jobs / "four-gpus-framework", tmp_path / "out")

    comparison = load(tmp_path / "out")
    assert answer.return_value == 4
    assert comparison.reason == "Results of SageMaker's rules hold no single steps."
    assert comparison.findings
    usage = {(row.metric, row.before[1], row.after[1]) for row in comparison.usage}
    recount = [
        json.loads((jobs / name / "OverallSystemUsage.json").read_text())["Details"]["CPU"]
        for name in ("one-gpu-dataloader", "four-gpus-framework")
    ]
    assert ("CPU", *(usage["algo-1"]["p50"] for usage in recount)) in usage


def test_a_report_cut_to_a_range_is_named(tmp_path: Path) -> None:
    whole = report_of(steps_table(100 * STEPS))
    cut = report_of(steps_table(100 * STEPS[200:], first=200))
    cut = replace(cut, job=replace(cut.job, range="steps 200 to 399"))
    sides = save(tmp_path / "whole", whole), save(tmp_path / "cut", cut)

    comparison = compared(*sides, tmp_path / "out")

    assert comparison.verdict == "no_difference"
    assert row_of(comparison, "part of the job") == ("whole", "steps 200 to 399", False)
    assert comparison.step is not None
    assert comparison.step.before_n == comparison.step.after_n
    assert row_of(comparison, "steps compared")[0] == "steps 210 to 399 of both"


def test_missing_ranks_are_a_warning_and_do_not_change_the_time_of_a_step(tmp_path: Path) -> None:
    def ranks(n: int) -> Report:
        tables = [steps_table(100 * STEPS, worker=f"algo-1-{rank}") for rank in range(n)]
        return report_of(*tables, setup=Setup(n_ranks=n))

    all_of_them, some = save(tmp_path / "all", ranks(4)), save(tmp_path / "some", ranks(2))

    comparison = compared(all_of_them, some, tmp_path / "out")

    assert comparison.verdict == "no_difference"
    assert comparison.warnings == ("ranks of the job: 4 before, 2 after",)


@pytest.mark.parametrize(
    ("n_steps", "reason"),
    [(0, "“after” has no recorded steps."), (1, "“after” has 1 step; a comparison needs 3.")],
)
def test_a_job_without_steps_has_no_verdict(tmp_path: Path, n_steps: int, reason: str) -> None:
    report = replace(report_of(steps_table(100 * STEPS[:n_steps])), figures=Figures(data=""))
    stepless = save(tmp_path / "none", report)
    some = save(tmp_path / "some", report_of(steps_table(100 * STEPS)))

    answer = compare(some, stepless, tmp_path / "out", "-q")

    assert answer.return_value == 4
    assert load(tmp_path / "out").reason == reason
    assert reason in answer.stderr


def test_a_report_that_lost_the_file_of_its_steps_is_incomplete(tmp_path: Path) -> None:
    whole, part = (save(tmp_path / it, report_of(steps_table(100 * STEPS))) for it in "ab")
    (part / "profiler-report" / "StepOutlier.json").unlink()

    assert compare(whole, part, tmp_path / "out").return_value == 4
    assert load(tmp_path / "out").reason == (
        "“after” is incomplete: it has no results of StepOutlier."
    )


Change = Callable[[Path], None]


def replaced_once(folder: Path, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Change a report in the middle of its being read, as a run does that replaces it."""
    is_done: list[bool] = []

    def read(path: Path) -> bytes:
        if path.name == "StepOutlier.json" and folder in path.parents and not is_done:
            is_done.append(True)
            change(folder / "profiler-report")
        return read_entry(path)

    monkeypatch.setattr("reportgen.store.directory.read_entry", read)


def test_a_report_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch):
    before = save(tmp_path / "before", report_of(steps_table(100 * STEPS)))
    after = save(tmp_path / "after", report_of(steps_table(100 * STEPS), name="old"))

    def rewrite(folder: Path) -> None:
        store.save(report_of(steps_table(200 * STEPS), name="new"), folder)

    replaced_once(after, monkeypatch, rewrite)
    comparison = compared(before, after, tmp_path / "out")

    assert comparison.after.name == "new"
    assert comparison.verdict == "slower"


def test_a_report_that_vanishes_while_it_is_read_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    before = save(tmp_path / "before", report_of(steps_table(100 * STEPS)))
    after = save(tmp_path / "after", report_of(steps_table(100 * STEPS)))

    def remove(folder: Path) -> None:
        for path in folder.iterdir():
            path.unlink()

    replaced_once(after, monkeypatch, remove)
    answer = compare(before, after, tmp_path / "out")

    assert isinstance(answer.exception, ReportgenError)
    assert "report.json" in answer.exception.message
    assert list((tmp_path / "out").iterdir()) == []
