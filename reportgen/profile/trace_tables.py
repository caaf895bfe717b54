"""The tables of a kernel trace: columns of equal length, texts as codes into vocabularies.

Times are int64 nanoseconds after the origin of their trace, which precedes all of them.
Times that a file writes with more than three decimals of a microsecond were rounded to whole
nanoseconds. ``end_ns`` is the sum ``ts + dur`` of the file as float64 holds it; unions are made of
``start_ns`` and ``end_ns``, sums of ``duration_ns``. The two differ by the spacing of large
float64: up to 250 ns where a file counts microseconds since 1970 with decimals (PyTorch 2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Times = NDArray[np.int64]
Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]

NONE = -1
"""In every integer column: the file does not say."""

HOST_MEMORY = 0
"""``MemoryEvents.device_type`` of host memory; 1 is CUDA and HIP (PyTorch's ``DeviceType``)."""


PROFILER_STEP = re.compile(r"ProfilerStep\s*+(?:\*\s*+)?#\s*+(\d{1,15})")
NUMBERED_STEP = re.compile(
    r"(?:train(?:ing)?[ _]?)?(?:step|iteration|iter)[ _#:]*(\d{1,15})", re.IGNORECASE
)
"""Whole names of marks of steps: the profiler's, and those that people write (``step_41``)."""


class GpuKind(IntEnum):
    """Kind of a GPU operation; ``GpuOps.kind``."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2


class SliceKind(IntEnum):
    """Kind of a host slice; ``HostSlices.kind``. Calls of the driver are ``HostCalls``."""

    OPERATOR = 0
    ANNOTATION = 1
    PYTHON = 2
    OVERHEAD = 3
    OTHER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuOps:
    """Kernels, copies and memsets, sorted by (start, end, place in the file).

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        kind: (n,) int8, a ``GpuKind``.
        device: (n,) int32 number of the device in the file.
        stream: (n,) int64 number of the stream.
        name: (n,) int32 code into ``names``.
        correlation: (n,) int64 what joins it to its launch, ``NONE`` where absent.
        external_id: (n,) int64 what joins it to the operator that launched it.
        launch: (n,) int32 row of ``calls``; ``NONE`` for an orphan. One call may own many ops.
        bytes: (n,) int64 bytes moved or set; a copy of HIP has them from its call.
        collective: (n,) int32 row of ``collectives`` or ``NONE``.
        shape: (n,) int32 code into ``shapes``: grid and block, ``NONE`` where absent.
        is_overrun: (n,) bool its end passed the start of the next op of its stream by more than
            100 µs and was clipped to it in ``end_ns`` (device timestamps overrun).
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    kind: NDArray[np.int8]
    device: Codes
    stream: Numbers
    name: Codes
    correlation: Numbers
    external_id: Numbers
    launch: Codes
    bytes: Numbers
    collective: Codes
    shape: Codes
    is_overrun: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCalls:
    """Calls of the GPU's runtime and driver, sorted by (start, end, place in the file).

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        thread: (n,) int32 code into ``threads``.
        name: (n,) int32 code into ``names``: ``cudaLaunchKernel``.
        correlation, external_id: (n,) int64, ``NONE`` where absent.
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    thread: Codes
    name: Codes
    correlation: Numbers
    external_id: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSlices:
    """Operators, annotations and Python functions, sorted by (start, -end, place in the file).

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        thread: (n,) int32 code into ``threads``.
        name: (n,) int32 code into ``names``.
        kind: (n,) int8, a ``SliceKind``.
        external_id: (n,) int64 what joins it to the GPU ops that it launched.
        input_type: (n,) int32 code into ``input_types``: the first floating type among its
            inputs, ``NONE`` where it has none or shapes were not recorded.
        input_dims: (n,) int32 code into ``input_dims``: the sizes of its inputs.
        input_values: (n,) int32 code into ``input_values``: options of convolutions and attention.
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    thread: Codes
    name: Codes
    kind: NDArray[np.int8]
    external_id: Numbers
    input_type: Codes
    input_dims: Codes
    input_values: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadows:
    """Spans that repeat what others say (annotations as the GPU saw them), sorted by (start, end).

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        thread: (n,) int32 code into ``threads``: device and stream of an annotation.
        name: (n,) int32 code into ``names``.
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    thread: Codes
    name: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSteps:
    """Steps as the host saw them (``ProfilerStep#n``, else ``step_n``), sorted by start.

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        number: (n,) int64 number of the step.
        thread: (n,) int32 code into ``threads``.
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    number: Numbers
    thread: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvents:
    """Allocations and frees, sorted by time; equal times in the order of the file.

    Attributes:
        time_ns: (n,) int64, see the module.
        device_type: (n,) int8, ``HOST_MEMORY`` or the number of another type.
        device: (n,) int32 device, ``NONE`` for the host.
        change_bytes: (n,) int64 taken (positive) or given back (negative).
        allocated_bytes, reserved_bytes: (n,) int64 totals after it; ``NONE`` in traces of 2021.
    """

    time_ns: Times
    device_type: NDArray[np.int8]
    device: Codes
    change_bytes: Numbers
    allocated_bytes: Numbers
    reserved_bytes: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveArgs:
    """Arguments of collectives in the events that belong to them, in the order of the file.

    Attributes:
        name, dtype: (n,) int32 codes into ``labels``: ``allreduce``, ``BFloat16``.
        group: (n,) int32 code into ``labels``: name of the process group, ``NONE`` if absent.
        group_ranks: (n,) int32 code into ``labels``: ``[0, 1, 2, 3]``, ``NONE`` if absent.
        group_size: (n,) int64 ranks in the group.
        seq: (n,) int64 number of the collective in its group.
        in_elements, out_elements: (n,) int64 elements in and out.
        gpu_op: (n,) int32 row of ``gpu_ops`` if a kernel says it, else ``NONE``.
        host_slice: (n,) int32 row of ``slices`` if an operator says it, else ``NONE``.
    """

    name: Codes
    dtype: Codes
    group: Codes
    group_ranks: Codes
    group_size: Numbers
    seq: Numbers
    in_elements: Numbers
    out_elements: Numbers
    gpu_op: Codes
    host_slice: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncEvents:
    """Waits that the device side recorded (``cuda_sync``), sorted by (start, end).

    Attributes:
        start_ns, end_ns, duration_ns: (n,) int64, see the module.
        name: (n,) int32 code into ``names``: ``Stream Sync``.
        device: (n,) int32 device, ``NONE`` where absent.
        stream: (n,) int64 stream, ``NONE`` where absent.
        correlation: (n,) int64, ``NONE`` where absent.
    """

    start_ns: Times
    end_ns: Times
    duration_ns: Times
    name: Codes
    device: Codes
    stream: Numbers
    correlation: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Arrows from a forward operator to its backward one, sorted by start.

    Attributes:
        start_ns, end_ns: (n,) int64 when it leaves and where it arrives.
        from_thread, to_thread: (n,) int32 codes into ``threads``.
    """

    start_ns: Times
    end_ns: Times
    from_thread: Codes
    to_thread: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCounters:
    """Values of counters, whatever the file calls them, sorted by time.

    Attributes:
        time_ns: (n,) int64, see the module; negative where a counter is older than all events.
        track: (n,) int32 code into ``tracks``.
        value: (n,) float64, finite.
    """

    time_ns: Times
    track: Codes
    value: NDArray[np.float64]


def n_rows(table: DataclassInstance) -> int:
    """Return the number of rows of a table of a trace."""
    return len(getattr(table, fields(table)[0].name))


_TYPES: Mapping[object, type[np.generic]] = {
    "Times": np.int64,
    "Numbers": np.int64,
    "Codes": np.int32,
    "NDArray[np.int8]": np.int8,
    "NDArray[np.bool_]": np.bool_,
    "NDArray[np.float64]": np.float64,
}
"""The type of a column by its annotation."""


def column_types(kind: type[DataclassInstance]) -> dict[str, type[np.generic]]:
    """Return the types of the columns of a table."""
    return {item.name: _TYPES[item.type] for item in fields(kind)}


def empty_table(kind: type[Table]) -> Table:
    """Return a table without rows."""
    return kind(**{name: np.empty(0, dtype=dtype) for name, dtype in column_types(kind).items()})
