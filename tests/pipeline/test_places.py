"""Where a report may be written beside the raw data of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.errors import ConfigError
from reportgen.intake import discover
from reportgen.pipeline.places import check_output, check_upload
from tests.builders import write_system

SAGEMAKERS = "rule-output/ProfilerReport-1/profiler-output"


@pytest.mark.parametrize("given", ["job", "job/profiler-output"])
def test_the_place_of_sagemakers_reports_is_free(tmp_path: Path, given: str) -> None:
    write_system(tmp_path / "job", {"gpu0": [50.0]})
    job = discover(str(tmp_path / given))

    check_output(tmp_path / given / SAGEMAKERS, job)
    with pytest.raises(ConfigError, match="lies in the raw data of a job"):
        check_output(tmp_path / given / "reports", job)


@pytest.mark.parametrize("job", ["s3://bucket/job", "s3://bucket/job/"])
def test_the_place_of_sagemakers_reports_in_a_bucket_is_free(job: str) -> None:
    check_upload(f"s3://bucket/job/{SAGEMAKERS}", job=job)
    with pytest.raises(ConfigError, match="lies in the raw data of a job"):
        check_upload("s3://bucket/job/reports", job=job)
