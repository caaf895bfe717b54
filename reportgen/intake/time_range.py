"""Cut a job to a range of time: samples inside it, events that overlap it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen.arrays import Instants
from reportgen.errors import LocationError
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.intake.ticks import Rows
from reportgen.profile import NO_STEP, JobProfile, SpanTable, SystemTable, TimeRange
from reportgen.units import NS_PER_S, NS_PER_US


def cut_rows(rows: Rows, kept: TimeRange) -> Rows:
    """Return the samples in a range, both ends included."""
    inside = np.ones(rows.time_us.shape, dtype=np.bool_)
    if kept.from_ns is not None:
        inside &= rows.time_us >= -(-kept.from_ns // NS_PER_US)
    if kept.to_ns is not None:
        inside &= rows.time_us <= kept.to_ns // NS_PER_US
    return rows if inside.all() else rows.where(inside)


def cut_spans(spans: SpanTable, kept: TimeRange) -> SpanTable:
    """Return the events that overlap a range, each with its full length."""
    inside = np.ones(spans.start_ns.shape, dtype=np.bool_)
    if kept.from_ns is not None:
        inside &= spans.end_ns >= kept.from_ns
    if kept.to_ns is not None:
        inside &= spans.start_ns <= kept.to_ns
    return spans if inside.all() else spans.where(inside)


def uncut_extent(system: SystemTable, files: Sequence[SystemFile]) -> SystemTable:
    """Return a table that says when its node ran, from the names of all its files.

    Which events can belong to a job depends on the whole job, not on what is cut out of it.
    """
    if not files:
        return system
    first_s = min(file.minute_s for file in files)
    end_s = max(file.minute_s + file.length_s for file in files)
    return replace(system, first_ns=first_s * NS_PER_S, last_ns=end_s * NS_PER_S - 1)


StepTimes = tuple[Instants, Instants, Instants]
"""Number, start and end of some steps, (n,) each, ns UTC."""


def numbered_steps(spans: SpanTable) -> StepTimes:
    """Return the steps of a node that have a number."""
    steps = spans.steps()
    steps = steps.where(steps.step != NO_STEP)
    return steps.step, steps.start_ns, steps.end_ns


def range_of_steps(parts: Sequence[StepTimes], *, first: int | None, last: int | None) -> TimeRange:
    """Return the time from the start of the first to the end of the last wanted step, included.

    ``parts`` are all steps of each node or rank; ``None`` is the first or the last step.

    Raises:
        LocationError: the job has no such step; the message says which it has.
    """
    numbers: list[int] = []
    starts_ns: list[int] = []
    ends_ns: list[int] = []
    for step, start_ns, end_ns in parts:
        if step.size:
            numbers += [int(step.min()), int(step.max())]
        wanted = np.ones(step.shape, dtype=np.bool_)
        if first is not None:
            wanted &= step >= first
        if last is not None:
            wanted &= step <= last
        if wanted.any():
            starts_ns.append(int(start_ns[wanted].min()))
            ends_ns.append(int(end_ns[wanted].max()))
    if not starts_ns:
        seen = f"its steps are {min(numbers)} to {max(numbers)}" if numbers else "it has no steps"
        wish = f"{'' if first is None else first}:{'' if last is None else last}"
        raise LocationError(f"The job has no step in --steps {wish}: {seen}.")
    return TimeRange(from_ns=min(starts_ns), to_ns=max(ends_ns))


def cut_job(job: JobProfile, kept: TimeRange) -> JobProfile:
    """Return a job of which only a range will be read."""
    return replace(job, parts=tuple(replace(part, kept=kept) for part in job.parts))
