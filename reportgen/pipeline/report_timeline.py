"""The timeline of a report, made of the lanes that were staged when its parts were measured."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from reportgen.errors import writing
from reportgen.pipeline.marks import marks_of
from reportgen.pipeline.measuring import MeasuringTask
from reportgen.pipeline.options import TimelineDetail, Watcher
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import StagedAt
from reportgen.report import Report
from reportgen.store import save_timeline
from reportgen.text import format_bytes
from reportgen.timeline import BUDGET_BYTES, timeline_of

_RULE = "Timeline"


def with_lanes(work: MeasuringTask, folder: Path) -> MeasuringTask:
    """Return the work with a place for its lanes, where the rule that shows them runs."""
    lanes = StagedAt(folder=folder / "lanes", n_parts=len(work.job.parts))
    return replace(work, lanes=lanes if any(rule.id == _RULE for rule in work.rules) else None)


def add_timeline(
    report: Report, work: MeasuringTask, detail: TimelineDetail, watcher: Watcher, *, folder: Path
) -> Report:
    """Add its timeline to a report saved in a folder, and remove the lanes that were staged.

    Parts that a cluster lost have none; without any, the report has no timeline.

    Raises:
        OutputError: the staged lanes cannot be read, or the timeline cannot be written.
    """
    staged = work.lanes
    places = [staged.of(part) for part in work.job.parts] if staged is not None else []
    lanes = [place for place in places if place.is_file()]
    if staged is None or not lanes:
        return report
    budget_bytes = None if detail is TimelineDetail.ALL else BUDGET_BYTES
    with timed(watcher, "timeline") as step, writing(staged.folder):
        marks = list(marks_of(report.findings).values())
        content = b"".join(timeline_of(lanes, marks, budget_bytes=budget_bytes))
        shutil.rmtree(staged.folder)
        step.text = f"made a timeline of {format_bytes(len(content))}"
    return save_timeline(report, content, folder)
