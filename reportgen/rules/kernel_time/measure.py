"""What KernelTime measures: durations of kernels by several groupings, and tiny kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import unions_of, windows_of
from reportgen.facts.intervals import gaps_of
from reportgen.facts.kernel_names import UNKNOWN, Precision, Reading
from reportgen.facts.operators import (
    DurationValues,
    Key,
    duration_values,
    launching_operators,
    readings_of,
)
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind
from reportgen.rules.kit import communication_names, concat, merged, share_limit, top_k
from reportgen.units import NS_PER_US

TINY_NS = 5 * NS_PER_US
"""A shorter kernel that is also shorter than its launch is launch-bound (docs/definitions.md,
Launch counts)."""
COMMUNICATION, COMPUTE = "communication", "compute"
NOT_TOLD = "not told"
"""The operator of a kernel, or the size of a launch, that the trace does not hold."""
_SHAPE = re.compile(r"\s*\[([\d\s,]+)\]\s*\[([\d\s,]+)\]\s*")


class Grouping(StrEnum):
    """By what kernels are added up; the keys of operators hold the category, too."""

    NAME = "name"
    SHAPE = "shape"
    OPERATOR = "operator"
    CATEGORY = "category"

    @property
    def suffix(self) -> str:
        """Return what ends the ids of its rankings."""
        return "" if self is Grouping.NAME else f"_{self}"

    @property
    def table_id(self) -> str:
        """Return the id of its table."""
        return "kernels" if self is Grouping.NAME else f"kernels_by_{self}"

    @property
    def is_by_kernel(self) -> bool:
        """Return whether what is added up is runs of one kernel."""
        return self in (Grouping.NAME, Grouping.SHAPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How many kernels are shown one by one, and when tiny ones are a fault."""

    top: int = top_k()
    threshold_tiny_pct: float = share_limit(
        50.0, "tiny kernels are a fault from this share of the launches on"
    )
    threshold_idle_pct: float = share_limit(
        10.0, "... if the GPU idles before them for at least this share of the time"
    )
    communication_names: str | None = communication_names()


def _first_known(ranks: Sequence[Mapping[str, Reading]]) -> dict[str, Reading]:
    """Return what each name says on the first rank where it says anything."""
    found: dict[str, Reading] = {}
    for name, reading in (item for rank in ranks for item in rank.items()):
        if found.get(name, UNKNOWN).precision is Precision.UNKNOWN:
            found[name] = reading
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RankKernels:
    """The kernels of a rank, or of all.

    Attributes:
        n_ops: GPU operations.
        durations: of each rank by each grouping.
        readings: what the name of each kernel says.
        profile_ns: first to last GPU operation, over all devices.
        n_launched, n_tiny: kernels with a recorded launch, and those that are launch-bound.
        idle_ns: idle time right before tiny kernels.
    """

    n_ops: int = merged(sum)
    durations: tuple[Mapping[Grouping, DurationValues], ...] = merged(concat)
    readings: Mapping[str, Reading] = merged(_first_known)
    profile_ns: int = merged(sum)
    n_launched: int = merged(sum)
    n_tiny: int = merged(sum)
    idle_ns: int = merged(sum)


def measure(trace: RankTrace, params: Params) -> RankKernels:
    """Measure the kernels of a rank."""
    ops = trace.gpu_ops
    is_launched = (ops.kind == GpuKind.KERNEL) & (ops.launch != NONE)
    launch = ops.launch[is_launched]
    call_ns = np.full(ops.launch.shape, np.nan)
    # Of a call that launches many kernels, as that of a graph does, each bears its part.
    call_ns[is_launched] = trace.calls.duration_ns[launch] / np.bincount(launch)[launch]
    is_tiny = is_launched & (ops.duration_ns < TINY_NS) & (ops.duration_ns < call_ns)
    profile_ns = idle_ns = 0
    for unions in unions_of(trace):
        window = windows_of(trace)[0]
        gaps = gaps_of(unions.busy, window.start_ns, window.end_ns)
        is_before = np.isin(gaps.end_ns, ops.start_ns[is_tiny & (ops.device == unions.device)])
        idle_ns += int((gaps.end_ns - gaps.start_ns)[is_before].sum())
        profile_ns += window.length_ns
    readings = readings_of(trace, params.communication_names)
    return RankKernels(
        n_ops=ops.start_ns.size,
        durations=(_durations(trace, readings),),
        readings=readings,
        profile_ns=profile_ns,
        n_launched=int(is_launched.sum()),
        n_tiny=int(is_tiny.sum()),
        idle_ns=idle_ns,
    )


def _durations(trace: RankTrace, readings: Mapping[str, Reading]) -> dict[Grouping, DurationValues]:
    """Return the durations of a rank's kernels by each grouping."""
    ops = trace.gpu_ops
    rows = np.flatnonzero(ops.kind == GpuKind.KERNEL)
    codes, name = np.unique(ops.name[rows], return_inverse=True)
    names = [trace.names[code] for code in codes]

    def by(code: NDArray[np.integer], key_of: Callable[[str, int], Key]) -> DurationValues:
        width = int(code.max(initial=0)) + 2
        pairs, place = np.unique(name * width + code + 1, return_inverse=True)
        keys = [key_of(names[pair // width], pair % width - 1) for pair in pairs.tolist()]
        return duration_values(keys, place, ops.duration_ns[rows])

    # ``NONE`` is the last of a vocabulary, as it is in Python's counting from the end.
    shapes = [*(shape_name(text) for text in trace.shapes), NOT_TOLD]
    operators = [*trace.names, NOT_TOLD]
    categories = {text: category_of(reading) for text, reading in readings.items()}
    nothing = np.zeros(rows.shape, dtype=np.int64)
    operator, launched_by = np.full_like(nothing, NONE), launching_operators(trace)[rows]
    operator[launched_by != NONE] = trace.slices.name[launched_by[launched_by != NONE]]
    return {
        Grouping.NAME: by(nothing, lambda text, _: (text,)),
        Grouping.SHAPE: by(ops.shape[rows], lambda text, code: (text, shapes[code])),
        Grouping.OPERATOR: by(
            operator, lambda text, code: (operators[code], category_of(readings[text]))
        ),
        Grouping.CATEGORY: by(nothing, lambda text, _: (categories[text],)),
    }


def category_of(reading: Reading) -> str:
    """Return whether a kernel communicates or computes."""
    return COMMUNICATION if reading.precision is Precision.COMM else COMPUTE


def shape_name(text: str) -> str:
    """Return grid and block of a launch as people write them.

    Example:
        >>> shape_name("[4, 106, 1] [128, 1, 1]")
        'grid 4×106×1, block 128×1×1'
        >>> shape_name("as the file says it")
        'as the file says it'
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        return " ".join(text.split())
    grid, block = ("".join(part.split()).replace(",", "×") for part in found.groups())
    return f"grid {grid}, block {block}"
