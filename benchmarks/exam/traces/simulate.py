"""Run a job on simulated ranks, and say how long it takes with a fault and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchmarks.exam.traces import eager, serving, sharded
from benchmarks.exam.traces.clock import Clock, Meeting, Recorder
from benchmarks.exam.traces.faults import Fault, Kind
from benchmarks.exam.traces.plan import START_US, Family, Job, clocks_of

PROGRAMS: dict[Family, Callable[[Clock, Job], Meeting]] = {
    Family.EAGER: eager.program,
    Family.SHARDED: sharded.program,
    Family.SERVING: serving.program,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a planted fault costs.

    Attributes:
        share: of the time the recorded steps take less without it, mean of the ranks.
        reach_us: from when to when it is; ``None`` for the whole recording.
    """

    fault: Fault
    share: float
    reach_us: tuple[float, float] | None


def simulate(job: Job, recorders: Sequence[Recorder] = ()) -> list[Clock]:
    """Run all ranks from collective to collective; return their final states."""
    clocks = clocks_of(job.plan)
    for clock, recorder in zip(clocks, recorders, strict=False):
        clock.record = recorder
    programs = [PROGRAMS[job.plan.family](clock, job) for clock in clocks]
    arrivals = [_advance(program, None) for program in programs]
    while None not in arrivals:
        last_us = max(each for each in arrivals if each is not None)
        arrivals = [_advance(program, last_us) for program in programs]
    return clocks


def _advance(program: Meeting, last_us: float | None) -> float | None:
    """Run a rank to its next collective; ``None`` when it is done."""
    try:
        return next(program) if last_us is None else program.send(last_us)
    except StopIteration:
        return None


def length_us(job: Job, clocks: Sequence[Clock] | None = None) -> float:
    """Return how long the recorded steps take, added up over the ranks.

    Without steps it is from the first to the last GPU operation, as the report has it.
    """
    ranks = simulate(job) if clocks is None else clocks
    if job.plan.family is Family.SERVING:
        return sum(clock.last_us - (clock.first_us or 0.0) for clock in ranks)
    offsets_us = job.plan.offsets_us or (0.0,) * job.plan.n_ranks
    return sum(
        clock.last_us - START_US - offset_us
        for clock, offset_us in zip(ranks, offsets_us, strict=True)
    )


def without(job: Job, fault: Fault) -> Job:
    """Return the same job with one fault mended; all draws stay."""
    faults = tuple(replace(each, is_mended=True) if each == fault else each for each in job.faults)
    return replace(job, faults=faults)


def share_of(job: Job, fault: Fault) -> float:
    """Return by which share the time becomes less if this fault alone is mended."""
    return 1.0 - length_us(without(job, fault)) / length_us(job)


def truths_of(job: Job) -> tuple[Truth, ...]:
    """Return what each planted fault costs, and when it is."""
    clocks = simulate(job)
    return tuple(
        Truth(fault=fault, share=share_of(job, fault), reach_us=_reach_us(fault, clocks))
        for fault in job.faults
    )


def _reach_us(fault: Fault, clocks: Sequence[Clock]) -> tuple[float, float] | None:
    """Return when a fault that happens once was."""
    mark = {Kind.LONG_GAP: "gap", Kind.FIRST_USE: "first"}.get(fault.kind)
    if mark is None:
        return None
    return next((clock.marks_us[mark] for clock in clocks if mark in clock.marks_us), None)
