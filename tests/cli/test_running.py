"""Errors of a command become messages."""

from __future__ import annotations

import click

from reportgen.cli.running import run_command


def test_a_missing_package_is_named_with_its_pip_line(capsys, monkeypatch) -> None:
    @click.command()
    def command() -> None:
        raise ModuleNotFoundError("No module named 'botocore'", name="botocore.session")

    monkeypatch.setattr("sys.argv", ["make-profiler-report"])

    assert run_command(command) == 1
    said = capsys.readouterr().err
    assert "pip install --force-reinstall make-profiler-report" in said
    assert "memory" not in said
