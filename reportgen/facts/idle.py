"""Why the GPUs of a kernel trace were idle (docs/definitions.md, Idle time)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

import numpy as np

from reportgen.arrays import Integers, Mask, select
from reportgen.facts import device_busy
from reportgen.facts.device_busy import Window, rows_named
from reportgen.facts.intervals import Union, covered_each, gaps_of, join, union_of
from reportgen.facts.traced_steps import waiting_for_batches
from reportgen.merging import rows_between
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, HostCalls, HostSlices, SliceKind, Times

IN_LAUNCH_CALL = "in_launch_call"
KERNEL_GAP = "kernel_gap"
WAITING = "waiting"
LAUNCH_NOT_RECORDED = "launch_not_recorded"
TAIL = "tail"


class HostCause(StrEnum):
    """Why the host was late, in the order in which the causes are tried."""

    DATALOADER = "host_late:dataloader"
    SYNC = "host_late:sync"
    COPY = "host_late:copy"
    OPTIMIZER = "host_late:optimizer"
    AUTOGRAD = "host_late:autograd"
    ALLOC = "host_late:alloc"
    PYTHON = "host_late:python"
    OTHER = "host_late:other"


# Names that PyTorch and the runtimes write
_COPY_CALL = re.compile(r"^(cuda|hip|cu)Memcpy")
_ALLOC_CALL = re.compile(
    r"^(cuda|hip)(Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|ExtMalloc)"
    r"|^cuMem(Alloc|Free|Create|Map|Unmap|Release|Address|HostAlloc|SetAccess)"
)
_OPTIMIZER = re.compile(r"^Optimizer\.")
_AUTOGRAD = re.compile(r"^autograd::engine::|Backward\d*$|AccumulateGrad$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Idle stretches of one device in one window, (n,) each, in order.

    Attributes:
        low_ns, high_ns: from when to when.
        call_ns, returned_ns: begin and end of the call that launched the operation after the
            gap, held inside the gap; ``NONE`` where it was not recorded.
        thread: the thread of that call, ``NONE`` where it was not recorded.
        is_tail: nothing of the window comes after it.
        is_small: so little time is between that call and the operation that it is no wait.
        before: row of ``gpu_ops`` of the operation that ends the gap, ``NONE`` for the tail.
    """

    low_ns: Times
    high_ns: Times
    call_ns: Times
    returned_ns: Times
    thread: Integers
    is_tail: Mask
    is_small: Mask
    before: Integers


def gaps_in(trace: RankTrace, unions: device_busy.DeviceUnions, window: Window) -> Gaps:
    """Return the gaps of a device and the launches of the operations that end them."""
    ops = trace.gpu_ops
    idle = gaps_of(unions.busy, window.start_ns, window.end_ns)
    low, high = idle.start_ns, idle.end_ns
    rows = np.flatnonzero(ops.device == unions.device)
    launched = device_busy.launch_start_ns(trace)[rows]
    returned = device_busy.launch_end_ns(trace)[rows]
    # Of operations that start together, the one that was launched first ends the gap.
    order = np.lexsort((launched, ops.start_ns[rows]))
    place = np.searchsorted(ops.start_ns[rows][order], high, side="left")
    is_tail = (place == rows.size) | (high >= window.end_ns)
    after = order[np.minimum(place, rows.size - 1)]
    launch = ops.launch[rows][after]
    is_known = ~is_tail & (launch != NONE)
    call = np.where(is_known, np.clip(launched[after], low, high), NONE)
    end = np.where(is_known, np.clip(returned[after], call, high), NONE)
    return Gaps(
        low_ns=low,
        high_ns=high,
        call_ns=call,
        returned_ns=end,
        thread=np.where(is_known, np.append(trace.calls.thread, NONE)[launch], NONE),
        is_tail=is_tail,
        is_small=high - end < device_busy.SMALL_GAP_NS,
        before=np.where(is_tail, NONE, rows[after]),
    )


