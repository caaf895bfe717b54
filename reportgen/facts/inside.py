"""Functions that ran inside some windows of time, and how busy a node was meanwhile.

Union are disjoint. A function's time in them is the union of its events, so that recursion and
threads count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.breakdown import is_function, labels_of
from reportgen.facts.intervals import Union, covered_each, overlaps_any, union_of
from reportgen.facts.loader import loader_rows
from reportgen.facts.samples import mean_of, present_values, sum_of
from reportgen.merging import merged, rows_by_code, sum_by_key, sums_by_code
from reportgen.profile import SeriesKind, SpanTable, SystemTable

MOST_FUNCTIONS = 40
"""So many functions, by their time in slow windows, are compared; the others hardly matter."""
LIFE_FACTOR = 2
"""An event longer than twice the longest slow window is something that lives, not that runs."""


class Work(StrEnum):
    """The kind of work of a function; it decides which advice fits."""

    LOADER = "waiting for a batch"
    LOADER_START = "starting a loader"
    OTHER = "other"
    UNSEEN = "nothing that was recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowContents:
    """Number and lengths of some windows and others, and the time of each function in them.

    ``Work.UNSEEN`` is the time in which no recorded function ran. ``merge`` adds up the contents of
    several workers.
    """

    n_slow: int = merged(sum)
    n_normal: int = merged(sum)
    slow_ns: int = merged(sum)
    normal_ns: int = merged(sum)
    in_slow_ns: Mapping[tuple[str, Work], int] = merged(sum_by_key)
    in_normal_ns: Mapping[tuple[str, Work], int] = merged(sum_by_key)


def window_contents(spans: SpanTable, slow: Union, normal: Union) -> WindowContents:
    """Compare what one worker ran in slow windows with what it ran in normal ones."""
    longest_ns = LIFE_FACTOR * int((slow.end_ns - slow.start_ns).max(initial=0))
    its = spans.where(is_function(spans) & (spans.duration_ns <= longest_ns))

    def covered(rows: Integers | slice) -> list[int]:
        union = union_of(its.start_ns[rows], its.end_ns[rows])
        sides = (covered_each(union, side.start_ns, side.end_ns) for side in (slow, normal))
        return [int(side.sum()) for side in sides]

    found = [((label, work), covered(rows)) for label, work, rows in _longest(its, slow)]
    whole = zip((slow.length_ns, normal.length_ns), covered(slice(None)), strict=True)
    found.append((("no recorded function", Work.UNSEEN), [all_ns - ns for all_ns, ns in whole]))
    return WindowContents(
        n_slow=slow.start_ns.size,
        n_normal=normal.start_ns.size,
        slow_ns=slow.length_ns,
        normal_ns=normal.length_ns,
        in_slow_ns=sum_by_key({key: slow_ns} for key, (slow_ns, _) in found),
        in_normal_ns=sum_by_key({key: normal_ns} for key, (_, normal_ns) in found),
    )


def _longest(spans: SpanTable, slow: Union) -> Iterator[tuple[str, Work, Integers]]:
    """Yield label, kind and rows of the functions that meet slow windows for longest."""
    is_met = overlaps_any(spans.start_ns, spans.end_ns, slow.start_ns, slow.end_ns)
    if not is_met.any():
        return
    codes, labels = labels_of(spans)
    totals = sums_by_code(codes[is_met], spans.duration_ns[is_met], len(labels))
    kept = np.argsort(-totals, kind="stable")[:MOST_FUNCTIONS]
    rows = np.flatnonzero(np.isin(codes, kept[totals[kept] > 0]))
    loader = loader_rows(spans)
    is_wait, is_start = loader.fetch | loader.next_call, loader.initialize
    waits = union_of(spans.start_ns[is_wait], spans.end_ns[is_wait])
    for code, its in rows_by_code(codes[rows]):
        own = rows[its]
        waited_ns = covered_each(waits, spans.start_ns[own], spans.end_ns[own]).sum()
        is_waiting = 2 * waited_ns > spans.duration_ns[own].sum()
        work = Work.LOADER if is_wait[own].any() or is_waiting else Work.OTHER
        yield labels[code], Work.LOADER_START if is_start[own].any() else work, own


class NodeGauge(StrEnum):
    """How busy a node was, in percent."""

    GPU = "GPU utilization"
    CPU = "CPU utilization"
    CORE = "busiest core"
    IO_WAIT = "I/O wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A gauge inside and outside some windows: how many ticks, and the means over them in %."""

    n_inside: int
    n_outside: int
    inside_pct: float | None
    outside_pct: float | None


