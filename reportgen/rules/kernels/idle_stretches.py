"""Idle stretches one by one: when, how long, why, and before which operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.kernel_names import short_name
from reportgen.facts.use_over_time import is_far_apart
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times
from reportgen.results import Exhibit, ExhibitKind, Where, exhibit
from reportgen.rules.kernels.idle import Gaps
from reportgen.rules.kernels.saying import pct_of, say_device, say_ns, say_range
from reportgen.rules.kernels.windows import Window
from reportgen.units import NS_PER_S, NS_PER_US, say_count, say_pct

STRETCHES = "idle_stretches"
MOST_STRETCHES = 1_000
"""So many are listed, the longest. Source: ours."""
AT_THE_END = "the end of the window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch in which a device did nothing, ns of its trace.

    Attributes:
        cause: the cause that takes most of it.
        before: name of the operation that ended it.
    """

    start_ns: int
    end_ns: int
    cause: str
    before: str

    @property
    def length_ns(self) -> int:
        """Return how long it took."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStretches:
    """The long idle stretches of one device in one window.

    Attributes:
        origin_ns: zero of the times, ns UTC.
        least_ns: shorter ones are left out.
        stretches: in order of time.
    """

    rank: int
    device: int
    origin_ns: int
    window: Window
    least_ns: float
    stretches: tuple[Stretch, ...]


def long_stretches(
    trace: RankTrace,
    gaps: Gaps,
    causes: Mapping[str, Times],
    *,
    device: int,
    window: Window,
    least_pct: float,
) -> DeviceStretches:
    """Return the gaps that take at least a share of the window.

    Args:
        trace: a rank.
        gaps: those of one of its devices in one window.
        causes: (n,) ns of each gap for each cause.
        device: the device.
        window: the window.
        least_pct: share of the window.
    """
    least_ns = window.length_ns * least_pct / 100
    length_ns = gaps.high_ns - gaps.low_ns
    rows = np.flatnonzero((length_ns >= least_ns) & (length_ns > 0))
    names = list(causes)
    largest = np.argmax(np.array(list(causes.values()))[:, rows], axis=0)
    before = [
        AT_THE_END if op == NONE else trace.names[trace.gpu_ops.name[op]]
        for op in gaps.before[rows].tolist()
    ]
    stretches = tuple(
        Stretch(
            start_ns=int(gaps.low_ns[row]),
            end_ns=int(gaps.high_ns[row]),
            cause=names[cause],
            before=name,
        )
        for row, cause, name in zip(rows.tolist(), largest.tolist(), before, strict=True)
    )
    return DeviceStretches(
        rank=trace.rank,
        device=device,
        origin_ns=trace.origin_ns,
        window=window,
        least_ns=least_ns,
        stretches=stretches,
    )


def stretches_exhibit(
    devices: Sequence[DeviceStretches], *, n_ranks: int, words: Mapping[str, str]
) -> tuple[Exhibit, ...]:
    """Return the stretches over time by rank and device; nothing where there are none."""
    every = [(item, stretch) for item in devices for stretch in item.stretches]
    if not every:
        return ()
    every.sort(key=lambda pair: (-pair[1].length_ns, pair[0].rank, pair[1].start_ns))
    shown = every[:MOST_STRETCHES]
    shown.sort(key=lambda pair: (pair[0].rank, pair[0].device, pair[1].start_ns))
    shift_ns, is_apart = _shifts_ns(devices)
    rest = f" The longest {len(shown):,} are listed." if len(every) > len(shown) else ""
    apart = " Recorded far apart: all begin with the first." if is_apart else ""
    length_ns = sum(stretch.length_ns for _, stretch in every)
    window_ns = sum(item.window.length_ns for item in devices)

    def at_s(item: DeviceStretches, time_ns: int) -> float:
        return (item.origin_ns + shift_ns[item.rank] + time_ns) / NS_PER_S

    return (
        exhibit(
            STRETCHES,
            ExhibitKind.SPANS,
            title="Long idle stretches",
            caption=(
                f"{_times(len(every))} nothing ran on the GPU for at least "
                f"{say_range([item.least_ns for item in devices])}; together "
                f"{say_ns(length_ns)}, {say_pct(pct_of(length_ns, window_ns))} of the time. By "
                f"the cause that takes most of each: {_counted(every, words)}.{apart}{rest}"
            ),
            columns=[
                ("lane", "", [_lane(item, n_ranks) for item, _ in shown]),
                ("name", "", [words.get(one.cause, one.cause) for _, one in shown]),
                ("start_s", "s", [at_s(item, one.start_ns) for item, one in shown]),
                ("end_s", "s", [at_s(item, one.end_ns) for item, one in shown]),
                ("duration_us", "us", [one.length_ns / NS_PER_US for _, one in shown]),
                ("before", "", [say_before(one) for _, one in shown]),
            ],
        ),
    )


def _times(count: int) -> str:
    return "Once" if count == 1 else f"{say_count(count)} times"


def _counted(every: Sequence[tuple[DeviceStretches, Stretch]], words: Mapping[str, str]) -> str:
    """Write how many stretches each cause takes: ``host late: data loader (6), other (2)``."""
    counts = Counter(words.get(stretch.cause, stretch.cause) for _, stretch in every)
    return ", ".join(f"{cause} ({count:,})" for cause, count in counts.most_common())


def _lane(item: DeviceStretches, n_ranks: int) -> str:
    return say_device(item.rank, item.device, n_ranks=n_ranks)


def say_before(stretch: Stretch) -> str:
    """Name what ended a stretch."""
    return stretch.before if stretch.before == AT_THE_END else short_name(stretch.before)


def place_of(node: str, item: DeviceStretches, stretch: Stretch) -> Where:
    """Return where and when a stretch was."""
    start_ns, end_ns = (item.origin_ns + time_ns for time_ns in (stretch.start_ns, stretch.end_ns))
    return Where(
        node=node, device=f"gpu{item.device}", start_s=start_ns / NS_PER_S, end_s=end_ns / NS_PER_S
    )


def _shifts_ns(devices: Sequence[DeviceStretches]) -> tuple[dict[int, int], bool]:
    """Return by how much the times of each rank move, and whether they do.

    As in the curve of utilization: recordings far apart all begin with the first.
    """
    begins = [item.origin_ns + item.window.start_ns for item in devices]
    ends = [item.origin_ns + item.window.end_ns for item in devices]
    is_apart = is_far_apart(list(zip(begins, ends, strict=True)))
    pairs = zip(devices, begins, strict=True)
    return {item.rank: min(begins) - begin if is_apart else 0 for item, begin in pairs}, is_apart
