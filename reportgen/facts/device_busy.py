"""When the GPUs of a kernel trace were at work: windows, launches, unions of operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import Union, clip, overlap_ns, union_of
from reportgen.merging import merged
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Codes, GpuKind, Times

Mask = NDArray[np.bool_]

SYNC_CALL = re.compile(r"^(cuda|hip)(Stream|Device|Event)Synchronize|^cu(Stream|Event|Ctx)Synchron")
"""Calls in which the host waits for the GPU."""
_COMMUNICATION = re.compile(
    # Libraries of collectives, wherever their name stands in the kernel's.
    r"nccl|rccl|hccl|oneccl|msccl|nvshmem"
    # All-reduce kernels of inference engines, of symmetric memory, and fused ones.
    r"|cross_device_reduce|multimem_.*(reduce|gather)|allreduce_fusion"
    # Expert parallelism: dispatch, combine and notify.
    r"|deep_ep::|hybrid_ep::|(internode|intranode)(_ll)?::",
    re.IGNORECASE,
)
"""Names in published traces (docs/definitions.md, Communication kernels)."""


# Windows


class WindowKind(StrEnum):
    """Which window; the values stand in the results."""

    GPU = "gpu"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time that a percentage is of, ns after the origin of the trace."""

    kind: WindowKind
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Return its length."""
        return self.end_ns - self.start_ns


class _OfWindow(Protocol):
    @property
    def rank(self) -> int: ...

    @property
    def window(self) -> Window: ...


_W = TypeVar("_W", bound=_OfWindow)


@fact
def windows_of(trace: RankTrace) -> tuple[Window, ...]:
    """Return the windows of a rank: ``gpu``, then ``steps`` where steps were recorded.

    ``gpu`` is from the first start to the last end of a GPU operation. ``steps`` is from the
    start of the first step to the end of the last, or to the end of the last GPU operation that
    was launched inside (docs/definitions.md, Windows).

    Edge cases: none without GPU operations.
    """
    ops, steps = trace.gpu_ops, trace.steps
    if ops.start_ns.size == 0:
        return ()
    of_gpu = Window(
        kind=WindowKind.GPU, start_ns=int(ops.start_ns.min()), end_ns=int(ops.end_ns.max())
    )
    if steps.start_ns.size == 0:
        return (of_gpu,)
    start_ns, end_ns = int(steps.start_ns.min()), int(steps.end_ns.max())
    launched_ns = launch_start_ns(trace)
    is_inside = (launched_ns >= start_ns) & (launched_ns <= end_ns)
    last_ns = int(ops.end_ns[is_inside].max(initial=end_ns))
    if last_ns <= start_ns:
        return (of_gpu,)
    return of_gpu, Window(kind=WindowKind.STEPS, start_ns=start_ns, end_ns=last_ns)


def headline(windows: tuple[Window, ...]) -> Window:
    """Return the window of the figures that are reported first: the steps where there are any."""
    return windows[-1]


def headline_rows(rows: Sequence[_W]) -> list[_W]:
    """Return the rows of each rank's headline window."""
    with_steps = {row.rank for row in rows if row.window.kind is WindowKind.STEPS}
    return [
        row for row in rows if row.rank not in with_steps or row.window.kind is WindowKind.STEPS
    ]


# Launches, clocks and names


def launch_start_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each GPU operation was launched, ``NONE`` for orphans."""
    return _of_launch(trace, trace.calls.start_ns)


def launch_end_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each launching call returned, ``NONE`` for orphans."""
    return _of_launch(trace, trace.calls.end_ns)


def _of_launch(trace: RankTrace, values: Times) -> Times:
    launch = trace.gpu_ops.launch
    found = np.full(launch.shape, NONE, dtype=np.int64)
    is_known = launch != NONE
    found[is_known] = values[launch[is_known]]
    return found


def own_clock_ns(trace: RankTrace) -> int:
    """Return what the trace's own clock showed at its origin: add it to get times of the file."""
    return trace.origin_ns - trace.base_ns


