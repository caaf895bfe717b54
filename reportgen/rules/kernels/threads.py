"""What the traced host threads did: at work, or blocked in calls that wait for the GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import rows_named
from reportgen.facts.intervals import Union, clip, join, minus, union_of
from reportgen.facts.use_over_time import FineUse, fine_use
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, HostCalls, HostSlices, SliceKind
from reportgen.rules.kernels.windows import Window, WindowKind

BLOCKING_CALL = re.compile(
    r"(cuda|hip)(Stream|Device|Event)Synchronize|(cuda|hip)Memcpy$|cudaFree|.*Wait"
)
"""Source: kernel-trace definitions D3."""
_PYTHON_WAIT = re.compile(
    r"(?:^|/)threading\.py\(\d+\): (?:wait|join)$|(?:^|/)selectors\.py\(\d+\): select$"
    r"|^<built-in method (?:acquire|sleep|poll|select) of "
)
"""Frames in which Python waits for another thread, a file or a clock, as helper threads mostly do.
Source: names that CPython and the profiler's tracer write."""
_STEP = re.compile(r"^ProfilerStep *#")
"""A step spans its thread whatever the thread does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTime:
    """One host thread of a rank over the window, ns."""

    rank: int
    node: str
    thread: str
    busy_ns: int
    blocked_ns: int
    window_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadUse:
    """The threads of a rank, busiest first, and how long they were busy in fine bins together."""

    threads: tuple[ThreadTime, ...]
    use: FineUse | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """A blocking call by name and by the operator that made it (``""`` where unknown)."""

    name: str
    caller: str
    count: int
    time_ns: int


def host_window(trace: RankTrace) -> Window | None:
    """Return the window of the steps, else from the first to the last event of a thread."""
    slices, calls, steps = trace.slices, trace.calls, trace.steps
    if steps.start_ns.size:
        kind, tables = WindowKind.STEPS, [(steps.start_ns, steps.end_ns)]
    else:
        kind = WindowKind.GPU
        tables = [(slices.start_ns, slices.end_ns), (calls.start_ns, calls.end_ns)]
    starts = np.concatenate([start for start, _ in tables])
    ends = np.concatenate([end for _, end in tables])
    if not starts.size or ends.max() <= starts.min():
        return None
    return Window(kind=kind, start_ns=int(starts.min()), end_ns=int(ends.max()))


def thread_use(trace: RankTrace, window: Window) -> ThreadUse:
    """Return what the threads of a rank did in a window."""
    slices, calls = trace.slices, trace.calls
    kinds = (SliceKind.OPERATOR, SliceKind.ANNOTATION, SliceKind.PYTHON)
    is_work = np.isin(slices.kind, kinds) & ~rows_named(trace, slices.name, _STEP.search)
    is_wait = rows_named(trace, slices.name, _PYTHON_WAIT.search) & (
        slices.kind == SliceKind.PYTHON
    )
    is_blocking = rows_named(trace, calls.name, BLOCKING_CALL.search)
    threads = np.union1d(slices.thread, calls.thread)
    found, use = [], None
    for thread in threads[threads != NONE].tolist():
        own = calls.thread == thread
        here = slices.thread == thread
        worked = join((_union(slices, is_work & here), _union(calls, own)))
        blocked = _union(calls, own & is_blocking)
        busy = minus(minus(worked, _union(slices, is_wait & here)), blocked)
        time = ThreadTime(
            rank=trace.rank,
            node=trace.node,
            thread=trace.threads[thread].tid,
            busy_ns=clip(busy, window.start_ns, window.end_ns).length_ns,
            blocked_ns=clip(blocked, window.start_ns, window.end_ns).length_ns,
            window_ns=window.length_ns,
        )
        found.append(time)
        own = fine_use(busy, window, origin_ns=trace.origin_ns, node=trace.node, device="")
        use = own if use is None else replace(use, busy_ns=use.busy_ns + own.busy_ns)
    found.sort(key=lambda item: (-item.busy_ns, item.thread))
    return ThreadUse(threads=tuple(found), use=use)


def _union(table: HostSlices | HostCalls, rows: NDArray[np.bool_]) -> Union:
    return union_of(table.start_ns[rows], table.end_ns[rows])


def blocking_calls(trace: RankTrace) -> tuple[CallRow, ...]:
    """Return the blocking calls of a rank by name and caller."""
    calls, slices = trace.calls, trace.slices
    rows = np.flatnonzero(rows_named(trace, calls.name, BLOCKING_CALL.search))
    known = np.flatnonzero(slices.external_id != NONE)
    order = known[np.argsort(slices.external_id[known], kind="stable")]
    ids = slices.external_id[order]
    place = np.searchsorted(ids, calls.external_id[rows])
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for row, at in zip(rows.tolist(), place.tolist(), strict=True):
        is_known = at < ids.size and ids[at] == calls.external_id[row] != NONE
        caller = trace.names[slices.name[order[at]]] if is_known else ""
        key = (trace.names[calls.name[row]], caller)
        count, time_ns = totals.get(key, (0, 0))
        totals[key] = (count + 1, time_ns + int(calls.duration_ns[row]))
    return tuple(
        CallRow(name=name, caller=caller, count=count, time_ns=time_ns)
        for (name, caller), (count, time_ns) in totals.items()
    )
