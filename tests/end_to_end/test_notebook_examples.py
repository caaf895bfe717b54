"""What the notebook's text cells offer to try works on a real report."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

import reportgen
from reportgen import views
from reportgen.assets import notebook_path
from reportgen.report import Report
from reportgen.rules.registry import TRACE_RULES
from sample_data.python_profiles import write_python_profiles
from tests.end_to_end.command import run_command
from tests.test_docs import ROOT

_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


TRACE_RULE_IDS = [rule.id for rule in TRACE_RULES]


@pytest.fixture(scope="module")
def reports(input_bound_job: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Report]:
    """The report of a sampled job, and under ``True`` that of the sample's kernel traces."""
    made = {}
    sampled = tmp_path_factory.mktemp("with_python_profiles") / "job"
    shutil.copytree(input_bound_job, sampled)
    write_python_profiles(sampled / "profiler-output", iter([(0, 10**15, 10**15 + 1, 10**15 + 9)]))
    for is_trace, job in ((False, sampled), (True, ROOT / "sample_data" / "kernel_traces")):
        output = tmp_path_factory.mktemp("tried")
        run = run_command(job, "-o", output, "--format", "md", cwd=output)
        assert run.code == 0, run.stderr
        made[is_trace] = reportgen.load(output / "profiler-report")
    return made


def examples() -> list[tuple[str, str]]:
    notebook = nbformat.read(str(notebook_path()), as_version=4)
    return [
        (f"{cell.id}", code)
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for code in _CODE.findall(cell.source)
    ]


@pytest.mark.parametrize(("name", "code"), examples(), ids=[name for name, _ in examples()])
def test_an_example_of_the_notebook_runs_and_shows_something(name, code, reports, capsys) -> None:
    *before, last = ast.parse(code).body
    report = reports[any(rule_id in code for rule_id in TRACE_RULE_IDS)]
    names: dict[str, Any] = {"report": report, "views": views}
    exec(compile(ast.Module(body=before, type_ignores=[]), name, "exec"), names)
    shown = None
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(body=last.value), name, "eval"), names)
    else:
        exec(compile(ast.Module(body=[last], type_ignores=[]), name, "exec"), names)
    assert shown is not None or capsys.readouterr().out


def test_there_is_an_example_for_every_section() -> None:
    assert len(examples()) >= 18
