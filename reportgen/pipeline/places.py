"""Where a report may be written, and where a saved one lies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.storage import is_remote, open_location
from reportgen.store import OUTPUT_FOLDER, REPORT_FILE, fetched_report, put_back, report_folder

_OF_SAGEMAKER = "rule-output"
"""SageMaker writes reports below this folder of a job; formats read nothing there.

Source: docs/rules.md, Result files.
"""

_RAW_SIGNS = ("system/incremental", "framework/pevents", "system/training_job_end.ts")


@contextmanager
def saved_report(path: str) -> Iterator[Path | None]:
    """Yield the folder of a saved report: ``path``, ``profiler-report`` below it, or around it.

    The last is for the path of ``report.json`` itself, which may be a link as any that users name.

    Of a report in a bucket it is a copy, which is gone afterwards. Yields ``None`` without one.
    Results that a killed run had moved aside are put back first.
    """
    if is_remote(path):
        with fetched_report(open_location(path.removesuffix(f"/{REPORT_FILE}"))) as folder:
            yield folder
        return
    place = Path(path)
    if place.name == REPORT_FILE and place.is_file():
        place = place.resolve().parent
    with suppress(OSError):  # where nothing can be renamed nothing is lost either
        put_back(place.parent if place.name == OUTPUT_FOLDER else place)
    yield report_folder(place)


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


def check_output(output: Path, *, job_root: Path | None) -> None:
    """Refuse to write into the folder that holds a local job's ``system/`` or ``framework/``.

    SageMaker's own place, ``rule-output/`` in that folder, is free.

    Raises:
        ConfigError: ``output`` is, or lies under, a folder of raw profiler data.
    """
    target = output.resolve()
    for folder in (target, *target.parents):
        is_job = job_root is not None and folder == job_root.resolve()
        if _OF_SAGEMAKER in target.relative_to(folder).parts:
            continue
        if is_job or any((folder / sign).exists() for sign in _RAW_SIGNS):
            raise ConfigError(
                f"The output folder {output} lies in the raw data of a job ({folder}).",
                hint="Choose a folder outside the job with --output DIR.",
                path=str(output),
            )
