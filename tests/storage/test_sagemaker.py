"""Jobs by name: what the real boto3 asks, what a service of this machine answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import ConfigError, LocationError, PlaceError
from reportgen.index.read import read_index
from reportgen.storage import is_job_name, training_job
from tests.s3_server import serve_in_background

pytest.importorskip("boto3")

JOB = {
    "TrainingJobName": "bert-7",
    "TrainingJobStatus": "Completed",
    "ProfilerConfig": {"S3OutputPath": "s3://bucket/profiles/"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2},
    "CreationTime": 1_700_000_000.5,
    "TrainingStartTime": 1_700_000_100,
    "TrainingEndTime": 1_700_003_700,
}


class Service:
    """What the service answers, and what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, Any]]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []


@contextmanager
def serving(service: Service) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            action = self.headers["X-Amz-Target"].rpartition(".")[2]
            service.asked.append((action, json.loads(body)))
            code, tree = service.answers[min(len(service.asked), len(service.answers)) - 1]
            raw = json.dumps(tree).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serve_in_background(server)
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    made = Service()
    with serving(made) as address:
        for name, value in {
            "AWS_ENDPOINT_URL_SAGEMAKER": address,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": str(tmp_path / "none"),
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("reportgen.storage.sagemaker._ATTEMPTS", 2)
        yield made


def error(code: str, text: str = "said") -> dict[str, str]:
    return {"__type": code, "message": text}


def test_a_job_is_found_with_its_status_and_machine(service: Service) -> None:
    service.answers = [(200, JOB)]

    job = training_job("sagemaker:eu-west-1/bert-7")

    assert service.asked == [("DescribeTrainingJob", {"TrainingJobName": "bert-7"})]
    assert job.profiler_path == "s3://bucket/profiles/bert-7"
    assert (job.status, job.instance_type) == ("Completed", "ml.p4d.24xlarge")
    assert job.created_ns == 1_700_000_000_500_000_000
    assert job.ended_ns == 1_700_003_700_000_000_000


def test_groups_of_instances_are_named(service: Service) -> None:
    groups = [
        {"InstanceType": kind, "InstanceCount": count, "InstanceGroupName": kind}
        for kind, count in (("ml.p4d.24xlarge", 3), ("ml.m5.xlarge", 1))
    ]
    service.answers = [(200, {**JOB, "ResourceConfig": {"InstanceGroups": groups}})]

    job = training_job("sagemaker:eu-west-1/bert-7")

    assert job.instance_type == "ml.m5.xlarge, ml.p4d.24xlarge"


def test_a_job_without_a_profiler_is_named(service: Service) -> None:
    service.answers = [(200, {**JOB, "ProfilerConfig": {"DisableProfiler": True}})]

    with pytest.raises(LocationError, match="profiler was off"):
        training_job("sagemaker:eu-west-1/bert-7")


@pytest.mark.parametrize(
    ("code", "kind", "expected", "words"),
    [
        (400, "ValidationException", LocationError, "no training job sagemaker:eu-west-1/bert-7"),
        (400, "AccessDeniedException", PlaceError, "sagemaker:DescribeTrainingJob"),
        (400, "ThrottlingException", PlaceError, "ThrottlingException"),
        (500, "InternalFailure", PlaceError, "did not answer"),
    ],
)
def test_what_the_service_refuses_is_said(service: Service, code, kind, expected, words) -> None:
    service.answers = [(code, error(kind))]

    with pytest.raises(expected, match=words):
        training_job("sagemaker:eu-west-1/bert-7")


def test_an_index_of_a_region_opens_no_job(service: Service) -> None:
    summary = {
        "TrainingJobName": "bert-7",
        "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:0:training-job/x",
        "CreationTime": 1_700_000_000,
        "TrainingEndTime": 1_700_003_600,
        "TrainingJobStatus": "Stopped",
    }
    service.answers = [(200, {"TrainingJobSummaries": [summary]})]

    (row,) = read_index(["sagemaker:eu-west-1"]).jobs

    assert (row.job, row.group, row.status) == ("bert-7", "bert", "Stopped")
    assert row.path == "sagemaker:eu-west-1/bert-7"
    assert row.duration_s == 3600
    assert [action for action, _ in service.asked] == ["ListTrainingJobs"]


def test_a_region_without_a_job_says_so(service: Service) -> None:
    service.answers = [(200, {"TrainingJobSummaries": []})]

    with pytest.raises(LocationError, match="No training job is listed under sagemaker:eu-west-1"):
        read_index(["sagemaker:eu-west-1"])


@pytest.mark.parametrize(
    "path", ["sagemaker:", "sagemaker:bert-7", "sagemaker:eu-west-1/a/b", "sagemaker:eu-west-1/a b"]
)
def test_another_form_is_refused(path: str) -> None:
    assert is_job_name(path)
    with pytest.raises(ConfigError, match="sagemaker:"):
        training_job(path)


def test_without_a_job_s_name_the_region_is_not_enough() -> None:
    with pytest.raises(ConfigError, match="names a region and no job"):
        training_job("sagemaker:eu-west-1")


def test_a_service_that_is_not_there_is_named(service: Service, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER", "http://127.0.0.1:9")

    with pytest.raises(PlaceError, match=r"cannot be asked.*a folder or s3://bucket/prefix"):
        training_job("sagemaker:eu-west-1/bert-7")
