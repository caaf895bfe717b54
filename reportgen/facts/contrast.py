"""What was different in some windows of time: the functions that ran, and the load of the node.

Windows are disjoint. A function's time in them is the union of its events, so that recursion and
threads count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from reportgen.arrays import Floats, Integers
from reportgen.facts.breakdown import exchanges_data, is_function, labels_of
from reportgen.facts.intervals import Union, covered_each, overlaps_any, union_of
from reportgen.facts.loader import loader_rows
from reportgen.facts.samples import mean_of, mean_of_present, present_values, sum_of
from reportgen.merging import merged, rows_by_code, sum_by_key, sums_by_code
from reportgen.profile import NodeProfile, SeriesKind, SpanTable, SystemTable

MOST_FUNCTIONS = 40
"""So many functions, by their time in slow windows, are compared; the others hardly matter."""
LIFE_FACTOR = 2
"""An event longer than twice the longest slow window is something that lives, not that runs."""
ALWAYS_THERE_RATIO = 0.98
"""A function that also fills the other windows says nothing about these."""


class WorkKind(StrEnum):
    """The kind of work of a function; it decides which advice fits."""

    LOADER = "waiting for a batch"
    LOADER_START = "starting a loader"
    EXCHANGE = "exchanging data with other workers"
    OTHER = "other"
    UNSEEN = "nothing that was recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowContents:
    """Number and lengths of some windows, lengths of others, and each function's time in them.

    ``usual_ns`` is how long the slow windows would have lasted as usual. ``WorkKind.UNSEEN`` is the
    time in which no recorded function ran. ``merge`` adds up the contents of several workers.
    """

    n_slow: int = merged(sum, default=0)
    slow_ns: int = merged(sum, default=0)
    normal_ns: int = merged(sum, default=0)
    usual_ns: int = merged(sum, default=0)
    in_slow_ns: Mapping[tuple[str, WorkKind], int] = merged(sum_by_key, default_factory=dict)
    in_normal_ns: Mapping[tuple[str, WorkKind], int] = merged(sum_by_key, default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One function in slow windows and in the others, in ns a window.

    Attributes:
        excess_ratio: how much of their extra time it took; negative when it took less than usual.
        evidence_ratio: the same beyond what something that always runs at its usual rate would
            have taken: 0 for a background thread, 1 for what filled all of the extra time.
    """

    function: str
    work: WorkKind
    slow_ns: float
    normal_ns: float
    excess_ratio: float
    evidence_ratio: float


def differences_of(contents: WindowContents) -> list[Difference]:
    """Return the functions by how much more time they took in slow windows, most first.

    Edge cases: without other windows, or when slow ones are no longer, there is nothing to say.
    """
    extra_ns = contents.slow_ns - contents.usual_ns
    if not contents.n_slow or not contents.normal_ns or extra_ns <= 0:
        return []
    found = []
    for (function, work), slow_ns in contents.in_slow_ns.items():
        rate = contents.in_normal_ns[function, work] / contents.normal_ns
        excess = (slow_ns - rate * contents.usual_ns) / extra_ns
        found.append(
            Difference(
                function=function,
                work=work,
                slow_ns=slow_ns / contents.n_slow,
                normal_ns=rate * contents.usual_ns / contents.n_slow,
                excess_ratio=excess,
                evidence_ratio=0.0 if rate > ALWAYS_THERE_RATIO else (excess - rate) / (1 - rate),
            )
        )
    return sorted(found, key=lambda item: (-item.excess_ratio, item.function))


def window_contents(
    spans: SpanTable, slow: Union, normal: Union, *, usual_ns: float
) -> WindowContents:
    """Compare what one worker ran in slow windows with what it ran in normal ones."""
    longest_ns = LIFE_FACTOR * int((slow.end_ns - slow.start_ns).max(initial=0))
    functions = spans.where(is_function(spans) & (spans.duration_ns <= longest_ns))

    def covered(rows: Integers | slice) -> list[int]:
        union = union_of(functions.start_ns[rows], functions.end_ns[rows])
        sides = (covered_each(union, side.start_ns, side.end_ns) for side in (slow, normal))
        return [int(side.sum()) for side in sides]

    found = [((label, work), covered(rows)) for label, work, rows in _longest(functions, slow)]
    whole = zip((slow.length_ns, normal.length_ns), covered(slice(None)), strict=True)
    found.append((("no recorded function", WorkKind.UNSEEN), [all_ns - ns for all_ns, ns in whole]))
    return WindowContents(
        n_slow=slow.start_ns.size,
        slow_ns=slow.length_ns,
        normal_ns=normal.length_ns,
        usual_ns=round(usual_ns),
        in_slow_ns=sum_by_key({key: slow_ns} for key, (slow_ns, _) in found),
        in_normal_ns=sum_by_key({key: normal_ns} for key, (_, normal_ns) in found),
    )


