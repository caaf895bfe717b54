"""The job in time: initialization, training loop, finalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from reportgen.report.model import JobSummary
from reportgen.units import iso_utc, percentages, seconds


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
