"""Measurement of IdleTime: causes and long stretches of each device in each window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.facts.device_busy import DeviceUnions, Window, unions_of, windows_of
from reportgen.facts.host_costs import HostCosts, host_costs
from reportgen.facts.idle import causes_of, gaps_in, totals_by_cause
from reportgen.facts.kernel_names import short_name
from reportgen.facts.lost_kernels import graph_loss
from reportgen.profile.trace import RankTrace
from reportgen.rules.idle_time.texts import AT_THE_END, NAMES
from reportgen.rules.kit import col, derived, row, share_limit
from reportgen.units import NS_PER_S, NS_PER_US, pct_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The shares of the window above which idling is a fault."""

    threshold_loader_pct: float = share_limit(
        3.0,
        "a slow data loader is a fault if removing it would save at least this share of the window",
    )
    threshold_won_pct: float = share_limit(
        3.0, "another cost of the host is a fault if removing it would save at least this share"
    )
    threshold_cause_pct: float = share_limit(
        10.0, "idling for any other cause is a fault if it takes at least this share of the window"
    )
    threshold_start_pct: float = share_limit(
        50.0,
        "a recording without steps is of the start of a job if its longest idle stretch takes this",
    )
    min_stretch_pct: float = share_limit(
        1.0, "an idle stretch is marked and listed from this share of its rank's window on"
    )


@row
class IdleGap:
    """A stretch in which a device did nothing.

    Attributes:
        lane: the device.
        cause: the cause that takes most of it; ``name`` for people.
        start_ns, end_ns: ns UTC.
        before: the operation that ended it.
    """

    lane: str = col()
    cause: str
    name: str = derived(lambda item: NAMES[item.cause][0])
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    length_ns: int = derived(
        lambda item: item.end_ns - item.start_ns, "us", name="duration_us", per=NS_PER_US
    )
    before: str = col()


@row
class CostWon:
    """Gain of one rank without one cost."""

    rank: int = col()
    cost: str = col()
    won_ns: int = col("us", name="won_us", per=NS_PER_US)
    window_ns: int = col("us", name="window_us", per=NS_PER_US)
    pct: float = derived(lambda item: pct_of(item.won_ns, item.window_ns), "%")


@row
class DeviceIdle:
    """Why one device was idle in one window: ns by cause; with ``busy_ns`` they fill it.

    Attributes:
        reach_ns: start and end of the window, ns UTC.
        least_ns: shorter stretches are left out.
        stretches: the long ones, in order of time.
    """

    rank: int
    node: str
    device: int
    window: Window
    reach_ns: tuple[int, int]
    busy_ns: int
    cause_ns: Mapping[str, int]
    least_ns: float
    stretches: tuple[IdleGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankIdle:
    """One rank: its devices in every window, and what its host costs it.

    ``lost`` is its name if kernels of its graphs are missing: then nothing is known of it.
    """

    devices: tuple[DeviceIdle, ...]
    costs: HostCosts | None
    lost: str = ""


def measure(part: RankTrace, params: Params) -> RankIdle:
    """Measure every device of a rank in every window, and play it again without its costs."""
    if graph_loss(part):
        return RankIdle(devices=(), costs=None, lost=part.node)
    return RankIdle(
        devices=tuple(
            _device(part, unions, window, params)
            for unions in unions_of(part, None)
            for window in windows_of(part)
        ),
        costs=host_costs(part),
    )


def _device(trace: RankTrace, unions: DeviceUnions, window: Window, params: Params) -> DeviceIdle:
    gaps, origin_ns = gaps_in(trace, unions, window), trace.origin_ns
    causes = causes_of(trace, gaps)
    least_ns = window.length_ns * params.min_stretch_pct / 100
    length_ns = gaps.high_ns - gaps.low_ns
    long = np.flatnonzero((length_ns >= least_ns) & (length_ns > 0))
    names, before = list(causes), trace.gpu_ops.name[gaps.before[long]].tolist()
    largest = np.argmax(np.array(list(causes.values()))[:, long], axis=0)
    return DeviceIdle(
        rank=trace.rank,
        node=trace.node,
        device=unions.device,
        window=window,
        reach_ns=(origin_ns + window.start_ns, origin_ns + window.end_ns),
        busy_ns=window.length_ns - int(length_ns.sum()),
        cause_ns=totals_by_cause(causes, window),
        least_ns=least_ns,
        stretches=tuple(
            IdleGap(
                lane=f"gpu{unions.device}",
                cause=names[cause],
                start_ns=origin_ns + int(gaps.low_ns[at]),
                end_ns=origin_ns + int(gaps.high_ns[at]),
                before=AT_THE_END if gaps.is_tail[at] else short_name(trace.names[name]),
            )
            for at, cause, name in zip(long.tolist(), largest.tolist(), before, strict=True)
        ),
    )
