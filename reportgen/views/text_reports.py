"""The report as text: ``profiler-report.md``, on one screen, and a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Exhibit, Severity
from reportgen.text import format_duration
from reportgen.text_safety import markdown_table, markdown_text
from reportgen.views.facts import facts_of
from reportgen.views.findings import Card, cards_of
from reportgen.views.outline import about_of, title_of
from reportgen.views.sections.opening import LONGEST_JOB_NAME, losses_of
from reportgen.views.status import rule_state
from reportgen.views.tables import worded
from reportgen.views.values import format_value, heading_of, shorten
from reportgen.views.verdict import verdict_of

MOST_FINDINGS = 20
"""A summary of more is no summary; how many more there are is said."""


def markdown_summary(report: Report) -> str:
    """Return the report as Markdown: faults, severity, place, advice, and missing data.

    Names are written so that no renderer takes them for markup; numbers are those of the page.
    """
    parts = (
        _opening(report),
        _findings(report),
        _gpu_time(report),
        _unlooked(report),
        _losses(report),
        _closing(report),
    )
    return "\n".join(line for part in parts for line in part)


def _opening(report: Report) -> Iterator[str]:
    verdict = verdict_of(report)
    name = shorten(report.job.name, most=LONGEST_JOB_NAME).text or "Training job"
    yield "<!-- generator: make-profiler-report -->"
    yield f"# Profiling report: {markdown_text(name)}"
    yield ""
    yield f"**{markdown_text(verdict.headline)}** {markdown_text(verdict.lead)}"
    yield ""
    yield from markdown_table(
        ("", ""),
        (
            (fact.name, f"{fact.text} ({fact.note})" if fact.note else fact.text)
            for fact in facts_of(report)
        ),
    )


def _findings(report: Report) -> Iterator[str]:
    cards = cards_of(report)
    for title, is_fault in (("Findings", True), ("Worth knowing", False)):
        shown = [card for card in cards if (card.severity != Severity.INFO.value) is is_fault]
        if shown:
            yield from (f"## {title}", "")
        for number, card in enumerate(shown[:MOST_FINDINGS], start=1):
            lead = f"{number}. **{card.word}: " if is_fault else "- **"
            yield from _item(f"{lead}{markdown_text(card.title)}** ({card.id})", card)
        if len(shown) > MOST_FINDINGS:
            yield f"{len(shown) - MOST_FINDINGS:,} more are in `profiler-report/report.json`."
            yield ""


def _item(heading: str, card: Card) -> Iterator[str]:
    indent = " " * (heading.index(" ") + 1)
    yield heading
    for label, text in (
        ("", card.text),
        ("Try: ", card.advice),
        ("Measured: ", _measured(card)),
        ("Where: ", " · ".join(filter(None, (card.place, card.when)))),
        ("Why: ", " ".join(card.evidence)),
        ("But: ", " ".join(card.objections)),
        ("It may be: ", card.possible_causes),
        ("Also seen as: ", ", ".join(f"{item.title} ({item.id})" for item in card.symptoms)),
        ("Possible gain: ", ", ".join(filter(None, (card.gain, card.gain_note)))),
    ):
        if text:
            yield f"{indent}{'- ' if label else ''}{label}{markdown_text(text)}"
            if not label:
                yield ""
    yield ""


def _measured(card: Card) -> str:
    if not card.measured:
        return ""
    return f"{card.measured} (threshold {card.threshold})" if card.threshold else card.measured


def _gpu_time(report: Report) -> Iterator[str]:
    for rule_id, result in report.results.items():
        budget = result.exhibit(about_of(rule_id, report).first_picture)
        if budget is not None and budget.n_rows:
            yield from ("## Where the GPU time went", "")
            yield from _exhibit_table(budget)


def _exhibit_table(item: Exhibit) -> Iterator[str]:
    columns = [
        worded(column, item.place)
        for column in item.columns
        if any(value is not None for value in column.values)
    ]
    texts = ([format_value(value, item.unit) for value in item.values] for item in columns)
    yield from markdown_table([heading_of(item.name) for item in columns], zip(*texts, strict=True))


def _unlooked(report: Report) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for rule_id, entry in report.rules.items():
        if rule_state(rule_id, report).kind in {"skipped", "failed"}:
            reason = markdown_text(entry.reason.text) if entry.reason else ""
            by_reason.setdefault(reason, []).append(markdown_text(title_of(rule_id, report)))
    if not by_reason:
        return
    yield from ("## Not checked", "")
    for reason, titles in by_reason.items():
        yield f"- {', '.join(titles)}{f': {reason}' if reason else ''}"
    yield ""


def _losses(report: Report) -> Iterator[str]:
    losses = [f"- {lost}" for lost in losses_of(report)]
    if losses:
        yield from ("## Part of the input could not be used", "", *losses, "")


def _closing(report: Report) -> Iterator[str]:
    version = report.versions.get("make-profiler-report", "")
    yield "---"
    yield (
        f"Report {report.report_id}, made by make-profiler-report {version}. Speed-ups are upper "
        "bounds, not promises. All numbers: `profiler-report/`."
    )
    yield ""


MOST_TERMINAL_FINDINGS = 3
_SIGNS = {
    Severity.CRITICAL.value: "■",
    Severity.WARNING.value: "▲",
    Severity.INFO.value: "•",
    "ok": "✓",
    "skipped": "○",
}
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalLine:
    """One line: ``kind`` is a severity, ``ok`` or ``skipped`` for headlines, else empty."""

    text: str
    kind: str = ""


def terminal_lines(report: Report) -> tuple[TerminalLine, ...]:
    """Return the verdict, then the findings next in rank, with what to try and what it may win.

    The verdict is the first finding where something is wrong, else what could win most. Other
    readings (``info``) are left to the page.
    """
    verdict = verdict_of(report)
    head = f"{_job(report)}: {verdict.headline.removesuffix('.')}"
    cards = [card for card in cards_of(report) if card.severity != Severity.INFO.value]
    if not cards:
        sign = _SIGNS.get(verdict.kind, "•")
        lines = [TerminalLine(text=f"{sign} {head}", kind=verdict.kind)]
        if verdict.action:
            lines.append(TerminalLine(text=f"  Try: {verdict.action}"))
    else:
        lines = []
        for card in (replace(cards[0], title=head), *cards[1:MOST_TERMINAL_FINDINGS]):
            gain = f" ({card.gain})" if card.gain else ""
            title = f"{_SIGNS[card.severity]} {card.title}{gain}"
            lines.append(TerminalLine(text=title, kind=card.severity))
            if card.advice:
                lines.append(TerminalLine(text=f"  Try: {card.advice}"))
    lines.append(TerminalLine(text=f"  {verdict.lead}"))
    return tuple(_on_one_line(line) for line in lines)


def _job(report: Report) -> str:
    name = shorten(report.job.name, most=_LONGEST_NAME).text or "Training job"
    duration_s = report.summary.job_duration_in_seconds
    return name if duration_s is None else f"{name}, {format_duration(duration_s)}"


def _on_one_line(line: TerminalLine) -> TerminalLine:
    indent = line.text[: len(line.text) - len(line.text.lstrip())]
    return TerminalLine(
        text=indent + " ".join(line.text.replace("\u00a0", " ").split()), kind=line.kind
    )
