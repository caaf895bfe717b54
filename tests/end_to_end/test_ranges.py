"""A part of a job: cut, said on the page, refused where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.command import run_command


@pytest.mark.notebook
def test_a_cut_job_says_so_in_its_header_and_notes(input_bound_job: Path, tmp_path: Path) -> None:
    run = run_command(input_bound_job, "--steps", "5:9", "--rules", "StepOutlier", cwd=tmp_path)

    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "profiler-report/report.json").read_text())
    assert report["job"]["range"].startswith("step 5 to step 9, ")
    assert report["data_quality"]["notes"][0]["text"].startswith("The input was cut: step 5 to")
    page = (tmp_path / "profiler-report.html").read_text()
    assert "Only a part of the job" in page
    assert report["job"]["range"] in page.replace("\u00a0", " ")


def test_ranges_that_hold_nothing_or_make_no_sense(input_bound_job: Path, tmp_path: Path) -> None:
    empty = run_command(input_bound_job, "--to", "1999-12-31", cwd=tmp_path)
    assert (empty.code, empty.stdout) == (1, "")
    assert "holds no sample and no event in the range" in empty.stderr

    wrong = run_command(input_bound_job, "--from", "yesterday", cwd=tmp_path)
    assert wrong.code == 2
    assert "--from 'yesterday' is no time" in wrong.stderr
    assert "Traceback" not in empty.stderr + wrong.stderr
    assert list(tmp_path.iterdir()) == []
