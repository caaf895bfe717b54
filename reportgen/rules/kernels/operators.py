"""Operators of the framework on the host: how long each ran, alone and with what it called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind
from reportgen.rules.kernels.durations import DurationValues, duration_values
from reportgen.rules.kernels.launchers import launching_operators
from reportgen.rules.kernels.nesting import nest, self_us
from reportgen.rules.kernels.unions import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorValues:
    """The operators of a rank by name.

    Attributes:
        durations: on the host, with what they called.
        self_us: on the host, without the operators that they called.
        gpu_us: durations of the GPU operations that they launched themselves.
    """

    durations: DurationValues
    self_us: Mapping[str, float]
    gpu_us: Mapping[str, float]


def operator_values(trace: RankTrace) -> OperatorValues:
    """Return the operators of a rank."""
    slices = trace.slices
    rows = np.flatnonzero(slices.kind == SliceKind.OPERATOR)
    codes, name = np.unique(slices.name[rows], return_inverse=True)
    names = [trace.names[code] for code in codes]
    launched = _launched_us(trace)
    return OperatorValues(
        durations=duration_values([(text,) for text in names], name, slices.duration_us[rows]),
        self_us=_added_up(names, name, _self_us(trace, rows)),
        gpu_us=_added_up(names, name, launched[rows]),
    )


def _self_us(trace: RankTrace, rows: NDArray[np.int64]) -> Floats:
    """Return (n,) µs of each operator without those that it called on its thread."""
    slices = trace.slices
    found = np.zeros(rows.shape)
    for thread in np.unique(slices.thread[rows]).tolist():
        own = slices.thread[rows] == thread
        at = rows[own]
        nesting = nest(slices.start_us[at], slices.end_us[at])
        found[own] = self_us(nesting, slices.duration_us[at])
    return found


def _launched_us(trace: RankTrace) -> Floats:
    """Return (n_slices,) µs of the GPU operations that each slice launched."""
    ops = np.arange(trace.gpu_ops.start_us.size)
    operator = launching_operators(trace, ops)
    is_told = operator != NONE
    spent_us = np.bincount(
        operator[is_told],
        weights=trace.gpu_ops.duration_us[is_told],
        minlength=trace.slices.start_us.size,
    )
    return np.asarray(spent_us, dtype=np.float64)


def _added_up(names: Sequence[str], place: NDArray[np.int64], time_us: Floats) -> dict[str, float]:
    totals = np.bincount(place, weights=time_us, minlength=len(names))
    return dict(zip(names, totals.tolist(), strict=True))
