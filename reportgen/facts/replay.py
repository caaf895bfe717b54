"""How much sooner a rank would have been done without a cost: its recording, played again.

Played again with nothing changed, it gives the recorded times (docs/definitions.md, Replay).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from reportgen.arrays import Integers, Mask
from reportgen.facts import device_busy
from reportgen.facts.device_busy import Window, rows_named
from reportgen.facts.intervals import NOTHING, ROUNDING_NS, Union, covered_each, join, union_of
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, Times
from reportgen.units import NS_PER_S, NS_PER_US

LAUNCH_BOUND_NS = 30 * NS_PER_US
"""A launch takes so long at most; what an operation waits beyond it, it waits for something else
(docs/definitions.md, Idle time)."""
PINNED_BYTES_PER_S = 25e9
"""Bandwidth of PCIe 4.0 with 16 lanes from pinned memory; newer links move more."""
LEAST_COPY_BYTES = 65_536
"""A smaller copy is a number that is read back: the wait is the cost, not the copy."""
_PAGEABLE = re.compile(r"Pageable")
NEVER = -(1 << 61)
"""Before any time of a trace: what an operation without a recorded launch waits for."""

Places = Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRank:
    """The replayed part of a rank: the device that ran most, and the calls in which its host waits.

    Attributes:
        window: in which it is played.
        done_ns: when host and device are done if nothing is changed.
        host_end_ns: when the host was done with the last step; ``NEVER`` without steps.
        rows: (n,) rows of ``gpu_ops`` in the window, in order of their start.
        base_ns: (n,) when each was launched.
        delay_ns: (n,) from then to its start, if nothing else is in its way.
        gap_ns: (n,) rest of the device before it that passes however early it is launched.
        length_ns: (n,) by how much it keeps the device busy beyond those before it.
        waits: (m,) rows of ``calls`` in which the host waited, in order.
        low_ns, high_ns: (m,) begin and end of these calls.
        for_op: (m,) place in ``rows`` of the operation that each waited for, ``NONE`` for none.
        lead_ns: (m,) how long the device was busy after the end of that operation.
        rest_ns: (m,) the rest of each call when that operation is done.
        run_first: (r,) place of the first operation of each run, whose launches the same waits
            delay.
        run_waits: (r,) how many waits of the host were over at its launches.
        n_runs: (m,) how many runs are played before the host goes on after each wait.
    """

    window: Window
    done_ns: int
    host_end_ns: int
    rows: Places
    base_ns: Times
    delay_ns: Times
    gap_ns: Times
    length_ns: Times
    waits: Places
    low_ns: Times
    high_ns: Times
    for_op: Places
    lead_ns: Times
    rest_ns: Times
    run_first: Places
    run_waits: Places
    n_runs: Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Costs that are taken out of a recording.

    Attributes:
        spared: when the host does what it need not do.
        is_free: (m,) which waits of the track cost nothing any more.
        length_ns: (n,) how long each operation of the track keeps the device busy at most.
    """

    spared: Union = NOTHING
    is_free: Mask | np.bool_ = np.False_
    length_ns: Times | int = -NEVER


@fact
def track_of(trace: RankTrace) -> ReplayedRank | None:
    """Return the replayed part of a rank, ``None`` where it ran nothing in its headline window."""
    windows = device_busy.windows_of(trace)
    if not windows:
        return None
    ops, steps, window = trace.gpu_ops, trace.steps, device_busy.headline(windows)
    devices, n_of = np.unique(ops.device, return_counts=True)
    device = int(devices[n_of.argmax()])
    is_inside = (ops.start_ns >= window.start_ns) & (ops.end_ns <= window.end_ns)
    rows = np.flatnonzero((ops.device == device) & is_inside)
    if not rows.size:
        return None
    start_ns, end_ns = ops.start_ns[rows], ops.end_ns[rows]
    reach_ns = np.maximum.accumulate(end_ns)
    before_ns = np.concatenate(([window.start_ns], reach_ns[:-1]))
    base_ns, delay_ns, gap_ns = _launches(trace, rows, np.maximum(start_ns - before_ns, 0))
    length_ns = reach_ns - np.maximum(before_ns, start_ns)
    # An operation that runs behind other operations delays nothing.
    base_ns = np.where(length_ns > 0, base_ns, NEVER)
    waits, for_op = _waits(trace, rows)
    low_ns, high_ns = trace.calls.start_ns[waits], trace.calls.end_ns[waits]
    is_known, op_end_ns = for_op != NONE, end_ns[for_op]
    has_steps = window.kind is device_busy.WindowKind.STEPS
    run_first, run_waits = _runs(base_ns, for_op, high_ns)
    track = ReplayedRank(
        window=window,
        done_ns=NEVER,
        host_end_ns=int(steps.end_ns.max()) if has_steps else NEVER,
        rows=rows,
        base_ns=base_ns,
        delay_ns=delay_ns,
        gap_ns=gap_ns,
        length_ns=length_ns,
        waits=waits,
        low_ns=low_ns,
        high_ns=high_ns,
        for_op=for_op,
        lead_ns=np.where(is_known, reach_ns[for_op] - op_end_ns, -NEVER),
        rest_ns=high_ns - np.where(is_known, np.maximum(low_ns, op_end_ns), low_ns),
        run_first=run_first,
        run_waits=run_waits,
        n_runs=np.searchsorted(run_first, for_op, side="right"),
    )
    return replace(track, done_ns=_end_ns(track, Change()))


