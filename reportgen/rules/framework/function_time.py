"""Which functions ran when, and for how long: the ground for "what ran in this range?".

A function's time within one worker is the union of its events, so that recursion and threads
count once; the workers of a node are added up. What the functions that are not listed did is one
row, the union of all their events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import is_function, labels_of
from reportgen.facts.groups import rows_by_code, sums_by_code
from reportgen.facts.intervals import covered_before, merge_intervals
from reportgen.profile import SpanTable
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.saying.wording import say_some
from reportgen.units import NS_PER_S, say_duration

EXHIBIT = "function_time"
MOST_FUNCTIONS = 30
MOST_BUCKETS = 240
LEAST_BUCKETS = 30
MOST_NODES_APART = 8
"""Bounds of the exhibit: at most 31 x 240 cells, whatever the job. Source: ours."""
REST = "all other functions"

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRow:
    """One function of one node: (m,) int64 places of buckets, ascending, and ns in each."""

    label: str
    bucket: Integers
    time_ns: Integers

    @property
    def total_ns(self) -> int:
        """Return its time over the whole job."""
        return int(self.time_ns.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTimes:
    """The functions of one node; bucket ``b`` begins at ``b * width_ns``, a power of two.

    ``is_relative``: its times are of a clock of its own, not to be laid beside those of others.
    """

    node: str
    is_relative: bool = False
    width_ns: int = 1
    rows: tuple[FunctionRow, ...] = ()


def function_times_of(spans: SpanTable, *, node: str, is_relative: bool = False) -> FunctionTimes:
    """Return when the functions of one node ran: those of most time, and the rest as one."""
    its = spans.where(is_function(spans))
    its = its.where(its.duration_ns > 0)
    if its.n_spans == 0:
        return FunctionTimes(node=node)
    codes, labels = labels_of(its)
    totals = sums_by_code(codes, its.duration_ns, len(labels))
    order = np.lexsort((np.array(labels), -totals))
    listed, rank = order[:MOST_FUNCTIONS], np.empty(order.size, dtype=np.int64)
    rank[order] = np.minimum(np.arange(order.size), MOST_FUNCTIONS)
    width_ns = _width_ns(int(its.start_ns[0]), int(its.end_ns.max()))
    rows = [
        _row((*(labels[code] for code in listed), REST)[place], its.where(rows), width_ns)
        for place, rows in rows_by_code(rank[codes])
    ]
    return FunctionTimes(node=node, is_relative=is_relative, width_ns=width_ns, rows=tuple(rows))


def function_exhibit(nodes: Sequence[FunctionTimes]) -> tuple[Exhibit, ...]:
    """Return the heat map of function and time; nothing when no function was recorded."""
    recorded = [node for node in nodes if node.rows]
    if not recorded:
        return ()
    found = _on_one_clock(recorded)
    shown = {node.node for node in found}
    apart = [node.node for node in recorded if node.node not in shown]
    if len(found) > MOST_NODES_APART:
        found = [_joined(found)]
    buckets = max(LEAST_BUCKETS, MOST_BUCKETS // len(found))
    width_ns = max(node.width_ns for node in found)
    while _n_buckets(found, width_ns) > buckets:
        width_ns *= 2
    cells = [
        (node.node, row.label, bucket, time_ns)
        for node in found
        for row in sorted(node.rows, key=lambda row: (row.label == REST, -row.total_ns, row.label))
        for bucket, time_ns in zip(*_coarse(row, node.width_ns, width_ns), strict=True)
    ]
    is_alone = len(found) == 1
    return (
        exhibit(
            EXHIBIT,
            ExhibitKind.HEATMAP,
            title="Functions over time",
            caption=(
                f"Time in each function per {say_duration(width_ns / NS_PER_S)}, added up over the "
                "workers; a function inside another counts in both. An absent cell is 0. "
                f"{_listed(found)}{_left_out(apart)}"
            ),
            columns=[
                (
                    "row",
                    "",
                    [label if is_alone else f"{node} {label}" for node, label, *_ in cells],
                ),
                ("time_s", "s", [bucket * width_ns / NS_PER_S for *_, bucket, _ in cells]),
                ("function_s", "s", [time_ns / NS_PER_S for *_, time_ns in cells]),
                ("node", "", [node for node, *_ in cells]),
                ("width_s", "s", [width_ns / NS_PER_S for _ in cells]),
            ],
        ),
    )


def _on_one_clock(nodes: Sequence[FunctionTimes]) -> list[FunctionTimes]:
    """Return the nodes whose times can be laid side by side: those on a wall clock, else one."""
    on_wall_clock = [node for node in nodes if not node.is_relative]
    return on_wall_clock or [max(nodes, key=lambda node: sum(row.total_ns for row in node.rows))]


def _left_out(names: Sequence[str]) -> str:
    if not names:
        return ""
    why = "has a clock of its own and is" if len(names) == 1 else "have clocks of their own and are"
    return f" {say_some(names, most=MOST_NODES_APART)} {why} left out."


def bucket_times(start_ns: Integers, end_ns: Integers, width_ns: int) -> tuple[Integers, Integers]:
    """Return the buckets that intervals touch, and how many ns of their union lie in each.

    Args:
        start_ns, end_ns: (n,) int64, any order, n >= 1.
        width_ns: of a bucket; bucket ``b`` is [b * width, (b + 1) * width).
    """
    starts, ends = merge_intervals(start_ns, end_ns)
    first, last = int(starts[0]) // width_ns, int(ends[-1]) // width_ns
    edges = np.arange(first, last + 2, dtype=np.int64) * width_ns
    time_ns = np.diff(covered_before(starts, ends, edges))
    touched = np.flatnonzero(time_ns)
    return first + touched, time_ns[touched]


def _row(label: str, spans: SpanTable, width_ns: int) -> FunctionRow:
    parts = [
        bucket_times(spans.start_ns[rows], spans.end_ns[rows], width_ns)
        for _, rows in rows_by_code(spans.worker)
    ]
    return FunctionRow(label=label, **_summed(parts))


def _summed(parts: Sequence[tuple[Integers, Integers]]) -> dict[str, Integers]:
    buckets, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    bucket, place = np.unique(buckets, return_inverse=True)
    return {"bucket": bucket, "time_ns": sums_by_code(place.reshape(-1), times, bucket.size)}


def _width_ns(first_ns: int, last_ns: int) -> int:
    least = (last_ns - first_ns) // (MOST_BUCKETS - 1) + 1
    return int(1 << max(least - 1, 0).bit_length())


def _n_buckets(nodes: Sequence[FunctionTimes], width_ns: int) -> int:
    first = min(int(row.bucket[0]) * node.width_ns for node in nodes for row in node.rows)
    last = max(int(row.bucket[-1]) * node.width_ns for node in nodes for row in node.rows)
    return last // width_ns - first // width_ns + 1


def _coarse(row: FunctionRow, own_ns: int, width_ns: int) -> tuple[list[int], list[int]]:
    made = _summed([(row.bucket * own_ns // width_ns, row.time_ns)])
    return made["bucket"].tolist(), made["time_ns"].tolist()


def _joined(nodes: Sequence[FunctionTimes]) -> FunctionTimes:
    """Return all nodes as one: the functions of most time, and the rest."""
    width_ns = max(node.width_ns for node in nodes)
    totals: dict[str, int] = {}
    for node in nodes:
        for row in node.rows:
            totals[row.label] = totals.get(row.label, 0) + row.total_ns
    named = sorted(set(totals) - {REST}, key=lambda label: (-totals[label], label))
    kept = set(named[:MOST_FUNCTIONS])
    parts: dict[str, list[tuple[Integers, Integers]]] = {}
    for node in nodes:
        for row in node.rows:
            part = (row.bucket * node.width_ns // width_ns, row.time_ns)
            parts.setdefault(row.label if row.label in kept else REST, []).append(part)
    return FunctionTimes(
        node=f"all {len(nodes)} nodes",
        width_ns=width_ns,
        rows=tuple(FunctionRow(label=label, **_summed(its)) for label, its in parts.items()),
    )


def _listed(nodes: Sequence[FunctionTimes]) -> str:
    if not any(row.label == REST for node in nodes for row in node.rows):
        return "All functions are listed."
    return f"The {MOST_FUNCTIONS} functions of most time are listed, the others are one row."
