"""Training jobs by name: where SageMaker keeps their profiler output, and how they stand.

``sagemaker:REGION/JOB-NAME`` names a job, ``sagemaker:REGION`` all jobs of a region. Both need the
permission ``sagemaker:DescribeTrainingJob`` or ``sagemaker:ListTrainingJobs``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reportgen.errors import ConfigError, LocationError, PlaceError

SCHEME = "sagemaker:"
_ADDRESS = re.compile(r"sagemaker:(?P<region>[a-z]{2}(?:-[a-z]+)+-\d+)(?:/(?P<job>[\w-]{1,63}))?/?")
_ATTEMPTS, _CONNECT_S, _READ_S = 6, 5, 30
"""Throttled calls are repeated with growing pauses, half a minute in all."""
_PERMISSION = {"describe": "sagemaker:DescribeTrainingJob", "list": "sagemaker:ListTrainingJobs"}
_NO_SUCH_JOB = "ValidationException"
_DENIED = frozenset({"AccessDeniedException", "AccessDenied", "UnrecognizedClientException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedJob:
    """A job as SageMaker describes it; ``None`` and empty text are what it does not say.

    ``profiler_path`` is the prefix of the job that holds ``profiler-output/``; times are ns UTC.
    """

    name: str
    region: str
    status: str
    profiler_path: str = ""
    instance_type: str = ""
    created_ns: int | None = None
    started_ns: int | None = None
    ended_ns: int | None = None


def is_job_name(path: str) -> bool:
    """Return whether a path is meant as a job's name."""
    return path.startswith(SCHEME)


def training_job(path: str) -> DescribedJob:
    """Return the job that ``sagemaker:REGION/JOB-NAME`` names.

    Raises:
        ConfigError: another form.
        LocationError: there is no such job, or its profiler was off.
        PlaceError: SageMaker cannot be asked.
    """
    region, name = _parts(path)
    if name is None:
        raise ConfigError(
            f"{path} names a region and no job.",
            hint="Write sagemaker:REGION/JOB-NAME; `reportgen index sagemaker:REGION` lists jobs.",
            path=path,
        )
    with _asking("describe", path):
        description = _client(region).describe_training_job(TrainingJobName=name)
    root = (description.get("ProfilerConfig") or {}).get("S3OutputPath", "")
    if not root:
        raise LocationError(
            f"Training job {name} in {region} has no profiler output: its profiler was off.",
            hint="Switch SageMaker's profiler on, or record the job with `reportgen record`.",
            path=path,
        )
    resources = description.get("ResourceConfig") or {}
    groups = resources.get("InstanceGroups") or []
    return DescribedJob(
        name=name,
        region=region,
        status=str(description.get("TrainingJobStatus", "")),
        profiler_path=f"{root.rstrip('/')}/{name}",
        instance_type=resources.get("InstanceType")
        or ", ".join(sorted({str(group.get("InstanceType", "")) for group in groups})),
        created_ns=_ns(description.get("CreationTime")),
        started_ns=_ns(description.get("TrainingStartTime")),
        ended_ns=_ns(description.get("TrainingEndTime")),
    )


def training_jobs(path: str) -> Iterator[DescribedJob]:
    """Yield the jobs of ``sagemaker:REGION``, the newest first, by name, times and status only.

    Raises:
        ConfigError: another form.
        PlaceError: SageMaker cannot be asked.
    """
    region, name = _parts(path)
    if name is not None:
        yield training_job(path)
        return
    with _asking("list", path):
        pages = (
            _client(region)
            .get_paginator("list_training_jobs")
            .paginate(SortBy="CreationTime", SortOrder="Descending")
        )
        for page in pages:
            for description in page.get("TrainingJobSummaries", ()):
                yield DescribedJob(
                    name=str(description["TrainingJobName"]),
                    region=region,
                    status=str(description.get("TrainingJobStatus", "")),
                    created_ns=_ns(description.get("CreationTime")),
                    ended_ns=_ns(description.get("TrainingEndTime")),
                )


def _parts(path: str) -> tuple[str, str | None]:
    match = _ADDRESS.fullmatch(path)
    if match is None:
        raise ConfigError(
            f"{path} names no region and job.",
            hint="Write sagemaker:REGION/JOB-NAME, for example sagemaker:eu-west-1/my-job.",
            path=path,
        )
    return match["region"], match["job"]


def _client(region: str) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"max_attempts": _ATTEMPTS, "mode": "standard"},
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
    )
    return boto3.client("sagemaker", region_name=region, config=config)


@contextmanager
def _asking(action: str, path: str) -> Iterator[None]:
    """Turn what boto3 raises into a message that names the job and what is missing."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as err:
        error: Mapping[str, Any] = err.response.get("Error", {})
        code, said = str(error.get("Code", "")), str(error.get("Message", ""))
        if code == _NO_SUCH_JOB:
            raise LocationError(
                f"There is no training job {path}: {said}",
                hint="Check region and name; `reportgen index sagemaker:REGION` lists the jobs.",
                path=path,
            ) from err
        hint = "Try again later."
        if code in _DENIED:
            hint = f"The permission {_PERMISSION[action]} is needed; check credentials and role."
        raise PlaceError(
            f"SageMaker did not answer for {path} ({code}: {said}).", hint=hint, path=path
        ) from err
    except BotoCoreError as err:
        raise PlaceError(
            f"SageMaker cannot be asked for {path} ({err}).",
            hint=(
                "Check credentials (AWS_PROFILE, --profile) and the network, or pass the job's "
                "files: a folder or s3://bucket/prefix."
            ),
            path=path,
        ) from err


def _ns(moment: object) -> int | None:
    return round(moment.timestamp() * 1_000_000) * 1_000 if isinstance(moment, datetime) else None
