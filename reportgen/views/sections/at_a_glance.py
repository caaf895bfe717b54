"""The first answers below the verdict: cards of a sampled job, pictures of kernel traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reportgen.report import JobStatus, Report
from reportgen.report.steps import training_tables
from reportgen.results import AtAGlance, Exhibit, ExhibitKind, ReasonCode, RuleId, Status
from reportgen.text import format_count, plural
from reportgen.views import inline
from reportgen.views.cell_output import Block, PageSection, headed_section
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.histogram import histogram_of, with_marks
from reportgen.views.exhibits import anchor_of
from reportgen.views.facts import Fact, facts_of, summary_rows
from reportgen.views.fragments import render
from reportgen.views.outline import about_of, exhibit_of, is_of_traces, section_of
from reportgen.views.sections.dashboard import dashboard_blocks
from reportgen.views.values import ABSENT

ID, TITLE = "at-a-glance", "At a glance"
_JOB = "Job summary"
_JOB_SECTION = "job-summary"
_MOST_ROWS = 24
"""Six resources of four nodes."""
_FEW_BARS = 6
_LACKS = frozenset({ReasonCode.NO_GPU, ReasonCode.NOT_SAMPLED, ReasonCode.TOO_FEW_SAMPLES})
"""Reasons that a reader must know besides how to record what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a card: its rule, its declaration, and the exhibit if there is one."""

    rule_id: RuleId
    part: AtAGlance
    exhibit: Exhibit | None


def at_a_glance(report: Report) -> PageSection:
    """Show the cards of a sampled job, and the pictures of what the GPUs of traces did."""
    cards = [] if is_of_traces(report) else list(_cards(report))
    return headed_section(ID, TITLE, [*cards, *dashboard_blocks(report)], lead="")


def _cards(report: Report) -> Iterator[Block]:
    cards: dict[str, list[Piece]] = {_JOB: []}
    for piece in sorted(_pieces(report), key=lambda piece: piece.part.order):
        cards.setdefault(piece.part.card, []).append(piece)
    for at, (title, pieces) in enumerate(cards.items(), 1):
        facts = _facts(report, cards) if title == _JOB else ()
        is_alone = at == len(cards) and at % 2 == 1
        yield _card(title, pieces, facts, report, is_alone=is_alone)


def _pieces(report: Report) -> Iterator[Piece]:
    for rule_id in report.rules:
        result = report.results.get(rule_id)
        for part in about_of(rule_id, report).at_a_glance:
            shown = exhibit_of(result, part) if result else None
            yield Piece(rule_id=rule_id, part=part, exhibit=shown)


def _card(
    title: str, pieces: Sequence[Piece], facts: Sequence[Fact], report: Report, *, is_alone: bool
) -> Block:
    links = {} if pieces else {_JOB_SECTION: _JOB}
    for piece in pieces:
        section = section_of(piece.rule_id, report)
        links |= {piece.part.section: title} if piece.part.section else {section.id: section.title}
    shown = [piece for piece in pieces if piece.exhibit is not None]
    html = render(
        "glance_card",
        anchor=f"{ID}-{next(iter(links))}",
        title=title,
        facts=facts,
        links=links,
        drawn=[_drawn(piece, shown) for piece in shown],
        missing=_missing(pieces, report),
    )
    return Block(html=html, is_panel=not is_alone)


def _drawn(piece: Piece, beside: Sequence[Piece]) -> tuple[str, object, str]:
    """Return how a piece is drawn, its drawing, and its anchor if it stands nowhere else."""
    found = piece.exhibit
    assert found is not None
    anchor = anchor_of(piece.rule_id, found.id) if piece.part.is_only_here else ""
    if found.kind is ExhibitKind.SHARES:
        return "pie", inline.pie_of(found), anchor
    if found.kind is ExhibitKind.HISTOGRAM:
        drawing = histogram_of(found)
        tables = [
            other.exhibit
            for other in beside
            if other.exhibit and other.exhibit.kind is ExhibitKind.TABLE
        ]
        return "histogram", with_marks(drawing, found, tables[0]) if tables else drawing, ""
    if found.kind is ExhibitKind.BARS:
        return "bars", inline.bars_of(found, most_rows=_FEW_BARS), anchor
    return "spreads", inline.spreads_of(found, most_rows=_MOST_ROWS), anchor


def _missing(pieces: Sequence[Piece], report: Report) -> str:
    """Return how to record the first piece that is not there; empty where all are."""
    for piece in pieces:
        if piece.exhibit is None and piece.part.missing:
            entry = report.rules[piece.rule_id]
            code = entry.reason.code if entry.reason and entry.status is Status.SKIPPED else None
            if entry.reason is None or code not in _LACKS:
                return piece.part.missing
            if code is ReasonCode.NO_GPU:  # to record one helps nobody who trains without it
                return entry.reason.text
            return f"{entry.reason.text} {piece.part.missing}"
    return ""


def _facts(report: Report, cards: dict[str, list[Piece]]) -> tuple[Fact, ...]:
    """Return start, end, duration, state and steps of the job."""
    rows = [replace(row, name=row.name.partition(" ")[0]) for row in summary_rows(report)[:3]]
    rows[2] = replace(rows[2], note="")
    found = [row for row in facts_of(report) if row.name == "State"]
    status = report.figures.status if report.figures else JobStatus.UNKNOWN
    state = "not recorded" if status is JobStatus.UNKNOWN else _STATES.get(status, status.value)
    codes = report.recording.exit_codes if report.recording else ()
    if codes:
        said = ", ".join(map(str, codes))
        state = f"{state}, exit code{'s' if len(codes) > 1 else ''} {said}"
    rows.append(found[0] if found and not codes else Fact(name="State", text=state))
    rows.append(_steps(report, cards))
    return tuple(rows)


_STATES = {
    JobStatus.IN_PROGRESS: "still running",
    JobStatus.COMPLETED: "completed",
    JobStatus.FAILED: "failed",
    JobStatus.STOPPING: "stopping",
    JobStatus.STOPPED: "stopped",
}


def _steps(report: Report, cards: dict[str, list[Piece]]) -> Fact:
    """Return the training steps of a process; of results without them those of the cards."""
    training = training_tables(report.results.values())
    if training:
        n_workers = len(training)
        note = f"in each of {plural(n_workers, 'training process', 'training processes')}"
        return Fact(
            name="Steps",
            text=format_count(training[0].n_measured),
            note=note if n_workers > 1 else "",
        )
    counted = [
        value
        for pieces in cards.values()
        for piece in pieces
        for column in (piece.exhibit.columns if piece.exhibit else ())
        if column.name == "steps"
        for value in numbers(column.values)
        if value is not None
    ]
    return Fact(name="Steps", text=format_count(int(max(counted))) if counted else ABSENT)