def _runs(base_ns: Times, for_op: Places, high_ns: Times) -> tuple[Places, Places]:
    """Return runs that end where the host waits for an operation, or other waits are over.

    These are the place of the first operation of each, and the waits that were over at its launch.
    """
    place = np.arange(base_ns.size)
    # An operation is played before the first wait for it or a later one.
    n_played = np.searchsorted(np.maximum.accumulate(for_op), place)
    n_waits = np.minimum(np.searchsorted(high_ns, base_ns, side="right"), n_played)
    # An operation that waits for no launch belongs to the run before it.
    n_waits = n_waits[np.maximum.accumulate(np.where(base_ns != NEVER, place, 0))]
    is_first = np.concatenate(([True], n_waits[1:] != n_waits[:-1], [False]))
    is_first[for_op + 1] = True
    first = np.flatnonzero(is_first[:-1])
    return first, n_waits[first]


def _launches(trace: RankTrace, rows: Places, gap_ns: Times) -> tuple[Times, Times, Times]:
    """Return when operations were launched, how long a launch takes, and gaps of other kinds.

    A call that returns when its copy is done works on it from its begin: whenever the host calls
    it, the time until the copy begins passes again. Another operation that begins later than a
    launch takes waited for something else, and waits as long again.
    """
    start_ns = trace.gpu_ops.start_ns[rows]
    blocks = device_busy.blocking_copies(trace)
    returned_ns = np.where(
        blocks, device_busy.launch_start_ns(trace), device_busy.launch_end_ns(trace)
    )
    is_orphan = trace.gpu_ops.launch[rows] == NONE
    base_ns = np.where(is_orphan, NEVER, np.minimum(returned_ns[rows], start_ns))
    delay_ns = np.where(is_orphan, 0, start_ns - base_ns)
    waited_ns = np.where(blocks[rows], delay_ns, np.maximum(delay_ns - LAUNCH_BOUND_NS, 0))
    rest_ns = np.where(is_orphan, gap_ns, np.minimum(gap_ns, waited_ns))
    is_prompt = (gap_ns > 0) & (delay_ns <= LAUNCH_BOUND_NS) & ~is_orphan
    usual_ns = int(np.median(delay_ns[is_prompt])) if is_prompt.any() else 0
    is_late = rest_ns < gap_ns
    return base_ns, np.where(is_late, delay_ns, np.minimum(delay_ns, usual_ns)), rest_ns


def from_pinned(trace: RankTrace, track: ReplayedRank) -> Change:
    """Return copies as from pinned memory: they are faster, and the host does not wait.

    A call that copies from pageable memory returns when the last piece is staged, a little before
    the device is done: the host is spared what it is in the call while the copy runs.
    """
    ops = trace.gpu_ops
    is_pageable = rows_named(trace, ops.name, _PAGEABLE.search) & (ops.kind == GpuKind.MEMCPY)
    is_pageable &= ops.bytes >= LEAST_COPY_BYTES
    pinned_ns = ops.bytes[track.rows] * (NS_PER_S / PINNED_BYTES_PER_S)
    left = np.clip(pinned_ns / np.maximum(ops.duration_ns[track.rows], 1), 0, 1)
    length_ns = np.where(is_pageable[track.rows], track.length_ns * left, track.length_ns)
    rows = np.flatnonzero(is_pageable & ~device_busy.blocking_copies(trace) & (ops.launch != NONE))
    low_ns = np.maximum(ops.start_ns[rows], device_busy.launch_start_ns(trace)[rows])
    high_ns = np.minimum(ops.end_ns[rows], device_busy.launch_end_ns(trace)[rows])
    is_inside = high_ns > low_ns
    return Change(
        spared=union_of(low_ns[is_inside], high_ns[is_inside]),
        is_free=waits_of(trace, track, is_pageable),
        length_ns=length_ns.astype(np.int64),
    )


