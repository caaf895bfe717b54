"""Where a report may be written, and where a saved one lies."""

from __future__ import annotations

from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.store import OUTPUT_FOLDER, REPORT_FILE

_RAW_SIGNS = ("system/incremental", "framework/pevents", "system/training_job_end.ts")


def saved_report_dir(path: str) -> Path | None:
    """Return the folder of a saved report: ``path`` itself, or ``profiler-report`` below it."""
    folder = Path(path)
    for candidate in (folder, folder / OUTPUT_FOLDER):
        if (candidate / REPORT_FILE).is_file():
            return candidate
    return None


def check_output(output: Path, *, job_root: Path | None) -> None:
    """Refuse to write into raw data.

    Args:
        output: the folder that will hold the report.
        job_root: the folder that holds the job's ``system/`` or ``framework/``, if local.

    Raises:
        ConfigError: ``output`` is, or lies under, a folder of raw profiler data.
    """
    target = output.resolve()
    for folder in (target, *target.parents):
        is_job = job_root is not None and folder == job_root.resolve()
        if is_job or any((folder / sign).exists() for sign in _RAW_SIGNS):
            raise ConfigError(
                f"The output folder {output} lies in the raw data of a job ({folder}).",
                hint="Choose a folder outside the job with --output DIR.",
                path=str(output),
            )
