"""The command on jobs with Python profiles: results, page, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen.units import iso_utc
from sample_data.python_profiles import write_python_profiles
from tests.builders import START_S, ns, write_system
from tests.end_to_end.command import run_here
from tests.schemas import assert_valid
from tests.shared_data import SHARED_DATA, needs_shared_data

T = ns(START_S) // 1000
SECOND_US = 10**6


def write_profiles(job: Path) -> None:
    steps = ((n, T + n * SECOND_US, T + n * SECOND_US + 1, T + (n + 1) * SECOND_US) for n in (0, 1))
    write_python_profiles(job / "profiler-output", steps)


def made(job: Path, output: Path, *args: str) -> Any:
    run = run_here(job, "--output", output, "--format", "md", *args)
    assert run.code == 0, run.stderr
    folder = output / "profiler-report"
    return {path.stem: json.loads(path.read_bytes()) for path in folder.glob("*.json")}


def test_python_profiles_are_a_result_with_a_finding_and_no_home_folder(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write_system(job, {"gpu0": [50.0] * 20})
    write_profiles(job)
    results = made(job, tmp_path / "out")
    result = results["PythonFunctions"]["reportgen"]
    assert (result["status"], result["metrics"]["profiles"]) == ("triggered", 4)
    assert results["report"]["data_quality"]["files_skipped"] == 0
    assert "home" not in json.dumps(result)
    assert_valid(tmp_path / "out" / "profiler-report")


def test_profiles_alone_make_a_report(tmp_path: Path) -> None:
    write_profiles(tmp_path / "job")
    results = made(tmp_path / "job", tmp_path / "out")
    assert results["PythonFunctions"]["reportgen"]["status"] == "triggered"
    assert results["OverallSystemUsage"]["reportgen"]["status"] == "skipped"
    assert results["report"]["job"]["clock"] == "unix"
    assert results["report"]["summary"]["start_time"] == iso_utc(ns(START_S))
    assert results["report"]["summary"]["job_duration_in_seconds"] == 2.0


@needs_shared_data
def test_the_profiles_of_aws_are_in_the_report(tmp_path: Path) -> None:
    results = made(SHARED_DATA / "smdebug" / "tfprofiler_timeline_traces", tmp_path / "out")
    (stages,) = (
        item
        for item in results["PythonFunctions"]["reportgen"]["exhibits"]
        if item["id"] == "stages"
    )
    names = [column["name"] for column in stages["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in stages["rows"]]
    assert [(row["stage"], row["profiles"], row["functions"]) for row in rows] == [
        ("before the first step", 1, 2722),
        ("training: in steps", 2, 293),
    ]
    assert [row["profiled_s"] for row in rows] == pytest.approx([9.728617, 1.049562])
