"""The notebooks for analysis by hand: copied by the command, run in a kernel as they are.

``tests/explore/test_analysis_notebooks.py`` runs their cells on jobs of every kind.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from reportgen.explore.notebook import NOT_RECORDED
from tests.builders import START_S, write_system
from tests.end_to_end.command import run_command

FILES = {
    "interactive": "interactive_analysis.ipynb",
    "dataloader": "dataloader_analysis.ipynb",
    "report": "profiler_report.ipynb",
}


@pytest.mark.parametrize("name", FILES)
def test_a_notebook_is_copied_and_never_overwritten(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    run = run_command("--init-notebook", name, folder, cwd=tmp_path)
    target = folder / FILES[name]

    assert (run.code, run.stdout, run.stderr) == (0, f"{target}\n", "")
    nbformat.validate(nbformat.read(str(target), as_version=4))
    target.write_text("mine")
    again = run_command("--init-notebook", name, folder, cwd=tmp_path)
    assert again.code == 2
    assert str(target) in again.stderr
    assert target.read_text() == "mine"
    assert run_command("--init-notebook", name, folder, "--force", cwd=tmp_path).code == 0
    assert target.read_text() != "mine"


def executed(name: str, job: Path, folder: Path) -> Any:
    import papermill

    run = run_command("--init-notebook", name, folder, cwd=folder)
    assert run.code == 0, run.stderr
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    return papermill.execute_notebook(
        str(folder / FILES[name]),
        None,  # a file would be written anew after each cell
        parameters={"job_path": str(job)},
        kernel_name="python3",
        progress_bar=False,
    )


@pytest.mark.notebook
@pytest.mark.parametrize(
    ("name", "shown"), [("interactive", "GetNext takes"), ("dataloader", "GetNext")]
)
def test_a_notebook_runs_from_top_to_bottom(name, shown, input_bound_job: Path, tmp_path: Path):
    notebook = executed(name, input_bound_job, tmp_path)
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook.cells])

    assert shown in outputs
    assert "application/vnd.plotly.v1+json" in outputs
    assert '"output_type": "error"' not in outputs
    assert not re.search(r"\bNaN\b|_us\b", outputs_as_text(notebook))


def outputs_as_text(notebook: Any) -> str:
    """Return what a reader of the tables and sentences sees."""
    shown = [
        output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    return "\n".join(
        data.get("text/markdown") or data.get("text/plain", "")
        for data in shown
        if "application/vnd.plotly.v1+json" not in data
    )


@pytest.mark.notebook
@pytest.mark.parametrize("name", ["interactive", "dataloader"])
def test_what_was_not_recorded_is_said_in_the_place_of_tables_and_charts(name, tmp_path: Path):
    write_system(tmp_path / "job", {"cpu0": [50.0] * 120}, start_s=START_S)
    notebook = executed(name, tmp_path / "job", tmp_path)
    text = outputs_as_text(notebook)

    assert NOT_RECORDED["functions" if name == "interactive" else "waits"] in text
    assert "Empty DataFrame" not in text
    assert "Nothing was recorded that this chart shows" not in json.dumps(notebook.cells)
