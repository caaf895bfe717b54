"""Where a report may be written beside the raw data of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.errors import ConfigError
from reportgen.pipeline.places import check_output, check_upload

SAGEMAKERS = "rule-output/ProfilerReport-1/profiler-output"


@pytest.mark.parametrize("job_root", ["job", "job/profiler-output"])
def test_the_place_of_sagemakers_reports_is_free(tmp_path: Path, job_root: str) -> None:
    (tmp_path / "job/system/incremental").mkdir(parents=True)

    check_output(tmp_path / "job" / SAGEMAKERS, job_root=tmp_path / job_root)
    with pytest.raises(ConfigError, match="lies in the raw data of a job"):
        check_output(tmp_path / "job/reports", job_root=tmp_path / job_root)


@pytest.mark.parametrize("job", ["s3://bucket/job", "s3://bucket/job/"])
def test_the_place_of_sagemakers_reports_in_a_bucket_is_free(job: str) -> None:
    check_upload(f"s3://bucket/job/{SAGEMAKERS}", job=job)
    with pytest.raises(ConfigError, match="lies in the raw data of a job"):
        check_upload("s3://bucket/job/reports", job=job)
