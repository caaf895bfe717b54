"""Find the reports below some places and read the one small file of each."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from reportgen.errors import LocationError, ReportgenError
from reportgen.index.model import Index, JobRow
from reportgen.plain_files import MOST_BYTES, read_entry, refuse_oddity
from reportgen.report import Figures, RankedFinding, Report, Setup, codec
from reportgen.results import Severity
from reportgen.storage import (
    DescribedJob,
    ObjectInfo,
    is_job_name,
    is_remote,
    of_each,
    open_location,
    training_jobs,
)
from reportgen.units import iso_utc, seconds

UNREADABLE = "Unreadable"
_FOLDER, _PAGE = "profiler-report", "profiler-report.html"
_RUN_AT_END = re.compile(r"[-_.](?:\d[\d\-_:.TZ]*|[0-9a-f]{8,40})$")
"""Endings of names that count the runs of a job: numbers, times, hashes."""
_RAW_FOLDERS = frozenset({"system", "framework", "profiler-output", ".git"})
"""Folders that hold raw data or no reports: their files are not looked at."""

Found = tuple[str, str, str]
"""Address of the folder with a report's results, key or path of ``report.json``, its version."""


def read_index(places: Sequence[str], *, others: Sequence[JobRow] = ()) -> Index:
    """Return the index of all reports below some folders or prefixes.

    Args:
        places: local folders, ``s3://bucket/prefix``, or ``sagemaker:REGION`` for the jobs of a
            region by name, times and status.
        others: rows that are listed as well, such as those of jobs that could not be reported.

    Raises:
        LocationError: a place cannot be listed, or there is no report in any of them.
    """
    rows = {row.path: row for row in others}
    for place in places:
        rows |= {row.path: row for row in _below(place)}
    if not rows:
        expected = "training job is listed" if all(map(is_job_name, places)) else "report was found"
        raise LocationError(
            f"No {expected} under {', '.join(places)}.",
            hint="Pass the folders or prefixes that hold the outputs of make-profiler-report, or "
            "add --make to report the jobs in them first.",
        )
    return index_of(rows.values())


def index_of(rows: Collection[JobRow]) -> Index:
    """Return rows in order, with their sums.

    The order is by waste, by what the first finding may save, the newest first, by name and path.
    """
    jobs = sorted(rows, key=lambda row: (row.job, row.path))
    jobs.sort(
        key=lambda row: (row.wasted_gpu_hours or 0.0, row.top_saves_pct or 0.0, row.created or ""),
        reverse=True,
    )
    prices = [row.wasted_usd for row in jobs if row.wasted_usd is not None]
    return Index(
        jobs=tuple(jobs),
        wasted_gpu_hours=math.fsum(row.wasted_gpu_hours or 0.0 for row in jobs),
        wasted_usd=math.fsum(prices) if prices else None,
        n_unreadable=sum(row.status == UNREADABLE for row in jobs),
    )


def _below(place: str) -> Iterator[JobRow]:
    if is_job_name(place):
        return map(_listed, training_jobs(place))
    return _in_bucket(place) if is_remote(place) else _in_folder(place)


def _listed(job: DescribedJob) -> JobRow:
    started_ns = job.started_ns or job.created_ns
    ended = job.ended_ns is not None and started_ns is not None
    path = f"sagemaker:{job.region}/{job.name}"
    return JobRow(
        job=job.name,
        group=group_of(job.name),
        path=path,
        problem=f"No report yet: make-profiler-report {path}",
        created=None if job.created_ns is None else iso_utc(job.created_ns),
        status=job.status,
        duration_s=seconds(job.ended_ns - started_ns) if ended else None,  # type: ignore[operator]  # both are there
    )


def _in_folder(place: str) -> Iterator[JobRow]:
    hint = "Pass a folder that holds reports, or s3://bucket/prefix."
    refuse_oddity(Path(place), hint=hint)
    if not Path(place).is_dir():
        raise LocationError(f"Cannot open {place}: no such folder.", hint=hint, path=place)
    for folder, path, version in _walk(place):
        page = Path(folder).parent / _PAGE
        beside = str(page) if page.is_file() else ""
        try:
            yield replace(_row(read_entry(Path(path)), folder, beside), version=version)
        except OSError as err:
            yield _unreadable(folder, version, f"{codec.FILE}: {err.strerror or err}")


