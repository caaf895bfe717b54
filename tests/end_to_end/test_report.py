"""From a raw job to a page, as a user does it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from reportgen.rules.registry import SAMPLED_RULES
from tests.end_to_end.command import Run, run_command
from tests.schemas import assert_valid

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def made(input_bound_job: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    output = tmp_path_factory.mktemp("made {braces} & ü")
    return output, run_command(input_bound_job, "--output", output, "--verbose", cwd=output)


def test_the_report_is_made_and_only_its_path_is_on_stdout(made: tuple[Path, Run]) -> None:
    output, run = made

    assert run.code == 0, run.stderr
    assert run.stdout == f"{output / 'profiler-report.html'}\n"
    assert sorted(path.name for path in output.iterdir()) == [
        "profiler-report",
        "profiler-report.html",
        "profiler-report.ipynb",
    ]
    report = json.loads((output / "profiler-report" / "report.json").read_text())
    assert {rule.id for rule in SAMPLED_RULES} >= set(report["rules"]) > {"StepOutlier"}
    n_files = len(report["rules"]) + 1
    assert len(list((output / "profiler-report").glob("*.json"))) == n_files
    assert assert_valid(output / "profiler-report") == n_files


def test_each_step_is_logged_with_counts_and_seconds(made: tuple[Path, Run]) -> None:
    _, run = made

    assert re.search(r"^read \d+ rows from \d+ files in \d+\.\d\d s$", run.stderr, re.MULTILINE)
    assert "Traceback" not in run.stderr


def test_the_planted_fault_is_the_first_finding(made: tuple[Path, Run]) -> None:
    output, _ = made
    report = json.loads((output / "profiler-report" / "report.json").read_text())

    assert report["job"]["name"] == "input_bound"
    assert report["findings"][0]["id"] in {"DL-1", "CPU-1"}
    page = (output / "profiler-report.html").read_text().replace("\u00a0", " ")
    assert report["findings"][0]["title"] in page
    assert report["sampling_interval_ms"] == 500
    shares = [report["summary"][f"{part}_pct"] for part in
              ("initialization", "training_loop", "finalization")]  # fmt: skip
    assert round(sum(shares), 6) == 100


def test_an_edited_notebook_makes_the_page_again_and_is_never_lost(made, input_bound_job, tmp_path):
    output, _ = made
    for name in ("profiler-report.html", "profiler-report.ipynb"):
        (tmp_path / name).write_bytes((output / name).read_bytes())
    results = tmp_path / "profiler-report"
    results.mkdir()
    for path in (output / "profiler-report").iterdir():
        (results / path.name).write_bytes(path.read_bytes())
    notebook = nbformat.read(str(tmp_path / "profiler-report.ipynb"), as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("Seen by **Ada** at 3 a.m."))
    notebook.cells.append(nbformat.v4.new_code_cell("print(6 * 7, 'nodes:', len(report.nodes))"))
    nbformat.write(notebook, str(tmp_path / "profiler-report.ipynb"))

    refused = run_command(input_bound_job, cwd=tmp_path)
    assert refused.code == 2
    assert "profiler-report.ipynb was edited" in refused.stderr
    assert "--force" in refused.stderr

    again = run_command("profiler-report/", "--notebook", "profiler-report.ipynb", cwd=tmp_path)
    assert again.code == 0, again.stderr
    page = (tmp_path / "profiler-report.html").read_text()
    assert "Seen by <strong>Ada</strong>" in page
    assert "42 nodes: 1" in page
    kept = nbformat.read(str(tmp_path / "profiler-report.ipynb"), as_version=4)
    assert "Ada" in kept.cells[-2].source
    for path in results.iterdir():
        assert path.read_bytes() == (output / "profiler-report" / path.name).read_bytes()

    # That it was run does not make it ours.
    refused = run_command(input_bound_job, cwd=tmp_path)
    assert (refused.code, "was edited" in refused.stderr) == (2, True)
    assert nbformat.read(str(tmp_path / "profiler-report.ipynb"), as_version=4) == kept


def test_a_cell_of_an_edited_notebook_that_fails_is_shown_with_its_error(made, tmp_path) -> None:
    output, _ = made
    notebook = nbformat.read(str(output / "profiler-report.ipynb"), as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("raise RuntimeError('mine')"))
    nbformat.write(notebook, str(tmp_path / "mine.ipynb"))

    run = run_command(
        output / "profiler-report", "--notebook", "mine.ipynb", "--output", "new", cwd=tmp_path
    )

    assert run.code == 0, run.stderr
    assert f"Cell {len(notebook.cells)} of the notebook failed: RuntimeError: mine" in run.stderr
    assert "Traceback" not in run.stderr
    assert "RuntimeError" in (tmp_path / "new" / "profiler-report.html").read_text()