def waits_of(trace: RankTrace, track: ReplayedRank, is_meant: Mask) -> Mask:
    """Return an (m,) mask of the waits that are calls of some copies, an (n_ops,) mask."""
    launches = trace.gpu_ops.launch[is_meant & device_busy.blocking_copies(trace)]
    return np.asarray(np.isin(track.waits, launches))


def _waits(trace: RankTrace, rows: Places) -> tuple[Places, Places]:
    """Return the calls in which the host waits, in order, and the operation of each."""
    calls, ops = trace.calls, trace.gpu_ops
    is_wait = rows_named(trace, calls.name, device_busy.SYNC_CALL.search)
    is_wait[ops.launch[device_busy.blocking_copies(trace)]] = True
    by_end = np.argsort(ops.end_ns[rows], kind="stable")
    end_ns = ops.end_ns[rows][by_end]
    waits = np.flatnonzero(is_wait)
    # Of calls inside each other, or on two threads at once, the first is the wait.
    reach_ns = np.maximum.accumulate(calls.end_ns[waits])
    follows = calls.start_ns[waits][1:] >= reach_ns[:-1] - ROUNDING_NS
    is_first = np.concatenate(([True], follows))[: waits.size]
    waits = waits[is_first]
    last = np.searchsorted(end_ns, calls.end_ns[waits], side="right") - 1
    return waits, np.where(last >= 0, by_end[last], NONE)


def won_ns(track: ReplayedRank, changes: Sequence[Change]) -> int:
    """Return by how much the window of a rank becomes shorter with all changes, 0 or more."""
    every = Change(
        spared=join([change.spared for change in changes]),
        is_free=reduce(np.logical_or, [change.is_free for change in changes]),
        length_ns=reduce(np.minimum, [change.length_ns for change in changes]),
    )
    is_shorter = np.any(every.length_ns < track.length_ns)
    if not (every.spared.length_ns or np.any(every.is_free) or is_shorter):
        return 0
    return min(max(track.done_ns - _end_ns(track, every), 0), track.window.length_ns)


def _end_ns(track: ReplayedRank, change: Change) -> int:
    """Return when a rank is done that is spared some work and some waits.

    Between two waits of the host the device is done with an operation after it was ready for the
    last one that it had to wait for, and all the work since: the largest of sums, which need no
    walk over the operations.
    """

    def sooner(at_ns: Times) -> Times:
        """Return when the host is there if it never waits less."""
        low_ns = np.array([track.window.start_ns])
        return at_ns - covered_each(change.spared, low_ns, np.maximum(at_ns, low_ns))

    length_ns = np.minimum(track.length_ns, change.length_ns)
    is_free = np.broadcast_to(change.is_free, track.waits.shape)
    work_ns = np.cumsum(track.gap_ns + length_ns)
    ready_ns = sooner(track.base_ns) + track.delay_ns + length_ns - work_ns
    ready_ns[track.base_ns == NEVER] = NEVER
    ready = np.maximum.reduceat(ready_ns, track.run_first).tolist()
    n_waits = track.run_waits.tolist()
    # At last the host waits for everything.
    low_ns = sooner(np.append(track.low_ns, track.host_end_ns))
    left_ns = sooner(track.high_ns) - np.where(is_free, 0, track.rest_ns)
    waits = (
        np.append(track.n_runs, len(ready)),
        np.append(work_ns[track.for_op] - track.lead_ns, work_ns[-1]),
        low_ns,
        np.append(left_ns, low_ns[-1]),
        np.append(is_free, False),
    )
    idle_ns, saved_ns, played, done = [track.window.start_ns], [0], 0, NEVER
    for before, work, low, left, free in zip(*(item.tolist() for item in waits), strict=True):
        while played < before:
            idle_ns.append(max(idle_ns[-1], ready[played] - saved_ns[n_waits[played]]))
            played += 1
        done = low - saved_ns[-1]
        if not free:
            done = max(done, idle_ns[before] + work)
        saved_ns.append(left - done)
    return int(done)
