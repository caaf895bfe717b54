"""Which minutes GPUs idle a part of while their node waits for the disk or for its network.

A loop that waits for each batch leaves gaps that are shorter than a tick, and no tick shows an idle
GPU. Means over a minute hold as much idling as there is, however short its pieces are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts import samples, usage
from reportgen.facts.intervals import runs_of
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.profile.memo import fact
from reportgen.profile.spans import FETCH, TENSORFLOW_FETCH
from reportgen.units import NS_PER_S

LEAST_WORK_TICKS = 40
"""With fewer ticks between first and last work, means say little. Chosen in the exam: with 20,
a wrong cause was named; with 100, jobs of a minute had none."""
IDLES_RATIO = 0.08
"""GPUs at work are rarely read as 100 %: a minute in which less than this is missing to their usual
use is a minute at work."""
STARVED_FROM_RATIO = 0.05
"""The sum of such minutes matters if it is at least this share: well above a few slow batches at
the start of an epoch."""
WORKS_PCT = 80.0
"""Where ticks reach this, they show how much a GPU is used that does not wait. If no tick does,
each tick may hold a wait, and everything below 100 % may be waiting."""
METER_NS = NS_PER_S
"""A meter looks back for up to a second. In samples that are closer GPUs idle in turn for parts of
a step, and none of them for long: so the mean of each over a second counts."""
USUAL_PCT = 95
"""The percentile of the use that stands for a GPU that does not wait."""
PLATEAU_RATIO = 0.7
"""A node that reads at the limit of its network is close to it all the time; bursts and reading
ahead leave the mean of a minute far below."""
LIMIT_RATIO = 0.85
"""Ticks of a network at its limit are alike unless it stops: data read as used scatter more."""
STEADY_RANGE = 0.1
"""GPUs that wait for data wait longer in some ticks than in others: a use that stays within a tenth
in nine ticks of ten is what steps need."""
ROOM_RATIO = 0.5
"""Where more than half of the cores compute, they may be what sets the pace, not the network."""
FOLLOWS_CORRELATION = -0.5
"""Data that are read as they are used come more slowly when GPUs idle: a rate that varies with the
idling of the GPUs is an effect of their work if it is correlated at least this much. A network at
its limit goes on until all is read ahead, as in a pause: ticks of a rate below ``STOPS_RATIO``
count as one."""
STOPS_RATIO = 0.5
ALL_LOST_RATIO, FEW_TICKS = 0.9, 10
"""One stretch of more than a few ticks without work that is most of the idling is a single pause,
which is another finding. Samples that are far apart show no stretch."""
GOES_ON_RATIO = 0.85
"""A network that the loop waits for rests only in pauses of it. One that rests for more of the time
has brought all that was asked for: the GPUs wait for something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starving:
    """The minutes of one node in which its GPUs idle and something sets the pace.

    ``n_ticks`` lead from the first to the last work of the GPUs, and the idling makes
    ``idle_ticks`` of them; the other values are means over these minutes.
    """

    node: str
    first_ns: int
    last_ns: int
    n_ticks: int
    n_cores: int
    n_minutes: int
    idle_ticks: float
    busy_cores: float
    waiting_cores: float
    bytes_per_s: float

    @property
    def ratio(self) -> float:
        """Return the idling as a share of the time from first to last work, 0-1."""
        return self.idle_ticks / self.n_ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """The (n,) ticks of a node from first to last work; ``minute`` counts from 0.

    ``idle`` is of single samples of the GPU that idles most, ``lost`` of means over a meter's time.
    """

    minute: Integers
    tick_ns: Integers
    idle: Floats
    lost: Floats
    busy: Floats
    waiting: Floats
    received: Floats


def worst_of(found: Sequence[Starving]) -> Starving | None:
    """Return the node that loses the largest share, ``None`` where none loses a notable one."""
    worst = max(found, key=lambda item: (item.ratio, item.node), default=None)
    return worst if worst and worst.ratio >= STARVED_FROM_RATIO else None


def starved_by_disk(part: NodeProfile) -> tuple[Starving, ...]:
    """Return the minutes in which the disk sets the pace of idling GPUs, as one or no entry.

    Where the waits of most of the loop were recorded, these say more, and nothing is returned.
    """
    work = _unexplained(part)
    if work is None:
        return ()
    waiting, busy = (_while_idle(work, of) for of in (work.waiting, work.busy))
    return _starving(part, work, usage.wait_for_disk(waiting, busy))


def starved_by_cores(part: NodeProfile) -> tuple[Starving, ...]:
    """Return the minutes in which the cores are used up while GPUs idle, as one or no entry."""
    work = _unexplained(part)
    if work is None:
        return ()
    least = usage.FULL_RATIO * len(_cores(part.system))
    return _starving(part, work, _while_idle(work, work.busy) >= least)


def starved_by_network(part: NodeProfile) -> tuple[Starving, ...]:
    """Return the minutes in which the node receives at a limit, as one or no entry.

    In them the rate stays close to its own maximum, hardly any core computes, the use of the GPUs
    varies, and the rate does not fall when they idle.
    """
    work = _unexplained(part)
    if work is None or not np.isfinite(work.received).any():
        return ()
    rate, n_cores = _by_minute(work, work.received), len(_cores(part.system))
    limit = float(np.nanpercentile(work.received, usage.OWN_LIMIT_PCT))
    is_flat = rate >= max(PLATEAU_RATIO * limit, usage.FLOOR_BYTES_PER_S)
    has_room = _by_minute(work, work.busy) < ROOM_RATIO * n_cores
    goes_on = np.nan_to_num(work.received) >= STOPS_RATIO * limit
    idle, received = work.idle[goes_on], work.received[goes_on]
    is_effect = (
        float(goes_on.mean()) < GOES_ON_RATIO
        or float(np.median(received)) < LIMIT_RATIO * limit
        or float(np.ptp(np.percentile(idle, (5, 95)))) < STEADY_RANGE
        or _correlation(idle, received) <= FOLLOWS_CORRELATION
    )
    at_limit = replace(work, lost=np.where(goes_on, work.lost, 0))
    return () if is_effect else _starving(part, at_limit, is_flat & has_room)


