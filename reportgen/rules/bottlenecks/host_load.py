"""How many cores of a node were hot, and how many of its GPUs idle, tick by tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.system import Floats

CPU_HOT_PCT = 90.0
IO_HOT_PCT = 50.0
GPU_LOW_PCT = 10.0
"""Defaults of CPUBottleneck and IOBottleneck. Source: rules-spec §0.5."""
USED_UP_RATIO = 0.75
"""From three quarters of the cores on more loader processes hardly help. Source: ours."""
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

    A GPU that never does is not waiting for the host: the job does not use it.
    """
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    used = matrix[:, used_gpus(matrix, above=below)]
    return np.asarray(np.count_nonzero(used < below, axis=1))


def used_gpus(use: Floats, *, above: float = GPU_LOW_PCT) -> NDArray[np.bool_]:
    """Return (n_gpus,) which GPUs of a node the job uses: those that ever reach ``above``.

    Where none does, those that reach ``UNTOUCHED_PCT``: they may be held up all the time.

    Args:
        use: (n_ticks, n_gpus) utilization in 0-100, NaN where absent.
        above: what a GPU must reach once.
    """
    reach = np.asarray((use >= above).any(axis=0))
    return reach if reach.any() else np.asarray((use >= UNTOUCHED_PCT).any(axis=0))


def is_host_hot(system: SystemTable) -> NDArray[np.bool_]:
    """Return (n_ticks,) whether any core was busy or waited for I/O, by the default thresholds."""
    busy = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    waiting = hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT)
    return np.asarray((busy > 0) | (waiting > 0))
