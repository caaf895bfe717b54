"""What ran inside some moments, such as slow steps or bottlenecks, and outside of them.

Two measures stand side by side. ``function_sums`` takes the events that meet the moments: each
counts once with its full length, however many moments it meets. ``window_contents`` takes disjoint
windows and the time of each function in them: the union of its events, so that recursion and
threads count once. ``loads_inside`` says how busy a node was meanwhile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import SpanClass, classes_of
from reportgen.facts.groups import joint_codes, rows_by_code, sums_by_code
from reportgen.facts.intervals import Instants, covered_each, overlaps_any, union_of
from reportgen.facts.loader import PROCESS, loader_rows
from reportgen.facts.samples import mean_over, present_values
from reportgen.merging import merged, sum_by_key
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.profile.spans import STEP_PREFIX, Words
from reportgen.profile.system import Floats

LEAST_INCREASE = 1.5
LEAST_EVENTS = 10
"""A function is named as a cause when its share of the time is one and a half times as large as
otherwise, and when so many events on both sides say so: fewer may be chance."""
_NONE = np.empty(0, dtype=np.int64)
MOST_FUNCTIONS = 40
"""So many functions, by their time in slow windows, are compared; the others hardly matter."""
LIFE_FACTOR = 2
"""An event longer than twice the longest slow window is something that lives, not that runs."""

Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
Function = tuple[str, str]
"""Name and phase of a function."""


# Functions: which events they are, and what they are called


def is_function(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events that are functions: neither steps nor process lives."""
    is_other = spans.in_phases((PROCESS,)) | (classes_of(spans) == SpanClass.STEP)
    return np.asarray(~is_other)


def labels_of(spans: SpanTable) -> tuple[Integers, tuple[str, ...]]:
    """Return (n,) codes of functions, and their labels.

    A function is a name within a phase, because a model's name stands in its forward and its
    backward events. The phases of communication are tensors: there the name alone is the function.
    """
    is_horovod = classes_of(spans) == SpanClass.HOROVOD
    phase = np.where(is_horovod, -1, spans.phase)
    codes = joint_codes(phase, spans.name)
    _, first = np.unique(codes, return_index=True)
    pairs = [(int(phase[row]), int(spans.name[row])) for row in first.tolist()]
    n_phases = Counter(name for _, name in pairs)
    labels = tuple(
        spans.names[name]
        if n_phases[name] == 1
        else f"{spans.names[name]} ({spans.phases[code] if code >= 0 else 'communication'})"
        for code, name in pairs
    )
    return np.searchsorted(codes[first], codes), labels


