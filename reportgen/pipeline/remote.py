"""A report that goes to a bucket: made in a folder of this machine, then uploaded."""

from __future__ import annotations

from dataclasses import replace

from reportgen.errors import WouldOverwriteError
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import MadeReport, Options, Watcher
from reportgen.pipeline.products import check_old, outdated
from reportgen.scratch import scratch_folder
from reportgen.store import RemoteOutput


def make_remote_report(options: Options, url: str, watcher: Watcher) -> tuple[str, MadeReport]:
    """Make a report and upload it to a prefix; return the address of its page and what was made.

    Raises:
        ReportgenError: as ``make_report``; nothing is uploaded then.
        OutputError: the upload failed; the page, which comes last, is the old one then.
    """
    target = RemoteOutput(url)
    with scratch_folder() as folder:
        old, new = folder / "old", folder / "new"
        old.mkdir()
        target.fetch(old)
        earlier = replace(options, output=old)
        try:
            check_old(earlier, keeps_results=False)
        except WouldOverwriteError as err:
            message = err.message.replace(str(old), target.url)
            raise WouldOverwriteError(message, hint=err.hint, path=target.url) from None
        outcome = make_report(replace(options, output=new, uploads_to=target.url), watcher)
        watcher.step("uploading")
        target.upload(new, outdated=[path.name for path in outdated(earlier)])
        return target.address(outcome.path.relative_to(new).as_posix()), outcome
