"""Where a report may be written."""

from __future__ import annotations

from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.profile import JobProfile
from reportgen.store.remote import RAW_SIGNS

_OF_SAGEMAKER = "rule-output"
"""SageMaker writes reports below this folder of a job; formats read nothing there.

Source: docs/rules.md, Result files.
"""


def check_upload(url: str, *, job: str) -> None:
    """Refuse to upload a report into the job itself, but for its ``rule-output/``.

    Raises:
        ConfigError: ``url`` is, or lies under, the path of the job.
    """
    root = job.rstrip("/") + "/"
    if f"{url}/".startswith(root) and _OF_SAGEMAKER not in url.removeprefix(root).split("/"):
        raise ConfigError(
            f"The output {url} lies in the raw data of a job ({job}).",
            hint="Choose another prefix with --output.",
            path=url,
        )


def check_output(output: Path, job: JobProfile | None = None) -> None:
    """Refuse to write into the folder that holds a local job's ``system/`` or ``framework/``.

    SageMaker's own place, ``rule-output/`` in that folder, is free.

    Raises:
        ConfigError: ``output`` is, or lies under, a folder of raw profiler data.
    """
    target, job_root = output.resolve(), None if job is None else _job_root(job)
    for folder in (target, *target.parents):
        is_job = job_root is not None and folder == job_root.resolve()
        if _OF_SAGEMAKER in target.relative_to(folder).parts:
            continue
        if is_job or any((folder / sign).exists() for sign in RAW_SIGNS):
            raise ConfigError(
                f"The output folder {output} lies in the raw data of a job ({folder}).",
                hint="Choose a folder outside the job with --output DIR.",
                path=str(output),
            )


def _job_root(job: JobProfile) -> Path | None:
    """Return the folder that no output may go to; beside a single file there is room."""
    root, source = job.parts[0].root, Path(job.info.source)
    is_one_file = source.is_file() or (len(job.parts) == 1 and not source.is_dir())
    return None if "://" in root or is_one_file else Path(root)
