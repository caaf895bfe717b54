"""``TrainingJob``: where a job's profiler output lies."""

from __future__ import annotations

from reportgen.compat.readers import S3AlgorithmMetricsReader, S3SystemMetricsReader
from reportgen.errors import ConfigError
from reportgen.explore import wait_for_job

_WAIT_S = 3_600.0


class TrainingJob:
    """A job by the place where its profiler output lies.

    The original asks SageMaker for that place by the job's name; pass the path instead.
    """

    def __init__(self, training_job_name: str, region: str | None = None) -> None:
        """Take a local folder or an ``s3://`` address; a region without one is refused."""
        if region is not None and "/" not in training_job_name:
            raise ConfigError(
                f"{training_job_name!r} is a name, and SageMaker is not asked for its output.",
                hint="Pass the path: TrainingJob('s3://BUCKET/PREFIX/NAME/profiler-output').",
            )
        self.name = training_job_name.rstrip("/").removesuffix("/profiler-output").split("/")[-1]
        self.profiler_s3_output_path = training_job_name

    def wait_for_sys_profiling_data_to_be_available(self, timeout_s: float = _WAIT_S) -> None:
        """Return when the first file has arrived.

        Raises:
            LocationError: nothing arrived in ``timeout_s`` seconds; the original waits for ever.
        """
        wait_for_job(self.profiler_s3_output_path, timeout_s=timeout_s)

    wait_for_framework_profiling_data_to_be_available = wait_for_sys_profiling_data_to_be_available

    def get_systems_metrics_reader(self) -> S3SystemMetricsReader:
        """Return a reader of samples."""
        return S3SystemMetricsReader(self.profiler_s3_output_path)

    def get_framework_metrics_reader(self) -> S3AlgorithmMetricsReader:
        """Return a reader of framework events."""
        return S3AlgorithmMetricsReader(self.profiler_s3_output_path)
