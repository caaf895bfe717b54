"""How busy the host is while a loop waits for a batch: whether more loader processes can help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.rules.bottlenecks.host_load import CPU_HOT_PCT, hot_cores
from reportgen.rules.maths.intervals import overlaps_any

USED_UP_RATIO = 0.5
"""From half of the cores on more loader processes cannot help. Source: ours."""
LEAST_TICKS = 10
"""Fewer samples within waits do not tell. Source: ours."""


def hot_while_waiting(system: SystemTable, waits: SpanTable) -> float | None:
    """Return the median share of hot cores of a node over the ticks within waits, 0-1.

    Edge cases: ``None`` without cores, or with fewer than ``LEAST_TICKS`` such ticks.
    """
    n_cores = len(system.names(SeriesKind.CPU_UTILIZATION))
    tick_ns = system.tick_ns
    is_waiting = overlaps_any(tick_ns, tick_ns, waits.start_ns, waits.end_ns)
    if not n_cores or int(is_waiting.sum()) < LEAST_TICKS:
        return None
    hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    return float(np.median(hot[is_waiting])) / n_cores


def are_cores_used_up(ratios: Sequence[float | None]) -> bool:
    """Return whether the cores of the usual node are used up while it waits."""
    known = [ratio for ratio in ratios if ratio is not None]
    return bool(known) and float(np.median(known)) >= USED_UP_RATIO
