"""When the GPUs of a kernel trace were at work: windows, launches, unions, use over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import floor, log10

import numpy as np

from reportgen.arrays import Floats, Mask
from reportgen.facts.intervals import Union, clip, covered_each, overlap_ns, union_of
from reportgen.merging import merged
from reportgen.profile import trace_tables
from reportgen.profile.memo import fact
from reportgen.profile.patterns import found_in
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Codes, GpuKind, Times
from reportgen.units import NS_PER_S, NS_PER_US, round_factors

SMALL_GAP_NS = 30 * NS_PER_US
"""A shorter rest is a gap between kernels, a longer one a wait; the default of HTA, Meta's library
for such traces."""
SYNC_CALL = re.compile(r"^(cuda|hip)(Stream|Device|Event)Synchronize|^cu(Stream|Event|Ctx)Synchron")
"""Calls in which the host waits for the GPU."""
_COMMUNICATION = re.compile(
    # Libraries of collectives, wherever their name appears in that of the kernel.
    r"nccl|rccl|hccl|oneccl|msccl|nvshmem"
    # All-reduce kernels of inference engines, of symmetric memory, and fused ones.
    r"|cross_device_reduce|multimem_(?:(?!multimem_).)*?(reduce|gather)|allreduce_fusion"
    # Expert parallelism: dispatch, combine and notify.
    r"|deep_ep::|hybrid_ep::|(internode|intranode)(_ll)?::",
    re.IGNORECASE,
)
"""Names in published traces (docs/definitions.md, Communication kernels)."""
MOST_BINS = 300
"""Drawn bins are 120 to 300 (docs/definitions.md, Utilization over time)."""
FAR_APART = 4
"""Recordings that span more than this many times the longest of them would each be a dot on a
common axis of time."""


class WindowKind(StrEnum):
    """Which window; the values are written to the results."""

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


@fact
def windows_of(trace: RankTrace) -> tuple[Window, ...]:
    """Return the windows of a rank: ``gpu``, then ``steps`` where steps were recorded.

    Their ends are defined in docs/definitions.md, Windows; there is none without GPU operations.
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


def gpu_time_ns(trace: RankTrace) -> int:
    """Return the time from the first to the last GPU operation, added up over the devices."""
    windows = windows_of(trace)
    return windows[0].length_ns * np.unique(trace.gpu_ops.device).size if windows else 0


# Launches, clocks and names; ``NONE`` is the last of a table, as in counting from the end


@fact
def launch_start_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each GPU operation was launched, ``NONE`` for orphans."""
    return np.append(trace.calls.start_ns, NONE)[trace.gpu_ops.launch]


@fact
def launch_end_ns(trace: RankTrace) -> Times:
    """Return (n_ops,) int64 when each launching call returned, ``NONE`` for orphans."""
    return np.append(trace.calls.end_ns, NONE)[trace.gpu_ops.launch]


@fact
def blocking_copies(trace: RankTrace) -> Mask:
    """Return an (n_ops,) mask of copies whose call returned only when they were done."""
    ops = trace.gpu_ops
    is_copy = (ops.kind == GpuKind.MEMCPY) & (ops.launch != NONE)
    return np.asarray(is_copy & (launch_end_ns(trace) >= ops.end_ns))


def own_clock_ns(trace: RankTrace) -> int:
    """Return the time of the trace's clock at its origin: add it to get times of the file."""
    return trace.origin_ns - trace.base_ns


def rows_named(trace: RankTrace, codes: Codes, fits: Callable[[str], object]) -> Mask:
    """Return an (n,) mask of the rows whose name, by its code, fits.

    ``fits`` is called with a name, such as the ``search`` of a pattern.
    """
    fitting = np.zeros(len(trace.names), dtype=bool)
    for code in np.flatnonzero(np.bincount(codes)).tolist():  # of few of all names, mostly
        fitting[code] = bool(fits(trace.names[code]))
    return np.take(fitting, codes)


def step_marks(trace: RankTrace) -> Mask:
    """Return an (n_slices,) mask of the marks of steps, which span all that their thread does."""
    is_profiler = rows_named(trace, trace.slices.name, trace_tables.PROFILER_STEP.fullmatch)
    is_numbered = rows_named(trace, trace.slices.name, trace_tables.NUMBERED_STEP.fullmatch)
    return np.asarray(
        is_profiler | (is_numbered & (trace.slices.kind == trace_tables.SliceKind.ANNOTATION))
    )


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


def is_communication(name: str) -> bool:
    """Return whether a kernel exchanges data with other GPUs, by its name.

    Example:
        >>> is_communication("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
        True
        >>> is_communication("hipMemcpyPeerKernel")
        False
    """
    return _COMMUNICATION.search(name) is not None


@fact
def communication_rows(trace: RankTrace, more_names: str | None) -> Mask:
    """Return an (n_ops,) mask of the communication kernels: by name, or by what they say.

    ``more_names`` finds further names of communication, a regular expression.
    """
    ops = trace.gpu_ops
    is_named = rows_named(trace, ops.name, is_communication)
    if more_names and ops.name.size:
        codes, index = np.unique(ops.name, return_inverse=True)
        found = found_in([trace.names[code] for code in codes.tolist()], more_names)
        is_named |= np.array(found)[index]
    return np.asarray((ops.kind == GpuKind.KERNEL) & (is_named | (ops.collective != NONE)))