def busy_cores_ratio(part: NodeProfile) -> float | None:
    """Return which share of the cores computes while GPUs idle, 0-1; ``None`` if unknown."""
    work, n_cores = _work_of(part.system), len(_cores(part.system))
    if work is None or work.idle.sum() <= 0:
        return None
    return float(np.average(work.busy, weights=work.idle)) / n_cores


def usual_pct(use_pct: Floats) -> float:
    """Return the use of (n,) samples that stands for a GPU that does not wait; 0 without any."""
    known = samples.present_values(use_pct)
    return float(np.percentile(known, USUAL_PCT)) if known.size else 0.0


def _unexplained(part: NodeProfile) -> _Work | None:
    are_recorded = part.spans.in_phases((FETCH, TENSORFLOW_FETCH)).any()
    loop_ns, works_ns = samples.training_loop_ns(part.spans), usage.working_ns(part.system)
    are_all = are_recorded and not samples.is_window(loop_ns, works_ns)
    return None if are_all else _work_of(part.system)


@fact
def _work_of(system: SystemTable) -> _Work | None:
    """Return the ticks from first to last work of the GPUs that the job uses throughout.

    The one that idles most counts at each time: GPUs that wait for it in a collective look busy.
    """
    if not system.names(SeriesKind.GPU_UTILIZATION):
        return None
    works = np.flatnonzero(usage.at_work(system)[0])
    if not works.size or works[-1] - works[0] < LEAST_WORK_TICKS or not _cores(system):
        return None
    at_work = slice(int(works[0]), int(works[-1]) + 1)
    uses_pct = [use[at_work] for use in usage.in_use(system)]
    n_high, n_known = (
        sum(np.count_nonzero(use_pct >= least_pct) for use_pct in uses_pct)
        for least_pct in (WORKS_PCT, 0)
    )
    shows_level = 100 * n_high >= (100 - USUAL_PCT) * n_known
    least, smooth = np.full((2, at_work.stop - at_work.start), np.inf)
    width = max(METER_NS // (system.interval_ns or METER_NS), 1)
    ends = (width // 2, width - 1 - width // 2)
    for use_pct in uses_pct:
        level_pct = max(usual_pct(use_pct), usage.IDLE_BELOW_PCT) if shows_level else 100.0
        relative = use_pct / level_pct
        known = np.where(np.isnan(relative), 1, relative)
        means = np.convolve(np.pad(known, ends, "edge"), np.full(width, 1 / width), mode="valid")
        np.minimum(least, known, out=least)
        np.minimum(smooth, means, out=smooth)
    waiting = np.nan_to_num(samples.sum_of(system, SeriesKind.IO_WAIT)[at_work]) / 100
    used = np.nan_to_num(samples.sum_of(system, SeriesKind.CPU_UTILIZATION)[at_work]) / 100
    minutes = samples.minutes_of(system.tick_ns[at_work]).stop
    return _Work(
        minute=np.searchsorted(minutes, np.arange(least.size), side="right"),
        tick_ns=system.tick_ns[at_work],
        idle=1 - least,
        lost=1 - smooth,
        busy=np.maximum(used - waiting, 0),
        waiting=waiting,
        received=usage.input_bytes_per_s(system)[at_work],
    )


def _cores(system: SystemTable) -> Sequence[str]:
    return system.names(SeriesKind.CPU_UTILIZATION)


def _by_minute(work: _Work, values: Floats) -> Floats:
    known = np.nan_to_num(values)
    return np.asarray(np.bincount(work.minute, known) / np.bincount(work.minute))


def _while_idle(work: _Work, values: Floats) -> Floats:
    """Return the mean of each minute, samples counted by how far the GPUs idle in them.

    One reader that waits while the GPU idles does not fill half a core of the whole minute.
    """
    known = np.nan_to_num(values) * work.idle
    idle = np.bincount(work.minute, work.idle)
    return np.asarray(np.bincount(work.minute, known) / np.maximum(idle, 1e-9))


def _correlation(one: Floats, other: Floats) -> float:
    is_known = np.isfinite(one) & np.isfinite(other)
    one, other = one[is_known], other[is_known]
    if one.size < LEAST_WORK_TICKS or not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _starving(part: NodeProfile, work: _Work, sets_pace: Mask) -> tuple[Starving, ...]:
    is_starved = (sets_pace & (_by_minute(work, work.lost) >= IDLES_RATIO))[work.minute]
    lost = float(work.lost[is_starved].sum())
    idle = np.flatnonzero(is_starved & (work.lost >= ALL_LOST_RATIO))
    begin, end = runs_of(idle, max_step=1)
    if not lost or 2 * (end - begin + 1).max(initial=0) > max(lost, 2 * FEW_TICKS):
        return ()
    ticks = work.tick_ns[is_starved]
    found = Starving(
        node=part.node,
        first_ns=int(ticks[0]),
        last_ns=int(ticks[-1]),
        n_ticks=int(work.tick_ns.size),
        n_cores=len(_cores(part.system)),
        n_minutes=int(np.unique(work.minute[is_starved]).size),
        idle_ticks=lost,
        busy_cores=float(work.busy[is_starved].mean()),
        waiting_cores=float(work.waiting[is_starved].mean()),
        bytes_per_s=float(np.nan_to_num(work.received[is_starved]).mean()),
    )
    return (found,)
