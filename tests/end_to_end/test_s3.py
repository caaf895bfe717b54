"""The whole command on a bucket: the same report as from disk, and reports that go there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.builders import START_S, system_line, write_minute
from tests.end_to_end.command import run_command
from tests.s3_server import Bucket
from tests.shared_data import SHARED_DATA, needs_shared_data

pytestmark = pytest.mark.notebook

AWS_LEVELS = "rule-output/ProfilerReport-1774260000/profiler-output/profiler-reports"
SUMMARY = ("--format", "md")


@pytest.fixture
def job(s3: Bucket, tmp_path: Path) -> str:
    """The address of a small job."""
    write_minute(tmp_path / "made", [system_line("gpu0", 50, START_S)], minute_s=START_S)
    s3.put_folder(tmp_path / "made", "job")
    return f"{s3.url}/job"


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1780000000")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return what a run made; the one line that names where the input lay is left out."""
    paths = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != "Input.sha256"
    )
    return {
        path.relative_to(folder).as_posix(): without_source(path.name, path.read_bytes())
        for path in paths
    }


def without_source(name: str, content: bytes) -> bytes:
    if not name.endswith("report.json"):
        return content
    source = json.dumps(json.loads(content)["job"]["source"]).encode()
    assert content.count(source) == 1
    return content.replace(source, b"", 1)


def files_in(bucket: Bucket, prefix: str) -> dict[str, bytes]:
    keys = [key.removeprefix(prefix) for key in bucket.keys(prefix)]
    return {key: without_source(key, bucket.read(prefix + key)) for key in keys}


def test_a_job_in_a_bucket_gives_every_byte_of_the_report_of_the_same_job_on_disk(
    s3: Bucket, input_bound_job: Path, tmp_path: Path
) -> None:
    s3.put_folder(input_bound_job, "runs/input_bound")
    disk = run_command(input_bound_job, "--output", tmp_path / "disk", cwd=tmp_path)
    assert disk.code == 0, disk.stderr
    on_disk = files_of(tmp_path / "disk")
    assert {"profiler-report.html", "profiler-report.ipynb"} < set(on_disk)

    into_bucket = run_command(
        f"{s3.url}/runs/input_bound", "--output", f"{s3.url}/reports/1/", "--fail-on", "critical",
        cwd=tmp_path,
    )  # fmt: skip
    assert into_bucket.code == 3
    assert into_bucket.stdout == f"{s3.url}/reports/1/profiler-report.html\n"
    in_bucket = files_in(s3, "reports/1/")
    assert list(in_bucket) == sorted(on_disk)
    listed = [f"wrote {s3.url}/reports/1/{key}" for key in in_bucket]
    met, *said = sorted(into_bucket.stderr.splitlines())
    assert met.startswith("--fail-on critical is met: DL-1 ")
    assert said == sorted(listed)
    for key, content in in_bucket.items():
        assert content == on_disk[key], key
    page = s3.client.head_object(Bucket=s3.name, Key="reports/1/profiler-report.html")
    assert page["ContentType"] == "text/html; charset=utf-8"

    for number, place in enumerate(("reports/1", "reports/1/profiler-report/")):
        again = tmp_path / str(number)
        run = run_command(f"{s3.url}/{place}", "--output", again, cwd=tmp_path)
        assert (run.code, run.stderr) == (0, "")
        assert files_of(again) == on_disk


@needs_shared_data
@pytest.mark.parametrize("level", [".", AWS_LEVELS])
def test_results_of_sagemaker_give_the_same_report_from_a_bucket_as_from_disk(s3, tmp_path, level):
    job = tmp_path / "runs" / "my-job"
    shutil.copytree(SHARED_DATA / "aws-reports" / "cpu-only", job / AWS_LEVELS)
    s3.put_folder(job, "runs/my-job")
    for place, output in ((str(job / level), "disk"), (f"{s3.url}/runs/my-job/{level}", "bucket")):
        args = (place.removesuffix("/."), "--output", tmp_path / output)
        run = run_command(*args, *SUMMARY, cwd=tmp_path)
        assert (run.code, run.stderr) == (0, "")
    assert files_of(tmp_path / "disk") == files_of(tmp_path / "bucket")


def test_what_was_made_before_is_replaced_and_what_was_left_over_is_cleaned_up(s3, job, tmp_path):
    output = f"{s3.url}/out"
    first = run_command(job, "--output", output, *SUMMARY, "--rules", "BatchSize", cwd=tmp_path)
    assert (first.code, first.stdout) == (0, f"{output}/profiler-report.md\n")
    before = s3.read("out/profiler-report.md")

    s3.trouble.denies = "POST"  # how objects are deleted
    aborted = run_command(job, "--output", output, *SUMMARY, "--rules", "LoadBalancing",
        cwd=tmp_path)  # fmt: skip
    assert (aborted.code, aborted.stdout) == (1, "")
    assert f"Access denied: s3:DeleteObject on {output}/profiler-report/" in aborted.stderr
    assert s3.read("out/profiler-report.md") == before

    s3.trouble.denies = ""
    last = run_command(job, "--output", output, "--rules", "StepOutlier", cwd=tmp_path)
    assert last.code == 0
    assert len(last.stderr.splitlines()) == 4
    assert s3.keys("out/") == [
        "out/profiler-report.html",
        "out/profiler-report.ipynb",
        "out/profiler-report/StepOutlier.json",
        "out/profiler-report/report.json",
    ]


