"""Operators of the framework on the host: how long each ran, alone and with what it called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import sums_by_code
from reportgen.facts.nesting import nest, self_ns
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, SliceKind, Times
from reportgen.rules.kernels.durations import DurationValues, duration_values
from reportgen.rules.kernels.launchers import launching_operators


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorValues:
    """The operators of a rank by name.

    Attributes:
        durations: on the host, with what they called.
        self_ns: on the host, without the operators that they called.
        gpu_ns: durations of the GPU operations that they launched themselves.
    """

    durations: DurationValues
    self_ns: Mapping[str, int]
    gpu_ns: Mapping[str, int]


def operator_values(trace: RankTrace) -> OperatorValues:
    """Return the operators of a rank."""
    slices = trace.slices
    rows = np.flatnonzero(slices.kind == SliceKind.OPERATOR)
    codes, name = np.unique(slices.name[rows], return_inverse=True)
    names = [trace.names[code] for code in codes]
    launched = _launched_ns(trace)
    return OperatorValues(
        durations=duration_values([(text,) for text in names], name, slices.duration_ns[rows]),
        self_ns=_added_up(names, name, _self_ns(trace, rows)),
        gpu_ns=_added_up(names, name, launched[rows]),
    )


def _self_ns(trace: RankTrace, rows: NDArray[np.int64]) -> Times:
    """Return (n,) ns of each operator without those that it called on its thread."""
    slices = trace.slices
    found = np.zeros(rows.shape, dtype=np.int64)
    for thread in np.unique(slices.thread[rows]).tolist():
        own = slices.thread[rows] == thread
        at = rows[own]
        nesting = nest(slices.start_ns[at], slices.end_ns[at])
        found[own] = self_ns(nesting, slices.duration_ns[at])
    return found


def _launched_ns(trace: RankTrace) -> Times:
    """Return (n_slices,) ns of the GPU operations that each slice launched."""
    ops = np.arange(trace.gpu_ops.start_ns.size)
    operator = launching_operators(trace, ops)
    is_told = operator != NONE
    durations_ns = trace.gpu_ops.duration_ns[is_told]
    return sums_by_code(operator[is_told], durations_ns, trace.slices.start_ns.size)


def _added_up(names: Sequence[str], place: NDArray[np.int64], time_ns: Times) -> dict[str, int]:
    totals = sums_by_code(place, time_ns, len(names))
    return dict(zip(names, totals.tolist(), strict=True))
