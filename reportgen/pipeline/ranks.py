"""Ranks beside nodes: on one time axis where clocks allow it, and what to say if not."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.pipeline.work import Measured
from reportgen.profile import Clock, JobProfile, SourceNote
from reportgen.report import Extent, join_extents
from reportgen.units import iso_utc, say_count

_MOST_NAMED = 8


def clock_of(job: JobProfile, measured: Sequence[Measured]) -> Clock:
    """Return the job's clock: that of its nodes, or of its ranks where there are no nodes."""
    if any(part.rank is None for part in measured):
        return job.info.clock
    has_wall_clock = all(part.clock is Clock.UNIX for part in measured if _has_events(part))
    return Clock.UNIX if has_wall_clock else Clock.RELATIVE


def extent_of_job(measured: Sequence[Measured]) -> Extent:
    """Return when a job ran: its nodes say it, its ranks only where there are no nodes.

    A trace holds the few steps that were profiled: they are not the training loop of a job that
    was also sampled. Traces without a common clock give the longest of them.
    """
    nodes = [part for part in measured if part.rank is None]
    on_wall_clock = [part.extent for part in nodes if part.clock is Clock.UNIX]
    if nodes:
        return join_extents(on_wall_clock or [part.extent for part in nodes])
    ranks = [part for part in measured if _has_events(part)]
    if all(part.clock is Clock.UNIX for part in ranks):
        return join_extents([part.extent for part in ranks])
    return max((part.extent for part in ranks), key=_length_ns, default=Extent())


def notes_on_ranks(measured: Sequence[Measured]) -> list[SourceNote]:
    """Return remarks on which traces were read, and on what their clocks say."""
    ranks = [part for part in measured if part.rank is not None and _has_events(part)]
    if not ranks:
        return []
    traces = "trace was" if len(ranks) == 1 else "traces were"
    text = f"{say_count(len(ranks))} kernel {traces} read: {_names(ranks)}."
    return [SourceNote(text=text), *_notes_on_clocks(measured, ranks)]


def _notes_on_clocks(measured: Sequence[Measured], ranks: Sequence[Measured]) -> list[SourceNote]:
    """Say which traces have no wall clock, or lie apart in time."""
    nodes = join_extents([part.extent for part in measured if part.rank is None])
    without = [part for part in ranks if part.clock is Clock.RELATIVE]
    if without:
        have = "1 trace has" if len(without) == 1 else f"{say_count(len(without))} traces have"
        text = f"{have} no wall clock: times are counted from the start of each trace."
        return [SourceNote(text=text)]
    return [*_apart(ranks), *_outside_samples(ranks, nodes)]


def _apart(ranks: Sequence[Measured]) -> list[SourceNote]:
    """Say when no instant is in all traces."""
    starts = [(part.extent.first_event_ns or 0, part) for part in ranks]
    ends = [(part.extent.last_event_ns or 0, part) for part in ranks]
    if len(ranks) < 2:
        return []
    last_start_ns, late = max(starts, key=lambda item: item[0])
    first_end_ns, early = min(ends, key=lambda item: item[0])
    if last_start_ns <= first_end_ns:
        return []
    text = (
        f"The traces were not recorded at the same time: {early.node} ends at "
        f"{iso_utc(first_end_ns)}, {late.node} begins at {iso_utc(last_start_ns)}. They may be of "
        "different runs; figures over all ranks mix them."
    )
    return [SourceNote(text=text)]


def _outside_samples(ranks: Sequence[Measured], nodes: Extent) -> list[SourceNote]:
    """Say when traces and system metrics do not overlap."""
    first_ns, last_ns = nodes.first_ns, nodes.last_ns
    if first_ns is None or last_ns is None:
        return []
    outside = [part for part in ranks if not _overlap(part.extent, first_ns, last_ns)]
    if not outside:
        return []
    text = (
        f"The kernel traces of {_names(outside)} lie outside the time of the system metrics "
        f"({iso_utc(first_ns)} to {iso_utc(last_ns)}): they may be of another run."
    )
    return [SourceNote(text=text)]


def _names(parts: Sequence[Measured]) -> str:
    listed = ", ".join(part.node for part in parts[:_MOST_NAMED])
    more = len(parts) - _MOST_NAMED
    return f"{listed} and {say_count(more)} more" if more > 0 else listed


def _overlap(extent: Extent, first_ns: int, last_ns: int) -> bool:
    return (extent.last_event_ns or 0) >= first_ns and (extent.first_event_ns or 0) <= last_ns


def _has_events(part: Measured) -> bool:
    return part.extent.first_event_ns is not None


def _length_ns(extent: Extent) -> int:
    return (extent.last_event_ns or 0) - (extent.first_event_ns or 0)