def cut(gaps: Gaps, start_ns: Times, end_ns: Times) -> tuple[Gaps, Integers]:
    """Return the parts of gaps inside some stretches of time, and the stretch of each part.

    The stretches, (m,) starts and ends, are in order and do not overlap.
    """
    first = np.searchsorted(end_ns, gaps.low_ns, side="right")
    after = np.searchsorted(start_ns, gaps.high_ns, side="left")
    gap, stretch = rows_between(first, np.maximum(after, first))
    whole = select(gaps, gap)
    low = np.maximum(whole.low_ns, start_ns[stretch])
    high = np.minimum(whole.high_ns, end_ns[stretch])
    call, returned = (
        np.where(whole.call_ns == NONE, NONE, np.clip(at_ns, low, high))
        for at_ns in (whole.call_ns, whole.returned_ns)
    )
    return replace(whole, low_ns=low, high_ns=high, call_ns=call, returned_ns=returned), stretch


def causes_of(trace: RankTrace, gaps: Gaps) -> dict[str, Times]:
    """Return (n,) ns of each gap for each cause; over all causes they fill the gaps."""
    is_known = gaps.call_ns != NONE
    length_ns = gaps.high_ns - gaps.low_ns
    rest_ns = np.where(is_known, gaps.high_ns - gaps.returned_ns, 0)
    return {
        **_host_late(trace, gaps),
        IN_LAUNCH_CALL: np.where(is_known, gaps.returned_ns - gaps.call_ns, 0),
        KERNEL_GAP: np.where(gaps.is_small, rest_ns, 0),
        WAITING: np.where(gaps.is_small, 0, rest_ns),
        LAUNCH_NOT_RECORDED: np.where(is_known | gaps.is_tail, 0, length_ns),
        TAIL: np.where(gaps.is_tail, length_ns, 0),
    }


def totals_by_cause(causes: Mapping[str, Times], window: Window) -> dict[str, int]:
    """Return how long a device was idle for each cause, ns; together they are its idle time.

    Every cause is there, also with 0; but ``tail`` in the window of all GPU work only where
    another device of the rank was the last to end.
    """
    return {
        cause: int(time_ns.sum())
        for cause, time_ns in causes.items()
        if cause != TAIL or window.kind is device_busy.WindowKind.STEPS or time_ns.any()
    }


def is_training(trace: RankTrace) -> bool:
    """Return whether autograd or an optimizer ran; ``True`` where the trace does not show it."""
    names = trace.slices.name
    signs = (_AUTOGRAD, _OPTIMIZER)
    return not names.size or any(rows_named(trace, names, of.search).any() for of in signs)


def _host_late(trace: RankTrace, gaps: Gaps) -> dict[str, Times]:
    late_ns = {cause.value: np.zeros_like(gaps.low_ns) for cause in HostCause}
    for thread in np.unique(gaps.thread[gaps.thread != NONE]).tolist():
        on_thread = gaps.thread == thread
        low_ns, high_ns = gaps.low_ns[on_thread], gaps.call_ns[on_thread]
        reached = [covered_each(union, low_ns, high_ns) for union in _busy_with(trace)[thread]]
        parts = np.diff([np.zeros_like(low_ns), *reached, high_ns - low_ns], axis=0)
        for total_ns, part_ns in zip(late_ns.values(), parts, strict=True):
            total_ns[on_thread] = part_ns
    return late_ns


@fact
def _busy_with(trace: RankTrace) -> dict[int, tuple[Union, ...]]:
    """Return when each launching thread was busy with the first cause, with the first two, ….

    A wait for a batch counts on whichever thread.
    """
    slices, calls, ops = trace.slices, trace.calls, trace.gpu_ops
    masks: tuple[tuple[HostSlices | HostCalls, Mask], ...] = (
        (calls, rows_named(trace, calls.name, device_busy.SYNC_CALL.search)),
        (calls, rows_named(trace, calls.name, _COPY_CALL.search)),
        (slices, rows_named(trace, slices.name, _OPTIMIZER.search)),
        (slices, rows_named(trace, slices.name, _AUTOGRAD.search)),
        (calls, rows_named(trace, calls.name, _ALLOC_CALL.search)),
        (slices, slices.kind == SliceKind.PYTHON),
    )
    found = {}
    for thread in np.unique(calls.thread[ops.launch[ops.launch != NONE]]).tolist():
        unions = [waiting_for_batches(trace)]
        for table, mask in masks:
            rows = mask & (table.thread == thread)
            unions.append(union_of(table.start_ns[rows], table.end_ns[rows]))
        found[thread] = tuple(accumulate(unions, lambda *both: join(both)))
    return found
