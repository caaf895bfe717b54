"""HostThreads: the work of the traced host threads, and the calls that blocked them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen import results
from reportgen.arrays import Mask
from reportgen.facts import device_busy
from reportgen.facts.device_busy import FineUse, Window, WindowKind, rows_named, step_marks
from reportgen.facts.intervals import Union, clip, join, minus, union_of
from reportgen.facts.operators import slices_around
from reportgen.merging import joint_codes, merge_by, rows_by_code
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, HostCalls, HostSlices, SliceKind
from reportgen.results import many_ranks
from reportgen.rules.base import About, Need, NoParams, Outcome, Rule
from reportgen.rules.kit import col, derived, filled_table, floats, row, table, unusual_only
from reportgen.text import format_ns
from reportgen.units import NS_PER_US, pct_of

_BLOCKING_CALL = re.compile(
    r"(cuda|hip)(Stream|Device|Event)Synchronize|(cuda|hip)Memcpy$|cudaFree|(?<!Stream)Wait"
)
"""Calls that wait for the GPU (docs/definitions.md, Traced host threads). StreamWaitEvent makes a
stream wait and returns at once."""
_PYTHON_WAIT = re.compile(
    r"(?:^|/)threading\.py\(\d+\): (?:wait|join)$|(?:^|/)selectors\.py\(\d+\): select$"
    r"|^<built-in method (?:acquire|sleep|poll|select) of "
)
"""Frames, as CPython and the profiler write them, in which Python waits for another thread, a file
or a clock, as helper threads mostly do."""

ABOUT = About(
    checks="How the traced threads of the host spent their time, and which calls made them wait "
    "for the GPU.",
    reading="""A thread is busy while operators, ranges, Python functions or runtime calls run on
        it, and blocked while it is in a call that waits for the GPU. Python that sleeps or waits
        for a lock is neither. Loader processes are not in the trace, so this is not the CPU
        utilization.""",
    advice="Remove blocking calls from the loop, and move work off the thread that launches.",
    section=results.Section(id="host-threads", title="Host threads", order=110),
)


@row
class ThreadTime:
    """One host thread of a rank over the window."""

    rank: int = col()
    thread: str = col()
    window_ns: int = col("us", name="window_us", per=NS_PER_US)
    busy_ns: int = col("us", name="busy_us", per=NS_PER_US)
    blocked_ns: int = col("us", name="blocked_us", per=NS_PER_US)
    busy_pct: float = derived(lambda item: pct_of(item.busy_ns, item.window_ns), "%")
    blocked_pct: float = derived(lambda item: pct_of(item.blocked_ns, item.window_ns), "%")


@row
class BlockingCall:
    """A blocking call by name and by what made it (``""`` where unknown)."""

    name: str = col()
    caller: str = col()
    count: int = col(reduce=sum)
    time_ns: int = col("us", name="time_us", per=NS_PER_US, reduce=sum)


@row
class RankThreads:
    """One rank: its threads, busiest first, how busy they were together, its blocking calls."""

    threads: tuple[ThreadTime, ...]
    use: FineUse | None
    calls: tuple[BlockingCall, ...]


def measure(part: RankTrace, _params: NoParams) -> RankThreads:
    """Measure the threads of a rank."""
    window, calls = _window(part), tuple(_blocking_calls(part))
    if window is None:
        return RankThreads(threads=(), use=None, calls=calls)
    found, use = [], None
    for thread, busy, blocked in _threads(part):
        time = ThreadTime(
            rank=part.rank,
            thread=part.threads[thread].tid,
            window_ns=window.length_ns,
            busy_ns=clip(busy, window.start_ns, window.end_ns).length_ns,
            blocked_ns=clip(blocked, window.start_ns, window.end_ns).length_ns,
        )
        found.append(time)
        of_thread = device_busy.fine_use(
            busy, window, origin_ns=part.origin_ns, node=part.node, device=""
        )
        use = replace(use, busy_ns=use.busy_ns + of_thread.busy_ns) if use else of_thread
    found.sort(key=lambda item: (-item.busy_ns, item.thread))
    return RankThreads(threads=tuple(found), use=use, calls=calls)


def _window(trace: RankTrace) -> Window | None:
    steps, slices, calls = trace.steps, trace.slices, trace.calls
    kind, starts, ends = WindowKind.STEPS, steps.start_ns, steps.end_ns
    if not starts.size:
        kind = WindowKind.GPU
        starts = np.concatenate([slices.start_ns, calls.start_ns])
        ends = np.concatenate([slices.end_ns, calls.end_ns])
    if not starts.size or ends.max() <= starts.min():
        return None
    return Window(kind=kind, start_ns=int(starts.min()), end_ns=int(ends.max()))


def _threads(trace: RankTrace) -> Iterator[tuple[int, Union, Union]]:
    slices, calls = trace.slices, trace.calls
    kinds = (SliceKind.OPERATOR, SliceKind.ANNOTATION, SliceKind.PYTHON)
    is_work = np.isin(slices.kind, kinds) & ~step_marks(trace)
    is_wait = rows_named(trace, slices.name, _PYTHON_WAIT.search)
    is_wait &= slices.kind == SliceKind.PYTHON
    is_blocking = _is_blocking(trace)
    threads = np.union1d(slices.thread, calls.thread)
    for thread in threads[threads != NONE].tolist():
        in_thread, here = calls.thread == thread, slices.thread == thread
        worked = join((_union(slices, is_work & here), _union(calls, in_thread)))
        blocked = _union(calls, in_thread & is_blocking)
        yield thread, minus(minus(worked, _union(slices, is_wait & here)), blocked), blocked


def _union(table: HostSlices | HostCalls, rows: Mask) -> Union:
    return union_of(table.start_ns[rows], table.end_ns[rows])


def _is_blocking(trace: RankTrace) -> Mask:
    """Return an (n_calls,) mask of calls that wait for the GPU, by name or by what they copy."""
    is_blocking: Mask = rows_named(trace, trace.calls.name, _BLOCKING_CALL.search)
    is_blocking[trace.gpu_ops.launch[device_busy.blocking_copies(trace)]] = True
    return is_blocking


def _blocking_calls(trace: RankTrace) -> Iterator[BlockingCall]:
    """Yield the blocking calls of a rank by the innermost operator around them.

    Outside of operators it is the innermost range or Python function.
    """
    calls, slices = trace.calls, trace.slices
    rows = np.flatnonzero(_is_blocking(trace))
    found = slices_around(trace, rows, slices.kind == SliceKind.OPERATOR)
    is_other = np.isin(slices.kind, (SliceKind.ANNOTATION, SliceKind.PYTHON))
    is_other &= ~step_marks(trace)
    found = np.where(found == NONE, slices_around(trace, rows, is_other), found)
    names, caller = (*trace.names, ""), np.append(slices.name, NONE)[found]  # ``NONE`` is the last
    for _, alike in rows_by_code(joint_codes(calls.name[rows], caller)):
        yield BlockingCall(
            name=names[calls.name[rows[alike[0]]]],
            caller=names[caller[alike[0]]],
            count=alike.size,
            time_ns=int(calls.duration_ns[rows[alike]].sum()),
        )


def judge(ranks: Sequence[RankThreads], _params: NoParams) -> Outcome:
    """Say what the threads did, and which calls blocked them."""
    threads = [thread for rank in ranks for thread in rank.threads]
    if not threads:
        return Outcome(missing="The trace holds no host threads.")
    each = (call for rank in ranks for call in rank.calls)
    every = merge_by(each, lambda call: (call.name, call.caller)).values()
    calls = sorted(every, key=lambda call: (-call.time_ns, call.name, call.caller))
    blocking = filled_table(
        "blocking_calls",
        calls,
        BlockingCall,
        title="Calls that block the host",
        caption="""All ranks and whole traces, also outside of the steps, sorted by time. The caller
            is the innermost operator around the call; if there is none, the innermost range or
            Python function. A copy is listed if its call did not return before the copy was
            done.""",
    )
    return Outcome(
        exhibits=[
            _curve([rank.use for rank in ranks if rank.use is not None]),
            *blocking,
            table(
                "host_threads",
                threads,
                ThreadTime,
                title="Host threads",
                caption="""Shares of the recorded steps, or of the whole trace if no steps were
                    recorded. blocked is the time in calls that wait for the GPU.""",
            ),
        ],
        metrics={"n_threads": len(threads)},
    )


def _curve(ranks: Sequence[FineUse]) -> results.Exhibit:
    shown = [ranks[at] for at in many_ranks.unusual([rank.mean for rank in ranks])]
    use = device_busy.use_together(shown)
    with np.errstate(invalid="ignore"):
        busy = use.busy_ns / use.length_ns
    lines = [(rank.node, "threads", busy[place]) for place, rank in enumerate(shown)]
    rest = unusual_only("ranks", shown=len(shown), every=len(ranks))
    return results.exhibit(
        "busy_threads",
        results.ExhibitKind.SERIES,
        title="Busy host threads in the trace",
        caption=f"""Mean number of busy threads in each {format_ns(use.width_ns)}. Calls that wait
            for the GPU do not count as busy; loader processes are not in the trace.{rest}""",
        columns=[*floats(("time_s", "s", use.time_s)), *floats(*lines, role=results.Role.CPU)],
        role=results.Role.CPU,
    )


RULE = Rule(
    id=results.RuleId("HostThreads"),
    title="Host threads",
    about=ABOUT,
    needs=(Need.KERNELS,),
    params=NoParams,
    measure=measure,
    judge=judge,
    places={"busy_threads": results.Place(dashboard=results.DashboardPanel(order=190))},
)