@fact
def unions_of(trace: RankTrace, more_names: str | None) -> tuple[DeviceUnions, ...]:
    """Return the unions of each device, in order of device."""
    ops = trace.gpu_ops
    is_kernel = ops.kind == GpuKind.KERNEL
    is_comm = communication_rows(trace, more_names)

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


def n_computing(trace: RankTrace, more_names: str | None) -> dict[int, int]:
    """Return how many kernels each device ran in the headline window, but for communication."""
    ops, windows = trace.gpu_ops, windows_of(trace)
    if not windows:
        return {}
    window = headline(windows)
    is_inside = (ops.start_ns >= window.start_ns) & (ops.start_ns < window.end_ns)
    counted = is_inside & (ops.kind == GpuKind.KERNEL) & ~communication_rows(trace, more_names)
    return {at: int(counted[ops.device == at].sum()) for at in np.unique(ops.device).tolist()}


def time_in(unions: DeviceUnions, window: Window, *, rank: int) -> DeviceTime:
    """Return the lengths of a device's unions inside a window."""
    inside = {
        name: clip(getattr(unions, name), window.start_ns, window.end_ns)
        for name in ("busy", "kernel", "compute", "communication", "memory")
    }
    return DeviceTime(
        rank=rank,
        device=unions.device,
        window=window,
        window_ns=window.length_ns,
        overlap_ns=overlap_ns(inside["compute"], inside["communication"]),
        **{f"{name}_ns": union.length_ns for name, union in inside.items()},
    )


# Use over time, in bins whose mean is exactly the figure of the window


@dataclass(frozen=True, slots=True, kw_only=True)
class FineUse:
    """One device's busy time in (n,) fine bins of its window.

    Attributes:
        width_ns: a power of ten; all bins but the first and the last are as wide.
        edge_ns: (n + 1,) UTC, multiples of the width but for the ends of the window.
        busy_ns: (n,) busy time.
    """

    node: str
    device: str
    width_ns: int
    edge_ns: Times
    busy_ns: Times

    @property
    def mean(self) -> float:
        """Return the busy time in the window over its length."""
        return float(self.busy_ns.sum() / max(self.reach_ns[1] - self.reach_ns[0], 1))

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Return start and end of the window, ns UTC."""
        return int(self.edge_ns[0]), int(self.edge_ns[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Several devices over common bins.

    Attributes:
        time_s: (n,) float64 start of each bin, Unix seconds (or seconds of the trace).
        busy_ns, length_ns: (n_devices, n) int64.
        is_apart: whether they were recorded far apart: then all begin with the first.
    """

    time_s: Floats
    width_ns: int
    busy_ns: Times
    length_ns: Times
    is_apart: bool


def fine_use(busy: Union, window: Window, *, origin_ns: int, node: str, device: str) -> FineUse:
    """Return the busy time of a device in fine bins over a window."""
    width_ns = int(10 ** max(floor(log10(max(window.length_ns / MOST_BINS, 1))), 0))
    ends_ns = origin_ns + window.start_ns, origin_ns + window.end_ns
    inner = np.arange(ends_ns[0] // width_ns + 1, -(-ends_ns[1] // width_ns), dtype=np.int64)
    edge_ns = np.concatenate([ends_ns[:1], inner * width_ns, ends_ns[1:]])
    in_trace_ns = edge_ns - origin_ns
    return FineUse(
        node=node,
        device=device,
        width_ns=width_ns,
        edge_ns=edge_ns,
        busy_ns=covered_each(busy, in_trace_ns[:-1], in_trace_ns[1:]),
    )


def is_far_apart(reaches_ns: Sequence[tuple[int, int]]) -> bool:
    """Return whether recordings, start and end each, span much more time than the longest."""
    begins_ns, ends_ns = zip(*reaches_ns, strict=True)
    longest_ns = max(end - begin for begin, end in reaches_ns)
    return bool(max(ends_ns) - min(begins_ns) > FAR_APART * longest_ns)


def use_together(devices: Sequence[FineUse]) -> Use:
    """Return several devices, at least one, over common bins of round width.

    Ranks of one job that were recorded at other times, or whose clocks differ, would each be a
    dot on a common axis: those recorded far apart all begin with the first.
    """
    width_ns = max(item.width_ns for item in devices)
    is_apart = is_far_apart([item.reach_ns for item in devices])
    if is_apart:  # bins keep their multiples
        begin_ns = min(item.reach_ns[0] for item in devices)
        devices = [
            replace(item, edge_ns=item.edge_ns + (begin_ns - item.reach_ns[0]) // width * width)
            for item in devices
            for width in [item.width_ns]
        ]
    first_ns = min(item.reach_ns[0] for item in devices)
    last_ns = max(item.reach_ns[1] for item in devices)
    width_ns *= next(
        factor
        for factor in round_factors()
        if (last_ns - first_ns) // (width_ns * factor) + 2 <= MOST_BINS
    )
    first = first_ns // width_ns
    n_bins = max(-(-last_ns // width_ns) - first, 1)  # a moment has a bin, too
    busy_ns, length_ns = np.zeros((2, len(devices), n_bins), dtype=np.int64)
    for row, item in enumerate(devices):
        index = item.edge_ns[:-1] // width_ns - first
        np.add.at(busy_ns[row], index, item.busy_ns)
        np.add.at(length_ns[row], index, np.diff(item.edge_ns))
    start_ns = np.arange(first, first + n_bins, dtype=np.int64) * width_ns
    return Use(
        time_s=start_ns / NS_PER_S,
        width_ns=int(width_ns),
        busy_ns=busy_ns,
        length_ns=length_ns,
        is_apart=is_apart,
    )
