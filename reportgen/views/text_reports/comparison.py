"""A comparison as Markdown: for a pull request or the summary of a build."""

from __future__ import annotations

from collections.abc import Iterator

from reportgen.comparison import Comparison, FindingState
from reportgen.text import format_difference, format_duration
from reportgen.views.text_reports.markdown import plain, table

_MOST_PARTS = 6
_TOLD = (FindingState.NEW, FindingState.WORSE, FindingState.RESOLVED, FindingState.BETTER)


def comparison_summary(comparison: Comparison) -> str:
    """Return a page of Markdown: verdict, conditions that differ, waterfall, findings."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield "<!-- generator: make-profiler-report -->"
    yield f"# {plain(comparison.headline)}"
    yield ""
    yield plain(comparison.lead)
    yield ""
    sides = (
        (comparison.before.label, comparison.before),
        (comparison.after.label, comparison.after),
    )
    yield from table(("", "job"), ((label, job.name) for label, job in sides))
    if comparison.warnings:
        yield from ("", "The jobs differ:", "")
        yield from (f"- {plain(text)}" for text in comparison.warnings)
    if comparison.waterfall:
        yield ""
        yield from table(
            ("part of a step", "before", "after", "difference"),
            (
                (
                    row.part,
                    format_duration(row.before_s),
                    format_duration(row.after_s),
                    format_difference(row.difference_s),
                )
                for row in comparison.waterfall[:_MOST_PARTS]
            ),
        )
    told = [row for row in comparison.findings if row.state in _TOLD]
    if told:
        yield ""
        yield from table(
            ("finding", "state", "severity", ""),
            (
                (
                    row.id,
                    row.state.value,
                    row.severity_after or row.severity_before or "",
                    row.title,
                )
                for row in told
            ),
        )
