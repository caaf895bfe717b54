"""A report directory: one ``<Id>.json`` per rule and ``report.json``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reportgen.errors import LocationError, ReportgenError, writing
from reportgen.masking import json_without_secrets
from reportgen.plain_files import LINK, read_entry
from reportgen.report import QualityNote, Report, TimelineEntry, codec
from reportgen.results import RuleId, RuleResult, timeline_file
from reportgen.results import codec as result_codec

OUTPUT_FOLDER = "profiler-report"
REPORT_FILE = codec.FILE
_ATTEMPTS = 3
TIMELINE_FILE = timeline_file.FILE
INPUT_FILE = "Input.sha256"
"""Says of which input the report is; no part of the report."""
_NO_TIMELINE = "The timeline is not shown: its file {why}. Make the report again from the data."
_DAMAGED = "is missing or damaged"
_SAYS_TOO_MUCH = "shows what looks like a password, key or token"


def save(report: Report, report_dir: Path) -> tuple[Path, ...]:
    """Write a report into an empty or missing folder and return the files written.

    Raises:
        OutputError: a file cannot be written.
    """
    files = {
        f"{rule_id}.json": report.contents.get(rule_id) or result_codec.encode(result)
        for rule_id, result in report.results.items()
    }
    with writing(report_dir):
        report_dir.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (report_dir / name).write_bytes(content)
        others = []
        if report.timeline_data is not None:
            others.append(TIMELINE_FILE)
            (report_dir / TIMELINE_FILE).write_bytes(report.timeline_data)
        (report_dir / REPORT_FILE).write_bytes(codec.encode(report))
    return tuple(report_dir / name for name in (*files, *others, REPORT_FILE))


def save_timeline(report: Report, content: bytes, report_dir: Path) -> Report:
    """Add its timeline to a report that was just saved in a folder, and return that report.

    Raises:
        OutputError: it cannot be written.
    """
    report = with_timeline(report, content)
    with writing(report_dir):
        (report_dir / TIMELINE_FILE).write_bytes(content)
        (report_dir / REPORT_FILE).write_bytes(codec.encode(report))
    return report


def with_timeline(report: Report, content: bytes) -> Report:
    """Return a report with its timeline."""
    entry = TimelineEntry(
        file=TIMELINE_FILE, sha256=hashlib.sha256(content).hexdigest(), n_bytes=len(content)
    )
    return replace(report, timeline=entry, timeline_data=content)


def load(report_dir: str | Path) -> Report:
    """Read ``report.json`` in a folder ``profiler-report`` or in the folder that holds it.

    Results that are missing are left out. A timeline that is missing or damaged is left out with a
    note in its ``data_quality``.
    A report that is replaced while it is read is read again, so that no results are mixed.

    Raises:
        LocationError: no such folder, or no ``report.json`` in it, or it changes all the time.
        FormatError: a file in it is not ours or damaged.
    """
    folder = report_folder(Path(report_dir)) or Path(report_dir)
    for _ in range(_ATTEMPTS):
        raw = _read(folder / REPORT_FILE)
        try:
            report = _loaded(folder, raw)
        except ReportgenError:
            if _read(folder / REPORT_FILE) == raw:
                raise
            continue
        if _read(folder / REPORT_FILE) == raw:
            return report
    raise LocationError(
        f"{folder} changes while it is read.",
        hint="Wait until the report is made, then try again.",
        path=str(folder),
    )


def report_folder(path: Path) -> Path | None:
    """Return the folder of a saved report: ``path``, or ``profiler-report`` in it; else ``None``.

    Whatever is called ``report.json`` counts, so that ``load`` can say what is wrong with it.

    Raises:
        LocationError: ``profiler-report`` is a link: an entry of a folder is not followed.
    """
    inner = path / OUTPUT_FOLDER
    entries = {place: place / REPORT_FILE for place in (path, inner)}
    there = (place for place, entry in entries.items() if entry.is_symlink() or entry.exists())
    found = next(there, None)
    if found is inner and inner.is_symlink():
        raise LocationError(
            f"{inner} is {LINK}, which is not followed.",
            hint="Pass the folder that it leads to.",
            path=str(inner),
        )
    return found


def copy_results(saved: Path, target: Path) -> None:
    """Copy the JSON files of a saved report, without secrets, into a new folder.

    Raises:
        LocationError: one is a link, a pipe or the like, or larger than a result.
        OutputError: one cannot be written.
    """
    with writing(target):
        target.mkdir()
    for path in sorted(saved.glob("*.json")):
        content = json_without_secrets(_read(path))
        with writing(target):
            (target / path.name).write_bytes(content)


def _loaded(folder: Path, raw: bytes) -> Report:
    named = codec.decode(raw, path=str(folder / REPORT_FILE), results={})
    results: dict[RuleId, RuleResult] = {}
    are_current = True
    present = {path.name: path for path in folder.glob("*.json")}
    for rule_id, entry in named.rules.items():
        path = present.get(Path(entry.file).name)
        if path is not None:
            content = _read(path)
            are_current &= result_codec.is_current(content)
            results[rule_id] = result_codec.decode(content, path=str(path))
    if not are_current:
        results = _declared(results)
    return _timeline_read(
        codec.decode(raw, path=str(folder / REPORT_FILE), results=results), folder
    )


def _timeline_read(report: Report, folder: Path) -> Report:
    """Return a report with the content of its timeline, or with a note that it is not there."""
    entry = report.timeline
    if entry is None:
        return report
    try:
        content, why = read_entry(folder / TIMELINE_FILE), _DAMAGED
    except FileNotFoundError:
        content, why = b"", _DAMAGED
    except OSError as err:
        content, why = b"", f"cannot be read ({err.strerror})"
    if hashlib.sha256(content).hexdigest() == entry.sha256:
        if not timeline_file.holds_secrets(content):
            return replace(report, timeline_data=content)
        why = _SAYS_TOO_MUCH
    note = QualityNote(text=_NO_TIMELINE.format(why=why), path=TIMELINE_FILE)
    quality = replace(report.data_quality, notes=(*report.data_quality.notes, note))
    return replace(report, data_quality=quality)


def _declared(results: Mapping[RuleId, RuleResult]) -> dict[RuleId, RuleResult]:
    """Return results of format 1 or 2 with what they do not declare."""
    from reportgen.rules.aws.imported import with_declarations

    return with_declarations(results)


def _read(path: Path) -> bytes:
    try:
        return read_entry(path)
    except OSError as err:
        raise LocationError(
            f"Cannot read {path}: {err.strerror}.",
            hint="Pass the folder profiler-report/ that make-profiler-report wrote.",
            path=str(path),
        ) from err
