"""Which events can belong to a job: clocks that are off and durations that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.formats import Claim, FileEvents, Tally
from reportgen.profile import Clock, Quality, SystemTable
from reportgen.units import NS_PER_S, NS_PER_US

YEAR_2000_NS = 946_684_800 * NS_PER_S
"""Times before it are counted from something else than 1970. Source: ours."""

DAY_NS = 86_400 * NS_PER_S
"""Clocks further apart than this do not belong together. Source: ours."""

SLACK_NS = 300 * NS_PER_S
"""An event may be this much longer than the job was seen: sampling starts late. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """When a node was seen to run.

    Attributes:
        start_ns, end_ns: first and last sign of it; ``None`` when there is no wall clock.
        is_sampled: whether system metrics say so, and not only the events themselves.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    is_sampled: bool = False


def extent_of(system: SystemTable, claims: Sequence[Claim], files: Sequence[FileEvents]) -> Extent:
    """Return when a node ran, from its samples and the times its timelines were closed.

    Args:
        system: the node's samples.
        claims: of its timelines; the names hold the time of the last event.
        files: the same timelines; their base counts unless it lies a day before the end.
    """
    signs: list[int] = []
    for claimed, file in zip(claims, files, strict=True):
        closed_ns = claimed.stamp * NS_PER_US
        if not YEAR_2000_NS <= closed_ns < 4 * YEAR_2000_NS:
            continue
        signs.append(closed_ns)
        if file.base_ns is not None and 0 <= closed_ns - file.base_ns <= DAY_NS:
            signs.append(file.base_ns)
    if system.first_ns is None or system.last_ns is None:
        return Extent(start_ns=min(signs, default=None), end_ns=max(signs, default=None))
    first_ns, last_ns = system.first_ns, system.last_ns
    near = [sign for sign in signs if first_ns - DAY_NS <= sign <= last_ns + DAY_NS]
    return Extent(start_ns=min([first_ns, *near]), end_ns=max([last_ns, *near]), is_sampled=True)


def within(extent: Extent, clock: Clock, events: FileEvents, key: str, tally: Tally) -> FileEvents:
    """Return the events of a file that can belong to the job; count the others.

    Args:
        extent: when the node ran.
        clock: what the job's times are.
        events: of one file.
        key: the file's, for the tally.
        tally: counts events on another clock, of another time, or longer than the job.
    """
    start_ns, end_ns = events.start_ns, events.end_ns
    is_unix = start_ns >= YEAR_2000_NS
    is_placed = is_unix if clock is Clock.UNIX else ~is_unix
    _count(~is_placed, key, tally, _SAY_CLOCK)
    is_good = is_placed
    if clock is Clock.UNIX and extent.start_ns is not None and extent.end_ns is not None:
        if extent.is_sampled:
            is_far = (end_ns < extent.start_ns - DAY_NS) | (start_ns > extent.end_ns + DAY_NS)
            _count(is_good & is_far, key, tally, _SAY_FAR)
            is_good &= ~is_far
        longest_ns = extent.end_ns - extent.start_ns + SLACK_NS
        is_long = end_ns - start_ns > longest_ns
        _count(is_good & is_long, key, tally, _SAY_LONG)
        is_good &= ~is_long
    return events if is_good.all() else _where(events, is_good)


_SAY_CLOCK = (
    "{n} [event was|events were] left out: the file does not say when it began, or counts from "
    "another time than the rest of the job"
)
_SAY_FAR = "{n} [event lies|events lie] more than a day outside the job and [was|were] left out"
_SAY_LONG = "{n} [event is|events are] longer than the job and [was|were] left out"


def _count(rows: NDArray[np.bool_], key: str, tally: Tally, what: str) -> None:
    tally.add(Quality.EVENTS_DROPPED, key, int(np.count_nonzero(rows)), what=what)


def _where(events: FileEvents, rows: NDArray[np.bool_]) -> FileEvents:
    return replace(
        events,
        start_ns=events.start_ns[rows],
        end_ns=events.end_ns[rows],
        name=events.name[rows],
        phase=events.phase[rows],
        numbers={column: values[rows] for column, values in events.numbers.items()},
    )
