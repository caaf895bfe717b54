"""Options of earlier versions: scripts that name them go on working, and hear what counts now."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from reportgen.cli.command import command as report
from reportgen.cli.index import command as index
from reportgen.cli.timeline import command as timeline
from reportgen.engine import scheduler_of
from tests.builders import write_end_marker, write_system
from tests.record.running import python, record


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        (report, ("--format", "json", "--cache", "off", "--output"), "--cache"),
        (timeline, ("--format", "json", "--output"), "--format"),
        (index, ("--make", "--update", "--output"), "--update"),
    ],
)
def test_an_option_without_effect_is_accepted_and_told(command, words, message, tmp_path: Path):
    write_system(tmp_path / "jobs" / "job", {"gpu0": [50.0] * 200})
    write_end_marker(tmp_path / "jobs" / "job")
    out = tmp_path / ("out.json" if command is timeline else "out")

    path = tmp_path / "jobs" if command is index else tmp_path / "jobs" / "job"
    answer = CliRunner().invoke(command, [str(path), *words, str(out)])

    assert answer.exit_code == 0
    assert f"{message} has no effect any more: " in answer.stderr
    assert out.exists()


def test_a_recording_that_was_to_be_watched_runs_and_is_told_how(tmp_path: Path) -> None:
    answer = record("--out", "out", "--watch", *python("print(7)"), cwd=tmp_path)

    assert (answer.returncode, answer.stdout) == (0, "7\n")
    assert "--watch has no effect any more: --report makes it" in answer.stderr


@pytest.mark.parametrize("engine", ["auto", "threads", "processes"])
def test_the_input_says_whether_threads_or_processes_read(engine: str) -> None:
    assert scheduler_of(engine) == ""