def rows_named(trace: RankTrace, codes: Codes, fits: Callable[[str], object]) -> Mask:
    """Return an (n,) mask of the rows whose name fits.

    Args:
        trace: the rank, for its names.
        codes: (n,) int32 codes into them.
        fits: called with a name, such as the ``search`` of a pattern.
    """
    named = np.array([bool(fits(name)) for name in trace.names], dtype=bool)
    return named[codes] if named.size else np.zeros(codes.shape, dtype=bool)


# Unions


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUnions:
    """One device of a rank: when any operation ran, and of which kind."""

    device: int
    busy: Union
    kernel: Union
    compute: Union
    communication: Union
    memory: Union


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTime:
    """One device in one window, all in ns; ``merge`` adds up those of several devices.

    Attributes:
        window_ns: length of the window, or of all windows.
        busy_ns: any operation ran.
        kernel_ns, compute_ns, communication_ns, memory_ns: a kernel, a kernel that is no
            communication, a communication kernel, a copy or memset ran.
        overlap_ns: communication and compute ran together.
    """

    rank: int
    device: int
    window: Window
    window_ns: int = merged(sum)
    busy_ns: int = merged(sum)
    kernel_ns: int = merged(sum)
    compute_ns: int = merged(sum)
    communication_ns: int = merged(sum)
    memory_ns: int = merged(sum)
    overlap_ns: int = merged(sum)

    @property
    def idle_ns(self) -> int:
        """Return how long nothing ran."""
        return self.window_ns - self.busy_ns

    @property
    def exposed_communication_ns(self) -> int:
        """Return how long communication ran without compute."""
        return self.communication_ns - self.overlap_ns


def is_communication(name: str, also: str | None = None) -> bool:
    """Return whether a kernel exchanges data with other GPUs, by its name.

    Args:
        name: the kernel's.
        also: what finds further names of communication, a regular expression.

    Example:
        >>> is_communication("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
        True
        >>> is_communication("hipMemcpyPeerKernel")
        False
    """
    if also and re.search(also, name, re.IGNORECASE):
        return True
    return _COMMUNICATION.search(name) is not None


def communication_rows(trace: RankTrace, also: str | None = None) -> Mask:
    """Return an (n_ops,) mask of the communication kernels: by name, or by what they say.

    ``also`` finds further names of communication, a regular expression.
    """
    ops = trace.gpu_ops
    is_named = rows_named(trace, ops.name, lambda name: is_communication(name, also))
    return np.asarray((ops.kind == GpuKind.KERNEL) & (is_named | (ops.collective != NONE)))


def unions_of(trace: RankTrace, also: str | None = None) -> tuple[DeviceUnions, ...]:
    """Return the unions of each device, in order of device; ``also`` as above."""
    return _unions(trace) if also is None else _unions_with(trace, also)


@fact
def _unions(trace: RankTrace) -> tuple[DeviceUnions, ...]:
    return _unions_with(trace, None)


def _unions_with(trace: RankTrace, also: str | None) -> tuple[DeviceUnions, ...]:
    ops = trace.gpu_ops
    is_kernel = ops.kind == GpuKind.KERNEL
    is_comm = communication_rows(trace, also)

    def of(rows: Mask) -> Union:
        return union_of(ops.start_ns[rows], ops.end_ns[rows])

    return tuple(
        DeviceUnions(
            device=device,
            busy=of(here),
            kernel=of(here & is_kernel),
            compute=of(here & is_kernel & ~is_comm),
            communication=of(here & is_comm),
            memory=of(here & ~is_kernel),
        )
        for device in np.unique(ops.device).tolist()
        for here in [ops.device == device]
    )


def time_in(unions: DeviceUnions, window: Window, *, rank: int) -> DeviceTime:
    """Return the lengths of a device's unions inside a window."""

    def inside(union: Union) -> Union:
        return clip(union, window.start_ns, window.end_ns)

    compute, communication = inside(unions.compute), inside(unions.communication)
    return DeviceTime(
        rank=rank,
        device=unions.device,
        window=window,
        window_ns=window.length_ns,
        busy_ns=inside(unions.busy).length_ns,
        kernel_ns=inside(unions.kernel).length_ns,
        compute_ns=compute.length_ns,
        communication_ns=communication.length_ns,
        memory_ns=inside(unions.memory).length_ns,
        overlap_ns=overlap_ns(compute, communication),
    )
