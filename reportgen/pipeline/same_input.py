"""A report of the same input: it is there already, and only its page is made again.

Beside ``report.json`` lies a file with a hash of everything that the results depend on, and one of
``report.json`` itself. It is no part of the report: nothing compares it or goes by it but this
module.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from reportgen.engine.software import software
from reportgen.errors import ReportgenError, writing
from reportgen.intake.open_part import SAY_CHANGED
from reportgen.pipeline.measuring import MeasuringTask, Outcome
from reportgen.pipeline.options import Options
from reportgen.plain_files import read_entry
from reportgen.profile import PartRef, Quality
from reportgen.report import Report, codec
from reportgen.storage import is_remote, settings_to_send
from reportgen.store import INPUT_FILE, OUTPUT_FOLDER, REPORT_FILE, load

_OURS = __name__.partition(".")[0]
_YOUNG_NS = 2 * 10**9
"""A file that changed so lately may change again within one tick of its file system's clock."""


def input_digest(work: MeasuringTask, options: Options) -> str:
    """Return a hash of everything that the results depend on; empty where that may yet change.

    That is the name, size and time or ETag of each file, the job as it was listed, the rules with
    their parameters, the range, the timeline that is wanted, and the software with its source.
    """
    digest = hashlib.sha256()
    for part in work.job.parts:
        for state in _states(part):
            if state is None:
                return ""
            digest.update(repr(state).encode("utf-8", "surrogatepass"))
    parts = [replace(part, files=()) for part in work.job.parts]
    asked = (
        options.wanted, options.cycle, options.source,
        options.timeline, options.described, settings_to_send(),
    )  # fmt: skip
    identity = (
        replace(work.job, parts=()), parts, [rule.id for rule in work.rules], work.params, asked,
        software((_OURS, *work.modules)),
    )  # fmt: skip
    digest.update(repr(identity).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _states(part: PartRef) -> Iterator[tuple[object, ...] | None]:
    """Yield the state of each file, ``None`` where its content may yet change under it."""
    for file in part.files:
        if is_remote(part.root):
            yield (file.key, file.size_bytes, file.version) if file.version else None
            continue
        try:
            found = Path(part.root, file.key).stat()
        except OSError:
            yield None
            return
        is_settled = found.st_mtime_ns <= time.time_ns() - _YOUNG_NS
        is_settled &= found.st_size == file.size_bytes
        yield (file.key, file.size_bytes, found.st_mtime_ns) if is_settled else None


def report_of_same_input(digest: str, options: Options) -> Report | None:
    """Return the report that an earlier run left in the output folder for this very input.

    ``None`` where there is none, where its files were changed, or where the user wants it to be
    made anew (``--force``).
    """
    folder = options.output / OUTPUT_FOLDER
    if not digest or options.force:
        return None
    with suppress(OSError, ReportgenError):
        if read_entry(folder / INPUT_FILE) == _text(digest, read_entry(folder / REPORT_FILE)):
            report = load(folder)
            contents = (read_entry(folder / entry.file) for entry in report.rules.values())
            has_timeline = report.timeline is None or report.timeline_data is not None
            if has_timeline and codec.report_id(contents) == report.report_id:
                return report
    return None


def note_input(
    digest: str, work: MeasuringTask, options: Options, *, outcome: Outcome, folder: Path
) -> None:
    """Write beside a saved report of which input it is, unless the next run may see another one.

    That is so where files changed meanwhile, were skipped, or parts are missing. A report that
    will be uploaded is not looked for again either.

    Raises:
        OutputError: it cannot be written.
    """
    measured, missing = outcome
    is_doubtful = any(
        note.counts.get(Quality.FILES_SKIPPED) or note.text == SAY_CHANGED
        for part in measured
        for note in part.notes
    )
    is_known = digest and options.uploads_to is None and not missing and not is_doubtful
    if not is_known or input_digest(work, options) != digest:
        return
    with writing(folder):
        (folder / INPUT_FILE).write_bytes(_text(digest, (folder / REPORT_FILE).read_bytes()))


def _text(digest: str, report: bytes) -> bytes:
    return f"{digest}  input\n{hashlib.sha256(report).hexdigest()}  {REPORT_FILE}\n".encode()
