"""Kernels of CUDA graphs that a recording lost: then idle time, activity and precision are wrong.

Launches of one graph run the same nodes each time. A launch with fewer operations than its siblings
that lasts as long as they do has lost some; a smaller graph would be done sooner. So has one that
leaves the device idle between its nodes, which wait for no host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers, select
from reportgen.facts import device_busy
from reportgen.facts.intervals import covered_each, gaps_of
from reportgen.merging import rows_by_code
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import Times

LOST_RATIO = 0.1
"""A trace that lost a tenth of these operations, or of this time, says nothing about idle time:
chosen, as a tenth of the window is also what makes idling a fault."""
_GRAPH_LAUNCH = re.compile(r"GraphLaunch")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLoss:
    """What is missing inside the launches of graphs of a rank.

    Attributes:
        n_launches, n_short: launches, and those with fewer operations than their siblings.
        n_missing, n_expected: operations that these lack, and that all launches should have.
        hole_ns, span_ns: idle time between the nodes of launches, and from their first to last.
    """

    node: str
    n_launches: int
    n_short: int
    n_missing: int
    n_expected: int
    hole_ns: int
    span_ns: int

    @property
    def lost_ratio(self) -> float:
        """Return the larger of both losses in 0-1."""
        by_count = self.n_missing / max(self.n_expected, 1)
        return max(by_count, self.hole_ns / max(self.span_ns, 1))


@fact
def graph_loss(trace: RankTrace) -> GraphLoss | None:
    """Return the loss of a rank, ``None`` where it is small or nothing launches graphs."""
    calls, ops = trace.calls, trace.gpu_ops
    is_graph = device_busy.rows_named(trace, calls.name, _GRAPH_LAUNCH.search)
    rows = np.flatnonzero(np.append(is_graph, False)[ops.launch])  # ``NONE`` is the last
    n_launches = int(is_graph.sum())
    if n_launches < 2 or not rows.size:
        return None
    first, counts, end_ns = _launches(trace, rows)
    expected = counts.copy()
    for _, alike in rows_by_code(ops.name[first]):
        expected[alike] = _expected(counts[alike], (end_ns - ops.start_ns[first])[alike])
    # Of a launch without any operation its graph is unknown.
    n_empty, usual = n_launches - counts.size, int(np.median(expected))
    hole_ns, span_ns = _holes(trace, rows)
    found = GraphLoss(
        node=trace.node,
        n_launches=n_launches,
        n_short=int((counts < expected).sum()) + n_empty,
        n_missing=int((expected - counts).sum()) + n_empty * usual,
        n_expected=int(expected.sum()) + n_empty * usual,
        hole_ns=hole_ns,
        span_ns=span_ns,
    )
    return found if found.lost_ratio >= LOST_RATIO else None


def _launches(trace: RankTrace, rows: Integers) -> tuple[Integers, Integers, Times]:
    """Return the first of some operations of each launch, their number, and the end of the last."""
    ops = trace.gpu_ops  # in order of their start
    _, first, launch = np.unique(ops.launch[rows], return_index=True, return_inverse=True)
    end_ns = np.zeros(first.size, dtype=np.int64)
    np.maximum.at(end_ns, launch, ops.end_ns[rows])
    return rows[first], np.bincount(launch), end_ns


def _expected(counts: Integers, span_ns: Times) -> Integers:
    """Return (n,) how many operations launches that begin alike should have."""
    most = int(counts.max())
    whole_ns = float(np.median(span_ns[counts == most]))
    # Of a smaller graph the time shrinks as the number of its nodes does.
    least_ns = whole_ns * (1 + counts / most) / 2
    return np.where(span_ns > least_ns, most, counts)


def _holes(trace: RankTrace, rows: Integers) -> tuple[int, int]:
    """Return how long devices idle between the nodes of launches, and how long these last."""
    ops, window, hole_ns, span_ns = trace.gpu_ops, device_busy.windows_of(trace)[0], 0, 0
    for unions in device_busy.unions_of(trace, None):
        first, _, end_ns = _launches(trace, rows[ops.device[rows] == unions.device])
        gaps = gaps_of(unions.busy, window.start_ns, window.end_ns)
        holes = select(gaps, gaps.end_ns - gaps.start_ns >= device_busy.SMALL_GAP_NS)
        hole_ns += int(covered_each(holes, ops.start_ns[first], end_ns).sum())
        span_ns += int((end_ns - ops.start_ns[first]).sum())
    return hole_ns, span_ns
