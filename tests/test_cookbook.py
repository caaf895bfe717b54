"""The code of the cookbook runs, its pictures exist, and the reference of the API is fresh."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from click.testing import CliRunner

from reportgen.cli.index import command as index_command
from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.end_to_end.command import run_command

ROOT = Path(__file__).resolve().parents[1]


def module_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_code_of_the_cookbook_runs(input_bound_job: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    healthy = make_job(NAMED_JOBS["healthy"], output=tmp_path / "jobs")
    for job in (input_bound_job, healthy):
        made = run_command(job, "--output", f"reports/{job.name}", "--format", "json", cwd=tmp_path)
        assert made.code == 0, made.stderr
    assert CliRunner().invoke(index_command, ["reports", "--quiet"]).exit_code == 0
    cookbook = module_of("cookbook_images")
    names: dict[str, Any] = {}
    n_pictures = 0
    for code, image in cookbook.parts():
        here = code.replace("sample_data/jobs/input_bound", str(input_bound_job))
        shown = cookbook.run(here, names)
        if image:
            n_pictures += 1
            assert (ROOT / "docs" / image).is_file(), image
            assert type(shown).__name__ == "Figure"
    assert n_pictures == 4
    said = capsys.readouterr().out
    assert "GetNext takes" in said
    assert "waits" in said
    assert "faster - " in said
    per_minute, waterfall = names["per_minute"], names["comparison"].waterfall
    assert per_minute.index[0].isoformat() == "2026-03-23T09:52:00+00:00"
    assert per_minute.sum() == len(names["steps"])
    assert sum(part.difference_s for part in waterfall) < 0
    assert shown["job"].tolist()[0] == "input_bound"
    assert shown["wasted_gpu_hours"].is_monotonic_decreasing


def test_twelve_questions_are_answered() -> None:
    text = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    assert [f"\n## {number}. " in text for number in range(1, 13)] == [True] * 12


def test_the_reference_of_the_api_is_fresh() -> None:
    text = module_of("api_build").api_text()
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == text, (
        "run: python docs/api_build.py"
    )
