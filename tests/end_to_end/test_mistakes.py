"""What goes wrong before a report can be made: a message and an exit code, never a traceback."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from reportgen import __version__
from tests.end_to_end.command import Run, run_command


def copied(job: Path, target: Path) -> Path:
    shutil.copytree(job / "profiler-output" / "system", target / "profiler-output" / "system")
    return target


def assert_refused(run: Run, code: int, *said: str) -> None:
    assert run.code == code, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    for words in said:
        assert words in run.stderr


@pytest.mark.parametrize("place", ["gone", "empty", "notes", "file.json", "gs://bucket/job"])
def test_what_is_no_job_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("x")
    (tmp_path / "file.json").write_text("{}")
    assert_refused(run_command(place, cwd=tmp_path), 1, place)
    assert len(list(tmp_path.iterdir())) == 3


def test_the_name_of_another_command_in_the_place_of_a_job(tmp_path: Path) -> None:
    assert_refused(run_command("compare", "a", "b", cwd=tmp_path), 2, "reportgen compare a b")

    (tmp_path / "compare").mkdir()
    assert_refused(run_command("compare", cwd=tmp_path), 1, "profiler-output")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--rules", "LowGPUUtilisation"), "LowGPUUtilization"),
        (("--set", "StepOutlier.stdev=4"), "stddev"),
        (("--set", "LowGPUUtilization.threshold_p95=700"), "from 0 to 100"),
        (("--set", "LowGPUUtilization.threshold_p95"), "RULE.PARAM=VALUE"),
        (("--config", "gone.toml"), "gone.toml"),
        (("--theme", "pink"), "pink"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_wrong_usage_is_explained(tmp_path: Path, input_bound_job: Path, args, said) -> None:
    assert_refused(run_command(input_bound_job, *args, cwd=tmp_path), 2, said)
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_is_read_and_checked(tmp_path: Path, input_bound_job: Path) -> None:
    (tmp_path / "c.toml").write_text("[StepOutlier]\nstddev = -4\n")
    run = run_command(input_bound_job, "--config", "c.toml", cwd=tmp_path)
    assert_refused(run, 2, "StepOutlier.stddev", "-4")

    (tmp_path / "c.toml").write_text("stddev = 4\n")
    run = run_command(input_bound_job, "--config", "c.toml", cwd=tmp_path)
    assert_refused(run, 2, "table per rule")


def test_files_of_others_are_not_overwritten(tmp_path: Path, input_bound_job: Path) -> None:
    (tmp_path / "profiler-report.html").write_text("mine")
    assert_refused(run_command(input_bound_job, cwd=tmp_path), 2, "profiler-report.html", "--force")
    assert (tmp_path / "profiler-report.html").read_text() == "mine"


def test_raw_data_are_never_written_into(tmp_path: Path, input_bound_job: Path) -> None:
    job = copied(input_bound_job, tmp_path / "job")
    inside = job / "profiler-output"
    assert_refused(run_command(".", cwd=inside), 2, "--output")
    assert_refused(run_command(job, "-o", inside / "system", cwd=tmp_path), 2, "--output")
    assert sorted(path.name for path in inside.iterdir()) == ["system"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_that_cannot_be_written(tmp_path: Path, input_bound_job: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert_refused(run_command(input_bound_job, "-o", "locked", cwd=tmp_path), 1, "locked")


def test_an_output_below_a_file_cannot_be_made(tmp_path: Path, input_bound_job: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(run_command(input_bound_job, "-o", "file/below", cwd=tmp_path), 1, "below")


def test_version_and_help(tmp_path: Path) -> None:
    version = run_command("--version", cwd=tmp_path)
    assert version.code == 0
    assert version.stdout.strip() == f"make-profiler-report, version {__version__}"
    assert run_command(cwd=tmp_path).code == 2
    assert "--set RULE.PARAM=VALUE" in run_command("--help", cwd=tmp_path).stdout
