"""Jobs by name, end to end: a service that describes jobs, a bucket with what the profiler left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reportgen.cli.compare import command as compare
from reportgen.cli.index import command as index
from reportgen.comparison import load
from tests.end_to_end.command import run_command
from tests.s3_server import Bucket
from tests.storage.test_sagemaker import JOB, Service, error, serving

pytest.importorskip("boto3")

NAME = "sagemaker:eu-west-1/bert-7"


@pytest.fixture
def service(
    s3: Bucket, input_bound_job: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    s3.put_folder(input_bound_job, "profiles/bert-7")
    made = Service()
    described = {**JOB, "ProfilerConfig": {"S3OutputPath": f"{s3.url}/profiles/"}}
    made.answers = [(200, {**described, "TrainingJobStatus": "Stopped"})]
    with serving(made) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER", address)
        yield made


@pytest.mark.notebook
def test_a_job_is_reported_by_its_name(service: Service, tmp_path: Path) -> None:
    answer = run_command(NAME, "-o", tmp_path / "out", "--format", "md", cwd=tmp_path)

    assert answer.code == 0, answer.stderr
    report = json.loads((tmp_path / "out" / "profiler-report" / "report.json").read_text())
    assert report["job"]["name"] == "bert-7"
    assert report["job"]["source"].endswith("/profiles/bert-7")
    assert report["setup"]["instance_type"] == "ml.p4d.24xlarge"
    assert report["figures"]["status"] == "Stopped"
    assert report["figures"]["data"] == "framework events"
    assert [action for action, _ in service.asked] == ["DescribeTrainingJob"]

    listed = CliRunner().invoke(
        index, [str(tmp_path / "out"), "-o", str(tmp_path)], standalone_mode=False
    )

    assert listed.exception is None
    (row,) = json.loads((tmp_path / "profiler-index.json").read_text())["jobs"]
    assert (row["job"], row["status"]) == ("bert-7", "Stopped")


@pytest.mark.notebook
def test_a_job_by_its_name_is_compared_with_a_saved_report(service, input_bound_job, tmp_path):
    run_command(input_bound_job, "-o", tmp_path / "saved", "--format", "md", cwd=tmp_path)

    answer = CliRunner().invoke(
        compare,
        [NAME, str(tmp_path / "saved"), "-o", str(tmp_path / "out"), "--format", "md"],
        standalone_mode=False,
    )

    assert answer.exception is None
    comparison = load(tmp_path / "out")
    assert comparison.verdict == "no_difference"
    assert (comparison.before.name, comparison.after.name) == ("bert-7", "input_bound")
    assert service.asked


def test_a_region_is_listed_without_opening_a_job(service: Service, tmp_path: Path) -> None:
    summaries = [
        {
            "TrainingJobName": f"bert-{number}",
            "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:0:training-job/x",
            "CreationTime": 1_700_000_000 + number,
            "TrainingJobStatus": "InProgress",
        }
        for number in range(250)
    ]
    service.answers = [
        (200, {"TrainingJobSummaries": summaries[:100], "NextToken": "more"}),
        (400, error("ThrottlingException")),
        (200, {"TrainingJobSummaries": summaries[100:]}),
    ]

    answer = CliRunner().invoke(
        index, ["sagemaker:eu-west-1", "-o", str(tmp_path)], standalone_mode=False
    )

    assert answer.exception is None
    rows = json.loads((tmp_path / "profiler-index.json").read_text())["jobs"]
    assert len(rows) == 250
    assert {row["group"] for row in rows} == {"bert"}
    assert {action for action, _ in service.asked} == {"ListTrainingJobs"}
    assert "bert-249" in (tmp_path / "profiler-index.html").read_text()


def test_a_name_that_is_denied_leaves_nothing_behind(service: Service, tmp_path: Path) -> None:
    service.answers = [(400, error("AccessDeniedException"))]

    answer = run_command(NAME, "-o", tmp_path / "out", cwd=tmp_path)

    assert answer.code == 1
    assert "sagemaker:DescribeTrainingJob" in answer.stderr
    assert not list(tmp_path.glob("out/*"))
