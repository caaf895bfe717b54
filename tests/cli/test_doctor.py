"""The command ``reportgen doctor``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reportgen import __version__
from reportgen.cli import doctor
from reportgen.cli.family import family


def asked(*words: str) -> Result:
    return CliRunner().invoke(
        family, ["doctor", *words], catch_exceptions=False, standalone_mode=False
    )


def test_versions_machine_credentials_and_disk_are_listed() -> None:
    answer = asked()
    assert answer.return_value == 0
    for title in ("Versions", "Recorded here by reportgen record", "Free disk"):
        assert f"{title}\n  " in answer.output
    assert f"make-profiler-report {__version__} " in answer.output
    assert re.search(r"Dask: \d", answer.output)
    assert "cores, " in answer.output


def test_credentials_are_named_and_never_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSHOWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrSECRET")
    monkeypatch.setenv("HOME", str(tmp_path))
    output = asked().output
    assert "AWS_ACCESS_KEY_ID" in output
    assert "AKIDSHOWN" not in output
    assert "SECRET" not in output


def test_a_driver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_GPUS", "import time; time.sleep(600)")
    monkeypatch.setattr(doctor, "_ANSWERS_WITHIN_S", 0.01)
    answer = asked()
    assert "no answer within 0.01 s" in answer.output
    assert "Free disk" in answer.output


def test_a_place_is_listed_or_refused(input_bound_job: Path, tmp_path: Path) -> None:
    readable = asked(str(input_bound_job))
    assert readable.return_value == 0
    assert f"{input_bound_job}: readable, " in readable.output
    missing = asked(str(tmp_path / "nowhere"))
    assert missing.return_value == 1
    assert "nowhere" in missing.output
