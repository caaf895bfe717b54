"""How a node's GPUs are used: when one idles, which of them the job uses, their samples at work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import EDGE_AT_MOST_RATIO, WorkRange, idle_edges
from reportgen.facts.samples import present_values
from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.system import Floats, Instants

IDLE_BELOW_PCT = 10
"""A GPU below this idles; SageMaker's rules have the same default (docs/rules.md)."""
BUSY_ABOVE_PCT = 90.0
"""A GPU above this works, as in AWS's example notebook (docs/rules.md, Ranges of use)."""
UNTOUCHED_PCT = 2.0
"""A GPU that stays below this for the whole job runs nothing of it: a driver's own work is shown
as 1 %."""
WORK_WINDOW_RATIO = 0.2
"""Less than a fifth of a window of samples says nothing about the window."""
PERCENT_DIGITS = 9
"""Percentiles are compared after rounding, so that the order of a sum decides nothing."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One series without its gaps: (n,) rows of the table, times and values, sorted by time."""

    row: Rows
    time_ns: Instants
    values: Floats

    def before(self, end_ns: Instants) -> Rows:
        """Return how many samples there are before each instant."""
        return np.searchsorted(self.time_ns, end_ns, side="left")


def samples_of(system: SystemTable, values: Floats) -> Samples:
    """Return the samples of (n_ticks,) values, NaN left out."""
    row = np.flatnonzero(~np.isnan(values))
    return Samples(row=row, time_ns=system.tick_ns[row], values=values[row])


def samples_by_gpu(system: SystemTable, kind: SeriesKind) -> dict[str, Samples]:
    """Return the samples of each GPU that has any, in device order."""
    columns = zip(system.names(kind), system.matrix(kind).T, strict=True)
    every = {gpu: samples_of(system, column) for gpu, column in columns}
    return {gpu: samples for gpu, samples in every.items() if samples.values.size}


def low_gpus(system: SystemTable, *, below: float = IDLE_BELOW_PCT) -> Rows:
    """Return (n_ticks,) how many GPUs lie under ``below``; an absent sample never does."""
    is_low = system.matrix(SeriesKind.GPU_UTILIZATION) < below
    return np.asarray(np.count_nonzero(is_low, axis=1))


def low_used_gpus(system: SystemTable, *, below: float = IDLE_BELOW_PCT) -> Rows:
    """Return (n_ticks,) how many GPUs lie under ``below`` that reach it at some other time.

    A GPU that never does is not waiting for the host: the job does not use it.
    """
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    used = matrix[:, used_gpus(matrix, above=below)]
    return np.asarray(np.count_nonzero(used < below, axis=1))


def used_gpus(use: Floats, *, above: float = IDLE_BELOW_PCT) -> NDArray[np.bool_]:
    """Return (n_gpus,) which GPUs of a node the job uses: those that ever reach ``above``.

    Where none does, those that reach ``UNTOUCHED_PCT``: they may be held up all the time.

    Args:
        use: (n_ticks, n_gpus) utilization in 0-100, NaN where absent.
        above: what a GPU must reach once.
    """
    reach = np.asarray((use >= above).any(axis=0))
    return reach if reach.any() else np.asarray((use >= UNTOUCHED_PCT).any(axis=0))


def used_throughout(use: Floats) -> NDArray[np.bool_]:
    """Return (n_gpus,) which of the used GPUs idle no long edge; all of them where each does."""
    is_short = np.zeros(use.shape[1], dtype=bool)
    for at, column in enumerate(use.T):
        values = present_values(column)
        longest = max(idle_edges(values, idle_below=IDLE_BELOW_PCT))
        is_short[at] = longest < EDGE_AT_MOST_RATIO * max(values.size, 1)
    reach = (use >= IDLE_BELOW_PCT).any(axis=0)
    return used_gpus(use) & is_short if (reach & is_short).any() else used_gpus(use)


def windows_at_work(stops: Rows, work: WorkRange, *, window: int) -> tuple[Rows, Rows]:
    """Return which samples of each window lie in a device's working range.

    Args:
        stops: (m,) int64: a window is the last ``window`` samples before a stop.
        work: the working range.
        window: how many samples a window has.

    Returns:
        (m,) first and stop; both are equal where too few samples are left to judge.
    """
    first, stop = np.maximum(stops - window, work.first), np.minimum(stops, work.stop)
    return first, np.where(stop - first >= WORK_WINDOW_RATIO * window, stop, first)
