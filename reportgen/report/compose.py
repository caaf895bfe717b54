"""From results, wherever they come from, to the report of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reportgen.diagnosis import diagnose
from reportgen.engine.software import packages
from reportgen.formats import printable
from reportgen.profile import Quality, SourceNote
from reportgen.profiler_config import Profiling
from reportgen.recorded_job import Recording
from reportgen.report import codec
from reportgen.report.figures import asked_batch_size, figures_of
from reportgen.report.model import (
    DataQuality,
    JobHeader,
    JobStatus,
    JobSummary,
    QualityNote,
    Report,
    RuleEntry,
    Setup,
)
from reportgen.report.summary import data_kind, rank_findings
from reportgen.results import RuleId, RuleResult
from reportgen.results.codec import encode

_LONGEST_SOURCE = 4_096
"""Characters of a path. Source: PATH_MAX of Linux."""


def compose(
    job: JobHeader,
    results: Sequence[RuleResult],
    *,
    contents: Mapping[RuleId, bytes],
    summary: JobSummary,
    nodes: tuple[str, ...],
    notes: Sequence[SourceNote],
    sampling_interval_ms: int | None = None,
    profiling: Profiling | None = None,
    recording: Recording | None = None,
    setup: Setup | None = None,
    status: JobStatus = JobStatus.UNKNOWN,
) -> Report:
    """Return the report of results, wherever they come from.

    Only results that the diagnosis changed, or that are not among ``contents``, are encoded. Names
    and paths may hold bytes that are no text; they are written as far as they can be.
    """
    judged, results = results, diagnose(results)
    as_judged = {new.id for old, new in zip(judged, results, strict=True) if new is old}
    files = {
        result.id: contents[result.id]
        if result.id in contents and result.id in as_judged
        else encode(result)
        for result in results
    }
    findings = rank_findings(results)
    by_id = {result.id: result for result in results}
    data = data_kind(by_id)
    setup = setup or Setup()
    setup = replace(setup, batch_size=asked_batch_size(by_id) or setup.batch_size)
    return Report(
        report_id=codec.report_id(files.values()),
        job=replace(
            job, name=printable(job.name), source=printable(job.source, most=_LONGEST_SOURCE)
        ),
        summary=summary,
        nodes=nodes,
        sampling_interval_ms=sampling_interval_ms,
        findings=findings,
        rules={
            result.id: RuleEntry(
                status=result.status, reason=result.reason, file=f"{result.id}.json"
            )
            for result in results
        },
        data_quality=data_quality(notes),
        versions=packages(),
        profiling=profiling,
        recording=recording,
        setup=setup,
        figures=figures_of(by_id, data=data, setup=setup, status=status),
        results=by_id,
        contents=files,
    )


def data_quality(notes: Sequence[SourceNote]) -> DataQuality:
    """Return every counter (0 where nothing was counted) and the remarks with words.

    A file that several parts were read from counts once, and what is said of it is said once.
    """
    counters = {
        quality.value: sum(note.counts.get(quality, 0) for note in notes) for quality in Quality
    }
    n_read = {
        note.path or place: note.counts[Quality.FILES_READ]
        for place, note in enumerate(notes)
        if Quality.FILES_READ in note.counts
    }
    counters[Quality.FILES_READ.value] = sum(n_read.values())
    remarks = dict.fromkeys(
        QualityNote(text=note.text, path=note.path) for note in notes if note.text
    )
    return DataQuality(counters=counters, notes=tuple(remarks))
