"""Where the output goes wrong: full disks, read-only folders, closed streams."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import write_end_marker, write_system
from tests.end_to_end.command import Run, folder_of_nobody, run_as_nobody, run_command, run_here

pytestmark = pytest.mark.slow

OUTPUTS = {"profiler-report", "profiler-report.md"}


def small_job(folder: Path, *, usage_pct: float = 50.0) -> Path:
    write_system(folder, {"gpu0": [usage_pct] * 80, "cpu0": [20.0] * 80})
    write_end_marker(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def assert_said(run: Run, *said: str) -> None:
    assert run.code == 1, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert "rror: " in run.stderr
    for words in said:
        assert words in run.stderr.lower()


@contextmanager
def full_disk(place: Path, *, size_bytes: int) -> Iterator[Path]:
    """Yield a folder on a disk of its own, of a few bytes; skip where none can be mounted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.notebook
def test_a_full_disk_keeps_the_old_report_and_says_so(tmp_path: Path) -> None:
    job = small_job(tmp_path / "job")
    with full_disk(tmp_path / "disk", size_bytes=6 << 20) as disk:
        assert run_command(job, "-o", disk, cwd=tmp_path).code == 0
        before = contents(disk)
        (disk / "filler").write_bytes(b"x" * (2 << 20))
        run = run_command(small_job(tmp_path / "other", usage_pct=20.0), "-o", disk, cwd=tmp_path)

        assert_said(run, "no space left on device", "--output")
        assert contents(disk) == before | {"filler": b"x" * (2 << 20)}


@pytest.mark.parametrize("size_bytes", [0, 700, 4_000])
def test_a_writer_that_fails_at_any_size_keeps_the_old_report(tmp_path: Path, size_bytes) -> None:
    job = small_job(tmp_path / "job")
    out = tmp_path / "out"
    assert run_here(job, "-o", out, "--format", "md").code == 0
    before = contents(out)
    limits = {resource.RLIMIT_FSIZE: size_bytes}

    run = run_command(job, "-o", out, "--format", "md", cwd=tmp_path, limits=limits)

    assert_said(run, "file too large")
    assert contents(out) == before


def test_a_read_only_folder_is_named(input_bound_job: Path) -> None:
    with folder_of_nobody() as folder:
        job = small_job(folder / "job")
        (folder / "locked").mkdir(mode=0o555)

        run = run_as_nobody(job, "-o", "locked", cwd=folder, job=input_bound_job)
        assert_said(run, "locked", "permission denied", "--output")

        run = run_as_nobody(job, "-o", "locked/below", cwd=folder, job=input_bound_job)
        assert_said(run, "locked/below", "permission denied", "--output")


def test_results_that_may_not_be_replaced_stay_whole(input_bound_job: Path) -> None:
    with folder_of_nobody() as folder:
        job = small_job(folder / "job")
        out = folder / "out"
        assert run_as_nobody(job, "-o", "out", cwd=folder, job=input_bound_job).code == 0
        before = contents(out)
        other = small_job(folder / "other", usage_pct=20.0)
        out.chmod(0o555)

        assert_said(
            run_as_nobody(other, "-o", "out", cwd=folder, job=input_bound_job), "permission denied"
        )
        assert contents(out) == before


@pytest.mark.parametrize(
    ("redirection", "code"),
    [
        (">&-", 0),
        ("2>&-", 0),
        ("<&- >&- 2>&-", 0),
        ("2>/dev/full", 0),
        ("| true", 0),
        (">/dev/full", 1),
    ],
)
def test_streams_that_are_closed_or_full_do_not_unmake_a_report(tmp_path: Path, redirection, code):
    job = small_job(tmp_path / "job")
    command = shlex.join([sys.executable, "-m", "reportgen", str(job), "-o", "out"])
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", f"{command} --format md {redirection}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    assert "Traceback" not in done.stderr
    if code:
        assert "The report is made (out/profiler-report.md)" in done.stderr


@pytest.mark.notebook
def test_the_notebook_runs_with_all_streams_closed(tmp_path: Path) -> None:
    job = small_job(tmp_path / "job")
    command = shlex.join([sys.executable, "-m", "reportgen", str(job), "-o", "out"])
    done = subprocess.run(
        ["/bin/bash", "-c", f"{command} <&- >&- 2>&-"], cwd=tmp_path, timeout=120, check=False
    )

    assert done.returncode == 0
    assert (tmp_path / "out" / "profiler-report.html").stat().st_size > 1_000_000
