"""The work of a node while its training loop waited for data: compute, wait for the disk, receive.

Samples are coarser than most waits, so no single tick decides: means over all ticks that fall into
waits do, which are a fair sample of the waiting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Floats, Instants, Mask
from reportgen.facts import usage
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.samples import means, minutes_of, present_values, sum_of, totals_of
from reportgen.facts.slow_steps import slow_steps_of
from reportgen.facts.starving import IDLES_RATIO, WORKS_PCT, usual_pct
from reportgen.facts.step_times import step_times_of
from reportgen.facts.steps import WARM_UP_STEPS
from reportgen.profile import SeriesKind, SpanTable, SystemTable

LEAST_LOADED_STEPS = 5
"""The median of fewer steps says little about the others."""
FASTEST_PCT = 10
"""The percentile of the lengths of steps that stands for an undisturbed one."""
LEAST_LOAD_TICKS = 10
"""The mean of fewer samples says little about a stretch of time."""
STEADY_RATIO = 0.5
"""Loaders that mostly rest, and do not wait for the disk, wait for the network if it delivers half
as much then as in the same minutes, which hold what workers exchange as well. Bursts and reading
ahead leave the rate far below. An earlier limit says nothing: networks of instances grow slower
when their burst is used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLoad:
    """One node while its loop waited.

    Attributes:
        is_of_loop: whether the whole loop stands for its waits.
        waited_ns: how long its loops waited in all.
        busy_cores, waiting_cores: how many computed, and waited for the disk instead, on average.
        hot_ratio: median share of cores above 90 %, 0-1.
        flat_ratio: median of the bytes per second that came in meanwhile, beyond what was sent, by
            the mean of the same minutes, at most 1; 0 where hardly anything is received, where the
            loop stands for its waits, and where one of several processes waits alone.
        disk_ratio, network_ratio: bytes per second that the disk, and the network, delivered over
            the whole loop, by those while it waited; 0 if unknown.
    """

    n_cores: int
    busy_cores: float
    waiting_cores: float
    hot_ratio: float
    flat_ratio: float
    waited_ns: int = 0
    is_of_loop: bool = False
    disk_ratio: float = 0.0
    network_ratio: float = 0.0

    def waits_for_disk(self, n_readers: int = 0) -> bool:
        """Return whether the disk sets the pace of a number of readers, 0 if that is unknown.

        Of as many cores no more than theirs compute for them: the others train.
        """
        computing_cores = self.busy_cores
        if n_readers:
            computing_cores = min(computing_cores, max(n_readers - self.waiting_cores, 0.0))
        return bool(usage.wait_for_disk(np.array(self.waiting_cores), np.array(computing_cores)))

    @property
    def is_full(self) -> bool:
        """Return whether the cores are used up."""
        return self.hot_ratio >= usage.USED_UP_RATIO or (
            self.busy_cores >= usage.FULL_RATIO * self.n_cores
        )


def input_load_of(
    system: SystemTable,
    waits: tuple[Instants, Instants],
    loop_ns: tuple[int, int] | None,
    *,
    is_alone: bool = False,
) -> tuple[InputLoad, ...]:
    """Return the work of a node during the waits of its loop; nothing without cores or samples.

    The whole loop stands for its waits where too few samples fall into them. A network holds up all
    processes of a node: if one waits ``is_alone``, it is not the reason.
    """
    if not system.names(SeriesKind.CPU_UTILIZATION):
        return ()
    is_within = overlaps_any(system.tick_ns, system.tick_ns, *waits)
    first_ns, last_ns = loop_ns or (waits[0].min(initial=0), waits[1].max(initial=0))
    in_loop = (system.tick_ns >= first_ns) & (system.tick_ns <= last_ns)
    if is_of_loop := int(is_within.sum()) < LEAST_LOAD_TICKS:
        is_within = in_loop
    if int(is_within.sum()) < LEAST_LOAD_TICKS:
        return ()
    waited_ns = int((waits[1] - waits[0]).sum())
    load = _load(system, is_within, in_loop)
    flat_ratio = 0.0 if is_of_loop or is_alone else load.flat_ratio
    return (replace(load, waited_ns=waited_ns, is_of_loop=is_of_loop, flat_ratio=flat_ratio),)


