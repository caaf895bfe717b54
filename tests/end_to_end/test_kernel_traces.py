"""A user profiles with PyTorch and passes the traces: the page is right and keeps secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import START_S, write_system
from tests.end_to_end.command import run_command
from tests.traces import START_US, header, kernel, ranked, small_events, trace_text, write_trace

pytestmark = pytest.mark.notebook


def reported(folder: Path, *args: str) -> Any:
    """Run the command in a folder; return the report that lies in ``out`` then."""
    run = run_command(*args, "-o", "out", "--format", "md", cwd=folder)
    assert run.code == 0, run.stderr
    return json.loads((folder / "out" / "profiler-report" / "report.json").read_text())


def notes_of(report: Any) -> str:
    return " ".join(note["text"] for note in report["data_quality"]["notes"])


def test_two_ranks_are_one_report(tmp_path: Path) -> None:
    for rank in range(2):
        write_trace(tmp_path / "traces" / f"rank{rank}.json.gz", ranked(rank))

    report = reported(tmp_path, "traces")

    assert report["nodes"] == ["rank 0", "rank 1"]
    assert report["summary"]["start_time"] == "2026-07-02T04:51:32.412345Z"
    assert report["summary"]["job_duration_in_seconds"] == pytest.approx(0.0002)
    assert report["summary"]["training_loop_duration_in_seconds"] == pytest.approx(0.0002)
    assert report["data_quality"]["files_read"] == 2
    assert "LowGPUUtilization" not in report["rules"]


def test_a_single_trace_may_be_reported_beside_itself(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.json", trace_text())

    run = run_command("trace.json", "--format", "md", cwd=tmp_path)

    assert run.code == 0, run.stderr
    made = json.loads((tmp_path / "profiler-report" / "report.json").read_bytes())
    assert made["job"]["name"] == "trace"
    assert made["job"]["running_until"] is None
    assert made["figures"]["status"] == "Unknown", "how the job of a trace ended"


def test_a_report_is_not_written_among_traces(tmp_path: Path) -> None:
    write_trace(tmp_path / "rank0.json", ranked(0))
    assert run_command(".", cwd=tmp_path).code == 2


def test_a_trace_without_events_says_so(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.json", '{"traceEvents": []}')

    run = run_command("trace.json", cwd=tmp_path)

    assert run.code == 1
    assert "Traceback" not in run.stderr
    assert "not one readable sample or event" in run.stderr


def test_losses_stand_in_the_report(tmp_path: Path) -> None:
    text = ranked(0).replace('"gemm"', '"say "gemm""', 1)
    write_trace(tmp_path / "t" / "rank0.json", text[: text.rindex('"correlation"')])

    run = run_command("t", "-o", "out", cwd=tmp_path)

    assert run.code == 0, run.stderr
    made = json.loads((tmp_path / "out" / "profiler-report" / "report.json").read_bytes())
    quality = made["data_quality"]
    assert quality["bytes_lost"] > 0
    assert quality["places_repaired"] == 1
    assert "rank0.json" in (tmp_path / "out" / "profiler-report.html").read_text()


def test_system_metrics_and_a_trace_are_one_report_on_one_time_axis(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write_system(job, {"gpu0": [50.0] * 240, "cpu0": [20.0] * 240})
    base_ns = int((START_S + 60) * 1e9) - int(START_US * 1000)
    write_trace(job / "rank0.json", trace_text(head=header(baseTimeNanoseconds=base_ns)))

    report = reported(tmp_path, "job")

    assert report["nodes"] == ["algo-1", "rank 0"]
    assert report["summary"]["job_duration_in_seconds"] == pytest.approx(119.5)
    assert "LowGPUUtilization" in report["rules"]
    assert "outside" not in notes_of(report)


def test_a_trace_of_another_time_than_the_samples_is_told(tmp_path: Path) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0] * 240})
    write_trace(tmp_path / "job" / "rank0.json", ranked(0))

    said = "rank 0 lie outside the time of the system metrics"
    assert said in notes_of(reported(tmp_path, "job"))


def test_traces_of_different_times_are_told(tmp_path: Path) -> None:
    write_trace(tmp_path / "t" / "rank0.json", ranked(0))
    later = [event | {"ts": event["ts"] + 1e9} for event in small_events()]
    write_trace(tmp_path / "t" / "rank1.json", ranked(1, events=later))

    assert "were not recorded at the same time" in notes_of(reported(tmp_path, "t"))


@pytest.mark.parametrize("pattern", ["(", "", "*x"])
def test_what_is_no_regular_expression_is_told(tmp_path: Path, pattern: str) -> None:
    write_trace(tmp_path / "rank0.json", trace_text([kernel(0, 10, name="k", correlation=1)]))

    run = run_command("rank0.json", "-o", "out", "--communication", pattern, cwd=tmp_path)

    assert run.code == 2
    assert "regular expression" in run.stderr
    assert "Traceback" not in run.stderr
