"""Durations of kernels: by name, by name and size of the launch, by the operator behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.durations import (
    DurationRow,
    DurationValues,
    Key,
    duration_values,
    join_ranks,
)
from reportgen.facts.kernel_names import UNKNOWN, Precision, Reading
from reportgen.facts.kernel_precision import readings_of
from reportgen.facts.operators import launching_operators
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind

Rows = NDArray[np.int64] | NDArray[np.int32]
COMMUNICATION, COMPUTE = "communication", "compute"
NOT_TOLD = "not told"
"""The operator of a kernel, or the size of a launch, that the trace does not tell."""
_SHAPE = re.compile(r"\s*\[([\d\s,]+)\]\s*\[([\d\s,]+)\]\s*")


class Grouping(StrEnum):
    """By what kernels are added up, and what their keys hold."""

    NAME = "name"
    """(name,)"""
    SHAPE = "shape"
    """(name, grid and block)"""
    OPERATOR = "operator"
    """(operator, category)"""
    CATEGORY = "category"
    """(category,)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelValues:
    """The kernels of a rank: durations by each grouping, and what each name says."""

    values: Mapping[Grouping, DurationValues]
    readings: Mapping[str, Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels of all ranks: rows of each grouping by total time, and what each name says."""

    rows: Mapping[Grouping, Sequence[DurationRow]]
    readings: Mapping[str, Reading]

    @property
    def by_name(self) -> Sequence[DurationRow]:
        """Return the kernels by name."""
        return self.rows[Grouping.NAME]


def kernel_values(trace: RankTrace, also: str | None = None) -> KernelValues:
    """Return the durations of a rank's kernels.

    ``also`` finds further names of communication, a regular expression.
    """
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind == GpuKind.KERNEL)
    codes, name = np.unique(ops.name[rows], return_inverse=True)
    names = [trace.names[code] for code in codes]
    readings = readings_of(trace, also)
    shapes = [*(say_shape(text) for text in trace.shapes), NOT_TOLD]
    operators = [*trace.names, NOT_TOLD]
    nothing = np.zeros(rows.shape, dtype=np.int64)
    ways: dict[Grouping, tuple[Rows, Callable[[str, int], Key]]] = {
        Grouping.NAME: (nothing, lambda text, _: (text,)),
        Grouping.SHAPE: (ops.shape[rows], lambda text, code: (text, shapes[code])),
        Grouping.OPERATOR: (
            _operator_names(trace, rows),
            lambda text, code: (operators[code], category_of(readings[text])),
        ),
        Grouping.CATEGORY: (nothing, lambda text, _: (category_of(readings[text]),)),
    }
    values = {}
    for way, (code, key_of) in ways.items():
        # ``NONE`` is the last of its vocabulary, as it is in Python's counting from the end.
        width = int(code.max(initial=0)) + 2
        pairs, place = np.unique(name * width + code + 1, return_inverse=True)
        keys = [key_of(names[pair // width], pair % width - 1) for pair in pairs.tolist()]
        values[way] = duration_values(keys, place, ops.duration_ns[rows])
    return KernelValues(values=values, readings=readings)


def _operator_names(trace: RankTrace, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n,) codes into ``names`` of the operators that launched some kernels."""
    operator = launching_operators(trace)[rows]
    found = np.full(rows.shape, NONE, dtype=np.int64)
    is_known = operator != NONE
    found[is_known] = trace.slices.name[operator[is_known]]
    return found


def join_kernels(ranks: Sequence[KernelValues]) -> Kernels:
    """Return the kernels of all ranks, by total time, ties by name."""
    readings: dict[str, Reading] = {}
    for rank in ranks:
        for text, reading in rank.readings.items():
            if readings.get(text, UNKNOWN).precision is Precision.UNKNOWN:
                readings[text] = reading
    return Kernels(
        rows={way: join_ranks([rank.values[way] for rank in ranks]) for way in Grouping},
        readings=readings,
    )


def category_of(reading: Reading) -> str:
    """Return whether a kernel communicates or computes."""
    return COMMUNICATION if reading.precision is Precision.COMM else COMPUTE


def say_shape(text: str) -> str:
    """Return grid and block of a launch as people write them.

    Example:
        >>> say_shape("[4, 106, 1] [128, 1, 1]")
        'grid 4×106×1, block 128×1×1'
        >>> say_shape("as the file says it")
        'as the file says it'
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        return " ".join(text.split())
    grid, block = ("".join(part.split()).replace(",", "×") for part in found.groups())
    return f"grid {grid}, block {block}"
