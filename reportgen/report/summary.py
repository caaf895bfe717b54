"""What is said of a job as a whole: its kind of data, its phases in time, the first finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from reportgen.diagnosis import severity_rank, share_of
from reportgen.report.model import JobSummary, RankedFinding
from reportgen.results import Cause, ReasonCode, RuleId, RuleResult, Severity, Status
from reportgen.units import iso_utc, percentages, seconds

_STEPS = RuleId("StepOutlier")
_OF_TRACES = tuple(map(RuleId, ("GPUActivity", "StepTime")))
"""Rules that read kernel traces alone. Reports of old versions list them, skipped, for any job."""


class DataKind(StrEnum):
    """The richest kind of data that was recorded of a job."""

    TRACES = "kernel traces"
    EVENTS = "framework events"
    SAMPLES = "system metrics"
    IMPORTED = "results of SageMaker's rules"


def data_kind(results: Mapping[RuleId, RuleResult]) -> DataKind:
    """Return the kind of data behind the results of a job."""
    if any(
        result.reason and result.reason.code is ReasonCode.IMPORTED for result in results.values()
    ):
        return DataKind.IMPORTED
    traced = [results[rule_id] for rule_id in _OF_TRACES if rule_id in results]
    steps = results.get(_STEPS)
    if traced and (steps is None or any(result.status is not Status.SKIPPED for result in traced)):
        return DataKind.TRACES
    has_steps = steps is not None and (steps.data or steps.metrics.get("steps"))
    return DataKind.EVENTS if has_steps else DataKind.SAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """First and last instants of one part of a job, ns UTC; ``None`` where nothing was seen.

    ``first_ns`` and ``last_ns`` are those of samples; the events' count where there are none, and
    those of Python profiles where there is neither. The use of memory is that of the last sample
    of a host, and of its fullest GPU.
    """

    first_ns: int | None = None
    last_ns: int | None = None
    first_event_ns: int | None = None
    last_event_ns: int | None = None
    first_step_ns: int | None = None
    last_step_ns: int | None = None
    first_profile_ns: int | None = None
    last_profile_ns: int | None = None
    last_host_memory_pct: float | None = None
    last_gpu_memory_pct: float | None = None


def join_extents(extents: Sequence[Extent]) -> Extent:
    """Return the extent that covers all of them."""
    ends: dict[str, Any] = {}
    for name in (item.name for item in fields(Extent)):
        known = [end for extent in extents if (end := getattr(extent, name)) is not None]
        choose = min if name.startswith("first") else max
        ends[name] = choose(known, default=None)
    return Extent(**ends)


def summarize(extent: Extent) -> JobSummary:
    """Return the summary of a job.

    A loop that begins before the first sample or ends after the last one makes its neighbour 0,
    never negative (docs/rules.md, Job summary).
    """
    first_ns, last_ns = extent.first_ns, extent.last_ns
    if first_ns is None or last_ns is None:
        first_ns, last_ns = extent.first_event_ns, extent.last_event_ns
    if first_ns is None or last_ns is None:
        first_ns, last_ns = extent.first_profile_ns, extent.last_profile_ns
    if first_ns is None or last_ns is None:
        return JobSummary()
    summary = JobSummary(
        start_time=iso_utc(first_ns),
        end_time=iso_utc(last_ns),
        job_duration_in_seconds=seconds(last_ns - first_ns),
        host_memory_at_end_pct=_rounded(extent.last_host_memory_pct),
        gpu_memory_at_end_pct=_rounded(extent.last_gpu_memory_pct),
    )
    loop_start_ns, loop_end_ns = extent.first_step_ns, extent.last_step_ns
    if loop_start_ns is None or loop_end_ns is None:
        return summary
    before_s = seconds(max(loop_start_ns - first_ns, 0))
    loop_s = seconds(loop_end_ns - loop_start_ns)
    after_s = seconds(max(last_ns - loop_end_ns, 0))
    shares = percentages((before_s, loop_s, after_s), decimals=1)
    return replace(
        summary,
        training_loop_start=iso_utc(loop_start_ns),
        training_loop_end=iso_utc(loop_end_ns),
        training_loop_duration_in_seconds=loop_s,
        initialization_in_seconds=before_s,
        finalization_in_seconds=after_s,
        initialization_pct=shares[0],
        training_loop_pct=shares[1],
        finalization_pct=shares[2],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def rank_findings(results: Sequence[RuleResult]) -> tuple[RankedFinding, ...]:
    """Return the findings of all rules, most important first.

    Order: missing data before what is made of the rest; faults before readings; causes before
    symptoms, as mending a cause is what helps; severity; recoverable share of the time (largest
    first; none counts as 0); for results that SageMaker computed the share of the datapoints; the
    order of the rules and of their findings.
    Counters of different rules are never compared: their units differ (docs/rules.md, Counters).
    """
    ranked = [
        RankedFinding(rule=result.id, finding=finding)
        for result in results
        for finding in result.findings
    ]

    imported = {
        result.id
        for result in results
        if result.reason and result.reason.code is ReasonCode.IMPORTED
    }

    def importance(item: RankedFinding) -> tuple[bool, bool, bool, int, float, float]:
        finding = item.finding
        is_info = finding.severity is Severity.INFO
        seen_pct = finding.measured or 0.0 if item.rule in imported else 0.0
        is_data = finding.cause == Cause.NOT_RECORDED
        return (
            not is_data,
            is_info,
            bool(finding.symptom_of),
            severity_rank(finding),
            -share_of(finding),
            -seen_pct,
        )

    return tuple(sorted(ranked, key=importance))