# Events that meet some moments


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSums:
    """Functions and the events chosen of each; ``merge`` adds up those of several nodes.

    Attributes:
        count: how many events.
        total_ns: their full lengths.
        inside_ns: the part of them that lies in some windows.
    """

    count: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)
    total_ns: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)
    inside_ns: Mapping[Function, int] = merged(sum_by_key, default_factory=dict)

    @property
    def n_events(self) -> int:
        """Return how many events there are."""
        return sum(self.count.values())

    @property
    def share_pct(self) -> dict[Function, float]:
        """Return the share of each function in the time of all, 0-100."""
        whole_ns = sum(self.total_ns.values()) or 1
        return {key: 100 * total_ns / whole_ns for key, total_ns in self.total_ns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Increase:
    """A function whose share of the time, 0-100, is larger at some moments than otherwise."""

    name: str
    share_pct: float
    other_share_pct: float

    @property
    def factor(self) -> float:
        """Return the share by the other one, infinite when the function did not run otherwise."""
        return self.share_pct / self.other_share_pct if self.other_share_pct else math.inf


def is_step(spans: SpanTable) -> Mask:
    """Return an (n,) mask of the events of step phases, whatever precedes the word."""
    codes = [code for code, phase in enumerate(spans.phases) if STEP_PREFIX in phase]
    return np.isin(spans.phase, codes)


def function_sums(spans: SpanTable, rows: Mask) -> FunctionSums:
    """Add up the chosen events of each function; steps are no functions and are left out."""
    return event_sums(spans, rows & ~is_step(spans))


def event_sums(
    spans: SpanTable,
    rows: Mask,
    *,
    called: tuple[tuple[str, ...], Words] | None = None,
    windows: tuple[Instants, Instants] = (_NONE, _NONE),
) -> FunctionSums:
    """Add up the chosen events of each name and phase, in the order of their codes.

    Args:
        spans: events of one node or of several joined.
        rows: (n,) which of them.
        called: words and (n,) codes of what events are called; their own names by default.
        windows: start and end of the windows for ``inside_ns``, any order.
    """
    words, name = called or (spans.names, spans.name)
    its, n_phases = np.flatnonzero(rows), max(len(spans.phases), 1)
    pair = name[its].astype(np.int64) * n_phases + spans.phase[its]
    codes, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    keys = [(words[code // n_phases], spans.phases[code % n_phases]) for code in codes.tolist()]
    start_ns, end_ns = spans.start_ns[its], spans.end_ns[its]
    inside_ns = covered_each(union_of(*windows), start_ns, end_ns)
    total_ns, inside_ns = (
        sums_by_code(place.reshape(-1), length_ns, codes.size)
        for length_ns in (end_ns - start_ns, inside_ns)
    )
    return FunctionSums(
        count=dict(zip(keys, count.tolist(), strict=True)),
        total_ns=dict(zip(keys, total_ns.tolist(), strict=True)),
        inside_ns=dict(zip(keys, inside_ns.tolist(), strict=True)),
    )


def largest_increase(sums: FunctionSums, others: FunctionSums) -> Increase | None:
    """Return the function that takes much more of the time at the moments than otherwise.

    Of the functions whose share rose ``LEAST_INCREASE``-fold or more it is the one whose share
    rose by most points. The mean time alone does not tell: a function that is as long as ever,
    but runs at every bottleneck and at no other time, is the cause too.

    Args:
        sums, others: what ran at the moments, and otherwise.

    Returns:
        ``None`` when the evidence is thin: the function ran fewer than ``LEAST_EVENTS`` times at
        the moments, or fewer events than that are on the other side in all.
    """
    if others.n_events < LEAST_EVENTS:
        return None
    shares, other_shares = sums.share_pct, others.share_pct
    risen = [
        (other_shares.get(key, 0.0) - shares[key], key)
        for key, count in sums.count.items()
        if count >= LEAST_EVENTS and shares[key] >= LEAST_INCREASE * other_shares.get(key, 0.0)
    ]
    increase, key = min(risen, default=(0.0, ("", "")))
    if increase >= 0:
        return None
    return Increase(name=key[0], share_pct=shares[key], other_share_pct=other_shares.get(key, 0.0))


# Time in windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Disjoint stretches of time in order, (n,) int64 ns each."""

    first_ns: Instants
    last_ns: Instants

    @property
    def total_ns(self) -> int:
        """Return how long they are together."""
        return int((self.last_ns - self.first_ns).sum())


class Work(StrEnum):
    """What kind of work a function is; decides which advice fits it."""

    LOADER = "waiting for a batch"
    LOADER_START = "starting a loader"
    OTHER = "other"
    UNSEEN = "nothing that was recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowContents:
    """What some windows hold against others; ``merge`` adds up those of several workers.

    Attributes:
        n_slow, n_normal: windows of each kind.
        slow_ns, normal_ns: their lengths, added up.
        in_slow_ns, in_normal_ns: time of each function in them; ``Work.UNSEEN`` is the time in
            which no recorded function ran.
    """

    n_slow: int = merged(sum)
    n_normal: int = merged(sum)
    slow_ns: int = merged(sum)
    normal_ns: int = merged(sum)
    in_slow_ns: Mapping[tuple[str, Work], int] = merged(sum_by_key)
    in_normal_ns: Mapping[tuple[str, Work], int] = merged(sum_by_key)


def window_contents(spans: SpanTable, slow: Windows, normal: Windows) -> WindowContents:
    """Compare what ran in slow windows with what ran in normal ones.

    Args:
        spans: all events of one worker.
        slow, normal: windows of the same kind.
    """
    longest_ns = LIFE_FACTOR * int((slow.last_ns - slow.first_ns).max(initial=0))
    its = spans.where(is_function(spans) & (spans.duration_ns <= longest_ns))

    def covered(rows: Integers | slice) -> list[int]:
        union = union_of(its.start_ns[rows], its.end_ns[rows])
        sides = (covered_each(union, side.first_ns, side.last_ns) for side in (slow, normal))
        return [int(side.sum()) for side in sides]

    found = [((label, work), covered(rows)) for label, work, rows in _longest(its, slow)]
    whole = zip((slow.total_ns, normal.total_ns), covered(slice(None)), strict=True)
    found.append((("no recorded function", Work.UNSEEN), [all_ns - ns for all_ns, ns in whole]))
    return WindowContents(
        n_slow=slow.first_ns.size,
        n_normal=normal.first_ns.size,
        slow_ns=slow.total_ns,
        normal_ns=normal.total_ns,
        in_slow_ns=sum_by_key({key: slow_ns} for key, (slow_ns, _) in found),
        in_normal_ns=sum_by_key({key: normal_ns} for key, (_, normal_ns) in found),
    )


def _longest(spans: SpanTable, slow: Windows) -> Iterator[tuple[str, Work, Integers]]:
    """Yield label, kind and rows of the functions that meet slow windows for longest."""
    is_met = overlaps_any(spans.start_ns, spans.end_ns, slow.first_ns, slow.last_ns)
    if not is_met.any():
        return
    codes, labels = labels_of(spans)
    totals = sums_by_code(codes[is_met], spans.duration_ns[is_met], len(labels))
    kept = np.argsort(-totals, kind="stable")[:MOST_FUNCTIONS]
    rows = np.flatnonzero(np.isin(codes, kept[totals[kept] > 0]))
    loader = loader_rows(spans)
    is_wait, is_start = loader.fetch | loader.next_call, loader.initialize
    for code, its in rows_by_code(codes[rows]):
        own = rows[its]
        work = Work.LOADER if is_wait[own].any() else Work.OTHER
        yield labels[code], Work.LOADER_START if is_start[own].any() else work, own


# How busy a node was


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
    system: SystemTable, inside: Windows, loop_ns: tuple[int, int]
) -> dict[NodeGauge, Load]:
    """Return the gauges that were sampled, over the ticks inside windows and the others.

    Args:
        system: the samples of a node.
        inside: the windows, both ends included.
        loop_ns: ticks outside count from its start to its end.
    """
    cores = system.matrix(SeriesKind.CPU_UTILIZATION)
    gauges: Mapping[NodeGauge, Floats] = {
        NodeGauge.GPU: mean_over(system.matrix(SeriesKind.GPU_UTILIZATION)),
        NodeGauge.CPU: mean_over(cores),
        NodeGauge.CORE: np.asarray(np.fmax.reduce(cores, axis=1, initial=np.nan)),
        NodeGauge.IO_WAIT: mean_over(system.matrix(SeriesKind.IO_WAIT)),
    }
    tick_ns = system.tick_ns
    is_inside = overlaps_any(tick_ns, tick_ns, inside.first_ns, inside.last_ns)
    is_outside = (tick_ns >= loop_ns[0]) & (tick_ns <= loop_ns[1]) & ~is_inside
    return {
        gauge: _load(present_values(values[is_inside]), present_values(values[is_outside]))
        for gauge, values in gauges.items()
        if not np.isnan(values).all()
    }


def _load(inside: Floats, outside: Floats) -> Load:
    return Load(
        n_inside=inside.size,
        n_outside=outside.size,
        inside_pct=float(inside.sum()) / inside.size if inside.size else None,
        outside_pct=float(outside.sum()) / outside.size if outside.size else None,
    )
