"""How busy the host is while a loop waits for a batch: whether more loader processes can help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reportgen.facts.intervals import overlaps_any
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.profile.system import Instants
from reportgen.rules.bottlenecks.host_load import (
    CPU_HOT_PCT,
    IO_HOT_PCT,
    USED_UP_RATIO,
    Counts,
    hot_cores,
)

LEAST_TICKS = 10
"""Fewer samples within waits do not tell. Source: ours."""


def hot_while_waiting(system: SystemTable, waits: SpanTable) -> float | None:
    """Return the median share of hot cores of a node over the ticks within waits, 0-1.

    A core that waits for I/O is not hot, though its utilization includes the waiting.

    Edge cases: ``None`` without cores, or with fewer than ``LEAST_TICKS`` such ticks.
    """
    return _hot_within(system, waits.start_ns, waits.end_ns)


def hot_in_loop(system: SystemTable, steps: SpanTable) -> float | None:
    """Return the median share of hot cores from the first step to the last, as above."""
    if not steps.n_spans:
        return None
    start_ns, end_ns = steps.start_ns.min(keepdims=True), steps.end_ns.max(keepdims=True)
    return _hot_within(system, start_ns, end_ns)


def _hot_within(system: SystemTable, start_ns: Instants, end_ns: Instants) -> float | None:
    n_cores = len(system.names(SeriesKind.CPU_UTILIZATION))
    tick_ns = system.tick_ns
    is_within = overlaps_any(tick_ns, tick_ns, start_ns, end_ns)
    if not n_cores or int(is_within.sum()) < LEAST_TICKS:
        return None
    return float(np.median(_computing_cores(system)[is_within])) / n_cores


def _computing_cores(system: SystemTable) -> Counts:
    """Return (n_ticks,) how many cores are hot, those left out that wait for I/O."""
    waiting = hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT)
    hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    return np.asarray(np.maximum(hot - waiting, 0))


def are_cores_used_up(ratios: Sequence[float | None]) -> bool:
    """Return whether the cores of the usual node are used up while it waits."""
    known = [ratio for ratio in ratios if ratio is not None]
    return bool(known) and float(np.median(known)) >= USED_UP_RATIO
