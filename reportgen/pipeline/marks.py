"""Findings in time, as a timeline shows them."""

from __future__ import annotations

from collections.abc import Iterable

from reportgen.report import RankedFinding
from reportgen.timeline.moments import FindingMark
from reportgen.units import NS_PER_S


def marks_of(findings: Iterable[RankedFinding]) -> dict[str, FindingMark]:
    """Return the findings that name a time, by their ids."""
    return {
        item.finding.id: FindingMark(
            title=item.finding.title,
            said_by=f"{item.finding.severity}, {item.rule} {item.finding.id}",
            severity=item.finding.severity.value,
            start_ns=round(where.start_s * NS_PER_S),
            end_ns=round(max(where.start_s, where.end_s or where.start_s) * NS_PER_S),
            node=where.node,
        )
        for item in findings
        if (where := item.finding.where).start_s is not None
    }
