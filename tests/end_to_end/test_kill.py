"""``kill -9`` before any change of a file: the old report, or a new one whose results are there."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reportgen import load
from tests.builders import (
    START_S,
    Row,
    known,
    timeline_lines,
    write_end_marker,
    write_system,
    write_timeline,
)

pytestmark = pytest.mark.slow

TRAIN = "Step:ModeKeys.TRAIN"
FOLDER, SUMMARY = "profiler-report", "profiler-report.md"


def write_job(folder: Path, *, usage_pct: float) -> Path:
    rows: list[Row] = [
        (TRAIN, TRAIN, START_S + step, START_S + step + 0.5, {"step": step}) for step in range(30)
    ]
    write_system(folder, {"gpu0": [usage_pct] * 80, "cpu0": [20.0] * 80, "memory": [5.0] * 80})
    write_timeline(folder, timeline_lines(rows))
    write_end_marker(folder)
    return folder


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two jobs whose reports differ."""
    folder = tmp_path_factory.mktemp("jobs")
    return (
        write_job(folder / "first", usage_pct=40.0),
        write_job(folder / "second", usage_pct=60.0),
    )


_FORKS = """
import os, signal, sys
from pathlib import Path
from reportgen.cli.command import command
from reportgen.cli.running import run_command

first, second, output, template = sys.argv[1:]
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}

def is_ours(event, args):
    if event not in EVENTS or not args or not isinstance(args[0], (str, os.PathLike)):
        return False
    is_writing = event != "open" or args[2] & (os.O_WRONLY | os.O_RDWR)
    return is_writing and str(args[0]).startswith(output)

def run(job):
    sys.argv = ["", job, "-o", output, "--format", "md", "--quiet"]
    return run_command(command)

def killed_before(number, job):
    seen = 0
    def hook(event, args):
        nonlocal seen
        if is_ours(event, args):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.addaudithook(hook)
        os._exit(run(job))
    return os.waitpid(child, 0)[1]

os.dup2(os.dup(1), 9)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
assert run(first) == 0
import shutil
shutil.copytree(output, template)
answers = os.fdopen(9, "w", buffering=1)
number = 1
while True:
    status = killed_before(number, second)
    answers.write(f"{number} {status}\\n")
    if sys.stdin.readline() != "go on\\n":
        break
    number += 1
os._exit(0)
"""
"""Kills a copy of itself before its n-th change in the output folder, for every n."""


def test_a_kill_before_any_change_of_a_file_leaves_a_whole_report(tmp_path, jobs) -> None:
    output, template = tmp_path / "out", tmp_path / "template"
    with subprocess.Popen(
        [sys.executable, "-c", _FORKS, *map(str, (*jobs, output, template))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        n_kills = sum(1 for _ in _after_each_kill(process, output, template))

    assert n_kills > 15


def _after_each_kill(process: subprocess.Popen[str], output: Path, template: Path) -> Iterator[int]:
    """Yield after each kill whose leavings were found to be whole."""
    assert process.stdin is not None
    assert process.stdout is not None
    old = (template / SUMMARY).read_bytes() if template.exists() else b""
    for line in process.stdout:
        number, status = map(int, line.split())
        if status == 0:  # it came to its end before the n-th change
            process.stdin.close()
            assert sorted(path.name for path in output.iterdir()) == [FOLDER, SUMMARY]
            return
        assert status == signal.SIGKILL, line
        old = old or (template / SUMMARY).read_bytes()
        _assert_summary_whole(output, old)
        _assert_next_run_cleans_up(output, template)
        yield number
        process.stdin.write("go on\n")
        process.stdin.flush()
    pytest.fail(f"the runs ended early: {known(process.stderr).read()}")


def _assert_summary_whole(output: Path, old: bytes) -> None:
    summary = (output / SUMMARY).read_bytes()
    if summary == old:
        return
    report = load(output / FOLDER)
    assert set(report.results) == set(report.rules)


def _assert_next_run_cleans_up(output: Path, template: Path) -> None:
    """Open the folder as the next run does: nothing is left over, and results are back."""
    from reportgen.store import open_staging

    with open_staging(output):
        pass
    assert not list(output.glob(".profiler-report-*"))
    load(output / FOLDER)
    shutil.rmtree(output)
    shutil.copytree(template, output)
