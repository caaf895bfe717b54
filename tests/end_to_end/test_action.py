"""The action for workflows: its shell steps, run as GitHub runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from reportgen import store
from tests.comparison.builders import report_of, steps_table
from tests.fuzz import samples

ROOT = Path(__file__).resolve().parents[2]
STEPS = {
    step["name"]: step
    for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
}
TIMES = np.random.default_rng(1).lognormal(0, 0.02, 400)


def run(name: str, cwd: Path, **values: str) -> subprocess.CompletedProcess[str]:
    assert set(STEPS[name].get("env", {})) == set(values)
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]],
        cwd=cwd,
        env={
            **os.environ,
            **values,
            "GITHUB_OUTPUT": str(cwd / "output.txt"),
            "GITHUB_STEP_SUMMARY": str(cwd / "summary.md"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def save(folder: Path, factor: float) -> str:
    folder.mkdir()
    store.save(report_of(steps_table(100 * factor * TIMES)), folder / "profiler-report")
    return str(folder)


@pytest.mark.notebook
@pytest.mark.parametrize(
    ("factor", "code", "verdict"), [(1.1, 3, "slower"), (1.0, 0, "no_difference")]
)
def test_a_slowdown_fails_the_build_and_noise_does_not(tmp_path: Path, factor, code, verdict):
    baseline = save(tmp_path / "baseline", 1.0)
    output = save(tmp_path / "out", factor)

    answer = run(
        "Compare",
        tmp_path,
        OUTPUT=output,
        BASELINE=baseline,
        CONDITIONS="step_p50 > +3%\nfinding:new:critical\n",
        ALLOWED="",
    )

    assert answer.returncode == code, answer.stderr
    assert (tmp_path / "output.txt").read_text() == f"verdict={verdict}\n"
    assert "|" in (tmp_path / "summary.md").read_text()


@pytest.mark.notebook
def test_a_baseline_that_is_not_there_leaves_no_verdict_of_an_earlier_run(tmp_path: Path) -> None:
    output = save(tmp_path / "out", 1.0)
    (tmp_path / "out" / "profiler-comparison.json").write_text('{"verdict": "faster"}')

    answer = run("Compare", tmp_path, OUTPUT=output, BASELINE="nowhere", CONDITIONS="", ALLOWED="")

    assert answer.returncode == 1
    assert "Cannot open 'nowhere'" in answer.stderr
    assert not (tmp_path / "output.txt").exists()


@pytest.mark.notebook
def test_the_report_is_made_and_summarised(tmp_path: Path) -> None:
    job = samples.write_job(tmp_path / "raw" / "job")

    answer = run("Report", tmp_path, JOB=str(job), OUTPUT=str(tmp_path / "out"))

    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "output.txt").read_text() == f"page={tmp_path}/out/profiler-report.html\n"
    assert "# Profiling report: job" in (tmp_path / "summary.md").read_text()
