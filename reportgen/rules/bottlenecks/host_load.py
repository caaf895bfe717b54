"""How many cores of a node were hot, and how many of its GPUs idle, tick by tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SeriesKind, SystemTable

CPU_HOT_PCT = 90.0
IO_HOT_PCT = 50.0
GPU_LOW_PCT = 10.0
"""Defaults of CPUBottleneck and IOBottleneck. Source: rules-spec §0.5."""
UNTOUCHED_PCT = 2.0
"""A GPU that stays below this for the whole job runs nothing of it. Source: ours; a driver's own
work is told as 1 %."""

Counts = NDArray[np.int64]


def hot_cores(system: SystemTable, kind: SeriesKind, *, above: float) -> Counts:
    """Return (n_ticks,) how many cores exceed ``above``; an absent sample never does."""
    return np.asarray(np.count_nonzero(system.matrix(kind) > above, axis=1))


def low_gpus(system: SystemTable, *, below: float) -> Counts:
    """Return (n_ticks,) how many GPUs lie under ``below``; an absent sample never does."""
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    return np.asarray(np.count_nonzero(matrix < below, axis=1))


def low_used_gpus(system: SystemTable, *, below: float) -> Counts:
    """Return (n_ticks,) how many GPUs lie under ``below`` that reach it at some other time.

    A GPU that never does is not waiting for the host: the job does not use it. Where the job uses
    none, all count.
    """
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    is_used = (matrix >= below).any(axis=0)
    used = matrix[:, is_used] if is_used.any() else matrix
    return np.asarray(np.count_nonzero(used < below, axis=1))


def is_host_hot(system: SystemTable) -> NDArray[np.bool_]:
    """Return (n_ticks,) whether any core was busy or waited for I/O, by the default thresholds."""
    busy = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    waiting = hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT)
    return np.asarray((busy > 0) | (waiting > 0))
