"""Why a device was idle: each gap is split by the launch of the operation that ends it.

Before the launching call began the host was late; inside the call the launch itself was slow;
after it the device took its time: a small gap between kernels, or a wait for something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import gaps_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules.kernels.device_time import DeviceUnions
from reportgen.rules.kernels.host_activity import (
    HostCause,
    cause_rows,
    causes_of,
    split_by_cause,
)
from reportgen.rules.kernels.windows import (
    Window,
    WindowKind,
    launch_end_ns,
    launch_start_ns,
)
from reportgen.units import NS_PER_US

SMALL_GAP_NS = 30 * NS_PER_US
"""A shorter rest is a gap between kernels, a longer one a wait. Source: D16, HTA's default."""
SMALL_GAP = f"{SMALL_GAP_NS // NS_PER_US} µs"

HOST_LATE = "host_late:"
IN_LAUNCH_CALL = "in_launch_call"
KERNEL_GAP = "kernel_gap"
WAITING = "waiting"
LAUNCH_NOT_RECORDED = "launch_not_recorded"
TAIL = "tail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The idle stretches of one device in one window, (n,) each, in order.

    Attributes:
        low_ns, high_ns: from when to when.
        call_ns, returned_ns: begin and end of the call that launched the operation after the
            gap, held inside the gap; ``NONE`` where it was not recorded.
        thread: the thread of that call, ``NONE`` where it was not recorded.
        is_tail: nothing of the window comes after it.
        before: row of ``gpu_ops`` of the operation that ends the gap, ``NONE`` for the tail.
    """

    low_ns: Times
    high_ns: Times
    call_ns: Times
    returned_ns: Times
    thread: NDArray[np.int32]
    is_tail: NDArray[np.bool_]
    before: NDArray[np.int64]


def causes_of_gaps(trace: RankTrace, gaps: Gaps) -> Mapping[str, Times]:
    """Return (n,) ns of each gap for each cause; over all causes they fill the gaps."""
    is_known = gaps.call_ns != NONE
    length_ns = gaps.high_ns - gaps.low_ns
    rest_ns = np.where(is_known, gaps.high_ns - gaps.returned_ns, 0)
    is_small = rest_ns < SMALL_GAP_NS
    return {
        **{f"{HOST_LATE}{cause}": time_ns for cause, time_ns in _host_late(trace, gaps).items()},
        IN_LAUNCH_CALL: np.where(is_known, gaps.returned_ns - gaps.call_ns, 0),
        KERNEL_GAP: np.where(is_small, rest_ns, 0),
        WAITING: np.where(is_small, 0, rest_ns),
        LAUNCH_NOT_RECORDED: np.where(is_known | gaps.is_tail, 0, length_ns),
        TAIL: np.where(gaps.is_tail, length_ns, 0),
    }


def idle_causes(trace: RankTrace, unions: DeviceUnions, window: Window) -> dict[str, int]:
    """Return how long a device was idle for each cause, ns; see ``totals_by_cause``."""
    return totals_by_cause(causes_of_gaps(trace, gaps_in(trace, unions, window)), window)


def totals_by_cause(causes: Mapping[str, Times], window: Window) -> dict[str, int]:
    """Return how long a device was idle for each cause, ns; together they are its idle time.

    Every cause is there, also with 0; but ``tail`` in the window of all GPU work only where
    another device of the rank was the last to end.
    """
    return {
        cause: int(time_ns.sum())
        for cause, time_ns in causes.items()
        if cause != TAIL or window.kind is WindowKind.STEPS or time_ns.any()
    }


def gaps_in(trace: RankTrace, unions: DeviceUnions, window: Window) -> Gaps:
    """Return the gaps of a device and the launches of the operations that end them."""
    ops = trace.gpu_ops
    idle = gaps_of(unions.busy, window.start_ns, window.end_ns)
    low, high = idle.start_ns, idle.end_ns
    rows = np.flatnonzero(ops.device == unions.device)
    launched, returned = launch_start_ns(trace)[rows], launch_end_ns(trace)[rows]
    # Of operations that start together, the one that was launched first ends the gap.
    order = np.lexsort((launched, ops.start_ns[rows]))
    place = np.searchsorted(ops.start_ns[rows][order], high, side="left")
    is_tail = (place == rows.size) | (high >= window.end_ns)
    after = order[np.minimum(place, rows.size - 1)]
    launch = ops.launch[rows][after]
    is_known = ~is_tail & (launch != NONE)
    call = np.where(is_known, np.clip(launched[after], low, high), NONE)
    end = np.where(is_known, np.clip(returned[after], call, high), NONE)
    thread = np.full(low.shape, NONE, dtype=np.int32)
    thread[is_known] = trace.calls.thread[launch[is_known]]
    return Gaps(
        low_ns=low,
        high_ns=high,
        call_ns=call,
        returned_ns=end,
        thread=thread,
        is_tail=is_tail,
        before=np.where(is_tail, NONE, rows[after]),
    )


def _host_late(trace: RankTrace, gaps: Gaps) -> Mapping[HostCause, Times]:
    late_ns = {cause: np.zeros_like(gaps.low_ns) for cause in HostCause}
    rows = cause_rows(trace)
    for thread in np.unique(gaps.thread[gaps.thread != NONE]):
        own = gaps.thread == thread
        causes = causes_of(trace, rows, int(thread))
        split = split_by_cause(causes, gaps.low_ns[own], gaps.call_ns[own])
        for cause, time_ns in split.items():
            late_ns[cause][own] = time_ns
    return late_ns
