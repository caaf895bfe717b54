"""Nodes that were sampled for a part of the job only."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Finding, Severity, Where
from reportgen.rules.saying.wording import say_of, say_some
from reportgen.rules.usage.nodes import NodeUsage
from reportgen.units import NS_PER_MINUTE, NS_PER_S, say_duration, seconds

LEAST_NS = 2 * NS_PER_MINUTE
"""A node writes a file a minute, so its last one may be missing. Source: ours."""
LEAST_RATIO = 0.05
"""Of the time in which any node was sampled. Source: ours."""


def absence_finding(nodes: Sequence[NodeUsage], *, table: str) -> Finding | None:
    """Return SYS-7: a node whose samples end long before those of the others, or begin long after.

    Args:
        nodes: what was measured, in node order.
        table: the exhibit that lists the nodes.

    Edge cases: a job of one node has no other to compare with.
    """
    seen = [(node, node.first_ns, node.last_ns) for node in nodes]
    known = [
        (node, first, last) for node, first, last in seen if first is not None and last is not None
    ]
    if len(known) < 2:
        return None
    begin_ns = min(first for _, first, _ in known)
    end_ns = max(last for _, _, last in known)
    limit_ns = max(LEAST_NS, round(LEAST_RATIO * (end_ns - begin_ns)))
    absent = [
        (max(first - begin_ns, end_ns - last), end_ns - last >= first - begin_ns, node, first, last)
        for node, first, last in known
    ]
    absent = [item for item in absent if item[0] > limit_ns]
    if not absent:
        return None
    missing_ns, is_end, node, first, last = max(absent, key=lambda item: item[0])
    missing = say_duration(missing_ns / NS_PER_S)
    others = [item[2].node for item in absent if item[2] is not node]
    also = f" The same holds for {say_some(others)}." if others else ""
    what = "ended" if is_end else "began"
    when = "before the job did" if is_end else "after the job did"
    return Finding(
        id="SYS-7",
        severity=Severity.WARNING,
        title=f"The samples of {node.node} {what} {missing} {when}",
        text=(
            f"{node.node} was sampled for {say_duration((last - first) / NS_PER_S)} of the "
            f"{say_duration((end_ns - begin_ns) / NS_PER_S)} in which any node was. This concerns "
            f"{say_of(len(absent), len(known), 'node')}.{also}"
        ),
        advice=(
            f"See whether {node.node} stopped or was lost then, or whether only its files were not "
            "copied."
            if is_end
            else f"See why {node.node} joined so late, or whether its first files were not copied."
        ),
        where=Where(node=node.node, start_s=seconds(first), end_s=seconds(last)),
        measured=round(missing_ns / NS_PER_S, 3),
        threshold=round(limit_ns / NS_PER_S, 3),
        unit="s",
        exhibit=table,
    )
