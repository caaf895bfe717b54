"""What GPUActivity measures: each device in each window, and its use over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reportgen.facts.device_busy import (
    SYNC_CALL,
    DeviceTime,
    headline,
    own_clock_ns,
    rows_named,
    time_in,
    unions_of,
    windows_of,
)
from reportgen.facts.use_over_time import FineUse, fine_use
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import GpuKind
from reportgen.rules.kit import communication_names, row, share_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The shares of the window above which the activity of the GPUs is a fault."""

    threshold_exposed_pct: float = share_limit(
        10.0, "communication without compute beside it is a fault from this share of the window on"
    )
    threshold_imbalance_pct: float = share_limit(
        25.0, "ranks are uneven when one computes by this much more than the mean"
    )
    communication_names: str | None = communication_names()


@row
class RankActivity:
    """One rank.

    Attributes:
        local_size: GPUs of the node, 0 where the trace does not say them.
        clock_ns: what the trace's own clock showed at its origin.
        devices: one for each device and window.
        sums_ns: durations added up, not united, by what ran.
        use: busy time over the headline window, one per device.
    """

    rank: int
    node: str
    n_ops: int
    local_size: int
    clock_ns: int
    devices: tuple[DeviceTime, ...]
    sums_ns: Mapping[str, int]
    use: tuple[FineUse, ...]


def measure(part: RankTrace, params: Params) -> RankActivity:
    """Measure every device of a rank in every window."""
    windows = windows_of(part)
    unions = unions_of(part, params.communication_names)
    ops, calls = part.gpu_ops, part.calls
    is_kernel = ops.kind == GpuKind.KERNEL
    is_sync = rows_named(part, calls.name, SYNC_CALL.search)
    return RankActivity(
        rank=part.rank,
        node=part.node,
        n_ops=ops.start_ns.size,
        local_size=len(part.devices) if part.is_rank_known else 0,
        clock_ns=own_clock_ns(part),
        devices=tuple(
            time_in(device, window, rank=part.rank) for device in unions for window in windows
        ),
        sums_ns={
            "kernels": int(ops.duration_ns[is_kernel].sum()),
            "memory operations": int(ops.duration_ns[~is_kernel].sum()),
            "synchronization": int(calls.duration_ns[is_sync].sum() + part.syncs.duration_ns.sum()),
        },
        use=tuple(
            fine_use(
                device.busy,
                headline(windows),
                origin_ns=part.origin_ns,
                node=part.node,
                device=f"gpu{device.device}",
            )
            for device in unions
        ),
    )
