"""The timeline of a job: lanes of strips, arrows and counters, and the file that holds them."""

from __future__ import annotations

from reportgen.profile import NodeProfile, RankTrace
from reportgen.timeline.lanes import PartLanes
from reportgen.timeline.moments import FindingMark
from reportgen.timeline.node_lanes import lanes_of_node
from reportgen.timeline.staged import stage
from reportgen.timeline.trace_lanes import lanes_of_trace
from reportgen.timeline.write import BUDGET_BYTES, timeline_of

__all__ = ["BUDGET_BYTES", "FindingMark", "lanes_of", "stage", "timeline_of"]


def lanes_of(part: NodeProfile | RankTrace, communication: str | None = None) -> PartLanes:
    """Return the lanes of a rank's kernel trace, or of a node's events and system metrics.

    ``communication`` finds further kernels of communication, a regular expression.
    """
    if isinstance(part, RankTrace):
        return lanes_of_trace(part, communication)
    return lanes_of_node(part)
