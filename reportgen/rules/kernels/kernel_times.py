"""Durations of kernels by name, so that ranks add up exactly: each distinct value and its count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.rules.kernels.kernel_types import readings_of
from reportgen.rules.kernels.precision import UNKNOWN, Precision, Reading
from reportgen.rules.kernels.unions import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelValues:
    """The durations of a rank's kernels.

    Attributes:
        names: the kernels of the rank.
        readings: what each name says, or the operators that launched it.
        name: (n,) int32 code into ``names``, ascending.
        duration_us: (n,) float64, ascending within a name.
        count: (n,) int64, > 0.
    """

    names: tuple[str, ...]
    readings: tuple[Reading, ...]
    name: NDArray[np.int32]
    duration_us: Floats
    count: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """One kernel over all ranks; durations in µs, ``std_us`` with n - 1."""

    name: str
    reading: Reading
    count: int
    sum_us: float
    p50_us: float
    p95_us: float
    min_us: float
    max_us: float
    std_us: float

    @property
    def mean_us(self) -> float:
        """Return the mean duration."""
        return self.sum_us / self.count


def kernel_values(trace: RankTrace) -> KernelValues:
    """Return the durations of a rank's kernels by name."""
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind == GpuKind.KERNEL)
    codes, name = np.unique(ops.name[rows], return_inverse=True)
    order = np.lexsort((ops.duration_us[rows], name))
    place, duration = name[order], ops.duration_us[rows][order]
    is_new = np.ones(place.shape, dtype=bool)
    is_new[1:] = (np.diff(place) != 0) | (np.diff(duration) != 0)
    first = np.flatnonzero(is_new)
    return KernelValues(
        names=tuple(trace.names[code] for code in codes),
        readings=readings_of(trace),
        name=place[first].astype(np.int32),
        duration_us=duration[first],
        count=np.diff(np.append(first, place.size)),
    )


def join_ranks(ranks: Sequence[KernelValues]) -> list[KernelRow]:
    """Return every kernel over all ranks, by total time, ties by name."""
    readings: dict[str, Reading] = {}
    for rank in ranks:
        for text, reading in zip(rank.names, rank.readings, strict=True):
            if readings.get(text, UNKNOWN).precision is Precision.UNKNOWN:
                readings[text] = reading
    places = {name: at for at, name in enumerate(sorted({n for rank in ranks for n in rank.names}))}
    name = np.concatenate(
        [np.array([places[n] for n in rank.names], dtype=np.int64)[rank.name] for rank in ranks]
        or [np.empty(0, dtype=np.int64)]
    )
    duration = np.concatenate([rank.duration_us for rank in ranks] or [np.empty(0)])
    count = np.concatenate([rank.count for rank in ranks] or [np.empty(0, dtype=np.int64)])
    order = np.lexsort((duration, name))
    name, duration, count = name[order], duration[order], count[order]
    first = np.searchsorted(name, np.arange(len(places) + 1))
    rows = [
        _row(text, readings[text], duration[low:high], count[low:high])
        for text, low, high in zip(places, first[:-1], first[1:], strict=True)
    ]
    return sorted(rows, key=lambda row: (-row.sum_us, row.name))


def _row(name: str, reading: Reading, duration_us: Floats, count: Counts) -> KernelRow:
    n = int(count.sum())
    total = float((duration_us * count).sum())
    square = float((count * np.square(duration_us - total / n)).sum())
    return KernelRow(
        name=name,
        reading=reading,
        count=n,
        sum_us=total,
        p50_us=_percentile(duration_us, count, 50),
        p95_us=_percentile(duration_us, count, 95),
        min_us=float(duration_us[0]),
        max_us=float(duration_us[-1]),
        std_us=float(np.sqrt(square / (n - 1))) if n > 1 else 0.0,
    )


def _percentile(values: Floats, count: Counts, point_pct: float) -> float:
    """Return a percentile by linear interpolation of values that occur several times."""
    reached = np.cumsum(count)
    place = (int(reached[-1]) - 1) * point_pct / 100
    low = int(place)
    at = np.searchsorted(reached, [low, min(low + 1, int(reached[-1]) - 1)], side="right")
    before, after = values[at]
    return float(before + (after - before) * (place - low))
