"""A folder whose modules have the names of those that this program needs: they are not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command import Run

_NAMES = (
    "click", "json", "numpy", "pickle", "shutil", "signal", "statistics", "tempfile",
    "usercustomize",
)  # fmt: skip
_STEPS = "import reportgen\nfor _ in reportgen.steps(range(12)): pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of modules that leave a mark when they are run."""
    for name in _NAMES:
        mark = tmp_path / f"{name}.was-run"
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close(); raise SystemExit")
    return tmp_path


def call(folder: Path, *words: str | Path) -> Run:
    """Call ``reportgen`` there as its console script does, which does not look into the folder."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "reportgen.cli", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert [path.name for path in folder.glob("*.was-run")] == []
    return Run(code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def test_a_recorder_and_its_report_run_no_module_of_the_users_folder(folder: Path) -> None:
    train = folder / "scripts" / "train.py"
    train.parent.mkdir()
    train.write_text(_STEPS)
    run = call(folder, "record", "--out", "run", "--report", "--", sys.executable, train)
    assert run.code == 0
    assert "no step was seen" not in run.stderr
    assert (folder / "run-report" / "profiler-report.html").exists(), run.stderr


def test_a_recording_within_a_program_samples_beside_such_a_folder(folder: Path) -> None:
    train = folder / "scripts" / "train.py"
    train.parent.mkdir()
    train.write_text(f"import reportgen\nwith reportgen.recording('run'):\n    {_STEPS[17:]}")
    done = subprocess.run(
        [sys.executable, train], cwd=folder, timeout=300, check=True, capture_output=True, text=True
    )
    assert "not sampled" not in done.stderr
    assert list(folder.glob("*.was-run")) == []


def test_reports_of_an_index_run_no_module_of_the_users_folder(folder: Path, input_bound_job: Path):
    shutil.copytree(input_bound_job, folder / "jobs" / "one")
    run = call(folder, "index", "--make", "jobs")
    assert run.code == 0, run.stderr
    assert len(list(folder.glob("profiler-reports/*/profiler-report.html"))) == 1


def test_the_doctor_runs_no_module_of_the_users_folder(folder: Path) -> None:
    assert "cores" in call(folder, "doctor").stdout
