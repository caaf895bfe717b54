"""Why a device was idle: each gap is split by the launch of the operation that ends it.

Before the launching call began the host was late; inside the call the launch itself was slow;
after it the device took its time: a small gap between kernels, or a wait for something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Floats
from reportgen.rules.kernels.device_time import DeviceUnions
from reportgen.rules.kernels.host_activity import (
    HostCause,
    cause_rows,
    causes_of,
    split_by_cause,
)
from reportgen.rules.kernels.unions import gaps_of
from reportgen.rules.kernels.windows import (
    Window,
    WindowKind,
    launch_end_us,
    launch_start_us,
)

SMALL_GAP_US = 30.0
"""A shorter rest is a gap between kernels, a longer one a wait. Source: D16, HTA's default."""

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
        low_us, high_us: from when to when.
        call_us, returned_us: begin and end of the call that launched the operation after the
            gap, held inside the gap; NaN where it was not recorded.
        thread: the thread of that call, ``NONE`` where it was not recorded.
        is_tail: nothing of the window comes after it.
        before: row of ``gpu_ops`` of the operation that ends the gap, ``NONE`` for the tail.
    """

    low_us: Floats
    high_us: Floats
    call_us: Floats
    returned_us: Floats
    thread: NDArray[np.int32]
    is_tail: NDArray[np.bool_]
    before: NDArray[np.int64]


def causes_of_gaps(trace: RankTrace, gaps: Gaps) -> Mapping[str, Floats]:
    """Return (n,) µs of each gap for each cause; over all causes they fill the gaps."""
    is_known = ~np.isnan(gaps.call_us)
    length_us = gaps.high_us - gaps.low_us
    rest_us = np.where(is_known, gaps.high_us - gaps.returned_us, 0.0)
    is_small = rest_us < SMALL_GAP_US
    return {
        **{f"{HOST_LATE}{cause}": us for cause, us in _host_late(trace, gaps).items()},
        IN_LAUNCH_CALL: np.where(is_known, gaps.returned_us - gaps.call_us, 0.0),
        KERNEL_GAP: np.where(is_small, rest_us, 0.0),
        WAITING: np.where(is_small, 0.0, rest_us),
        LAUNCH_NOT_RECORDED: np.where(is_known | gaps.is_tail, 0.0, length_us),
        TAIL: np.where(gaps.is_tail, length_us, 0.0),
    }


def idle_causes(trace: RankTrace, unions: DeviceUnions, window: Window) -> dict[str, float]:
    """Return how long a device was idle for each cause, µs; see ``totals_by_cause``."""
    return totals_by_cause(causes_of_gaps(trace, gaps_in(trace, unions, window)), window)


def totals_by_cause(causes: Mapping[str, Floats], window: Window) -> dict[str, float]:
    """Return how long a device was idle for each cause, µs; together they are its idle time.

    Every cause is there, also with 0; but ``tail`` in the window of all GPU work only where
    another device of the rank was the last to end.
    """
    return {
        cause: float(us.sum())
        for cause, us in causes.items()
        if cause != TAIL or window.kind is WindowKind.STEPS or us.any()
    }


def gaps_in(trace: RankTrace, unions: DeviceUnions, window: Window) -> Gaps:
    """Return the gaps of a device and the launches of the operations that end them."""
    ops = trace.gpu_ops
    idle = gaps_of(unions.busy, window.start_us, window.end_us)
    low, high = idle.start_us, idle.end_us
    rows = np.flatnonzero(ops.device == unions.device)
    launched, returned = launch_start_us(trace)[rows], launch_end_us(trace)[rows]
    # Of operations that start together, the one that was launched first ends the gap.
    order = np.lexsort((np.nan_to_num(launched, nan=-np.inf), ops.start_us[rows]))
    place = np.searchsorted(ops.start_us[rows][order], high, side="left")
    is_tail = (place == rows.size) | (high >= window.end_us)
    after = order[np.minimum(place, rows.size - 1)]
    call = np.where(is_tail, np.nan, np.clip(launched[after], low, high))
    end = np.where(is_tail, np.nan, np.clip(returned[after], call, high))
    launch = ops.launch[rows][after]
    is_known = ~np.isnan(call)
    thread = np.full(low.shape, NONE, dtype=np.int32)
    thread[is_known] = trace.calls.thread[launch[is_known]]
    return Gaps(
        low_us=low,
        high_us=high,
        call_us=call,
        returned_us=end,
        thread=thread,
        is_tail=is_tail,
        before=np.where(is_tail, NONE, rows[after]),
    )


def _host_late(trace: RankTrace, gaps: Gaps) -> Mapping[HostCause, Floats]:
    late_us = {cause: np.zeros(gaps.low_us.shape) for cause in HostCause}
    rows = cause_rows(trace)
    for thread in np.unique(gaps.thread[gaps.thread != NONE]):
        own = gaps.thread == thread
        causes = causes_of(trace, rows, int(thread))
        split = split_by_cause(causes, gaps.low_us[own], gaps.call_us[own])
        for cause, us in split.items():
            late_us[cause][own] = us
    return late_us