def crowded_loss_ns(system: SystemTable, spans: SpanTable) -> int:
    """Return how much longer a node's loop is where the job uses up its cores, at most.

    Cycles that overlap such ticks show it in two ways, of which the larger counts. They are longer
    than the median of the others of their phase, or where these are too few than the fastest tenth
    of all. And GPUs idle in them, also where no cycle is ever undisturbed. Warm-up does not count,
    nor do cycles with a long time between steps, as at the turn of an epoch: they have other
    reasons.
    """
    n_cores, interval_ns = len(system.names(SeriesKind.CPU_UTILIZATION)), system.interval_ns
    if not n_cores or interval_ns is None:
        return 0
    is_full = usage.are_cores_full(system) & ~usage.crowded_by_others(system)
    end_ns, is_within = system.tick_ns[is_full], np.zeros(system.n_ticks, dtype=bool)
    losses = defaultdict[str, float](float)
    for times in step_times_of(spans):
        steps, is_slow_between = times.steps, slow_steps_of(times).between.is_slow
        is_crowded = overlaps_any(steps.start_ns, steps.next_ns, end_ns - interval_ns, end_ns)
        is_late = np.arange(steps.n_steps) >= WARM_UP_STEPS
        free_ns = steps.cycle_ns[~is_crowded]
        crowded = steps.where(is_crowded & is_late & ~is_slow_between)
        usual_ns = np.percentile(steps.cycle_ns, FASTEST_PCT)
        if free_ns.size >= LEAST_LOADED_STEPS:
            usual_ns = np.median(free_ns)
        losses[steps.worker] += float((crowded.cycle_ns - usual_ns).sum())
        is_within |= overlaps_any(system.tick_ns, system.tick_ns, crowded.start_ns, crowded.next_ns)
    idle_ns = interval_ns * _idle_ticks(system.columns_of(SeriesKind.GPU_UTILIZATION), is_within)
    return round(max(idle_ns, 0.0, *losses.values()))


def _idle_ticks(use: Sequence[Floats], is_within: Mask) -> float:
    """Return how many of some ticks the used GPUs idle, against their usual use in all."""
    used = (use[gpu] for gpu in np.flatnonzero(usage.used_gpus(use)).tolist())
    used_pct = means(*totals_of(used, is_within.size))
    level_pct = usual_pct(used_pct)
    level_pct = level_pct if level_pct >= WORKS_PCT else 100 * (1 - IDLES_RATIO)
    return float((1 - present_values(used_pct[is_within]) / level_pct).sum())


def _load(system: SystemTable, is_within: Mask, in_loop: Mask) -> InputLoad:
    n_cores = len(system.names(SeriesKind.CPU_UTILIZATION))
    used = sum_of(system, SeriesKind.CPU_UTILIZATION)[is_within] / 100
    waiting = sum_of(system, SeriesKind.IO_WAIT)[is_within] / 100
    hot = usage.hot_cores(system, SeriesKind.CPU_UTILIZATION, above=usage.CPU_HOT_PCT)
    hot = np.maximum(hot - usage.hot_cores(system, SeriesKind.IO_WAIT, above=usage.IO_HOT_PCT), 0)
    waiting_cores = float(np.nanmean(waiting)) if np.isfinite(waiting).any() else 0.0
    return InputLoad(
        n_cores=n_cores,
        busy_cores=max(float(np.nanmean(used)) - waiting_cores, 0.0),
        waiting_cores=waiting_cores,
        hot_ratio=float(np.median(hot[is_within])) / n_cores,
        flat_ratio=_flat_ratio(system, is_within, in_loop),
        disk_ratio=_pace_ratio(sum_of(system, SeriesKind.READ_RATE), is_within, in_loop),
        network_ratio=_pace_ratio(usage.input_bytes_per_s(system), is_within, in_loop),
    )


def _pace_ratio(rate: Floats, is_within: Mask, in_loop: Mask) -> float:
    """Return the mean rate in the loop by that in its waits; 0 where the loop stands for them."""
    waiting, every = (rate[mask & np.isfinite(rate)] for mask in (is_within, in_loop))
    is_known = LEAST_LOAD_TICKS <= waiting.size < every.size and waiting.mean() > 0
    return min(float(every.mean() / waiting.mean()), 1.0) if is_known else 0.0


def _flat_ratio(system: SystemTable, is_within: Mask, in_loop: Mask) -> float:
    received = usage.input_bytes_per_s(system)
    is_known = np.isfinite(received) & (is_within | in_loop)
    waiting, every = is_within[is_known], received[is_known]
    if int(waiting.sum()) < LEAST_LOAD_TICKS:
        return 0.0
    stop = minutes_of(system.tick_ns[is_known]).stop
    n = np.diff(stop, prepend=0)
    around = np.repeat(np.add.reduceat(every, stop - n) / n, n)
    middle, usual = np.median(every[waiting]), np.median(around[waiting])
    return min(float(middle / usual), 1.0) if middle >= usage.FLOOR_BYTES_PER_S else 0.0
