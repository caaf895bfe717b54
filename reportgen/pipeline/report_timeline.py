"""The timeline of a report, made of the lanes that were staged when its parts were measured."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial

from reportgen.errors import writing
from reportgen.pipeline.judging import results_of
from reportgen.pipeline.marks import marks_of
from reportgen.pipeline.options import TimelineDetail, Watcher
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import StagedAt
from reportgen.profile import JobProfile
from reportgen.report import Report
from reportgen.rules.base import AnyRule
from reportgen.store import with_timeline
from reportgen.text import format_bytes
from reportgen.timeline import BUDGET_BYTES, timeline_of

_RULE = "Timeline"


def chosen_lanes(rules: Sequence[AnyRule], lanes: StagedAt) -> StagedAt | None:
    """Return where lanes are staged, ``None`` where the rule that shows them does not run."""
    return lanes if any(rule.id == _RULE for rule in rules) else None


def without_timeline(rules: Sequence[AnyRule], detail: TimelineDetail) -> tuple[AnyRule, ...]:
    """Return the rules that run when this much of the timeline is wanted."""
    return tuple(rule for rule in rules if rule.id != _RULE or detail is not TimelineDetail.OFF)


def add_timeline(
    report: Report, job: JobProfile, lanes: StagedAt, detail: TimelineDetail, watcher: Watcher
) -> Report:
    """Return a report with its timeline, and remove the lanes that were staged.

    Parts that a cluster lost have none; without any, the report has no timeline.

    Raises:
        OutputError: the staged lanes cannot be read.
    """
    folders = [folder for part in job.parts if (folder := lanes.of(part)).is_dir()]
    if not folders:
        return report
    budget_bytes = None if detail is TimelineDetail.ALL else BUDGET_BYTES
    with timed(watcher, "timeline") as step, writing(lanes.folder):
        make = partial(timeline_of, budget_bytes=budget_bytes)
        marks = list(marks_of(report.findings).values())
        content = b"".join(results_of(len(folders), make, folders, marks))
        shutil.rmtree(lanes.folder)
        step.text = f"made a timeline of {format_bytes(len(content))}"
    return with_timeline(report, content)
