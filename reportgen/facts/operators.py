"""Which operator launched a GPU operation, its number format by its name, durations by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Mask, Rows
from reportgen.facts import kernel_names
from reportgen.facts.device_busy import communication_rows, rows_named
from reportgen.facts.intervals import ROUNDING_NS, innermost_at, nest
from reportgen.facts.kernel_names import KernelFormat, Precision
from reportgen.merging import joint_codes, sum_by_key, sums_by_code
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Codes, GpuKind, SliceKind, Times

Key = tuple[str, ...]
Durations = Mapping[Key, Times]
"""The durations of each key, (n,) ns in any order."""


@fact
def launching_operators(trace: RankTrace) -> Rows:
    """Return the operator that launched each GPU operation.

    Some versions write the number of the launch where the operator's should stand; there, without a
    number, and where several operators have it, it is the innermost one around the call.

    Returns:
        (n_ops,) int64 rows of ``slices``; ``NONE`` where the trace does not show it.
    """
    found, launch = _by_id(trace), trace.gpu_ops.launch
    is_open = (found == NONE) & (launch != NONE)
    found[is_open] = slices_around(trace, launch[is_open], trace.slices.kind == SliceKind.OPERATOR)
    return found


def _by_id(trace: RankTrace) -> Rows:
    ops, slices = trace.gpu_ops, trace.slices
    by_call = np.append(trace.calls.external_id, NONE)[ops.launch]  # ``NONE`` is the last
    external = np.where(ops.external_id == NONE, by_call, ops.external_id)
    external[external == ops.correlation] = NONE
    known = np.flatnonzero((slices.kind == SliceKind.OPERATOR) & (slices.external_id != NONE))
    if known.size == 0:
        return np.full(external.shape, NONE, dtype=np.int64)
    order = np.argsort(slices.external_id[known], kind="stable")
    ids = slices.external_id[known][order]
    is_last = np.append(ids[1:] != ids[:-1], True)
    nearest = np.minimum(np.searchsorted(ids, external), ids.size - 1)
    is_found = (ids[nearest] == external) & (external != NONE) & is_last[nearest]
    return np.where(is_found, known[order][nearest], NONE)


def slices_around(trace: RankTrace, calls: NDArray[np.integer], is_meant: Mask) -> Rows:
    """Return the innermost slice around each of (n,) calls on its thread, of those that are meant.

    ``is_meant`` is an (n_slices,) mask; ``NONE`` where no such slice is open.
    """
    return slices_open_at(trace, trace.calls.thread[calls], trace.calls.start_ns[calls], is_meant)


def slices_open_at(trace: RankTrace, thread: Codes, start_ns: Times, is_meant: Mask) -> Rows:
    """Return the innermost slice that is open on (n,) threads at (n,) moments, of those meant.

    ``is_meant`` is an (n_slices,) mask; ``NONE`` where no such slice is open.
    """
    found = np.full(thread.shape, NONE, dtype=np.int64)
    for one in np.unique(thread).tolist():
        on_thread = np.flatnonzero(is_meant & (trace.slices.thread == one))
        here = thread == one
        nesting = nest(trace.slices.start_ns[on_thread], trace.slices.end_ns[on_thread])
        # No slice ends, or is called, within the time by which starts and ends are rounded.
        inside = innermost_at(nesting, start_ns[here] + ROUNDING_NS)
        found[here] = np.append(on_thread, NONE)[inside]
    return found


@fact
def kernel_readings(trace: RankTrace, more_names: str | None) -> dict[str, KernelFormat]:
    """Return the number format of each kernel of a rank, as its name says it.

    ``more_names`` is a regular expression of further names of communication.
    """
    codes = np.unique(trace.gpu_ops.name[trace.gpu_ops.kind == GpuKind.KERNEL])
    communicating = set(trace.gpu_ops.name[communication_rows(trace, more_names)].tolist())
    return {
        (name := trace.names[code]): kernel_names.COMM
        if code in communicating
        else kernel_names.read_computing(name)
        for code in codes.tolist()
    }


@fact
def precisions_by_inputs(trace: RankTrace, more_names: str | None) -> dict[Precision, int]:
    """Return the time of kernels whose names say no number format, by their operators' inputs.

    The format is that of the operator's first floating input. It does not count where the name
    says that the kernel moves elements of another width.

    Returns:
        ns by format; empty where types of inputs were not recorded.
    """
    readings, ops = kernel_readings(trace, more_names), trace.gpu_ops
    silent = {name for name, reading in readings.items() if reading == kernel_names.UNKNOWN}
    operator = launching_operators(trace)
    is_open = rows_named(trace, ops.name, silent.__contains__) & (operator != NONE)
    rows = np.flatnonzero(is_open & (ops.kind == GpuKind.KERNEL))
    name, input_type = ops.name[rows], trace.slices.input_type[operator[rows]]
    code = joint_codes(name, input_type)
    _, first = np.unique(code, return_index=True)
    spent_ns = sums_by_code(code, ops.duration_ns[rows], first.size)
    kinds = (*trace.input_types, "")  # ``NONE`` is the last
    found = sum_by_key(
        {kernel_names.by_input(trace.names[name[at]], kinds[input_type[at]]): ns}
        for at, ns in zip(first.tolist(), spent_ns.tolist(), strict=True)
    )
    found.pop(Precision.UNKNOWN, None)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationRow:
    """One key over all ranks; durations in ns, ``std_ns`` with n - 1."""

    key: Key
    count: int
    sum_ns: int
    p50_ns: float
    p95_ns: float
    p99_ns: float
    min_ns: int
    max_ns: int
    std_ns: float

    @property
    def mean_ns(self) -> float:
        """Return the mean duration."""
        return self.sum_ns / self.count


def joined_durations(parts: Iterable[Durations]) -> Durations:
    """Return the durations of several ranks, or of several keys that became one."""
    found: dict[Key, list[Times]] = {}
    for part in parts:
        for key, durations_ns in part.items():
            found.setdefault(key, []).append(durations_ns)
    return {key: np.concatenate(every) for key, every in found.items()}


def duration_rows(durations: Durations) -> list[DurationRow]:
    """Return a row per key, by total time, ties by key."""
    rows = [_row(key, np.sort(duration_ns)) for key, duration_ns in durations.items()]
    return sorted(rows, key=lambda row: (-row.sum_ns, row.key))


def _row(key: Key, duration_ns: Times) -> DurationRow:
    n, total = duration_ns.size, int(duration_ns.sum())
    square = float(np.square(duration_ns - total / n).sum())
    return DurationRow(
        key=key,
        count=n,
        sum_ns=total,
        p50_ns=_percentile(duration_ns, 50),
        p95_ns=_percentile(duration_ns, 95),
        p99_ns=_percentile(duration_ns, 99),
        min_ns=int(duration_ns[0]),
        max_ns=int(duration_ns[-1]),
        std_ns=float(np.sqrt(square / (n - 1))) if n > 1 else 0.0,
    )


def _percentile(values: Times, point_pct: float) -> float:
    """Return a percentile of ascending values by linear interpolation, faster than numpy does."""
    place = (values.size - 1) * point_pct / 100
    low = int(place)
    before, after = values[low], values[min(low + 1, values.size - 1)]
    return float(before + (after - before) * (place - low))
