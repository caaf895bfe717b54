"""A comparison as Markdown: for a pull request or the summary of a build."""

from __future__ import annotations

from collections.abc import Iterator

from reportgen.comparison.conditions import changed_settings
from reportgen.comparison.model import Comparison, FindingState
from reportgen.text import format_difference, format_duration
from reportgen.text_safety import markdown_table, markdown_text

_MOST_PARTS = 6
_TOLD = (FindingState.NEW, FindingState.WORSE, FindingState.RESOLVED, FindingState.BETTER)


def comparison_summary(comparison: Comparison) -> str:
    """Return a page of Markdown: verdict, conditions that differ, waterfall, findings."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield "<!-- generator: make-profiler-report -->"
    yield f"# {markdown_text(comparison.headline)}"
    yield ""
    yield markdown_text(comparison.lead)
    yield ""
    sides = (("before", comparison.before), ("after", comparison.after))
    rows = ((job.label if job.label != job.name else side, job.name) for side, job in sides)
    yield from markdown_table(("", "job"), rows)
    if comparison.warnings:
        yield from ("", "The jobs differ:", "")
        yield from (f"- {markdown_text(text)}" for text in comparison.warnings)
        yield ""
    if settings := changed_settings(comparison.comparability):
        yield from markdown_table(
            ("changed setting", "before", "after"),
            ((item.what, item.before, item.after) for item in settings),
        )
    if comparison.waterfall:
        yield from markdown_table(
            ("part of a step", "before", "after", "difference"),
            (
                (
                    name,
                    format_duration(before_s),
                    format_duration(after_s),
                    format_difference(after_s - before_s),
                )
                for name, before_s, after_s in _parts(comparison)
            ),
        )
    changed = [row for row in comparison.findings if row.state in _TOLD]
    if changed:
        yield from markdown_table(
            ("finding", "state", "severity", ""),
            (
                (
                    row.id,
                    row.state.value,
                    row.severity_after or row.severity_before or "",
                    row.title,
                )
                for row in changed
            ),
        )
    for job, key in ((comparison.before, "severity_after"), (comparison.after, "severity_before")):
        missing = [row for row in comparison.findings if row.state is FindingState.NOT_CHECKED]
        names = [f"{row.id} ({severity})" for row in missing if (severity := getattr(row, key))]
        if names:
            text = f"Not compared, as “{job.label}” did not check: {', '.join(names)}."
            yield from ("", markdown_text(text))


def _parts(comparison: Comparison) -> Iterator[tuple[str, float, float]]:
    """Yield the largest parts of a step, the others as one, and their sum, which is the mean."""
    rows = comparison.waterfall
    for row in rows[:_MOST_PARTS]:
        yield row.part, row.before_s, row.after_s
    rest = rows[_MOST_PARTS:]
    if rest:
        yield "other parts", sum(row.before_s for row in rest), sum(row.after_s for row in rest)
    yield ("step (mean)", sum(row.before_s for row in rows), sum(row.after_s for row in rows))
