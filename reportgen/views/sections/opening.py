"""The first part of the page: the verdict, the top findings, the job in time."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.report import JobSummary, Report
from reportgen.results import ExhibitKind, Severity, exhibit
from reportgen.text import plural
from reportgen.views.cell_output import Block, PageSection, State, headed_section, pairs_block
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of, exhibit_block
from reportgen.views.facts import facts_of, phases_of, summary_rows
from reportgen.views.findings import Card, apart, card_of, cards_of
from reportgen.views.fragments import notebook_style, render
from reportgen.views.outline import has_dashboard, is_of_traces
from reportgen.views.recording import profiling_table, recording_table
from reportgen.views.time_bar import picture_of, whole_lines_of
from reportgen.views.values import shorten
from reportgen.views.verdict import named_finding, verdict_of

CARDS_AT_ONCE = 5
LONGEST_JOB_NAME = 160
LOSS_COUNTERS = {
    "files_skipped": ("file skipped", "files skipped"),
    "lines_broken": ("line broken", "lines broken"),
    "values_broken": ("value broken", "values broken"),
    "samples_out_of_range": ("sample out of range", "samples out of range"),
    "events_dropped": ("event dropped", "events dropped"),
    "bytes_lost": ("byte lost", "bytes lost"),
}
_JOB_SUMMARY = "job-summary"
_LEAD_OF_JOBS = "When the job began and ended, and how long its phases took."
_CONTEXT = ChartContext(rule_id=_JOB_SUMMARY, is_unix=True)
_FINDINGS_ID, _FINDINGS_TITLE = "findings", "Findings"


def header(report: Report) -> PageSection:
    """Show the verdict, where the time went, and the top findings."""
    verdict = verdict_of(report)
    cards = apart(cards_of(report))
    named = named_finding(report)
    is_on_dashboard = has_dashboard(report)
    losses = ", ".join(losses_of(report))
    html = render(
        "header",
        kind="Kernel traces" if is_of_traces(report) else "Training profile",
        job_name=shorten(report.job.name or "Training job", most=LONGEST_JOB_NAME),
        verdict=verdict,
        link=f"#{card_of(named.rule, named.finding, report).anchor}" if named else "",
        picture=whole_lines_of(picture_of(report)),
        facts=facts_of(report),
        running_until=report.job.running_until,
        warning=f"Part of the input could not be used: {losses}." if losses else "",
        faults=_faults_of(cards, first=int(named is not None))
        if is_on_dashboard
        else _faults_of(cards[1:]),
        **({} if is_on_dashboard else _findings_of(cards[:1])),
        has_dashboard=is_on_dashboard,
        has_more=len(cards) > 1,
    )
    style = Block(html=notebook_style(), is_for_notebook=True)
    state = State(kind=verdict.kind, word=verdict.headline)
    return PageSection(
        id="overview", title="Overview", state=state, blocks=(Block(html=html), style)
    )


def findings(report: Report) -> PageSection:
    """Show the findings below the cards: all of a kernel trace, else all but the first."""
    cards, has_all = apart(cards_of(report)), has_dashboard(report)
    if not has_all and len(cards) < 2:
        return PageSection(id=_FINDINGS_ID, title=_FINDINGS_TITLE)
    context = _findings_of(cards if has_all else cards[1:])
    context |= {} if has_all else {"findings_title": "Further findings"}
    html = render("findings", **context, has_dashboard=True)
    return PageSection(id=_FINDINGS_ID, title=_FINDINGS_TITLE, blocks=(Block(html=html),))


def _findings_of(cards: Sequence[Card]) -> dict[str, object]:
    n_faults = sum(card.severity != Severity.INFO.value for card in cards)
    # A reading waits folded when faults fill the screen.
    first = min(CARDS_AT_ONCE, n_faults or min(len(cards), 2))
    return {
        "findings_title": "What to look at first" if n_faults else "Worth knowing",
        "cards": cards[:first],
        "more_cards": cards[first:],
    }


def _faults_of(cards: Sequence[Card], *, first: int = 0) -> list[Card]:
    """Return further faults and gains, for lines below the verdict, which names one."""
    faults = [card for card in cards if card.severity != Severity.INFO.value or card.gain]
    return faults[first : CARDS_AT_ONCE + first]


def job_summary(report: Report) -> PageSection:
    """Show when the job, its loop and its phases began and ended."""
    is_whole = not is_of_traces(report)
    lead = _LEAD_OF_JOBS if is_whole else "When the recording began and ended."
    phases = _phases(report.summary) if is_whole else None
    blocks = [phases] if phases else []
    blocks.append(pairs_block(anchor_of(_JOB_SUMMARY, "times"), "Times", summary_rows(report)))
    if report.profiling is not None:
        blocks.append(exhibit_block(profiling_table(report.profiling), _CONTEXT))
    if report.recording is not None:
        blocks.append(exhibit_block(recording_table(report.recording), _CONTEXT))
    return headed_section(_JOB_SUMMARY, "Job summary", blocks, lead=lead)


def losses_of(report: Report) -> list[str]:
    """Return the part of the input that could not be used: ``2 files skipped``."""
    counters = report.data_quality.counters
    return [
        plural(counters[name], *words)
        for name, words in LOSS_COUNTERS.items()
        if counters.get(name)
    ]


def _phases(summary: JobSummary) -> Block | None:
    """Return the phases of the job as shares, ``None`` where one of them is not known."""
    names, amounts, percentages = zip(*phases_of(summary), strict=True)
    if None in amounts or None in percentages:
        return None
    shares = exhibit(
        "phases",
        ExhibitKind.SHARES,
        title="Phases of the job",
        caption="""The training loop lasts from the start of the first training step to the end of
            the last one. These are exact times; the GPU time budget counts whole samples.""",
        columns=[("part", "", names), ("duration_s", "s", amounts), ("pct", "%", percentages)],
    )
    return exhibit_block(shares, _CONTEXT)
