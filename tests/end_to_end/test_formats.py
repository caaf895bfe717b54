"""``--format`` and the verdict on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command import run_command

RESULTS = "profiler-report"
PAGE, NOTEBOOK, SUMMARY = (f"profiler-report.{end}" for end in ("html", "ipynb", "md"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_summary_alone_needs_no_notebook(input_bound_job: Path, tmp_path: Path) -> None:
    run = run_command(input_bound_job, "-o", tmp_path, "--format", "md", cwd=tmp_path)

    assert (run.code, run.stderr) == (0, "")
    assert run.stdout == f"{tmp_path / SUMMARY}\n"
    assert names(tmp_path) == [RESULTS, SUMMARY]
    assert "Training waits" in (tmp_path / SUMMARY).read_text()


def test_json_alone_starts_no_kernel_and_verbose_lists_every_file(input_bound_job: Path, tmp_path):
    run = run_command(
        input_bound_job, "-o", tmp_path, "--format", "json", "--verbose", cwd=tmp_path
    )

    assert run.stdout == f"{tmp_path / RESULTS / 'report.json'}\n"
    assert "notebook" not in run.stderr
    assert names(tmp_path) == [RESULTS]
    listed = [line for line in run.stderr.splitlines() if line.startswith("wrote ")]
    assert listed == [f"wrote {tmp_path / RESULTS / name}" for name in names(tmp_path / RESULTS)]

    # With another format it is what it always was: the results beside it.
    both = run_command(input_bound_job, "-o", tmp_path, "--format", "json,md", cwd=tmp_path)
    assert (both.code, both.stderr) == (0, "")
    assert names(tmp_path) == [RESULTS, SUMMARY]


@pytest.mark.notebook
def test_all_formats_are_made_together_and_outdated_ones_go(input_bound_job: Path, tmp_path: Path):
    first = run_command(input_bound_job, "-o", tmp_path, "--format", "html,ipynb,md", cwd=tmp_path)
    assert (first.code, first.stderr) == (0, "")
    assert names(tmp_path) == [RESULTS, PAGE, NOTEBOOK, SUMMARY]
    summary = (tmp_path / SUMMARY).read_bytes()

    # Of the same results a single format is made anew; the others still tell the truth.
    again = run_command(tmp_path / RESULTS, "-o", tmp_path, "--format", "md", cwd=tmp_path)
    assert (again.code, again.stderr) == (0, "")
    assert names(tmp_path) == [RESULTS, PAGE, NOTEBOOK, SUMMARY]
    assert (tmp_path / SUMMARY).read_bytes() == summary

    # New results: page and notebook of the old ones would contradict them.
    later = run_command(
        input_bound_job, "-o", tmp_path, "--format", "md", "--rules", "BatchSize", cwd=tmp_path
    )
    assert (later.code, later.stderr) == (0, "")
    assert names(tmp_path) == [RESULTS, SUMMARY]


@pytest.mark.notebook
def test_a_page_without_its_notebook(input_bound_job: Path, tmp_path: Path) -> None:
    run = run_command(input_bound_job, "-o", tmp_path, "--format", "HTML", cwd=tmp_path)

    assert run.stdout == f"{tmp_path / PAGE}\n"
    assert names(tmp_path) == [RESULTS, PAGE]


def test_a_summary_of_others_is_not_replaced(input_bound_job: Path, tmp_path: Path) -> None:
    (tmp_path / SUMMARY).write_text("mine")
    refused = run_command(input_bound_job, "-o", tmp_path, "--format", "md", cwd=tmp_path)

    assert refused.code == 2
    assert SUMMARY in refused.stderr
    assert "--force" in refused.stderr
    forced = run_command(input_bound_job, "-o", tmp_path, "--format", "md", "--force", cwd=tmp_path)
    assert forced.code == 0
    assert (tmp_path / SUMMARY).read_text() != "mine"


def test_files_of_others_that_are_not_asked_for_stay(input_bound_job: Path, tmp_path: Path) -> None:
    (tmp_path / PAGE).write_text("my own page")
    (tmp_path / NOTEBOOK).write_text("my own notebook")
    run = run_command(input_bound_job, "-o", tmp_path, "--format", "md", cwd=tmp_path)

    assert (run.code, run.stderr) == (0, "")
    assert (tmp_path / PAGE).read_text() == "my own page"
    assert (tmp_path / NOTEBOOK).read_text() == "my own notebook"


@pytest.mark.parametrize("wanted", ["pdf", "html,pdf", "", ","])
def test_unknown_formats_are_named(input_bound_job: Path, tmp_path: Path, wanted: str) -> None:
    run = run_command(input_bound_job, "-o", tmp_path, "--format", wanted, cwd=tmp_path)

    assert run.code == 2
    assert "html, ipynb, md, json" in run.stderr
    assert names(tmp_path) == []


def test_a_terminal_gets_the_verdict_and_stdout_only_the_path(input_bound_job: Path, tmp_path):
    stdout, shown = _run_on_terminal(input_bound_job, tmp_path)

    assert stdout == f"{tmp_path / SUMMARY}\n"
    assert "Training waits" in shown
    assert "Try: " in shown
    assert _run_on_terminal(input_bound_job, tmp_path, "--quiet")[1] == ""


def _run_on_terminal(job: Path, output: Path, *more: str) -> tuple[str, str]:
    """Run the command with a terminal as its stderr; return stdout and what the terminal shows."""
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "reportgen",
                str(job),
                "-o",
                str(output),
                "--format",
                "md",
                *more,
            ],
            stdout=subprocess.PIPE,
            stderr=follower,
            text=True,
            timeout=120,
            check=True,
        )
        os.set_blocking(leader, False)
        try:
            shown = os.read(leader, 1 << 16).decode()
        except BlockingIOError:
            shown = ""
    finally:
        os.close(leader)
        os.close(follower)
    return done.stdout, shown
