"""Pipes, sockets, devices and huge files in the place of a report or beside it: refused at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from reportgen.cli.family import family
from reportgen.errors import ConfigError, LocationError
from reportgen.intake import settings_of
from tests.builders import write_system
from tests.end_to_end.command import run_here


@pytest.mark.parametrize(
    ("name", "kind"), [("pipe", "a pipe"), ("socket", "a socket"), ("/dev/zero", "a device")]
)
def test_what_is_no_file_is_refused_in_the_place_of_a_report(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the address of a socket may not be long
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for command in (["query", name], ["index", name], ["compare", name, name]):
            answer = CliRunner().invoke(family, command)
            assert isinstance(answer.exception, LocationError)
            assert f"'{name}' is {kind}, not " in answer.exception.message
            assert answer.exception.hint.startswith(("Make one", "Pass ", "Check the path. Pass "))


def test_a_huge_profiler_configuration_is_refused_when_a_page_is_made_again(tmp_path: Path) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0] * 40, "cpu0": [20.0] * 40})
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(4 << 30)
    with pytest.raises(ConfigError, match="more than"):
        settings_of(huge)

    made: list[str | Path] = ["-o", tmp_path / "out", "--format", "md"]
    assert run_here(tmp_path / "job", *made).code == 0
    run = run_here(tmp_path / "out", *made, "--profiler-config", huge)
    assert run.code != 0
    assert "huge.json cannot be read (it has more than" in run.stderr
