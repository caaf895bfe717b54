"""The precision of a rank's kernels: by name, else by the inputs of the launching operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import sums_by_code
from reportgen.facts.kernel_names import COMM, Precision, Reading, floating_type, read_precision
from reportgen.facts.operators import launching_operators
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, Times
from reportgen.rules.kernels.device_time import communication_rows


def readings_of(trace: RankTrace, also: str | None = None) -> tuple[Reading, ...]:
    """Return what is known of each kernel of a rank, in the order of ``np.unique`` of their names.

    A kernel whose name says nothing has the precision in which it spent most of its time.
    ``also`` finds further names of communication, a regular expression.
    """
    found = []
    for reading, time_ns in _times(trace, also):
        best = max(time_ns, key=lambda item: time_ns[item])
        found.append(Reading(best, tensor_core=reading.tensor_core))
    return tuple(found)


def precision_times(trace: RankTrace, also: str | None = None) -> dict[tuple[Precision, bool], int]:
    """Return ns of kernels by precision and use of matrix units; ``also`` as above."""
    totals: dict[tuple[Precision, bool], int] = {}
    for reading, time_ns in _times(trace, also):
        for precision, spent_ns in time_ns.items():
            key = (precision, reading.tensor_core)
            totals[key] = totals.get(key, 0) + spent_ns
    return totals


def _times(trace: RankTrace, also: str | None) -> Iterator[tuple[Reading, dict[Precision, int]]]:
    """Yield for each kernel name what it says and ns by precision; at least one each."""
    rows = np.flatnonzero(trace.gpu_ops.kind == GpuKind.KERNEL)
    codes, place = np.unique(trace.gpu_ops.name[rows], return_inverse=True)
    communicating = set(trace.gpu_ops.name[communication_rows(trace, also)].tolist())
    by_type = _time_by_input_type(trace, rows, place, n_names=codes.size)
    types = [Precision.UNKNOWN, *(floating_type(text) for text in trace.input_types)]
    for code, spent in zip(codes.tolist(), by_type, strict=True):
        reading = COMM if code in communicating else read_precision(trace.names[code])
        if reading.precision is not Precision.UNKNOWN:
            yield reading, {reading.precision: int(spent.sum())}
        else:
            yield reading, _added_up(types, spent)


def _added_up(types: list[Precision], spent_ns: Times) -> dict[Precision, int]:
    """Return ns by precision; where all launches that tell it agree, the others have it too."""
    totals: dict[Precision, int] = {}
    for column in np.flatnonzero(spent_ns):
        precision = types[column]
        totals[precision] = totals.get(precision, 0) + int(spent_ns[column])
    known = [precision for precision in totals if precision is not Precision.UNKNOWN]
    if len(known) == 1:
        return {known[0]: sum(totals.values())}
    return totals or {Precision.UNKNOWN: 0}


def _time_by_input_type(
    trace: RankTrace, rows: NDArray[np.int64], place: NDArray[np.int64], *, n_names: int
) -> Times:
    """Return (n_names, 1 + n_types) ns of kernels by input type, the first column: unknown."""
    n_columns = 1 + len(trace.input_types)
    cell = place * n_columns + 1 + _input_types(trace, rows)
    spent_ns = sums_by_code(cell, trace.gpu_ops.duration_ns[rows], n_names * n_columns)
    return spent_ns.reshape(n_names, n_columns)


def _input_types(trace: RankTrace, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return (n,) codes into ``input_types`` of the operators that launched some operations.

    Source: P12, as far as shapes were recorded.
    """
    operator = launching_operators(trace, rows)
    found = np.full(rows.shape, NONE, dtype=np.int32)
    is_found = operator != NONE
    found[is_found] = trace.slices.input_type[operator[is_found]]
    return found
