"""What each device did when: unions of its operations by kind, and their lengths in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import Union, clip, overlap_ns, union_of
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, GpuKind
from reportgen.rules.kernels.communication import is_communication
from reportgen.rules.kernels.windows import Window

Mask = NDArray[np.bool_]


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
    """One device in one window, all in ns.

    Attributes:
        busy_ns: any operation ran.
        kernel_ns, compute_ns, communication_ns, memory_ns: a kernel, a kernel that is no
            communication, a communication kernel, a copy or memset ran.
        overlap_ns: communication and compute ran together.
    """

    rank: int
    device: int
    window: Window
    busy_ns: int
    kernel_ns: int
    compute_ns: int
    communication_ns: int
    memory_ns: int
    overlap_ns: int

    @property
    def idle_ns(self) -> int:
        """Return how long nothing ran."""
        return self.window.length_ns - self.busy_ns

    @property
    def exposed_communication_ns(self) -> int:
        """Return how long communication ran without compute."""
        return self.communication_ns - self.overlap_ns


def communication_rows(trace: RankTrace, also: str | None = None) -> Mask:
    """Return an (n_ops,) mask of the communication kernels: by name, or by what they say.

    ``also`` finds further names of communication, a regular expression.
    """
    ops = trace.gpu_ops
    by_name = np.array([is_communication(name, also) for name in trace.names], dtype=bool)
    is_named = by_name[ops.name] if by_name.size else np.zeros(ops.name.shape, dtype=bool)
    return np.asarray((ops.kind == GpuKind.KERNEL) & (is_named | (ops.collective != NONE)))


def unions_of(trace: RankTrace, also: str | None = None) -> tuple[DeviceUnions, ...]:
    """Return the unions of each device, in order of device; ``also`` as above."""
    ops = trace.gpu_ops
    is_kernel = ops.kind == GpuKind.KERNEL
    is_comm = communication_rows(trace, also)

    def of(rows: Mask) -> Union:
        return union_of(ops.start_ns[rows], ops.end_ns[rows])

    found = []
    for device in np.unique(ops.device):
        here = ops.device == device
        found.append(
            DeviceUnions(
                device=int(device),
                busy=of(here),
                kernel=of(here & is_kernel),
                compute=of(here & is_kernel & ~is_comm),
                communication=of(here & is_comm),
                memory=of(here & ~is_kernel),
            )
        )
    return tuple(found)


def time_in(unions: DeviceUnions, window: Window, *, rank: int) -> DeviceTime:
    """Return the lengths of a device's unions inside a window."""

    def inside(union: Union) -> Union:
        return clip(union, window.start_ns, window.end_ns)

    compute, communication = inside(unions.compute), inside(unions.communication)
    return DeviceTime(
        rank=rank,
        device=unions.device,
        window=window,
        busy_ns=inside(unions.busy).length_ns,
        kernel_ns=inside(unions.kernel).length_ns,
        compute_ns=compute.length_ns,
        communication_ns=communication.length_ns,
        memory_ns=inside(unions.memory).length_ns,
        overlap_ns=overlap_ns(compute, communication),
    )
