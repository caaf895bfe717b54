"""A job cut to the range that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.arrays import Instants
from reportgen.errors import LocationError
from reportgen.intake import cut_job, read
from reportgen.merging import greatest, least
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
    parts = tuple(
        replace(part, kept=kept if part.rank is None else _time_of(steps, first, last) or kept)
        for part, steps in zip(job.parts, found, strict=True)
    )
    begin = "the first step" if first is None else f"step {first}"
    end = "the last step" if last is None else f"step {last}"
    return replace(job, parts=parts), f"{begin} to {end}, {kept.text}"


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
    known = [kept for steps in parts if (kept := _time_of(steps, first, last))]
    if not known:
        numbers = [one for number, *_ in parts for one in number.tolist()]
        seen = f"its steps are {min(numbers)} to {max(numbers)}" if numbers else "it has no steps"
        wish = f"{'' if first is None else first}:{'' if last is None else last}"
        raise LocationError(f"The job has no step in --steps {wish}: {seen}.")
    return TimeRange(
        from_ns=least(kept.from_ns for kept in known), to_ns=greatest(kept.to_ns for kept in known)
    )


def _time_of(steps: StepTimes, first: int | None, last: int | None) -> TimeRange | None:
    """Return the time of the wanted ones of some steps, ``None`` without any."""
    number, start_ns, end_ns = steps
    is_wanted = number >= (number if first is None else first)
    is_wanted &= number <= (number if last is None else last)
    if not is_wanted.any():
        return None
    return TimeRange(from_ns=int(start_ns[is_wanted].min()), to_ns=int(end_ns[is_wanted].max()))


def _steps_of(part: PartRef) -> StepTimes:
    whole = read(part)
    if isinstance(whole, NodeProfile):
        return numbered_steps(whole.spans)
    steps, origin_ns = whole.steps, whole.origin_ns
    return steps.number, origin_ns + steps.start_ns, origin_ns + steps.end_ns
