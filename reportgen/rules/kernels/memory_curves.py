"""How much memory the allocator held over time, per device of a rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.resample import ThinCurve, thin
from reportgen.profile.system import Floats
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import HOST_MEMORY, NONE, Times

MOST_POINTS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCurve:
    """One device, or the host's memory, of a rank.

    Attributes:
        device: number, ``NONE`` for the host.
        is_relative: totals were not recorded; the curve counts changes from 0.
        allocated, reserved: thinned curves in bytes; ``reserved`` only where it was recorded.
        peak_allocated_bytes, peak_reserved_bytes: the most, the latter ``None`` if not recorded.
        at_steps, reserved_at_steps: (n_steps,) float64 bytes when each step began, NaN before
            the first event.
    """

    rank: int
    node: str
    device: int
    n_events: int
    is_relative: bool
    allocated: ThinCurve
    reserved: ThinCurve | None
    peak_allocated_bytes: float
    peak_reserved_bytes: float | None
    at_steps: Floats
    reserved_at_steps: Floats


def memory_curves(trace: RankTrace) -> tuple[MemoryCurve, ...]:
    """Return the curve of each device that has memory events, the host's last."""
    memory = trace.memory
    is_host = memory.device_type == HOST_MEMORY
    found = [
        _curve(trace, int(device), ~is_host & (memory.device == device))
        for device in np.unique(memory.device[~is_host])
    ]
    return (*found, *((_curve(trace, NONE, is_host),) if is_host.any() else ()))


def _curve(trace: RankTrace, device: int, rows: NDArray[np.bool_]) -> MemoryCurve:
    memory = trace.memory
    time_ns = memory.time_ns[rows]
    totals, reserved = memory.allocated_bytes[rows], memory.reserved_bytes[rows]
    is_relative = bool((totals == NONE).any())
    allocated = (np.cumsum(memory.change_bytes[rows]) if is_relative else totals).astype(np.float64)
    has_reserved = not is_relative and bool((reserved > 0).any())
    held = reserved.astype(np.float64)
    instant_ns = trace.origin_ns + time_ns
    return MemoryCurve(
        rank=trace.rank,
        node=trace.node,
        device=device,
        n_events=time_ns.size,
        is_relative=is_relative,
        allocated=thin(instant_ns, allocated, buckets=MOST_POINTS),
        reserved=thin(instant_ns, held, buckets=MOST_POINTS) if has_reserved else None,
        peak_allocated_bytes=float(allocated.max()),
        peak_reserved_bytes=float(held.max()) if has_reserved else None,
        at_steps=_at(trace.steps.start_ns, time_ns, allocated),
        reserved_at_steps=_at(trace.steps.start_ns, time_ns, held) if has_reserved else np.empty(0),
    )


def _at(moment_ns: Times, time_ns: Times, values: Floats) -> Floats:
    place = np.searchsorted(time_ns, moment_ns, side="right") - 1
    return np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
