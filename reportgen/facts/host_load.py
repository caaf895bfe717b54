"""How busy the cores of a node are, tick by tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.samples import mean_over
from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.memo import fact
from reportgen.profile.system import Floats

CPU_HOT_PCT = 90
IO_HOT_PCT = 50
"""A core above the first is busy, above the second it waits for I/O: the defaults of SageMaker's
CPUBottleneck and IOBottleneck (docs/rules.md)."""
USED_UP_RATIO = 0.75
"""Where three quarters of the cores are hot, more loader processes only share what is left."""

Counts = NDArray[np.int64]


def hot_cores(system: SystemTable, kind: SeriesKind, *, above: float) -> Counts:
    """Return (n_ticks,) how many cores exceed ``above``; an absent sample never does."""
    return np.asarray(np.count_nonzero(system.matrix(kind) > above, axis=1))


@fact
def is_host_hot(system: SystemTable) -> NDArray[np.bool_]:
    """Return (n_ticks,) whether any core was busy or waited for I/O, by the default thresholds."""
    busy = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    waiting = hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT)
    return np.asarray((busy > 0) | (waiting > 0))


@fact
def cores_mean_pct(system: SystemTable) -> Floats:
    """Return (n_ticks,) the mean use of the cores in 0-100, NaN where none was sampled."""
    return mean_over(system.matrix(SeriesKind.CPU_UTILIZATION))
