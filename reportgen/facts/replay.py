"""How much sooner a rank would have been done without a cost: its recording, played again.

The host is a line of calls. Between them it works; in some of them it waits until the GPU has done
something. Each GPU operation begins when it was launched and what keeps the device busy before it
is done. Played again with nothing changed, this gives the recorded times exactly. With some time of
the host or of the GPU taken out, it gives what is left of the rest: idle stretches that the lead of
the host then covers are won as well, and waits that merely move are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import (
    SYNC_CALL,
    Mask,
    Window,
    WindowKind,
    headline,
    launch_end_ns,
    launch_start_ns,
    rows_named,
    windows_of,
)
from reportgen.facts.intervals import ROUNDING_NS, Union, covered_each, join
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, Times
from reportgen.units import NS_PER_S, NS_PER_US

LAUNCH_BOUND_NS = 30 * NS_PER_US
"""An operation that begins so soon after its launch waited for that launch; one that begins later
waited for something else (docs/definitions.md, Idle time)."""
FULL_QUEUE = 800
"""From so many launched operations on, a long launch call waits for room in the queue, which holds
about 1,024 (docs/definitions.md, Launch queue)."""
LONG_CALL_NS = 50 * NS_PER_US
"""A launch call takes 3 to 20 µs; a longer one does something else, or waits."""
PINNED_BYTES_PER_S = 25e9
"""What PCIe 4.0 with 16 lanes moves from pinned memory; newer links move more."""
LEAST_COPY_BYTES = 65_536
"""A smaller copy is a number that is read back: the wait is the cost, not the copy."""
_PAGEABLE = re.compile(r"Pageable")
NEVER = -(1 << 61)
"""Before any time of a trace: what an operation without a recorded launch waits for."""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What of a rank is played: the device that ran most, and the calls in which its host waits.

    Attributes:
        window: in which it is played.
        host_end_ns: when the host was done with the last step; ``NEVER`` without steps.
        rows: (n,) rows of ``gpu_ops`` in the window, in order of their start.
        base_ns: (n,) when each was launched.
        delay_ns: (n,) from then to its start, if nothing else is in its way.
        gap_ns: (n,) rest of the device before it that no launch explains.
        length_ns: (n,) by how much it keeps the device busy beyond those before it.
        reach_ns: (n,) until when the device was busy.
        end_ns: (n,) when each ended.
        waits: (m,) rows of ``calls`` in which the host waited, in order.
        low_ns, high_ns: (m,) begin and end of these calls.
        for_op: (m,) place in ``rows`` of the operation that each waited for, ``NONE`` for none.
    """

    window: Window
    host_end_ns: int
    rows: Places
    base_ns: Times
    delay_ns: Times
    gap_ns: Times
    length_ns: Times
    reach_ns: Times
    end_ns: Times
    waits: Places
    low_ns: Times
    high_ns: Times
    for_op: Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is taken out of a recording.

    Attributes:
        spared: when the host does what it need not do.
        is_free: (m,) which waits of the track cost nothing any more, ``None`` for none.
        length_ns: (n,) how long each operation of the track keeps the device busy, ``None`` for
            as long as it did.
    """

    spared: Union | None = None
    is_free: Mask | None = None
    length_ns: Times | None = None


@fact
def track_of(trace: RankTrace) -> Track | None:
    """Return what is played of a rank, ``None`` where it ran nothing in its headline window."""
    windows = windows_of(trace)
    if not windows:
        return None
    ops, steps, window = trace.gpu_ops, trace.steps, headline(windows)
    device = int(np.bincount(ops.device).argmax())
    is_inside = (ops.start_ns >= window.start_ns) & (ops.end_ns <= window.end_ns)
    rows = np.flatnonzero((ops.device == device) & is_inside)
    if not rows.size:
        return None
    start_ns, end_ns = ops.start_ns[rows], ops.end_ns[rows]
    reach_ns = np.maximum.accumulate(end_ns)
    before_ns = np.concatenate(([window.start_ns], reach_ns[:-1]))
    base_ns, delay_ns, gap_ns = _launches(trace, rows, np.maximum(start_ns - before_ns, 0))
    length_ns = reach_ns - np.maximum(before_ns, start_ns)
    # What runs behind other operations delays nothing.
    base_ns = np.where(length_ns > 0, base_ns, NEVER)
    waits, for_op = _waits(trace, rows)
    return Track(
        window=window,
        host_end_ns=int(steps.end_ns.max()) if window.kind is WindowKind.STEPS else NEVER,
        rows=rows,
        base_ns=base_ns,
        delay_ns=delay_ns,
        gap_ns=gap_ns,
        length_ns=length_ns,
        reach_ns=reach_ns,
        end_ns=end_ns,
        waits=waits,
        low_ns=trace.calls.start_ns[waits],
        high_ns=trace.calls.end_ns[waits],
        for_op=for_op,
    )


def _launches(trace: RankTrace, rows: Places, gap_ns: Times) -> tuple[Times, Times, Times]:
    """Return when operations were launched, how long a launch takes, and gaps of other kinds."""
    start_ns = trace.gpu_ops.start_ns[rows]
    returned_ns = np.where(blocking_copies(trace), launch_start_ns(trace), launch_end_ns(trace))
    is_orphan = trace.gpu_ops.launch[rows] == NONE
    base_ns = np.where(is_orphan, NEVER, np.minimum(returned_ns[rows], start_ns))
    delay_ns = np.where(is_orphan, 0, start_ns - base_ns)
    is_late = (gap_ns > 0) & (delay_ns <= LAUNCH_BOUND_NS) & ~is_orphan
    usual_ns = int(np.median(delay_ns[is_late])) if is_late.any() else 0
    return (
        base_ns,
        np.where(is_late, delay_ns, np.minimum(delay_ns, usual_ns)),
        np.where(is_late, 0, gap_ns),
    )


def blocking_copies(trace: RankTrace) -> Mask:
    """Return an (n_ops,) mask of copies whose call returned only when they were done."""
    ops = trace.gpu_ops
    is_copy = (ops.kind == GpuKind.MEMCPY) & (ops.launch != NONE)
    return np.asarray(is_copy & (launch_end_ns(trace) >= ops.end_ns))


def from_pinned(trace: RankTrace, track: Track) -> Change:
    """Return copies as they would be from pinned memory: nobody waits, and they are faster."""
    ops = trace.gpu_ops
    is_pageable = rows_named(trace, ops.name, _PAGEABLE.search) & (ops.kind == GpuKind.MEMCPY)
    is_pageable &= ops.bytes >= LEAST_COPY_BYTES
    pinned_ns = ops.bytes[track.rows] * (NS_PER_S / PINNED_BYTES_PER_S)
    left = np.clip(pinned_ns / np.maximum(ops.duration_ns[track.rows], 1), 0, 1)
    length_ns = np.where(is_pageable[track.rows], track.length_ns * left, track.length_ns)
    return Change(is_free=waits_of(trace, track, is_pageable), length_ns=length_ns.astype(np.int64))


def waits_of(trace: RankTrace, track: Track, is_meant: Mask) -> Mask:
    """Return an (m,) mask of the waits that are calls of some copies, an (n_ops,) mask."""
    launches = trace.gpu_ops.launch[is_meant & blocking_copies(trace)]
    return np.asarray(np.isin(track.waits, launches))


def _waits(trace: RankTrace, rows: Places) -> tuple[Places, Places]:
    """Return the calls in which the host waits, in order, and the operation of each."""
    calls, ops = trace.calls, trace.gpu_ops
    is_wait = rows_named(trace, calls.name, SYNC_CALL.search)
    is_wait[ops.launch[blocking_copies(trace)]] = True
    launches = np.unique(ops.launch[rows])
    launches = launches[launches != NONE]
    by_end = np.argsort(ops.end_ns[rows], kind="stable")
    end_ns = ops.end_ns[rows][by_end]
    depth = np.arange(launches.size) - np.searchsorted(end_ns, calls.start_ns[launches])
    is_full = (depth >= FULL_QUEUE) & (calls.duration_ns[launches] > LONG_CALL_NS)
    is_wait[launches[is_full]] = True
    waits = np.flatnonzero(is_wait)
    # Of calls inside each other, or on two threads at once, the first is the wait.
    reach_ns = np.maximum.accumulate(calls.end_ns[waits])
    follows = calls.start_ns[waits][1:] >= reach_ns[:-1] - ROUNDING_NS
    is_first = np.concatenate(([True], follows))[: waits.size]
    waits = waits[is_first]
    last = np.searchsorted(end_ns, calls.end_ns[waits], side="right") - 1
    return waits, np.where(last >= 0, by_end[last], NONE)


def won_ns(trace: RankTrace, changes: Sequence[Change]) -> int:
    """Return by how much the window of a rank becomes shorter with all changes, 0 or more."""
    track = track_of(trace)
    if track is None:
        return 0
    lost_ns = _end_ns(track, ()) - _end_ns(track, changes)
    return min(max(lost_ns, 0), track.window.length_ns)


def _end_ns(track: Track, changes: Sequence[Change]) -> int:
    """Return when a rank is done with all changes made."""
    spared = join((_NOTHING, *(item.spared for item in changes if item.spared is not None)))
    is_free = np.zeros(track.waits.shape, dtype=bool)
    length_ns = track.length_ns
    for change in changes:
        if change.is_free is not None:
            is_free = is_free | change.is_free
        if change.length_ns is not None:
            length_ns = np.minimum(length_ns, change.length_ns)

    def sooner(at_ns: Times) -> Times:
        """Return what the host has been spared until then."""
        low_ns = np.full_like(at_ns, track.window.start_ns)
        return at_ns - covered_each(spared, low_ns, np.maximum(at_ns, low_ns))

    ready_ns = np.where(track.base_ns == NEVER, NEVER, sooner(track.base_ns) + track.delay_ns)
    player = _Player(
        track=track, ready_ns=ready_ns, step_ns=track.gap_ns + length_ns, length_ns=length_ns
    )
    saved_ns = player.play(sooner(track.low_ns), sooner(track.high_ns), is_free)
    host_ns = sooner(np.array([track.host_end_ns]))[0] - saved_ns
    return max(int(player.reach_ns[-1]), int(host_ns))


_NOTHING = Union(start_ns=np.empty(0, dtype=np.int64), end_ns=np.empty(0, dtype=np.int64))


class _Player:
    """Plays the operations of a track from one wait of the host to the next."""

    def __init__(self, *, track: Track, ready_ns: Times, step_ns: Times, length_ns: Times) -> None:
        self.track, self.ready_ns = track, ready_ns
        self.step_ns, self.length_ns = step_ns, length_ns
        self.reach_ns = np.zeros_like(ready_ns)
        self.n_waits = np.searchsorted(track.high_ns, track.base_ns, side="right")
        self.saved_ns = np.zeros(track.waits.size + 1, dtype=np.int64)
        self.place = 0

    def play(self, low_ns: Times, high_ns: Times, is_free: Mask) -> int:
        """Play everything; return how much the host has saved by waiting less."""
        track = self.track
        end_ns, reach_ns = track.end_ns.tolist(), track.reach_ns.tolist()
        waits = zip(
            track.for_op.tolist(),
            track.low_ns.tolist(),
            track.high_ns.tolist(),
            low_ns.tolist(),
            high_ns.tolist(),
            is_free.tolist(),
            strict=True,
        )
        saved_ns = 0
        for turn, (op, was_low, was_high, low, high, free) in enumerate(waits):
            self._play_to(op + 1, turn)
            begun = low - saved_ns
            done = begun
            if op != NONE and not free:
                was_done = end_ns[op]
                op_done = int(self.reach_ns[op]) - reach_ns[op] + was_done
                done = max(begun, op_done) + was_high - max(was_low, was_done)
            elif not free:
                done = begun + was_high - was_low
            saved_ns = high - done
            self.saved_ns[turn + 1] = saved_ns
        self._play_to(self.ready_ns.size, track.waits.size)
        return saved_ns

    def _play_to(self, stop: int, turn: int) -> None:
        """Play the operations before a place, launched after at most so many waits."""
        if stop <= self.place:
            return
        here = slice(self.place, stop)
        saved_ns = self.saved_ns[np.minimum(self.n_waits[here], turn)]
        lasting_ns = np.cumsum(self.step_ns[here])
        begun_ns = self.ready_ns[here] - saved_ns + self.length_ns[here] - lasting_ns
        before_ns = self.reach_ns[self.place - 1] if self.place else self.track.window.start_ns
        latest_ns = np.maximum(np.maximum.accumulate(begun_ns), before_ns)
        self.reach_ns[here] = lasting_ns + latest_ns
        self.place = stop
