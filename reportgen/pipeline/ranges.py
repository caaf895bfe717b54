"""A job cut to the range that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen.arrays import Instants
from reportgen.errors import LocationError
from reportgen.intake import cut_job, read
from reportgen.pipeline.measuring import MeasuringTask
from reportgen.pipeline.options import Watcher, timed
from reportgen.pipeline.wanted import Wanted
from reportgen.profile import NO_STEP, JobProfile, NodeProfile, PartRef, SpanTable, TimeRange

StepTimes = tuple[Instants, Instants, Instants]
"""Number, start and end of some steps, (n,) each, ns UTC."""


def cut(work: MeasuringTask, wanted: Wanted | None, watcher: Watcher) -> MeasuringTask:
    """Return the work on the range that was asked for."""
    if wanted is None:
        return work
    with timed(watcher, "range") as step:
        job, range_text = apply_range(work.job, wanted)
        step.text = f"cut to {range_text}"
    return replace(work, job=job, range_text=range_text)


def apply_range(job: JobProfile, wanted: Wanted) -> tuple[JobProfile, str]:
    """Return the job cut to a range, and the range in words.

    Steps are looked up in the events of all nodes and ranks, which are read once more for that. A
    rank is cut by its own steps: clocks differ.
    """
    if wanted.steps is None:
        assert wanted.time is not None
        return cut_job(job, wanted.time), wanted.time.text
    first, last = wanted.steps
    found = [_steps_of(part) for part in job.parts]
    kept = range_of_steps(found, first=first, last=last)
    parts = list(cut_job(job, kept).parts)
    for place, (number, start_ns, end_ns) in enumerate(found):
        is_own = (number >= (first or 0)) & (number <= (number if last is None else last))
        if parts[place].rank is not None and is_own.any():
            node_range = TimeRange(
                from_ns=int(start_ns[is_own].min()), to_ns=int(end_ns[is_own].max())
            )
            parts[place] = replace(parts[place], kept=node_range)
    begin = "the first step" if first is None else f"step {first}"
    end = "the last step" if last is None else f"step {last}"
    return replace(job, parts=tuple(parts)), f"{begin} to {end}, {kept.text}"


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


def _steps_of(part: PartRef) -> StepTimes:
    whole = read(part)
    if isinstance(whole, NodeProfile):
        return numbered_steps(whole.spans)
    steps, origin_ns = whole.steps, whole.origin_ns
    return steps.number, origin_ns + steps.start_ns, origin_ns + steps.end_ns