def _longest(spans: SpanTable, slow: Union) -> Iterator[tuple[str, WorkKind, Integers]]:
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
    is_exchange = exchanges_data(spans)
    waits = union_of(spans.start_ns[is_wait], spans.end_ns[is_wait])
    for code, places in rows_by_code(codes[rows]):
        called = rows[places]
        waited_ns = covered_each(waits, spans.start_ns[called], spans.end_ns[called]).sum()
        is_waiting = 2 * waited_ns > spans.duration_ns[called].sum()
        work = WorkKind.EXCHANGE if is_exchange[called].all() else WorkKind.OTHER
        work = WorkKind.LOADER if is_wait[called].any() or is_waiting else work
        yield labels[code], WorkKind.LOADER_START if is_start[called].any() else work, called


class Gauge(StrEnum):
    """How busy a node was: in percent, or for what it moves in bytes/s."""

    GPU = "GPU utilization"
    CPU = "CPU utilization"
    CORE = "busiest core"
    IO_WAIT = "I/O wait"
    RECEIVED = "received"
    SENT = "sent"
    READ = "read from disk"
    WRITTEN = "written to disk"


MOVED: Mapping[Gauge, tuple[SeriesKind, ...]] = {
    Gauge.RECEIVED: (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.RECEIVE_PLATFORM),
    Gauge.SENT: (SeriesKind.TRANSMIT_ALGORITHM, SeriesKind.TRANSMIT_PLATFORM),
    Gauge.READ: (SeriesKind.READ_RATE,),
    Gauge.WRITTEN: (SeriesKind.WRITE_RATE,),
}
"""What a node moves; the other gauges are in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A gauge inside and outside some windows: how many ticks, and the means over them.

    ``middle_inside`` is the median over the windows of the mean in each.
    """

    n_inside: int
    n_outside: int
    inside: float | None
    outside: float | None
    middle_inside: float | None = None


def loads_of(system: SystemTable, windows: Union, loop_ns: tuple[int, int]) -> dict[Gauge, Load]:
    """Return the gauges that were sampled, over the ticks inside windows and the others of a loop.

    Both ends of windows and loop count.
    """
    busiest = np.full(system.n_ticks, np.nan)
    for column in system.each(SeriesKind.CPU_UTILIZATION):
        np.fmax(busiest, column, out=busiest)
    gauges: Mapping[Gauge, Floats] = {
        Gauge.GPU: mean_of(system, SeriesKind.GPU_UTILIZATION),
        Gauge.CPU: mean_of(system, SeriesKind.CPU_UTILIZATION),
        Gauge.CORE: busiest,
        Gauge.IO_WAIT: mean_of(system, SeriesKind.IO_WAIT),
        **{gauge: sum_of(system, *kinds) for gauge, kinds in MOVED.items()},
    }
    tick_ns = system.tick_ns
    is_inside = overlaps_any(tick_ns, tick_ns, windows.start_ns, windows.end_ns)
    at = np.searchsorted(windows.start_ns, tick_ns[is_inside], side="right") - 1
    is_outside = (tick_ns >= loop_ns[0]) & (tick_ns <= loop_ns[1]) & ~is_inside
    return {
        gauge: Load(
            n_inside=present_values(values[is_inside]).size,
            n_outside=present_values(values[is_outside]).size,
            inside=mean_of_present(values[is_inside]),
            outside=mean_of_present(values[is_outside]),
            middle_inside=_middle_of(values[is_inside], at),
        )
        for gauge, values in gauges.items()
        if not np.isnan(values).all()
    }


def _middle_of(values: Floats, at: Integers) -> float | None:
    """Return the median over windows of the mean of (n,) values ``at`` each; without values None.

    Samples at the end of one window and the start of the next count for the latter.
    """
    is_known = np.isfinite(values)
    counts = np.bincount(at[is_known])
    sums = np.bincount(at[is_known], weights=values[is_known])
    return float(np.median(sums[counts > 0] / counts[counts > 0])) if counts.size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """What went on inside some windows of a worker, or of a node, and outside of them."""

    node: str
    worker: str = ""
    contents: WindowContents = field(default_factory=WindowContents)
    loads: Mapping[Gauge, Load] = field(default_factory=dict)


def contrast_of(
    part: NodeProfile,
    windows: Union,
    others: Union,
    *,
    worker: str = "",
    usual_ns: float = 0.0,
    n_times: int | None = None,
) -> Contrast:
    """Compare windows with other ones, whose ends are those of the loop.

    Args:
        part: the node.
        windows: what is slow.
        others: the same as usual.
        worker: whose functions are compared; nobody's where it is empty.
        usual_ns: how long the windows would have lasted together as usual.
        n_times: how often something was slow, where it takes several windows each time.
    """
    ends_ns = [*others.start_ns[:1].tolist(), *others.end_ns[-1:].tolist()]
    loop_ns = (ends_ns[0], ends_ns[1]) if ends_ns else (0, -1)
    contents = WindowContents()
    if worker:
        of_worker = part.spans.where(part.spans.worker == part.spans.workers.index(worker))
        contents = window_contents(of_worker, windows, others, usual_ns=usual_ns)
        contents = replace(contents, n_slow=n_times or contents.n_slow)
    loads = loads_of(part.system, windows, loop_ns)
    return Contrast(node=part.node, worker=worker, contents=contents, loads=loads)
