"""What is said of the tables of a kernel trace: losses of its reader, and odd events in numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.kernel_trace.columns import MOST_NAMES, MOST_THREADS
from reportgen.formats.kernel_trace.tables import TraceTables
from reportgen.formats.kernel_trace.validate import MOST_DEVICES
from reportgen.profile import Quality
from reportgen.profile.trace_tables import NONE, n_rows
from reportgen.text import format_count

_FEW_OPS_RATIO = 0.8
"""A first step with fewer GPU ops than this share of the median lost some: steps are alike."""

_SAY_ORPHAN = (
    "{n} GPU [operation has|operations have] no launch in the trace and [counts|count] as GPU time"
)
_SAY_NO_TRACE = "{n} [file holds|files hold] no event of a kernel trace"
_SAY_DURATION = (
    "{n} [event has|events have] no duration, one below 0 or one of more than 7 days, and "
    "[was|were] left out"
)
_SAY_TIME = "{n} [event lies|events lie] more than 7 days from the others and [was|were] left out"
_SAY_NUMBER = (
    "{n} [number is|numbers are] too large for an id or a size and [counts|count] as absent"
)
_SAY_BEYOND = (
    f"It has more than {MOST_NAMES:,} names or {MOST_THREADS:,} threads; what lies beyond, {{n}} "
    "times, counts as one name and one thread."
)
_SAY_DEVICES = (
    f"{{n}} [event is|events are] of a GPU beyond the first {MOST_DEVICES} and [was|were] left out"
)


def tell_empty(tables: TraceTables, key: str, problems: Diagnostics, *, is_empty: bool) -> None:
    """Say that a file holds no event of a kernel trace; ``is_empty``: nor any byte."""
    if extent_of(tables) is None:
        what = "{n} [file was|files were] empty" if is_empty else _SAY_NO_TRACE
        problems.add(Quality.FILES_SKIPPED, key, what=what)


def tell_left_out(tables: TraceTables, key: str, problems: Diagnostics) -> None:
    """Say which events cannot be."""
    problems.add(Quality.EVENTS_DROPPED, key, tables.bad_durations, what=_SAY_DURATION)
    problems.add(Quality.EVENTS_DROPPED, key, tables.bad_times, what=_SAY_TIME)
    problems.add(Quality.EVENTS_DROPPED, key, tables.beyond_devices, what=_SAY_DEVICES)


def tell_numbers(tables: TraceTables, key: str, problems: Diagnostics) -> None:
    """Say which numbers cannot be, and which names and threads are not kept apart."""
    problems.add(Quality.VALUES_BROKEN, key, tables.bad_numbers, what=_SAY_NUMBER)
    if tables.beyond_names:
        problems.remark(_SAY_BEYOND.format(n=format_count(tables.beyond_names)), path=key)


def extent_of(tables: TraceTables) -> tuple[int, int] | None:
    """Return the first start and the last end of all timed events; ``None`` without any."""
    timed = [table for table in (tables.gpu_ops, tables.calls, tables.slices) if n_rows(table)]
    if not timed:
        return None
    first_ns = min(int(table.start_ns.min()) for table in timed)
    return first_ns, max(int(table.end_ns.max()) for table in timed)


def tell_oddities(tables: TraceTables, key: str, problems: Diagnostics) -> None:
    """Report the odd events of the file ``key`` to ``problems``."""
    n_orphans = int(np.count_nonzero(tables.gpu_ops.launch == NONE))
    problems.add(Quality.EVENTS_UNMATCHED, key, n_orphans, what=_SAY_ORPHAN)
    for remark in (*_crossings(tables), *_lost_beginning(tables)):
        problems.remark(remark, path=key)


def _crossings(tables: TraceTables) -> Iterator[str]:
    """Yield what is said of spans that cross others; the host's do where stacks were recorded.

    Source: pytorch#174555.
    """
    n_overruns = int(np.count_nonzero(tables.gpu_ops.is_overrun))
    if n_overruns:
        yield (
            f"{format_count(n_overruns)} GPU operations end more than 100 µs after the next one on "
            "their stream began: their ends were cut to it, for unions of time."
        )
    n_steps = int(np.count_nonzero(tables.steps.end_ns[:-1] > tables.steps.start_ns[1:]))
    if n_steps:
        overlap = "profiler step overlaps" if n_steps == 1 else "profiler steps overlap"
        yield f"{format_count(n_steps)} {overlap} the next one: the starts of steps are used."


def _lost_beginning(tables: TraceTables) -> Iterator[str]:
    counts = _ops_by_step(tables)
    if len(counts) > 2 and counts[0] < _FEW_OPS_RATIO * np.median(counts):
        first, middle = (format_count(int(number)) for number in (counts[0], np.median(counts)))
        yield (
            f"The first step launched {first} GPU operations, the median step {middle}: records of "
            "its beginning may be missing."
        )


def _ops_by_step(tables: TraceTables) -> list[int]:
    steps = tables.steps
    launched = tables.gpu_ops.launch[tables.gpu_ops.launch != NONE]
    if not n_rows(steps) or not len(launched):
        return []
    at_ns = np.sort(tables.calls.start_ns[launched])
    edges = np.searchsorted(at_ns, np.stack([steps.start_ns, steps.end_ns]))
    return [int(number) for number in edges[1] - edges[0]]
