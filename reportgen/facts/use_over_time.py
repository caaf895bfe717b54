"""How busy a device was over time, in bins whose mean is exactly the figure of its window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10

import numpy as np

from reportgen.facts.device_busy import Window
from reportgen.facts.intervals import Union, clip, covered_each
from reportgen.profile.system import Floats
from reportgen.profile.trace_tables import Times
from reportgen.units import NS_PER_S

FINE_BINS = 1_500
"""At least so many bins are measured, at most ten times as many: the drawn ones are joined."""
MOST_BINS = 300
"""Drawn bins are 120 to 300 (docs/definitions.md, Utilization over time)."""
FAR_APART = 4
"""Recordings that span more than so many times the longest of them would each be a dot on a common
axis of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FineUse:
    """One device's busy time in fine bins that lie on multiples of their width.

    Attributes:
        width_ns: a power of ten.
        first: number of the first bin; it begins at first * width_ns, ns UTC.
        busy_ns, length_ns: (n,) int64, busy time and how much of the bin is in the window.
    """

    node: str
    device: str
    width_ns: int
    first: int
    busy_ns: Times
    length_ns: Times

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Return start and end of its bins, ns UTC."""
        return self.first * self.width_ns, (self.first + self.busy_ns.size) * self.width_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Several devices over common bins.

    Attributes:
        time_s: (n,) float64 start of each bin, Unix seconds (or seconds of the trace).
        width_ns: width of the bins.
        busy_ns, length_ns: (n_devices, n) int64.
    """

    time_s: Floats
    width_ns: int
    busy_ns: Times
    length_ns: Times


def fine_use(busy: Union, window: Window, *, origin_ns: int, node: str, device: str) -> FineUse:
    """Return the busy time of a device in fine bins over a window."""
    width_ns = int(10 ** max(floor(log10(max(window.length_ns / FINE_BINS, 1))), 0))
    first = (origin_ns + window.start_ns) // width_ns
    last = (origin_ns + window.end_ns) // width_ns
    edge_ns = np.arange(first, last + 2, dtype=np.int64) * width_ns - origin_ns
    edge_ns = np.clip(edge_ns, window.start_ns, window.end_ns)
    inside = clip(busy, window.start_ns, window.end_ns)
    return FineUse(
        node=node,
        device=device,
        width_ns=width_ns,
        first=first,
        busy_ns=covered_each(inside, edge_ns[:-1], edge_ns[1:]),
        length_ns=np.diff(edge_ns),
    )


def begin_together(devices: Sequence[FineUse]) -> list[FineUse]:
    """Return devices on one time axis; those recorded far apart all begin with the first.

    Ranks of one job that were recorded at other times, or whose clocks differ, would each be a
    dot on a common axis.
    """
    if not is_far_apart([item.reach_ns for item in devices]):
        return list(devices)
    first_ns = min(item.reach_ns[0] for item in devices)
    return [replace(item, first=first_ns // item.width_ns) for item in devices]


def is_far_apart(reaches_ns: Sequence[tuple[int, int]]) -> bool:
    """Return whether recordings, at least one, span much more time than the longest of them.

    ``reaches_ns`` are start and end of each.
    """
    begins_ns, ends_ns = zip(*reaches_ns, strict=True)
    longest_ns = max(end - begin for begin, end in reaches_ns)
    return bool(max(ends_ns) - min(begins_ns) > FAR_APART * longest_ns)


def use_together(devices: Sequence[FineUse]) -> Use:
    """Return several devices, at least one, over common bins of round width."""
    width_ns = max(item.width_ns for item in devices)
    first_ns = min(item.reach_ns[0] for item in devices)
    last_ns = max(item.reach_ns[1] for item in devices)
    width_ns *= _factor(last_ns - first_ns, width_ns)
    first = first_ns // width_ns
    n_bins = -(-last_ns // width_ns) - first
    busy_ns, length_ns = np.zeros((2, len(devices), n_bins), dtype=np.int64)
    for row, item in enumerate(devices):
        index = (item.first + np.arange(item.busy_ns.size)) * item.width_ns // width_ns - first
        np.add.at(busy_ns[row], index, item.busy_ns)
        np.add.at(length_ns[row], index, item.length_ns)
    start_ns = np.arange(first, first + n_bins, dtype=np.int64) * width_ns
    return Use(
        time_s=start_ns / NS_PER_S, width_ns=int(width_ns), busy_ns=busy_ns, length_ns=length_ns
    )


def _factor(reach_ns: int, width_ns: int) -> int:
    """Return by what fine bins are widened: the first of 1, 2, 5, 10, … with few enough bins."""
    scale = 1
    while True:
        for factor in (scale, 2 * scale, 5 * scale):
            if reach_ns // (width_ns * factor) + 2 <= MOST_BINS:
                return factor
        scale *= 10
