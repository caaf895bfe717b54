"""The timeline of a report, made of the lanes that were staged when its parts were measured."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from reportgen.errors import writing
from reportgen.pipeline.measuring import MeasuringTask, Outcome
from reportgen.pipeline.options import TimelineDetail, Watcher, timed
from reportgen.report import RankedFinding, Report
from reportgen.store import save_timeline
from reportgen.text import format_bytes
from reportgen.timeline import BUDGET_BYTES, timeline_of
from reportgen.timeline.moments import FindingMark
from reportgen.units import NS_PER_S


def add_timeline(
    report: Report,
    work: MeasuringTask,
    outcome: Outcome,
    *,
    detail: TimelineDetail,
    watcher: Watcher,
    folder: Path,
) -> Report:
    """Add its timeline to a report saved in a folder, and remove the lanes that were staged.

    Parts that a cluster lost have none.

    Raises:
        OutputError: the staged lanes cannot be read, or the timeline cannot be written.
    """
    staged = work.lanes
    if staged is None:
        return report
    measured, _ = outcome
    marks = _marks_of(report.findings)
    budget_bytes = None if detail is TimelineDetail.ALL else BUDGET_BYTES
    with timed(watcher, "timeline") as step, writing(staged.folder):
        staged.folder.mkdir(exist_ok=True)
        for part in measured:
            if part.lanes:  # it was measured elsewhere
                staged.of(part.node).write_bytes(part.lanes)
        lanes = [staged.of(part.node) for part in measured]
        content = b"".join(timeline_of(lanes, marks, budget_bytes=budget_bytes))
        shutil.rmtree(staged.folder)
        step.text = f"made a timeline of {format_bytes(len(content))}"
    return save_timeline(report, content, folder)


def _marks_of(findings: Iterable[RankedFinding]) -> list[FindingMark]:
    """Return the findings that name a time, of several with one id the last."""
    marks = {
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
    return list(marks.values())
