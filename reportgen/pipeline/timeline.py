"""The timeline of a report, made of the lanes that were staged when its parts were measured."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

from reportgen.errors import writing
from reportgen.pipeline.options import TimelineDetail, Watcher
from reportgen.pipeline.timing import timed
from reportgen.pipeline.work import StagedAt
from reportgen.profile import JobProfile
from reportgen.report import Report
from reportgen.rules.base import AnyRule
from reportgen.store import with_timeline
from reportgen.text import format_bytes
from reportgen.timeline import BUDGET_BYTES, Mark, timeline_of
from reportgen.units import NS_PER_S

_RULE = "Timeline"


def chosen_lanes(rules: Sequence[AnyRule], lanes: StagedAt) -> StagedAt | None:
    """Return where lanes are staged, ``None`` where the rule that shows them does not run."""
    return lanes if any(rule.id == _RULE for rule in rules) else None


def without_timeline(rules: Sequence[AnyRule], detail: TimelineDetail) -> tuple[AnyRule, ...]:
    """Return the rules that run when so much of the timeline is wanted."""
    return tuple(rule for rule in rules if rule.id != _RULE or detail is not TimelineDetail.OFF)


def add_timeline(
    report: Report, job: JobProfile, lanes: StagedAt, detail: TimelineDetail, watcher: Watcher
) -> Report:
    """Return a report with its timeline, and remove the lanes that were staged.

    Parts that a cluster measured have none; without any, the report has no timeline.

    Raises:
        OutputError: what was staged cannot be read.
    """
    folders = [folder for part in job.parts if (folder := lanes.of(part)).is_dir()]
    if not folders:
        return report
    budget_bytes = None if detail is TimelineDetail.ALL else BUDGET_BYTES
    with timed(watcher, "timeline") as step, writing(lanes.folder):
        pieces = timeline_of(folders, list(_marks(report)), budget_bytes=budget_bytes)
        shutil.rmtree(lanes.folder)
        content = b"".join(pieces)
        step.text = f"made a timeline of {format_bytes(len(content))}"
    return with_timeline(report, content)


def _marks(report: Report) -> Iterator[Mark]:
    """Yield the findings that say when, most important first."""
    for item in report.findings:
        where = item.finding.where
        if where.start_s is not None:
            end_s = where.start_s if where.end_s is None else where.end_s
            yield Mark(
                title=item.finding.title,
                said_by=f"{item.rule} {item.finding.id}",
                start_ns=round(where.start_s * NS_PER_S),
                end_ns=round(max(end_s, where.start_s) * NS_PER_S),
                node=where.node,
            )
