"""The report on a terminal: the verdict and the findings that come first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Severity
from reportgen.text import format_duration
from reportgen.views.findings import cards_of
from reportgen.views.values import shorten
from reportgen.views.verdict import verdict_of

MOST_FINDINGS = 3
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
        for card in (replace(cards[0], title=head), *cards[1:MOST_FINDINGS]):
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
