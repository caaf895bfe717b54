"""What a node did while its training loop waited for data: compute, wait for the disk, receive.

Samples are coarser than most waits, so no single tick decides: means over all ticks that fall into
waits do, which are a fair sample of the waiting.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from reportgen.facts.intervals import Instants, overlaps_any
from reportgen.facts.loader import Mask
from reportgen.facts.samples import sum_over
from reportgen.facts.steps import steps_of
from reportgen.facts.usage import (
    CPU_HOT_PCT,
    FLOOR_BYTES_PER_S,
    IO_HOT_PCT,
    NETWORK_BUSY_PCT,
    OWN_LIMIT_PCT,
    USED_UP_RATIO,
    cores_mean_pct,
    hot_cores,
    wait_for_disk,
)
from reportgen.profile import SeriesKind, SpanTable, SystemTable

LEAST_STEPS = 5
"""The median of fewer steps says little about the others."""
FASTEST_PCT = 10
"""The percentile of the lengths of steps that stands for an undisturbed one."""
LEAST_TICKS = 10
"""The mean of fewer samples says little about a stretch of time."""
FLAT_RATIO = NETWORK_BUSY_PCT / 100
"""A rate that is in the median as close to its own maximum as a busy network is flat: it has
reached a limit. Bursts and reading ahead leave the median of an unlimited rate far below."""
STEADY_RATIO = 0.5
"""Loaders that hardly compute and do not wait for the disk wait for the network: they receive at
least half of the maximum then, which holds what workers exchange in between as well."""
FULL_RATIO = 0.85
"""Cores that compute so much of the time on average have no room for another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLoad:
    """One node while its loop waited.

    Attributes:
        n_cores: cores that were sampled.
        busy_cores: how many computed, on average; waiting for the disk is no computing.
        waiting_cores: how many waited for the disk, on average.
        hot_ratio: median share of cores above 90 %, 0-1.
        flat_ratio: median of the bytes per second that were received meanwhile by the 99th
            percentile of the loop, 0-1; 0 where hardly anything is received.
    """

    n_cores: int
    busy_cores: float
    waiting_cores: float
    hot_ratio: float
    flat_ratio: float

    @property
    def waits_for_disk(self) -> bool:
        """Return whether the disk sets the pace."""
        return bool(wait_for_disk(np.array(self.waiting_cores), np.array(self.busy_cores)))

    @property
    def is_full(self) -> bool:
        """Return whether the cores are used up."""
        return self.hot_ratio >= USED_UP_RATIO or self.busy_cores >= FULL_RATIO * self.n_cores


def input_load_of(
    system: SystemTable, waits: tuple[Instants, Instants], loop_ns: tuple[int, int] | None
) -> tuple[InputLoad, ...]:
    """Return what a node did during the waits of its loop; nothing without cores or samples.

    Args:
        system: samples of the node.
        waits: (n,) starts and ends of the waits.
        loop_ns: its loop, used where too few samples fall into waits.
    """
    if not system.names(SeriesKind.CPU_UTILIZATION):
        return ()
    is_within = overlaps_any(system.tick_ns, system.tick_ns, *waits)
    first_ns, last_ns = loop_ns or (waits[0].min(initial=0), waits[1].max(initial=0))
    in_loop = (system.tick_ns >= first_ns) & (system.tick_ns <= last_ns)
    if int(is_within.sum()) < LEAST_TICKS:
        is_within = in_loop
    return (_load(system, is_within, in_loop),) if int(is_within.sum()) >= LEAST_TICKS else ()


def crowded_loss_ns(system: SystemTable, spans: SpanTable) -> int:
    """Return how much longer the cycles of a node's loop are together where its cores are used up.

    A cycle that overlaps such ticks is compared with the median of those of its phase that do not,
    and where these are too few, as in a short validation, with the fastest tenth of all. Of several
    workers the largest sum counts. 0 where cores are never used up, or always.
    """
    n_cores, interval_ns = len(system.names(SeriesKind.CPU_UTILIZATION)), system.interval_ns
    if not n_cores or interval_ns is None:
        return 0
    hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    is_full = (hot >= USED_UP_RATIO * n_cores) | (cores_mean_pct(system) >= 100 * FULL_RATIO)
    end_ns = system.tick_ns[is_full]
    losses = defaultdict[str, float](float)
    for steps in steps_of(spans):
        is_crowded = overlaps_any(steps.start_ns, steps.next_ns, end_ns - interval_ns, end_ns)
        free_ns = steps.cycle_ns[~is_crowded]
        usual_ns = (
            np.median(free_ns)
            if free_ns.size >= LEAST_STEPS
            else np.percentile(steps.cycle_ns, FASTEST_PCT)
        )
        losses[steps.worker] += float((steps.cycle_ns[is_crowded] - usual_ns).sum())
    return max(round(max(losses.values(), default=0.0)), 0)


def _load(system: SystemTable, is_within: Mask, in_loop: Mask) -> InputLoad:
    n_cores = len(system.names(SeriesKind.CPU_UTILIZATION))
    used = sum_over(system.matrix(SeriesKind.CPU_UTILIZATION)[is_within]) / 100
    waiting = sum_over(system.matrix(SeriesKind.IO_WAIT)[is_within]) / 100
    hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    hot = np.maximum(hot - hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT), 0)
    waiting_cores = float(np.nanmean(waiting)) if np.isfinite(waiting).any() else 0.0
    return InputLoad(
        n_cores=n_cores,
        busy_cores=max(float(np.nanmean(used)) - waiting_cores, 0.0),
        waiting_cores=waiting_cores,
        hot_ratio=float(np.median(hot[is_within])) / n_cores,
        flat_ratio=_flat_ratio(system, is_within, in_loop),
    )


def _flat_ratio(system: SystemTable, is_within: Mask, in_loop: Mask) -> float:
    received = sum_over(system.matrix(SeriesKind.RECEIVE_ALGORITHM))
    is_known = np.isfinite(received)
    if int((is_within & is_known).sum()) < LEAST_TICKS:
        return 0.0
    middle = float(np.median(received[is_within & is_known]))
    most = float(np.percentile(received[(is_within | in_loop) & is_known], OWN_LIMIT_PCT))
    return middle / most if middle >= FLOOR_BYTES_PER_S else 0.0
