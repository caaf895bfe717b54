"""From the measurements of all parts to the report of what was read and what the rules say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reportgen import report
from reportgen.diagnosis import diagnose
from reportgen.engine.software import packages
from reportgen.formats import printable
from reportgen.pipeline.measuring import MeasuringTask, Outcome
from reportgen.pipeline.options import Options, Watcher, timed
from reportgen.pipeline.ranks import clock_of, extent_of_job, notes_on_ranks
from reportgen.pipeline.work import LOST_KERNELS, Measured, setup_of_job
from reportgen.profile import JobProfile, Quality, SourceNote
from reportgen.profiler_config import Profiling
from reportgen.recorded_job import RecordedNode, Recording
from reportgen.report import Figures, JobStatus, Report, Setup, codec, data_kind
from reportgen.report.steps import cycle_ns, training_tables
from reportgen.results import RuleId, RuleResult
from reportgen.results.codec import encode
from reportgen.results.packed_columns import unpack
from reportgen.rules.runner import judge_each
from reportgen.storage import DescribedJob
from reportgen.units import NS_PER_MS, NS_PER_S, S_PER_HOUR, US_PER_S

_LONGEST_SOURCE = 4_096
"""Characters of a path. Source: PATH_MAX of Linux."""


def compose_report(
    job: JobProfile,
    measured: Sequence[Measured],
    results: Sequence[RuleResult],
    *,
    contents: Mapping[RuleId, bytes] | None = None,
    range_text: str | None = None,
    is_watched: bool = False,
    described: DescribedJob | None = None,
) -> report.Report:
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
    extent = extent_of_job(measured)
    header = report.JobHeader(
        name=job.info.name,
        source=job.info.source,
        clock=clock_of(job, measured).value,
        range=range_text,
        running_until=None if is_finished else report.summarize(extent).end_time,
    )
    return compose(
        header,
        results,
        contents=contents or {},
        extent=extent,
        nodes=tuple(part.node for part in measured),
        notes=notes,
        sampling_interval_ms=_interval_ms(part.interval_ns for part in measured),
        profiling=job.profiling,
        recording=recording,
        setup=replace(
            setup_of_job(
                [part.setup for part in measured],
                recording,
                is_traced=any(part.rank is not None for part in measured),
            ),
            instance_type=described.instance_type if described is not None else "",
        ),
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
) -> report.JobStatus:
    """Return the status of a job: from SageMaker, or from end marker and recorder.

    Kernel traces alone are an excerpt of a job: how it ended, they do not say.
    """
    if described is not None and described.status in set(report.JobStatus):
        return report.JobStatus(described.status)
    if is_running:
        return report.JobStatus.IN_PROGRESS
    if recording is not None and any(recording.exit_codes):
        return report.JobStatus.FAILED
    if is_excerpt and recording is None:
        return report.JobStatus.UNKNOWN
    return report.JobStatus.COMPLETED if is_finished else report.JobStatus.UNKNOWN


def compose(
    job: report.JobHeader,
    results: Sequence[RuleResult],
    *,
    contents: Mapping[RuleId, bytes],
    extent: report.Extent,
    nodes: tuple[str, ...],
    notes: Sequence[SourceNote],
    sampling_interval_ms: int | None = None,
    profiling: Profiling | None = None,
    recording: Recording | None = None,
    setup: report.Setup | None = None,
    status: report.JobStatus = report.JobStatus.UNKNOWN,
) -> report.Report:
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
    setup = setup or report.Setup()
    setup = replace(setup, batch_size=asked_batch_size(results) or setup.batch_size)
    return report.Report(
        report_id=codec.report_id(files.values()),
        job=replace(
            job, name=printable(job.name), source=printable(job.source, most=_LONGEST_SOURCE)
        ),
        summary=report.summarize(extent),
        nodes=nodes,
        sampling_interval_ms=sampling_interval_ms,
        findings=report.rank_findings(results),
        rules={
            result.id: report.RuleEntry(
                status=result.status, reason=result.reason, file=f"{result.id}.json"
            )
            for result in results
        },
        data_quality=data_quality(notes),
        versions=packages(),
        profiling=profiling,
        recording=recording,
        setup=setup,
        figures=figures_of(results, setup=setup, status=status),
        results={result.id: result for result in results},
        contents=files,
    )


def data_quality(notes: Sequence[SourceNote]) -> report.DataQuality:
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
        report.QualityNote(text=note.text, path=note.path) for note in notes if note.text
    )
    return report.DataQuality(counters=counters, notes=tuple(remarks))


def _interval_ms(intervals_ns: Iterable[int | None]) -> int | None:
    known = sorted(value for value in intervals_ns if value is not None)
    return known[len(known) // 2] // NS_PER_MS if known else None


def judge(work: MeasuringTask, outcome: Outcome, options: Options, watcher: Watcher) -> Report:
    """Return the report of what the rules say, without its timeline."""
    measured, missing = outcome
    with timed(watcher, "rules") as step:
        measurements = [part.measurements for part in measured]
        judged = list(judge_each(measurements, work.rules, work.params))
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


_BUDGET, _STEPS, _TRACED_STEPS, _EFFICIENCY = map(
    RuleId, ("GPUTimeBudget", "StepOutlier", "StepTime", "Efficiency")
)


def figures_of(results: Sequence[RuleResult], *, setup: Setup, status: JobStatus) -> Figures:
    """Return the figures of a job's results."""
    by_id = {result.id: result for result in results}
    budget, steps = _metrics(by_id, _BUDGET), _metrics(by_id, _STEPS)
    p50_s, steps_per_s = steps.get("step_p50_s"), steps.get("steps_per_s")
    traced = _metrics(by_id, _TRACED_STEPS)
    traced_us, on_gpu_us = traced.get("step_p50_us"), traced.get("step_gpu_span_p50_us")
    tables = training_tables(results)
    medians_s = [float(np.median(cycle_ns(unpack(table)))) / NS_PER_S for table in tables]
    period_s = float(np.median(medians_s)) if medians_s else None
    if traced_us:  # the periods of a trace hold the time between its steps
        p50_s, steps_per_s = traced_us / US_PER_S, US_PER_S / traced_us
        period_s = p50_s
    samples = setup.samples_per_step
    idle = budget.get("gpu_idle_ratio")
    gpu_s = _gpu_seconds(by_id.get(_BUDGET))
    return Figures(
        data=data_kind(by_id).value,
        status=status,
        step_p50_s=p50_s,
        step_period_p50_s=period_s,
        step_gpu_span_p50_s=None if on_gpu_us is None else on_gpu_us / US_PER_S,
        steps_per_s=steps_per_s,
        samples_per_s=samples * steps_per_s if samples and steps_per_s else None,
        gpu_busy_ratio=budget.get("gpu_busy_ratio"),
        mfu_ratio=_metrics(by_id, _EFFICIENCY).get("mfu_ratio"),
        wasted_gpu_hours=None if idle is None or gpu_s is None else idle * gpu_s / S_PER_HOUR,
        wasted_usd=budget.get("gpu_idle_usd"),
    )


def asked_batch_size(results: Sequence[RuleResult]) -> int | None:
    """Return the batch size passed as a parameter, which takes precedence over a recorded one."""
    sizes = (result.params.get("batch_size") for result in results if result.id == _STEPS)
    return next((size for size in sizes if isinstance(size, int)), None)


def _metrics(results: Mapping[RuleId, RuleResult], rule_id: RuleId) -> Mapping[str, float]:
    result = results.get(rule_id)
    metrics = result.metrics if result is not None else {}
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def _gpu_seconds(budget: RuleResult | None) -> float | None:
    """Return the time of all GPUs that the budget divides."""
    exhibit = budget.exhibit("budget") if budget is not None else None
    if exhibit is None:
        return None
    (time_s,) = (column.values for column in exhibit.columns if column.name == "gpu_s")
    return sum(value for value in time_s if isinstance(value, float))
