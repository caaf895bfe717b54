"""The whole command on jobs that nobody here tuned: AWS's samples and the oracle jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.command import run_command
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

pytestmark = [pytest.mark.notebook, needs_shared_data]

AT_MOST = {"a_healthy_1gpu": {"info"}, "h8_cpu_only_workers8": {"info", "warning"}}
ONE_OF = {
    "b_cpu_bottleneck": {"CPU-1", "DL-1"},
    "d_imbalance_4gpu": {"BAL-1"},
    "e_two_nodes_straggler": {"STRAG-1", "BAL-1"},
    "f_gpu_memory_leak": {"MEM-1"},
    "h0_cpu_only_workers0": {"DL-1"},
    "h8_cpu_only_workers8": {"DL-2"},
}
READABLE_SAMPLES = (
    "test_traces", "model_timeline_traces", "horovod_timeline_traces", "merge_traces",
    "tfprofiler_timeline_traces", "tfprofiler_local_missing_metadata",
    "horovod_timeline_small.json",
)  # fmt: skip


@pytest.mark.parametrize("job", ORACLE_JOBS)
def test_an_oracle_job_has_the_findings_that_were_planted(job: str, tmp_path: Path) -> None:
    run = run_command(SHARED_DATA / "oracle" / job, cwd=tmp_path)
    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "profiler-report" / "report.json").read_text())
    faults = {item["id"] for item in report["findings"] if item["severity"] != "info"}

    assert {item["severity"] for item in report["findings"]} <= AT_MOST.get(
        job, {"info", "warning", "critical"}
    )
    assert job not in ONE_OF or faults & ONE_OF[job]
    assert all(entry["status"] != "failed" for entry in report["rules"].values())
    assert report["data_quality"]["lines_broken"] == 0


@pytest.mark.parametrize("sample", READABLE_SAMPLES)
def test_a_sample_of_aws_gives_a_report(sample: str, tmp_path: Path) -> None:
    run = run_command(SHARED_DATA / "smdebug" / sample, "--format", "md", cwd=tmp_path)
    assert run.code == 0, run.stderr
    report = json.loads((tmp_path / "profiler-report" / "report.json").read_text())

    assert report["data_quality"]["files_read"] > 0
    assert all(entry["status"] != "failed" for entry in report["rules"].values())


def test_an_export_of_nsight_systems_gives_a_report(tmp_path: Path) -> None:
    run = run_command(SHARED_DATA / "nsys", cwd=tmp_path)

    assert (run.code, run.stderr) == (0, "")
    assert "h100_2gpu_1s" in (tmp_path / "profiler-report.html").read_text("utf-8")
    assert (tmp_path / "profiler-report" / "Timeline.bin").is_file()


def test_traces_of_several_jobs_are_told_apart_and_not_mixed(tmp_path: Path) -> None:
    run = run_command(SHARED_DATA / "kineto", cwd=tmp_path)

    assert run.code == 2
    assert "several jobs" in run.stderr
    assert "param_dlrm_8ranks/" in run.stderr
    assert list(tmp_path.iterdir()) == []