def _walk(place: str) -> Iterator[Found]:
    for folder, names, files in os.walk(place):
        if codec.FILE in files:
            path = os.path.join(folder, codec.FILE)  # noqa: PTH118  # of 10,000 folders
            try:
                stat = os.lstat(path)
            except OSError:
                continue
            yield os.path.abspath(folder), path, f"{stat.st_size}-{stat.st_mtime_ns}"  # noqa: PTH100
            if os.path.basename(folder) == _FOLDER:  # noqa: PTH119
                names.clear()
        names[:] = sorted(name for name in names if name not in _RAW_FOLDERS)


def _in_bucket(place: str) -> Iterator[JobRow]:
    location = open_location(place)
    infos = location.list()
    keys = {info.key for info in infos}
    chosen = [
        info
        for info in infos
        if PurePosixPath(info.key).name == codec.FILE and info.size_bytes <= MOST_BYTES
    ]

    def read(info: ObjectInfo) -> JobRow:
        results = PurePosixPath(info.key).parent
        folder, version = f"{location.root}/{results}", info.version or str(info.size_bytes)
        page = str(results.parent / _PAGE)
        page = f"{location.root}/{page}" if page in keys else ""
        try:
            return replace(_row(location.read_bytes(info.key), folder, page), version=version)
        except ReportgenError as err:
            return _unreadable(folder, version, err.message)

    yield from of_each(read, chosen)


def _row(raw: bytes, folder: str, page: str) -> JobRow:
    try:
        report = codec.decode(raw, path=folder, results={})
    except ReportgenError as err:
        return _unreadable(folder, "", err.message)
    figures = report.figures or Figures(data="")
    faults = [item for item in report.findings if item.finding.severity is not Severity.INFO]
    return JobRow(
        job=report.job.name,
        group=group_of(report.job.name),
        path=folder,
        page=page,
        created=report.summary.start_time,
        status=figures.status.value,
        duration_s=report.summary.job_duration_in_seconds,
        n_nodes=len(report.nodes) or None,
        n_gpus=(report.setup or Setup()).n_gpus,
        data=figures.data,
        step_p50_s=figures.step_p50_s,
        step_period_p50_s=figures.step_period_p50_s,
        step_gpu_span_p50_s=figures.step_gpu_span_p50_s,
        steps_per_s=figures.steps_per_s,
        samples_per_s=figures.samples_per_s,
        gpu_busy_pct=None if figures.gpu_busy_ratio is None else 100 * figures.gpu_busy_ratio,
        mfu_pct=None if figures.mfu_ratio is None else 100 * figures.mfu_ratio,
        wasted_gpu_hours=figures.wasted_gpu_hours,
        wasted_usd=figures.wasted_usd,
        n_findings=len(faults),
        **_top(faults, report),
    )


def _top(faults: Sequence[RankedFinding], report: Report) -> dict[str, Any]:
    top = next(iter(faults or report.findings), None)
    if top is None:
        return {}
    return {
        "top_severity": top.finding.severity.value,
        "top_finding": top.finding.title,
        "top_cause": top.finding.cause,
        "top_saves_pct": 100 * estimate.share_ratio if (estimate := top.finding.estimate) else None,
    }


def _unreadable(folder: str, version: str, problem: str) -> JobRow:
    path = PurePosixPath(folder)
    name = (path.parent if path.name == _FOLDER else path).name or folder
    return JobRow(
        job=name,
        group=group_of(name),
        path=folder,
        version=version,
        status=UNREADABLE,
        problem=problem,
    )


def group_of(job: str) -> str:
    """Return a job's name without what counts its runs.

    Example:
        >>> group_of("resnet-2026-03-01-12-00-00-123"), group_of("bert_lr3")
        ('resnet', 'bert_lr3')
    """
    name = job
    while (shorter := _RUN_AT_END.sub("", name)) != name and shorter:
        name = shorter
    return name
