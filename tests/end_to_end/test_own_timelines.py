"""The command on Horovod's own timelines, and with the profiler's configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from tests.builders import write_system
from tests.end_to_end.command import run_here


def report(folder: Path, name: str = "report") -> Any:
    return json.loads((folder / "profiler-report" / f"{name}.json").read_bytes())


def test_a_timeline_of_horovod_gives_a_report_that_names_the_late_rank(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_bytes(horovod_bytes(negotiation_lines(late_rank(50))))
    run = run_here(path, "--output", tmp_path / "out", "--format", "md")
    assert run.code == 0, run.stderr
    result = report(tmp_path / "out", "HorovodNegotiation")["reportgen"]
    assert result["findings"][0]["title"] == "The other ranks wait for rank 2"
    shares = report(tmp_path / "out", "OverallFrameworkMetrics")["Details"]["horovod"]
    assert set(shares) == {"NEGOTIATE_ALLREDUCE", "ALLREDUCE"}
    assert report(tmp_path / "out")["job"]["clock"] == "relative"


def test_a_given_configuration_is_told_without_its_secrets(tmp_path: Path) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0] * 20})
    config = tmp_path / "asked.json"
    config.write_text('{"ProfilingIntervalInMillis": 100, "Token": "secret"}')
    args = (tmp_path / "job", "--output", tmp_path / "out", "--format", "md")
    run = run_here(*args, "--profiler-config", config)
    assert run.code == 0, run.stderr
    made = report(tmp_path / "out")
    assert made["profiling"]["interval_ms"] == 100
    assert "secret" not in json.dumps(made)


def test_a_configuration_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0] * 20})
    config = tmp_path / "asked.json"
    config.write_text("[]")
    args = (tmp_path / "job", "--output", tmp_path / "out", "--format", "md")
    run = run_here(*args, "--profiler-config", config)
    assert run.code == 2
    assert "is no profiler configuration" in run.stderr
    assert not (tmp_path / "out").exists()