def loads_inside(
    system: SystemTable, inside: Union, loop_ns: tuple[int, int]
) -> dict[NodeGauge, Load]:
    """Return the gauges that were sampled, over the ticks inside windows and the others of a loop.

    Both ends of windows and loop count.
    """
    busiest = np.full(system.n_ticks, np.nan)
    for column in system.each(SeriesKind.CPU_UTILIZATION):
        np.fmax(busiest, column, out=busiest)
    gauges: Mapping[NodeGauge, Floats] = {
        NodeGauge.GPU: mean_of(system, SeriesKind.GPU_UTILIZATION),
        NodeGauge.CPU: mean_of(system, SeriesKind.CPU_UTILIZATION),
        NodeGauge.CORE: busiest,
        NodeGauge.IO_WAIT: mean_of(system, SeriesKind.IO_WAIT),
    }
    is_inside, is_outside = _sides(system, inside, loop_ns)
    return {
        gauge: _load(present_values(values[is_inside]), present_values(values[is_outside]))
        for gauge, values in gauges.items()
        if not np.isnan(values).all()
    }


class NodeRate(StrEnum):
    """The traffic of a node, in bytes/s."""

    RECEIVED = "received"
    SENT = "sent"
    READ = "read from disk"
    WRITTEN = "written to disk"


_SERIES_OF_RATE: Mapping[NodeRate, tuple[SeriesKind, ...]] = {
    NodeRate.RECEIVED: (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.RECEIVE_PLATFORM),
    NodeRate.SENT: (SeriesKind.TRANSMIT_ALGORITHM, SeriesKind.TRANSMIT_PLATFORM),
    NodeRate.READ: (SeriesKind.READ_RATE,),
    NodeRate.WRITTEN: (SeriesKind.WRITE_RATE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate inside and outside some windows: the means over the ticks, ``None`` without any."""

    inside_bytes_per_s: float | None
    outside_bytes_per_s: float | None


def rates_inside(
    system: SystemTable, inside: Union, loop_ns: tuple[int, int]
) -> dict[NodeRate, Rate]:
    """Return the rates that were sampled, over the same ticks as ``loads_inside``."""
    sums = {rate: sum_of(system, *kinds) for rate, kinds in _SERIES_OF_RATE.items()}
    is_inside, is_outside = _sides(system, inside, loop_ns)
    found = {}
    for rate, values in sums.items():
        if not np.isnan(values).all():
            load = _load(present_values(values[is_inside]), present_values(values[is_outside]))
            found[rate] = Rate(
                inside_bytes_per_s=load.inside_pct, outside_bytes_per_s=load.outside_pct
            )
    return found


def _sides(system: SystemTable, inside: Union, loop_ns: tuple[int, int]) -> tuple[Mask, Mask]:
    """Return which ticks lie in windows, both ends included, and which others in the loop."""
    tick_ns = system.tick_ns
    is_inside = overlaps_any(tick_ns, tick_ns, inside.start_ns, inside.end_ns)
    return is_inside, (tick_ns >= loop_ns[0]) & (tick_ns <= loop_ns[1]) & ~is_inside


def _load(inside: Floats, outside: Floats) -> Load:
    return Load(
        n_inside=inside.size,
        n_outside=outside.size,
        inside_pct=float(inside.sum()) / inside.size if inside.size else None,
        outside_pct=float(outside.sum()) / outside.size if outside.size else None,
    )
