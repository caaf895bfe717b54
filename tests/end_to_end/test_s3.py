"""The whole command on a bucket: the same report as from disk, and reports that go there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.command import run_command
from tests.s3_server import Bucket

pytestmark = pytest.mark.notebook


def without_source(content: bytes) -> object:
    report = json.loads(content)
    del report["job"]["source"]
    return report


def test_a_job_in_a_bucket_gives_the_report_of_the_same_job_on_disk(
    s3: Bucket, input_bound_job: Path, tmp_path: Path
) -> None:
    s3.put_folder(input_bound_job, "runs/input_bound")
    disk = run_command(input_bound_job, "--output", tmp_path / "disk", cwd=tmp_path)
    assert disk.code == 0, disk.stderr

    into_bucket = run_command(
        f"{s3.url}/runs/input_bound", "--output", f"{s3.url}/reports/1/", "--fail-on", "critical",
        cwd=tmp_path,
    )  # fmt: skip
    assert (into_bucket.code, into_bucket.stderr) == (3, "")
    assert into_bucket.stdout == f"{s3.url}/reports/1/profiler-report.html\n"
    made = sorted(
        path.relative_to(tmp_path / "disk").as_posix()
        for path in (tmp_path / "disk").rglob("*") if path.is_file()
    )  # fmt: skip
    assert s3.keys("reports/") == [f"reports/1/{key}" for key in made]
    for key in made:
        here, there = (tmp_path / "disk" / key).read_bytes(), s3.read(f"reports/1/{key}")
        if key.endswith("report.json"):
            assert without_source(here) == without_source(there)
        elif key.startswith("profiler-report/"):
            assert here == there, key
    written = [path for method, path in s3.trouble.seen if method == "PUT"]
    assert written[-2].endswith("/profiler-report.ipynb")
    assert written[-1].endswith("/profiler-report.html")

    s3.put("reports/1/profiler-report/notes.json", b"{}")
    refused = run_command(input_bound_job, "--output", f"{s3.url}/reports/1", cwd=tmp_path)
    assert refused.code == 2
    assert f"{s3.url}/reports/1/profiler-report/notes.json is not a result" in refused.stderr


def test_a_bucket_that_cannot_be_used_is_one_message(
    s3: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    run = run_command(f"{s3.url}/job", cwd=tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr.startswith("error: No AWS credentials found (looked at: environment")
    assert "--no-sign-request" in run.stderr
    assert "169.254" not in run.stderr
