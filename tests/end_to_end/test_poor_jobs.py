"""Jobs that are damaged, tiny or one-sided still get a report: poorer, but right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import START_S, timeline_lines, write_minute, write_system, write_timeline
from tests.end_to_end.command import run_command

pytestmark = pytest.mark.notebook

HOSTILE = '<img src=x onerror="alert(1)">'


def report_of(job: Path, output: Path, *args: str) -> tuple[dict[str, Any], str]:
    run = run_command(job, "-o", output, *args, cwd=output.parent)
    assert run.code == 0, run.stderr
    assert "Traceback" not in run.stderr
    page = (output / "profiler-report.html").read_text(encoding="utf-8")
    return json.loads((output / "profiler-report" / "report.json").read_text()), page


def test_a_damaged_job_is_counted_and_named(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write_system(job, {"gpu0": [50.0] * 100, "cpu0": [20.0] * 100, "memory": [5.0] * 100})
    damaged = min(job.rglob("*.algo-1.json"))
    lines = damaged.read_text().splitlines(keepends=True)
    lines[10:10] = ["garbage in the middle\n", lines[5]]
    lines.append(lines[-1].replace("50.00", "250.00").replace("50.0", "250.0"))
    damaged.write_text("".join(lines) + '{"Type":"gpu","Name":"gp')
    (job / "profiler-output" / "system" / "notes.txt").write_text("?")

    report, page = report_of(tmp_path / "job", tmp_path / "out", "--name", HOSTILE)

    quality = report["data_quality"]
    assert quality["files_read"] == len(list(job.rglob("*.algo-1.json")))
    assert quality["lines_broken"] == 2
    assert quality["lines_duplicate"] >= 1
    assert quality["bytes_lost"] > 0
    assert quality["files_skipped"] == 1
    assert any(damaged.name in note["path"] for note in quality["notes"])
    assert damaged.name in page
    assert report["job"]["name"] == HOSTILE
    assert HOSTILE not in page


def test_a_job_of_one_sample_says_what_is_missing(tmp_path: Path) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0]})

    report, page = report_of(tmp_path / "job", tmp_path / "out")

    assert report["summary"]["job_duration_in_seconds"] == 0.0
    assert report["rules"]["LowGPUUtilization"]["status"] == "skipped"
    assert report["rules"]["StepOutlier"]["reason"]["code"] == "no_framework_metrics"
    assert [item for item in report["findings"] if item["severity"] != "info"] == []
    assert "Not checked: " in page


def test_events_without_system_metrics_are_enough(tmp_path: Path) -> None:
    rows = [
        ("Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", START_S + i, START_S + i + 0.5, {"step": i})
        for i in range(120)
    ]
    write_timeline(tmp_path / "job", timeline_lines(rows), end_s=START_S + 120)

    run = run_command(tmp_path / "job", "-o", "out", "--format", "json", cwd=tmp_path)
    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "out" / "profiler-report" / "report.json").read_text())

    assert report["summary"]["training_loop_duration_in_seconds"] == 119.5
    assert report["rules"]["StepOutlier"]["status"] == "ok"
    assert report["rules"]["OverallSystemUsage"]["status"] == "skipped"
    assert report["sampling_interval_ms"] is None


def test_files_without_one_readable_record_are_no_job(tmp_path: Path) -> None:
    write_minute(tmp_path / "job", ["not json", "at all"], minute_s=START_S // 60 * 60)

    run = run_command(tmp_path / "job", "-o", "out", cwd=tmp_path)

    assert run.code == 1
    assert "not one readable sample" in run.stderr
    assert "Traceback" not in run.stderr
    assert list((tmp_path / "out").iterdir()) == []
