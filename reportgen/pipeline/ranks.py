"""Ranks beside nodes: on one time axis where clocks allow it, and what to say if not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportgen.pipeline.work import Measured
from reportgen.profile import Clock, JobProfile, SourceNote
from reportgen.report import Extent, join_extents
from reportgen.text import list_names, plural
from reportgen.units import iso_utc

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
    longest = max(ranks, key=lambda part: _last_ns(part) - _first_ns(part), default=None)
    return longest.extent if longest else Extent()


def notes_on_ranks(measured: Sequence[Measured]) -> list[SourceNote]:
    """Return remarks on which traces were read, and on what their clocks say."""
    ranks = [part for part in measured if part.rank is not None and _has_events(part)]
    if not ranks:
        return []
    were = plural(len(ranks), "kernel trace was", "kernel traces were")
    read = f"{were} read: {_names(ranks)}."
    nodes = join_extents([part.extent for part in measured if part.rank is None])
    return [SourceNote(text=text) for text in (read, *_on_clocks(ranks, nodes))]


def _on_clocks(ranks: Sequence[Measured], nodes: Extent) -> Iterator[str]:
    """Yield which traces have no wall clock, or lie apart in time."""
    n_without = sum(part.clock is Clock.RELATIVE for part in ranks)
    if n_without:
        have = plural(n_without, "trace has", "traces have")
        yield f"{have} no wall clock: times are counted from the start of each trace."
        return
    late, early = max(ranks, key=_first_ns), min(ranks, key=_last_ns)
    if _first_ns(late) > _last_ns(early) and len(ranks) > 1:
        yield (
            f"The traces were not recorded at the same time: {early.node} ends at "
            f"{iso_utc(_last_ns(early))}, {late.node} begins at {iso_utc(_first_ns(late))}. They "
            "may be of different runs, or of hosts whose clocks differ; figures over all ranks mix "
            "them."
        )
    first_ns, last_ns = nodes.first_ns, nodes.last_ns
    if first_ns is None or last_ns is None:
        return
    outside = [part for part in ranks if _last_ns(part) < first_ns or _first_ns(part) > last_ns]
    if outside:
        yield (
            f"The kernel traces of {_names(outside)} lie outside the time of the system metrics "
            f"({iso_utc(first_ns)} to {iso_utc(last_ns)}): they may be of another run."
        )


def _names(parts: Sequence[Measured]) -> str:
    return list_names([part.node for part in parts], most=_MOST_NAMED)


def _has_events(part: Measured) -> bool:
    return part.extent.first_event_ns is not None


def _first_ns(part: Measured) -> int:
    return part.extent.first_event_ns or 0


def _last_ns(part: Measured) -> int:
    return part.extent.last_event_ns or 0
