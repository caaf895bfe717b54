"""Kernels of CUDA graphs that a recording lost: then idle time, activity and precision are wrong.

Launches of one graph run the same nodes each time. A launch with fewer operations than its siblings
that lasts as long as they do has lost some; a smaller graph would be done sooner. So has one that
leaves the device idle between its nodes, which wait for no host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts import device_busy
from reportgen.facts.intervals import gaps_of
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, Times

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
    launches = np.flatnonzero(device_busy.rows_named(trace, calls.name, _GRAPH_LAUNCH.search))
    if launches.size < 2:
        return None
    place = np.full(calls.start_ns.size + 1, NONE)
    place[launches] = np.arange(launches.size)
    of_launch = place[ops.launch]  # ``NONE`` is the last
    rows = np.flatnonzero(of_launch != NONE)
    if not rows.size:
        return None
    counts = np.bincount(of_launch[rows], minlength=launches.size)
    first = np.full(launches.size, NONE)
    first[of_launch[rows][::-1]] = ops.name[rows][::-1]
    start_ns = np.full(launches.size, np.iinfo(np.int64).max)
    end_ns = np.full(launches.size, np.iinfo(np.int64).min)
    np.minimum.at(start_ns, of_launch[rows], ops.start_ns[rows])
    np.maximum.at(end_ns, of_launch[rows], ops.end_ns[rows])
    expected = counts.copy()
    for name in np.unique(first[counts > 0]).tolist():
        alike = np.flatnonzero(first == name)
        expected[alike] = _expected(counts[alike], end_ns[alike] - start_ns[alike])
    # Of a launch without any operation its graph is unknown.
    expected[counts == 0] = int(np.median(expected[counts > 0]))
    hole_ns, span_ns = _holes(trace, rows, of_launch[rows], launches.size)
    found = GraphLoss(
        node=trace.node,
        n_launches=launches.size,
        n_short=int((counts < expected).sum()),
        n_missing=int((expected - counts).sum()),
        n_expected=int(expected.sum()),
        hole_ns=hole_ns,
        span_ns=span_ns,
    )
    return found if found.lost_ratio >= LOST_RATIO else None


def _expected(counts: Integers, span_ns: Times) -> Integers:
    """Return (n,) how many operations launches that begin alike should have."""
    most = int(counts.max())
    whole_ns = float(np.median(span_ns[counts == most]))
    # Of a smaller graph the time shrinks as the number of its nodes does.
    least_ns = whole_ns * (1 + counts / most) / 2
    return np.where(span_ns > least_ns, most, counts)


def _holes(trace: RankTrace, rows: Integers, launch: Integers, n_launches: int) -> tuple[int, int]:
    """Return how long devices idle between the nodes of launches, and how long these last."""
    ops, hole_ns, span_ns = trace.gpu_ops, 0, 0
    for unions in device_busy.unions_of(trace, None):
        on_device = ops.device[rows] == unions.device
        low_ns = np.full(n_launches, np.iinfo(np.int64).max)
        high_ns = np.full(n_launches, np.iinfo(np.int64).min)
        np.minimum.at(low_ns, launch[on_device], ops.start_ns[rows][on_device])
        np.maximum.at(high_ns, launch[on_device], ops.end_ns[rows][on_device])
        is_there = high_ns > low_ns
        low_ns, high_ns = low_ns[is_there], high_ns[is_there]
        if not low_ns.size:
            continue
        span_ns += int((high_ns - low_ns).sum())
        gaps = gaps_of(unions.busy, int(low_ns.min()), int(high_ns.max()))
        order = np.argsort(low_ns)
        at = np.searchsorted(low_ns[order], gaps.start_ns, side="right") - 1
        is_inside = (at >= 0) & (gaps.end_ns <= high_ns[order][at])
        length_ns = (gaps.end_ns - gaps.start_ns)[is_inside]
        hole_ns += int(length_ns[length_ns >= device_busy.SMALL_GAP_NS].sum())
    return hole_ns, span_ns
