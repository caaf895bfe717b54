"""What IdleTime measures: the causes and the long stretches of each device in each window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reportgen.facts.device_busy import DeviceUnions, Window, time_in, unions_of, windows_of
from reportgen.facts.idle import Gaps, causes_of, gaps_in, totals_by_cause
from reportgen.facts.kernel_names import short_name
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.rules.kit import row, share_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The shares of the window above which idling is a fault."""

    threshold_loader_pct: float = share_limit(
        5.0, "idling for the data loader is a fault from this share of the window on"
    )
    threshold_cause_pct: float = share_limit(
        10.0, "idling for any other cause is a fault from this share of the window on"
    )
    threshold_start_pct: float = share_limit(
        50.0,
        "without steps, a recording whose longest idle stretch takes this share is of a start",
    )
    min_stretch_pct: float = share_limit(
        1.0, "an idle stretch is marked and listed from this share of its rank's window on"
    )


@row
class Stretch:
    """A stretch in which a device did nothing, ns after the origin of its trace.

    Attributes:
        cause: the cause that takes most of it.
        before: name of the operation that ended it, ``None`` at the end of the window.
    """

    start_ns: int
    end_ns: int
    cause: str
    before: str | None

    @property
    def length_ns(self) -> int:
        """Return how long it took."""
        return self.end_ns - self.start_ns


@row
class DeviceIdle:
    """Why one device was idle in one window: ns by cause; with ``busy_ns`` they fill it.

    Attributes:
        origin_ns: zero of all times, ns UTC.
        least_ns: shorter stretches are left out.
        stretches: the long ones, in order of time.
    """

    rank: int
    node: str
    device: int
    window: Window
    busy_ns: int
    cause_ns: Mapping[str, int]
    origin_ns: int
    least_ns: float
    stretches: tuple[Stretch, ...]


def measure(part: RankTrace, params: Params) -> tuple[DeviceIdle, ...]:
    """Measure every device of a rank in every window."""
    return tuple(
        _device(part, unions, window, params)
        for unions in unions_of(part)
        for window in windows_of(part)
    )


def _device(trace: RankTrace, unions: DeviceUnions, window: Window, params: Params) -> DeviceIdle:
    gaps = gaps_in(trace, unions, window)
    causes = causes_of(trace, gaps)
    least_ns = window.length_ns * params.min_stretch_pct / 100
    return DeviceIdle(
        rank=trace.rank,
        node=trace.node,
        device=unions.device,
        window=window,
        busy_ns=time_in(unions, window, rank=trace.rank).busy_ns,
        cause_ns=totals_by_cause(causes, window),
        origin_ns=trace.origin_ns,
        least_ns=least_ns,
        stretches=_stretches(trace, gaps, causes, least_ns),
    )


def _stretches(
    trace: RankTrace, gaps: Gaps, causes: Mapping[str, Times], least_ns: float
) -> tuple[Stretch, ...]:
    length_ns = gaps.high_ns - gaps.low_ns
    rows = np.flatnonzero((length_ns >= least_ns) & (length_ns > 0))
    names = list(causes)
    largest = np.argmax(np.array(list(causes.values()))[:, rows], axis=0)
    return tuple(
        Stretch(
            start_ns=int(gaps.low_ns[place]),
            end_ns=int(gaps.high_ns[place]),
            cause=names[cause],
            before=None if op == NONE else short_name(trace.names[trace.gpu_ops.name[op]]),
        )
        for place, cause, op in zip(
            rows.tolist(), largest.tolist(), gaps.before[rows].tolist(), strict=True
        )
    )
