"""A report that goes to a bucket: made in a folder of this machine, then uploaded."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, Outcome, Watcher
from reportgen.publish import is_unchanged
from reportgen.store import OUTPUT_NOTEBOOK, RemoteOutput


def make_remote_report(options: Options, url: str, watcher: Watcher) -> tuple[str, Outcome]:
    """Make a report and upload it; return the address of its page and what was made.

    Args:
        options: the run; its ``output`` is not used.
        url: ``s3://bucket/prefix``.
        watcher: is told about the steps.

    Raises:
        ReportgenError: as ``make_report``; nothing is uploaded then.
        OutputError: the upload failed; the page, which comes last, is the old one then.
    """
    _check_apart(options.path, url)
    target = RemoteOutput(url)
    with tempfile.TemporaryDirectory(prefix="profiler-report-") as folder:
        old, new = Path(folder) / "old", Path(folder) / "new"
        old.mkdir()
        if not options.force:
            target.fetch(old)
            is_ours = is_unchanged(old / OUTPUT_NOTEBOOK)
            target.check_replaceable(old, notebook_is_ours=is_ours)
        outcome = make_report(replace(options, output=new), watcher)
        watcher.step("uploading")
        target.upload(new)
    return target.page, outcome


def _check_apart(path: str, url: str) -> None:
    """Refuse to write into the job itself."""
    job, output = (text.rstrip("/") + "/" for text in (path, url))
    if output.startswith(job):
        raise ConfigError(
            f"The output {url} lies in the raw data of a job ({path}).",
            hint="Choose another prefix with --output.",
            path=url,
        )
