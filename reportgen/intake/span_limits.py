"""Which events can belong to a job: clocks that are off and durations that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.formats import Diagnostics, EventFile
from reportgen.intake.span_store import SpanStore
from reportgen.profile import Clock, Quality, SystemTable
from reportgen.units import NS_PER_S, NS_PER_US

YEAR_2000_NS = 946_684_800 * NS_PER_S
"""Times before it are counted from something else than 1970."""

DAY_NS = 86_400 * NS_PER_S
"""Clocks further apart than this do not belong together: no time zone is further."""

SLACK_NS = 300 * NS_PER_S
"""An event may be this much longer than the job was seen: sampling starts late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedExtent:
    """When a node was seen to run; ``None`` when there is no wall clock.

    ``is_sampled``: system metrics say so, and not only the events themselves.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    is_sampled: bool = False


def extent_of(system: SystemTable, store: SpanStore) -> ObservedExtent:
    """Return when a node ran, from its samples and the times its timelines were closed.

    The files' names hold the time of the last event; their base counts unless it lies a day before
    the end.
    """
    signs: list[int] = []
    for file, base_ns in zip(store.files, store.bases_ns, strict=True):
        closed_ns = file.claim.stamp * NS_PER_US
        if not YEAR_2000_NS <= closed_ns < 4 * YEAR_2000_NS:
            continue
        signs.append(closed_ns)
        if base_ns is not None and 0 <= closed_ns - base_ns <= DAY_NS:
            signs.append(base_ns)
    if system.first_ns is None or system.last_ns is None:
        return ObservedExtent(start_ns=min(signs, default=None), end_ns=max(signs, default=None))
    first_ns, last_ns = system.first_ns, system.last_ns
    near = [sign for sign in signs if first_ns - DAY_NS <= sign <= last_ns + DAY_NS]
    return ObservedExtent(
        start_ns=min([first_ns, *near]), end_ns=max([last_ns, *near]), is_sampled=True
    )


def belonging(
    columns: Mapping[str, NDArray[Any]],
    files: Sequence[EventFile],
    *,
    extent: ObservedExtent,
    clock: Clock,
    problems: Diagnostics,
) -> NDArray[np.bool_] | None:
    """Return which events can belong to the job, ``None`` for all; count the others.

    ``columns`` are ``start_ns``, ``end_ns`` and ``file``, an index into ``files``. Left out are
    events on another clock, of another time, or longer than the job.
    """
    is_good = np.ones(columns["file"].shape, dtype=np.bool_)
    for what, is_faulty in _faults(columns["start_ns"], columns["end_ns"], extent, clock):
        is_bad = is_faulty & is_good
        is_good &= ~is_bad
        n_bad = np.bincount(columns["file"][is_bad])
        for file in np.flatnonzero(n_bad).tolist():
            problems.add(Quality.EVENTS_DROPPED, files[file].key, int(n_bad[file]), what=what)
    return None if is_good.all() else is_good


def _faults(
    start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], extent: ObservedExtent, clock: Clock
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    is_unix = start_ns >= YEAR_2000_NS
    yield _SAY_CLOCK, ~is_unix if clock is Clock.UNIX else is_unix
    if clock is not Clock.UNIX or extent.start_ns is None or extent.end_ns is None:
        return
    if extent.is_sampled:
        is_before, is_after = end_ns < extent.start_ns - DAY_NS, start_ns > extent.end_ns + DAY_NS
        yield _SAY_FAR, is_before | is_after
    yield _SAY_LONG, end_ns - start_ns > extent.end_ns - extent.start_ns + SLACK_NS


_SAY_CLOCK = (
    "{n} [event was|events were] left out: the file does not say when it began, or counts from "
    "another time than the rest of the job"
)
_SAY_FAR = "{n} [event lies|events lie] more than a day outside the job and [was|were] left out"
_SAY_LONG = "{n} [event is|events are] longer than the job and [was|were] left out"
