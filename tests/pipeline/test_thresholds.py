"""Thresholds that a notebook sets in its `parameters` cell, in Jupyter and with `--notebook`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

import reportgen
from reportgen.assets import notebook_path
from reportgen.errors import ConfigError
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, OutputFormat
from reportgen.report import Report
from reportgen.results import RuleId
from reportgen.store import OUTPUT_FOLDER
from tests.builders import Quiet

RULE, NAME = RuleId("LowGPUUtilization"), "threshold_p95"


@pytest.fixture(scope="module")
def saved(input_bound_job: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output: Path = tmp_path_factory.mktemp("out")
    settings = {"StepOutlier.stddev": 4}
    options = Options(
        path=str(input_bound_job), output=output, settings=settings, formats=frozenset()
    )
    make_report(options, Quiet())
    return output


def edited(folder: Path, line: str) -> Path:
    """The report's notebook with another line for its thresholds."""
    notebook = nbformat.read(str(notebook_path()), 4)
    (cell,) = (cell for cell in notebook.cells if cell.id == "parameters")
    lines = [line if text.startswith("thresholds") else text for text in cell.source.splitlines()]
    cell.source = "\n".join(lines)
    path = folder / "mine.ipynb"
    nbformat.write(notebook, str(path))
    return path


def params_of(report: Report) -> dict[str, Any]:
    return {f"{rule}.{name}": value for rule in (RULE, "StepOutlier")
            for name, value in report.results[RuleId(rule)].params.items()}  # fmt: skip


def test_the_cells_of_the_notebook_judge_the_job_again(saved: Path, input_bound_job: Path) -> None:
    cells = {cell.id: cell.source for cell in nbformat.read(str(notebook_path()), 4).cells}
    names: dict[str, Any] = {}
    exec(cells["parameters"], names)
    names |= {
        "report_dir": str(saved / OUTPUT_FOLDER),
        "thresholds": {f"{RULE}.{NAME}": 33},
        "job_path": str(input_bound_job),
    }
    exec(cells["load"], names)
    before = names["report"]
    exec(cells["judge-again"], names)
    after = names["report"]

    assert params_of(before) | {f"{RULE}.{NAME}": 33} == params_of(after)
    assert params_of(after)["StepOutlier.stddev"] == 4  # as the saved report was made
    assert list(after.results) == list(before.results)
    assert after.job.name == before.job.name
    assert params_of(reportgen.load(saved)) == params_of(before)


def test_without_the_job_only_its_own_thresholds_fit_a_report(saved: Path) -> None:
    report = reportgen.load(saved)

    assert reportgen.judge_again(report, {"StepOutlier.stddev": 4.0}) is report
    with pytest.raises(ConfigError, match=r"cannot be judged by LowGPU.*Set job_path"):
        reportgen.judge_again(report, {f"{RULE}.{NAME}": 33})
    with pytest.raises(ConfigError, match="no parameter 'threshold_p59'"):
        reportgen.judge_again(report, {f"{RULE}.threshold_p59": 33})


def test_the_command_takes_the_thresholds_of_the_notebook(input_bound_job, saved, tmp_path) -> None:
    notebook = edited(tmp_path, f'thresholds = {{"{RULE}.{NAME}": 33}}')
    options = Options(
        path=str(input_bound_job), output=tmp_path, notebook=notebook, formats=frozenset()
    )
    assert params_of(make_report(options, Quiet()).report)[f"{RULE}.{NAME}"] == 33
    of_results = Options(
        path=str(saved), output=tmp_path, notebook=notebook, formats=frozenset({OutputFormat.MD})
    )
    with pytest.raises(ConfigError, match="a saved report, whose results have their parameters"):
        make_report(of_results, Quiet())