def test_an_edited_notebook_in_a_bucket_is_only_replaced_by_force(s3, job: str, tmp_path) -> None:
    run_command(job, "--output", f"{s3.url}/out", cwd=tmp_path)
    notebook = json.loads(s3.read("out/profiler-report.ipynb"))
    notebook["cells"][0]["source"] = "My own words."
    edited = json.dumps(notebook).encode()
    s3.put("out/profiler-report.ipynb", edited)
    there = files_in(s3, "out/")

    refused = run_command(job, "--output", f"{s3.url}/out", cwd=tmp_path)
    assert (refused.code, refused.stdout) == (2, "")
    assert f"{s3.url}/out/profiler-report.ipynb was edited since it was made" in refused.stderr
    assert "--force" in refused.stderr
    assert files_in(s3, "out/") == there

    assert run_command(job, "--output", f"{s3.url}/out", "--force", cwd=tmp_path).code == 0
    assert s3.read("out/profiler-report.ipynb") != edited


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("profiler-report/notes.json", "is not a result of make-profiler-report"),
        ("profiler-report/film.mp4", "is not a result of make-profiler-report"),
        ("profiler-report.md", "was not made by make-profiler-report"),
    ],
)
def test_objects_of_others_are_not_replaced(s3: Bucket, job: str, tmp_path: Path, key, reason):
    s3.put(f"out/{key}", b"{}")
    refused = run_command(job, "--output", f"{s3.url}/out", *SUMMARY, cwd=tmp_path)
    assert (refused.code, refused.stdout) == (2, "")
    assert f"{s3.url}/out/{key} {reason}" in refused.stderr
    assert s3.keys("out/") == [f"out/{key}"]


def test_a_report_is_not_uploaded_into_its_job(s3: Bucket, job: str, tmp_path: Path) -> None:
    for output in (job, f"{job}/profiler-output", f"{job}/report"):
        refused = run_command(job, "--output", output, *SUMMARY, cwd=tmp_path)
        assert (refused.code, refused.stdout) == (2, "")
        assert f"The output {output} lies in the raw data of a job" in refused.stderr


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("denies", "Access denied: s3:PutObject on {url}/out/profiler-report/"),
        ("cuts", "The connection to the store failed (s3:PutObject on {url}/out/profiler-report/"),
    ],
)
def test_an_upload_that_fails_is_named_and_leaves_the_old_page(s3, job, tmp_path, trouble, said):
    command = (job, "--output", f"{s3.url}/out", *SUMMARY)
    assert run_command(*command, cwd=tmp_path).code == 0
    before = files_in(s3, "out/")
    setattr(s3.trouble, trouble, "PUT")
    run = run_command(*command, "--set", "LowGPUUtilization.patience=7", cwd=tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr.startswith(f"error: Cannot write the report to {s3.url}/out. ")
    assert said.format(url=s3.url) in run.stderr
    assert "http" not in run.stderr
    assert files_in(s3, "out/") == before


@pytest.mark.parametrize(
    ("trouble", "what", "said"),
    [
        ("denies", "GET", "Access denied: s3:ListBucket on {url}/job."),
        ("drops_midway", 1_000, "The connection to the store failed (s3:GetObject on {url}/job/"),
        ("says_slow_down", 1_000, "The store asks to slow down (s3:GetObject on {url}/job/"),
    ],
)
def test_a_store_that_does_not_recover_is_one_message(s3, job, tmp_path, trouble, what, said):
    setattr(s3.trouble, trouble, what)
    run = run_command(job, "--output", tmp_path / "out", *SUMMARY, cwd=tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr.startswith("error: " + said.format(url=s3.url))
    assert len(run.stderr.splitlines()) == 2
    assert not list((tmp_path / "out").glob("*"))


def test_a_bucket_that_is_not_there_is_one_message(s3: Bucket, tmp_path: Path) -> None:
    for place in (("s3://no-such-bucket/job",), (".", "--output", "s3://no-such-bucket/out")):
        run = run_command(*place, cwd=tmp_path)
        assert (run.code, run.stdout) == (1, "")
        assert run.stderr.startswith("error: There is no bucket s3://no-such-bucket.")


def test_a_prefix_without_a_job_is_one_message(s3: Bucket, tmp_path: Path) -> None:
    s3.put("notes/readme.txt", b"x")
    for prefix, said in (("notes", "No profiler files under"), ("nothing", "is empty")):
        run = run_command(f"{s3.url}/{prefix}", cwd=tmp_path)
        assert (run.code, run.stdout) == (1, "")
        assert said in run.stderr


def test_a_damaged_report_in_a_bucket_is_named_by_its_address(s3: Bucket, tmp_path: Path) -> None:
    s3.put("old/profiler-report/report.json", b"{")
    result = run_command(f"{s3.url}/old", cwd=tmp_path)

    assert result.code == 1
    assert f"{s3.url}/old/profiler-report/report.json" in result.stderr
    assert "scratch" not in result.stderr


def test_a_report_goes_to_sagemakers_own_place_and_does_not_change_the_next(
    s3: Bucket, input_bound_job: Path, tmp_path: Path
) -> None:
    s3.put_folder(input_bound_job, "job")
    place = "job/rule-output/ProfilerReport-1/profiler-output"
    made = run_command(f"{s3.url}/job", "--output", f"{s3.url}/{place}", *SUMMARY, cwd=tmp_path)
    assert made.code == 0, made.stderr
    assert f"{place}/profiler-report/report.json" in s3.keys("job/rule-output")
    for given, folder in (("job", "of-job"), (place, "of-report")):
        again = run_command(
            f"{s3.url}/{given}", "--output", tmp_path / folder, *SUMMARY, cwd=tmp_path
        )
        assert again.code == 0, again.stderr
    assert files_in(s3, f"{place}/profiler-report/") == files_of(
        tmp_path / "of-job" / "profiler-report"
    )
