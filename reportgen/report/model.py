"""The saved report of one job: everything a page needs, and nothing of the raw data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reportgen.profiler_config import Profiling
from reportgen.recorded_job import Recording
from reportgen.results import Finding, Reason, RuleId, RuleResult, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeader:
    """Who the job is: its name, where its data came from, whether times are wall-clock times.

    ``range`` says in words to what the input was cut; ``None`` when it was not.
    ``running_until`` is the last instant of the data (ISO 8601, UTC) of a job without an end
    marker, which still runs or was stopped; ``None`` of one that ended.
    """

    name: str
    source: str
    clock: str
    range: str | None = None
    running_until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """The job in time, in the words of AWS's report; ``None`` where the input does not have it.

    Instants are ISO 8601 text in UTC, durations seconds, shares percentages that sum to 100.
    The training loop runs from the first start to the last end of the training steps. Memory at
    the end is that of the fullest host and GPU in the last sample of each node.
    """

    start_time: str | None = None
    end_time: str | None = None
    job_duration_in_seconds: float | None = None
    training_loop_start: str | None = None
    training_loop_end: str | None = None
    training_loop_duration_in_seconds: float | None = None
    initialization_in_seconds: float | None = None
    finalization_in_seconds: float | None = None
    initialization_pct: float | None = None
    training_loop_pct: float | None = None
    finalization_pct: float | None = None
    host_memory_at_end_pct: float | None = None
    gpu_memory_at_end_pct: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Hardware and software of the job, as far as they were recorded; else ``None``.

    Attributes:
        gpu_names: the distinct names of its GPUs, in order.
        n_gpus: GPUs that were sampled or traced.
        n_ranks: ranks of the job, whether recorded or not.
        instance_type: of SageMaker, where the job was named.
        batch_size: samples that one rank takes in a step.
        versions: of frameworks, CUDA and the like, by name.
    """

    gpu_names: tuple[str, ...] = ()
    n_gpus: int | None = None
    n_ranks: int | None = None
    instance_type: str = ""
    batch_size: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def samples_per_step(self) -> int | None:
        """Return the samples that all ranks take in a step."""
        return None if self.batch_size is None else self.batch_size * (self.n_ranks or 1)


class JobStatus(StrEnum):
    """How a job stands, in SageMaker's words."""

    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The few numbers by which many jobs are compared; ``None`` is what a report cannot say.

    Attributes:
        data: the kind of recording: ``kernel traces``, ``framework events``, ``system metrics``, or
            ``results of SageMaker's rules``.
        status: how the job stood when it was read.
        step_p50_s: median time of a training step, without the waiting between steps; of kernel
            traces the same as ``step_period_p50_s``.
        step_period_p50_s: median time from the start of a step to the start of the next one.
        step_gpu_span_p50_s: median time from the first GPU operation that a step launched to the
            end of its last one, from kernel traces.
        steps_per_s: training steps by the second, the time between them included.
        samples_per_s: samples of all ranks by the second, where the batch size is known.
        gpu_busy_ratio: share of the time of all GPUs in which they work.
        mfu_ratio: the operations of the model at the peak of the GPUs, as a share of the steps.
        wasted_gpu_hours: GPU time without work, from the GPU time budget.
        wasted_usd: its cost, where a price was given.
    """

    data: str
    status: JobStatus = JobStatus.UNKNOWN
    step_p50_s: float | None = None
    step_period_p50_s: float | None = None
    step_gpu_span_p50_s: float | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    gpu_busy_ratio: float | None = None
    mfu_ratio: float | None = None
    wasted_gpu_hours: float | None = None
    wasted_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFinding:
    """A finding and the rule that made it."""

    rule: RuleId
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """How one rule ended, and the file with its result (relative to ``report.json``)."""

    status: Status
    reason: Reason | None
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityNote:
    """One remark about the input. ``path`` is empty when it is about the whole job."""

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataQuality:
    """Counters and remarks from reading."""

    counters: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[QualityNote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """The file of the timeline beside ``report.json``, and its checksum."""

    file: str
    sha256: str
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``report.json`` and the results it names.

    Attributes:
        report_id: hash of the results; equal input gives an equal id.
        nodes: node names in numeric order.
        sampling_interval_ms: detected interval of the system metrics; ``None`` without any.
        findings: all findings, most important first.
        rules: how each rule ended, in the order of the report.
        profiling: configuration of the profiler; ``None`` where it is unknown.
        recording: how ``reportgen record`` or another monitor recorded the job; ``None`` when
            neither did.
        setup: hardware and software of the job; ``None`` in reports of versions before 1.0.
        figures: its most important numbers; ``None`` likewise.
        timeline: the file of the timeline; ``None`` where the report has none.
        results: the full result of each rule that is at hand.
        contents: the bytes of the file of each result, where the report was just made.
        timeline_data: the content of that file (docs/timeline-format.md); ``None`` where it is
            missing or damaged.
    """

    report_id: str
    job: JobHeader
    summary: JobSummary
    nodes: tuple[str, ...]
    sampling_interval_ms: int | None
    findings: tuple[RankedFinding, ...]
    rules: Mapping[RuleId, RuleEntry]
    data_quality: DataQuality
    versions: Mapping[str, str]
    profiling: Profiling | None = None
    recording: Recording | None = None
    setup: Setup | None = None
    figures: Figures | None = None
    timeline: TimelineEntry | None = None
    results: Mapping[RuleId, RuleResult] = field(default_factory=dict)
    contents: Mapping[RuleId, bytes] = field(default_factory=dict, repr=False, compare=False)
    timeline_data: bytes | None = field(default=None, repr=False)
