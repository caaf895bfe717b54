"""The command ``reportgen`` and its members."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reportgen import __version__
from reportgen.cli.family import family
from reportgen.errors import ConfigError


def test_help_shows_the_family_in_a_few_lines() -> None:
    answer = CliRunner().invoke(family, ["--help"])

    assert answer.exit_code == 0
    assert len(answer.output.splitlines()) < 20
    for name in ("report", "record"):
        assert f"\n  {name} " in answer.output


def test_a_member_that_does_not_exist_is_refused() -> None:
    answer = CliRunner().invoke(family, ["recrod"])

    assert answer.exit_code == 2
    assert "recrod" in answer.output


def test_the_version_is_that_of_the_package() -> None:
    assert CliRunner().invoke(family, ["--version"]).output == f"reportgen, version {__version__}\n"


def test_report_is_the_command_that_makes_reports(tmp_path: Path) -> None:
    assert "--fail-on" in CliRunner().invoke(family, ["report", "--help"]).output


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("reportgen.cli", "command", ["--help"]),
        ("reportgen.cli.family", "family", ["--help"]),
        ("reportgen.cli.family", "family", ["record", "--help"]),
    ],
)
def test_help_loads_nothing_heavy(module: str, name: str, words: list[str]) -> None:
    code = (
        "import sys\n"
        f"from {module} import {name}\n"
        f"try:\n    {name}.main({words})\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'pandas', 'plotly', 'numpy', 'duckdb', 'nbconvert', 'papermill', 'jinja2',"
        " 'obstore', 'nbformat', 'rich', 'msgspec', 'psutil', 'pynvml'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("words", [["--trace", "5"], ["--trace", "9:3"], ["--every", "0"], []])
def test_wrong_options_of_record_are_refused_before_anything_runs(words: list[str]) -> None:
    answer = CliRunner().invoke(family, ["record", *words, *(["--", "true"] if words else [])])

    assert answer.exit_code == 2


def test_recording_on_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    answer = CliRunner().invoke(family, ["record", "--", "true"])

    assert isinstance(answer.exception, ConfigError)
    assert "WSL" in str(answer.exception)
