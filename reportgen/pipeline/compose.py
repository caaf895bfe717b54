"""From the measurements of all parts to the report of what was read and what the rules say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reportgen.pipeline.measuring import MeasuringTask, Outcome
from reportgen.pipeline.options import Options, Watcher, timed
from reportgen.pipeline.ranks import clock_of, extent_of_job, notes_on_ranks
from reportgen.pipeline.work import LOST_KERNELS, Measured, setup_of_job
from reportgen.profile import JobProfile, SourceNote
from reportgen.recorded_job import RecordedNode, Recording
from reportgen.report import JobHeader, JobStatus, Report, summarize
from reportgen.report.compose import compose
from reportgen.results import RuleId, RuleResult
from reportgen.rules.runner import judge_each
from reportgen.storage import DescribedJob
from reportgen.units import NS_PER_MS, NS_PER_S


def compose_report(
    job: JobProfile,
    measured: Sequence[Measured],
    results: Sequence[RuleResult],
    *,
    contents: Mapping[RuleId, bytes] | None = None,
    range_text: str | None = None,
    is_watched: bool = False,
    described: DescribedJob | None = None,
) -> Report:
    """Return the report of a job: summary, ranked findings, data quality, results.

    ``contents`` are the files of results, where they were written already. ``range_text`` says to
    what the input was cut, if it was. A job that is watched and has no end marker is running;
    ``described`` is what SageMaker says of a job that was named.
    """
    notes = [*job.notes, *(note for part in measured for note in part.notes)]
    monitored = [part.monitoring for part in measured if part.monitoring is not None]
    is_finished = job.info.is_finished and all(it.is_ended is not False for it in monitored)
    recording = job.recording or _recording_of(measured)
    is_running = is_watched and not is_finished
    status = _status(
        recording,
        described,
        is_running=is_running,
        is_finished=is_finished and all(it.is_ended for it in monitored),
        is_excerpt=all(part.rank is not None for part in measured),
    )
    if not is_finished and not is_running:
        notes.append(
            SourceNote(
                text="No end marker was found: the job may still be running, or was stopped."
            )
        )
    if range_text:
        text = (
            f"The input was cut: {range_text}. Samples outside were left out; events that overlap "
            "the range count with their full length."
        )
        notes.insert(0, SourceNote(text=text))
    notes[:0] = notes_on_ranks(measured)
    notes.sort(key=lambda note: not note.text.startswith(LOST_KERNELS))
    summary = summarize(extent_of_job(measured))
    header = JobHeader(
        name=job.info.name,
        source=job.info.source,
        clock=clock_of(job, measured).value,
        range=range_text,
        running_until=None if is_finished else summary.end_time,
    )
    is_traced = any(part.rank is not None for part in measured)
    setup = setup_of_job([part.setup for part in measured], recording, is_traced=is_traced)
    return compose(
        header,
        results,
        contents=contents or {},
        summary=summary,
        nodes=tuple(part.node for part in measured),
        notes=notes,
        sampling_interval_ms=_interval_ms(part.interval_ns for part in measured),
        profiling=job.profiling,
        recording=recording,
        setup=replace(setup, instance_type=described.instance_type if described else ""),
        status=status,
    )


def _recording_of(parts: Sequence[Measured]) -> Recording | None:
    """Return how another monitor recorded the nodes of a job; ``None`` where none did."""
    monitored = [(part, part.monitoring) for part in parts if part.monitoring is not None]
    if not monitored:
        return None
    return Recording(
        nodes=tuple(
            RecordedNode(
                node=part.node,
                gpus=monitoring.gpus,
                interval_s=None if part.interval_ns is None else part.interval_ns / NS_PER_S,
            )
            for part, monitoring in monitored
        ),
        exit_codes=tuple(it.exit_code for _, it in monitored if it.exit_code is not None),
        monitored_by=monitored[0][1].source,
    )


def _status(
    recording: Recording | None,
    described: DescribedJob | None,
    *,
    is_running: bool,
    is_finished: bool,
    is_excerpt: bool,
) -> JobStatus:
    """Return the status of a job: from SageMaker, or from end marker and recorder.

    Kernel traces alone are an excerpt of a job: how it ended, they do not say.
    """
    if described is not None and described.status in set(JobStatus):
        return JobStatus(described.status)
    if is_running:
        return JobStatus.IN_PROGRESS
    if recording is not None and any(recording.exit_codes):
        return JobStatus.FAILED
    if is_excerpt and recording is None:
        return JobStatus.UNKNOWN
    return JobStatus.COMPLETED if is_finished else JobStatus.UNKNOWN


def _interval_ms(intervals_ns: Iterable[int | None]) -> int | None:
    known = sorted(value for value in intervals_ns if value is not None)
    return known[len(known) // 2] // NS_PER_MS if known else None


def judge(work: MeasuringTask, outcome: Outcome, options: Options, watcher: Watcher) -> Report:
    """Return the report of what the rules say, without its timeline."""
    measured, missing = outcome
    with timed(watcher, "rules") as step:
        judged = list(judge_each([part.measurements for part in measured], work.rules, work.params))
        report = compose_report(
            replace(work.job, notes=(*work.job.notes, *missing)),
            measured,
            [each.result for each in judged],
            contents={each.result.id: each.content for each in judged},
            range_text=work.range_text,
            is_watched=options.source is not None,
            described=options.described,
        )
        step.text = f"judged {len(judged)} rules with {len(report.findings)} findings"
    return report
