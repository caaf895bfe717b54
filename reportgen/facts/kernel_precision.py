"""The precision of a rank's kernels: by name, else by the inputs of the launching operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen.facts.device_busy import communication_rows
from reportgen.facts.groups import sums_by_code
from reportgen.facts.kernel_names import COMM, Precision, Reading, floating_type, read_precision
from reportgen.facts.operators import launching_operators
from reportgen.merging import sum_by_key
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind, Times


def readings_of(trace: RankTrace, also: str | None = None) -> dict[str, Reading]:
    """Return what is known of each kernel of a rank, by its name.

    A kernel whose name says nothing has the precision in which it spent most of its time.

    Args:
        trace: a rank.
        also: finds further names of communication, a regular expression.
    """
    return {
        name: Reading(max(time_ns, key=time_ns.__getitem__), tensor_core=reading.tensor_core)
        for name, reading, time_ns in _times(trace, also)
    }


def precision_times(trace: RankTrace, also: str | None = None) -> dict[tuple[Precision, bool], int]:
    """Return ns of kernels by precision and use of matrix units; ``also`` as above."""
    return sum_by_key(
        {(precision, reading.tensor_core): spent_ns}
        for _, reading, time_ns in _times(trace, also)
        for precision, spent_ns in time_ns.items()
    )


def _times(
    trace: RankTrace, also: str | None
) -> Iterator[tuple[str, Reading, dict[Precision, int]]]:
    """Yield each kernel's name, what it says, and ns by precision, at least one."""
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind == GpuKind.KERNEL)
    codes, place = np.unique(ops.name[rows], return_inverse=True)
    communicating = set(ops.name[communication_rows(trace, also)].tolist())
    types = [Precision.UNKNOWN, *(floating_type(text) for text in trace.input_types)]
    cell = place * len(types) + 1 + _input_types(trace)[rows]
    spent_ns = sums_by_code(cell, ops.duration_ns[rows], codes.size * len(types))
    by_type = spent_ns.reshape(codes.size, len(types))
    for code, spent in zip(codes.tolist(), by_type, strict=True):
        name = trace.names[code]
        reading = COMM if code in communicating else read_precision(name)
        is_known = reading.precision is not Precision.UNKNOWN
        total_ns = {reading.precision: int(spent.sum())}
        yield name, reading, total_ns if is_known else _by_precision(types, spent)


def _by_precision(types: Sequence[Precision], spent_ns: Times) -> dict[Precision, int]:
    """Return ns by precision; where all launches that tell it agree, the others have it too.

    Args:
        types: (n,) the precision of each input type; that of an unknown one first.
        spent_ns: (n,) int64 durations of one kernel by input type.
    """
    totals = sum_by_key({types[at]: int(spent_ns[at])} for at in np.flatnonzero(spent_ns).tolist())
    known = [precision for precision in totals if precision is not Precision.UNKNOWN]
    if len(known) == 1:
        return {known[0]: sum(totals.values())}
    return totals or {Precision.UNKNOWN: 0}


def _input_types(trace: RankTrace) -> Times:
    """Return (n_ops,) codes into ``input_types`` of the operators that launched GPU operations.

    They are known as far as shapes were recorded.
    """
    operator = launching_operators(trace)
    found = np.full(operator.shape, NONE, dtype=np.int64)
    is_found = operator != NONE
    found[is_found] = trace.slices.input_type[operator[is_found]]
    return found
