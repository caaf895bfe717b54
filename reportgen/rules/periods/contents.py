"""What ran in slow steps against normal ones, and how busy the node was in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code, sums_by_code
from reportgen.facts.inside import is_function, labels_of
from reportgen.facts.intervals import covered_ns, merge_intervals, overlaps_any
from reportgen.facts.loader import INITIALIZE, loader_rows
from reportgen.facts.samples import mean_over
from reportgen.facts.steps import Steps
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.profile.system import Floats
from reportgen.rules.periods.slow import Events

MOST_FUNCTIONS = 40
"""So many functions, by their time in slow steps, are compared. Source: ours."""
LIFE_FACTOR = 2
"""An event longer than twice the longest slow cycle is something that lives, not that runs."""

Instants = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Work(StrEnum):
    """What kind of work a function is; decides which advice fits it."""

    LOADER = "waiting for a batch"
    LOADER_START = "starting a loader"
    OTHER = "other"
    UNSEEN = "nothing that was recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Disjoint stretches of time in order, (n,) int64 ns each."""

    first_ns: Instants
    last_ns: Instants

    @property
    def total_ns(self) -> int:
        """Return how long they are together."""
        return int((self.last_ns - self.first_ns).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPart:
    """One function: ns in all slow windows, ns in all normal windows."""

    label: str
    work: Work
    slow_ns: int
    normal_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What some windows hold against others.

    Attributes:
        n_slow, n_normal: windows of each kind.
        slow_ns, normal_ns: their lengths, added up.
        functions: those with most time in slow windows; ``Work.UNSEEN`` is the time in which no
            recorded function ran.
    """

    n_slow: int
    n_normal: int
    slow_ns: int
    normal_ns: int
    functions: tuple[FunctionPart, ...]


class Gauge(StrEnum):
    """How busy a node was, in percent."""

    GPU = "GPU utilization"
    CPU = "CPU utilization"
    CORE = "busiest core"
    IO_WAIT = "I/O wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A gauge inside and outside slow windows: sums over ticks in %, and how many ticks."""

    n_inside: int = 0
    n_outside: int = 0
    inside_sum: float = 0.0
    outside_sum: float = 0.0

    @property
    def inside_pct(self) -> float | None:
        """Return the mean over the ticks inside, ``None`` without one."""
        return self.inside_sum / self.n_inside if self.n_inside else None

    @property
    def outside_pct(self) -> float | None:
        """Return the mean over the ticks outside, ``None`` without one."""
        return self.outside_sum / self.n_outside if self.n_outside else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """The gauges of one node that were sampled."""

    by_gauge: Mapping[Gauge, Load] = field(default_factory=dict)


def is_between_steps(cycles: Steps, events: Events, is_normal: Mask) -> bool:
    """Return whether the pauses behind slow steps cost more than the steps themselves."""
    usual_ns = _median(cycles.end_ns - cycles.start_ns, is_normal)
    usual_pause_ns = _median(cycles.next_ns - cycles.end_ns, is_normal)
    rows = _members(events)
    step_ns = float((cycles.end_ns - cycles.start_ns)[rows].sum()) - rows.size * usual_ns
    pause_ns = float((cycles.next_ns - cycles.end_ns)[rows].sum()) - rows.size * usual_pause_ns
    return pause_ns > step_ns


def normal_rows(cycles: Steps, events: Events) -> Mask:
    """Return an (n,) mask of the cycles that belong to no stretch of slow ones."""
    edges = np.zeros(cycles.number.size + 1, dtype=np.int64)
    np.add.at(edges, events.first, 1)
    np.add.at(edges, events.last + 1, -1)
    return np.asarray(np.cumsum(edges[:-1]) == 0)


def slow_windows(cycles: Steps, events: Events, *, is_between: bool) -> Windows:
    """Return the slow steps, or the pauses behind them."""
    rows = _members(events)
    if is_between:
        return Windows(first_ns=cycles.end_ns[rows], last_ns=cycles.next_ns[rows])
    return Windows(first_ns=cycles.start_ns[rows], last_ns=cycles.end_ns[rows])


def normal_windows(cycles: Steps, is_normal: Mask, *, is_between: bool) -> Windows:
    """Return the other steps, or the pauses behind them."""
    first_ns = cycles.end_ns if is_between else cycles.start_ns
    last_ns = cycles.next_ns if is_between else cycles.end_ns
    return Windows(first_ns=first_ns[is_normal], last_ns=last_ns[is_normal])


def contents_of(spans: SpanTable, slow: Windows, normal: Windows) -> Contents:
    """Compare what ran in slow windows with what ran in normal ones.

    Args:
        spans: all events of one worker.
        slow, normal: windows of the same kind.
    """
    longest_ns = LIFE_FACTOR * int((slow.last_ns - slow.first_ns).max(initial=0))
    its = spans.where(is_function(spans) & (spans.duration_ns <= longest_ns))
    union = merge_intervals(its.start_ns, its.end_ns)
    unseen = FunctionPart(
        label="no recorded function",
        work=Work.UNSEEN,
        slow_ns=slow.total_ns - covered_ns(*union, slow.first_ns, slow.last_ns),
        normal_ns=normal.total_ns - covered_ns(*union, normal.first_ns, normal.last_ns),
    )
    return Contents(
        n_slow=int(slow.first_ns.size),
        n_normal=int(normal.first_ns.size),
        slow_ns=slow.total_ns,
        normal_ns=normal.total_ns,
        functions=(*_functions(its, slow, normal), unseen),
    )


def merge_contents(parts: Sequence[Contents]) -> Contents:
    """Return the contents of several workers as one."""
    sums: dict[tuple[str, Work], list[int]] = {}
    for part in parts:
        for item in part.functions:
            its = sums.setdefault((item.label, item.work), [0, 0])
            its[0] += item.slow_ns
            its[1] += item.normal_ns
    return Contents(
        n_slow=sum(part.n_slow for part in parts),
        n_normal=sum(part.n_normal for part in parts),
        slow_ns=sum(part.slow_ns for part in parts),
        normal_ns=sum(part.normal_ns for part in parts),
        functions=tuple(
            FunctionPart(label=label, work=work, slow_ns=slow_ns, normal_ns=normal_ns)
            for (label, work), (slow_ns, normal_ns) in sums.items()
        ),
    )


def loads_of(system: SystemTable, inside: Windows, loop_ns: tuple[int, int]) -> Loads:
    """Return the means over the ticks inside windows and over the other ticks of the loop."""
    gauges: Mapping[Gauge, Floats] = {
        Gauge.GPU: mean_over(system.matrix(SeriesKind.GPU_UTILIZATION)),
        Gauge.CPU: mean_over(system.matrix(SeriesKind.CPU_UTILIZATION)),
        Gauge.CORE: _highest(system.matrix(SeriesKind.CPU_UTILIZATION)),
        Gauge.IO_WAIT: mean_over(system.matrix(SeriesKind.IO_WAIT)),
    }
    tick_ns = system.tick_ns
    is_inside = overlaps_any(tick_ns, tick_ns, inside.first_ns, inside.last_ns)
    is_outside = (tick_ns >= loop_ns[0]) & (tick_ns <= loop_ns[1]) & ~is_inside
    return Loads(
        by_gauge={
            gauge: _load(values, is_inside, is_outside)
            for gauge, values in gauges.items()
            if not np.isnan(values).all()
        }
    )


def _load(values: Floats, is_inside: Mask, is_outside: Mask) -> Load:
    is_there = ~np.isnan(values)
    inside, outside = values[is_inside & is_there], values[is_outside & is_there]
    return Load(
        n_inside=int(inside.size),
        n_outside=int(outside.size),
        inside_sum=float(inside.sum()),
        outside_sum=float(outside.sum()),
    )


def _functions(spans: SpanTable, slow: Windows, normal: Windows) -> list[FunctionPart]:
    is_met = overlaps_any(spans.start_ns, spans.end_ns, slow.first_ns, slow.last_ns)
    if not is_met.any():
        return []
    codes, labels = labels_of(spans)
    totals = sums_by_code(codes[is_met], spans.duration_ns[is_met], len(labels))
    kept = np.argsort(-totals, kind="stable")[:MOST_FUNCTIONS]
    kept = kept[totals[kept] > 0]
    rows = np.flatnonzero(np.isin(codes, kept))
    loader = loader_rows(spans)
    is_wait, is_start = loader.fetch | loader.next_call, spans.in_phases((INITIALIZE,))
    found = []
    for code, its in rows_by_code(codes[rows]):
        own = rows[its]
        union = merge_intervals(spans.start_ns[own], spans.end_ns[own])
        found.append(
            FunctionPart(
                label=labels[code],
                work=_work(is_wait=bool(is_wait[own].any()), is_start=bool(is_start[own].any())),
                slow_ns=covered_ns(*union, slow.first_ns, slow.last_ns),
                normal_ns=covered_ns(*union, normal.first_ns, normal.last_ns),
            )
        )
    return found


def _work(*, is_wait: bool, is_start: bool) -> Work:
    if is_start:
        return Work.LOADER_START
    return Work.LOADER if is_wait else Work.OTHER


def _members(events: Events) -> Instants:
    """Return the rows of all cycles of all events."""
    sizes = events.last - events.first + 1
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(events.first - before, sizes))


def _highest(matrix: Floats) -> Floats:
    return np.asarray(np.fmax.reduce(matrix, axis=1, initial=np.nan))


def _median(values_ns: Instants, rows: Mask) -> float:
    chosen = values_ns[rows] if rows.any() else values_ns
    return float(np.median(chosen))
