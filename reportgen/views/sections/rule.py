"""The section of a rule, from its result alone: a foreign rule gets the same as ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from reportgen.report import Report
from reportgen.results import (
    Cause,
    Depth,
    Exhibit,
    ExhibitKind,
    Finding,
    RuleId,
    RuleResult,
    Status,
)
from reportgen.text import format_count, plural
from reportgen.views.cell_output import Block, PageSection, block_of, headed_section
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of, exhibit_block, exhibit_blocks
from reportgen.views.findings import apart, card_of, cards_of
from reportgen.views.outline import (
    about_of,
    context_of,
    exhibit_of,
    leads_to_rule,
    section_of,
    title_of,
)
from reportgen.views.sections.dashboard import hosted_ids, panels_of, words_of
from reportgen.views.status import hint_of, is_applicable, rule_state
from reportgen.views.timeline.tracks import drawn_ids
from reportgen.views.values import ABSENT, format_number, format_value

CARDS_AT_ONCE = 4
MOST_GROUPED_ROWS = 50
"""Number of rows of a further grouping on the page, which would be too large with all."""
_METRIC_UNITS = (
    ("_bytes_per_s", "bytes/s"),
    ("_bytes", "bytes"),
    ("_per_s", "/s"),
    ("_pct", "%"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_s", "s"),
)


def rule_section(report: Report, rule_id: str) -> PageSection:
    """Return the section of one rule: state, findings, exhibits, counters."""
    title, section_id = title_of(rule_id, report), section_of(rule_id, report).id
    if RuleId(rule_id) not in report.rules:
        return PageSection(id=section_id, title=title)
    state = rule_state(rule_id, report)
    blocks, lead = rule_blocks(report, rule_id), about_of(rule_id, report).checks
    return headed_section(section_id, title, blocks, lead=lead, state=state)


def rule_blocks(report: Report, rule_id: str) -> list[Block]:
    """Return the content of a section about a rule of the report, without a heading.

    Exhibits that stand elsewhere are left out: with their findings where that is a section of
    theirs, with a link where it is the dashboard.
    """
    result, about = report.results.get(RuleId(rule_id)), about_of(rule_id, report)
    guests = {item.id for place in about.further for item in guests_of(result, place.id)}
    findings = [item for item in findings_of(rule_id, report) if item.exhibit not in guests]
    blocks = [*_notices(rule_id, report), *card_blocks(rule_id, findings, report)]
    if result is None:
        return blocks
    elsewhere = guests | hosted_ids(result, report) | drawn_ids(result, report)
    elsewhere |= {
        item.id
        for part in about.at_a_glance
        if part.is_only_here and (item := exhibit_of(result, part))
    }
    evidence = evidence_blocks(
        [item for item in result.exhibits if item.id not in elsewhere], rule_id, report
    )
    if evidence and about.reading:
        blocks.append(block_of("reading", text=about.reading))
    foot = _foot(result, report.rules[RuleId(rule_id)].file)
    return [*_pictures(rule_id, report), *blocks, *evidence, foot]


def guests_of(result: RuleResult | None, section_id: str) -> list[Exhibit]:
    """Return the exhibits that a result places in a further section."""
    exhibits = result.exhibits if result else ()
    return [item for item in exhibits if item.place.section == section_id]


def evidence_blocks(exhibits: Sequence[Exhibit], rule_id: str, report: Report) -> list[Block]:
    """Return exhibits of a rule in their order: those in sight, those behind one fold, choices.

    A rule that does not apply to the job, or looked for a fault in vain, has nothing that most
    readers need; any other shows something.
    """
    context = context_of(rule_id, report)
    is_telling = is_applicable(rule_id, report) and not _is_quiet(rule_id, report)
    single = [item for item in exhibits if item.place.choice is None]
    shown = [item for item in single if is_telling and item.depth is Depth.SHOWN]
    folded = [item for item in single if item not in shown]
    if is_telling and not shown:
        shown, folded = folded, []
    words = words_of(folded)
    return [
        *exhibit_blocks(shown, context),
        *(replace(block, fold=words) for block in exhibit_blocks(folded, context)),
        *_chosen_blocks(exhibits, context),
    ]


def _chosen_blocks(exhibits: Sequence[Exhibit], context: ChartContext) -> Iterator[Block]:
    """Yield the blocks of each group of exhibits of which the reader chooses one.

    A single one stands alone. Of several one block has all, the first shown first; those that
    follow have the figures of the charts among them.
    """
    chosen = [(choice, item) for item in exhibits if (choice := item.place.choice)]
    for group in dict.fromkeys(choice.group for choice, _ in chosen):
        choices, options = zip(
            *((one, item) for one, item in chosen if one.group == group), strict=True
        )
        drawn = [exhibit_block(item, context) for item in (options[0], *map(_top_of, options[1:]))]
        if len(drawn) == 1:
            yield drawn[0]
            continue
        yield block_of(
            "choices",
            anchor=anchor_of(context.rule_id, group),
            question=choices[0].question,
            panes=[(one.label, block.html) for one, block in zip(choices, drawn, strict=True)],
        )
        for block in drawn:
            if block.figure is not None:
                yield replace(block, html=Markup(), is_for_notebook=True)


def _top_of(table: Exhibit) -> Exhibit:
    if table.kind is not ExhibitKind.TABLE or table.n_rows <= MOST_GROUPED_ROWS:
        return table
    columns = tuple(
        replace(column, values=column.values[:MOST_GROUPED_ROWS]) for column in table.columns
    )
    rest = f" The first {MOST_GROUPED_ROWS} of {table.n_rows:,} are shown; the JSON has all."
    return replace(table, columns=columns, caption=f"{table.caption}{rest}")


def _is_quiet(rule_id: str, report: Report) -> bool:
    """Return whether a rule that looks for a fault found nothing."""
    is_ok = report.rules[RuleId(rule_id)].status is Status.OK
    about = about_of(rule_id, report)
    is_quiet = about.is_quiet and not leads_to_rule(about)
    return is_quiet and is_ok and not findings_of(rule_id, report)


def _pictures(rule_id: str, report: Report) -> list[Block]:
    drawn = [panel.exhibit for panel in panels_of(report) if panel.rule_id == rule_id]
    links = [
        {"title": item.title.partition(":")[0], "link": f"#{anchor_of(rule_id, item.id)}"}
        for item in drawn
    ]
    return [block_of("drawn_above", pictures=links)] if links else []


def format_counters(result: RuleResult) -> tuple[str, str, str]:
    """Write triggers, violations and datapoints.

    Edge cases: a check that did not look shows dashes, never zeros that look like health; so does
    one of ours that counts nothing in SageMaker's way.
    """
    counters = result.counters
    counted = counters.rule_triggered or counters.violations or counters.datapoints
    has_counters = result.about is not None and result.about.has_counters
    if not counted and not has_counters:
        return ABSENT, ABSENT, ABSENT
    did_look = result.status in {Status.OK, Status.TRIGGERED}
    counts = (counters.rule_triggered, counters.violations)
    triggered, violations = (format_count(item) if did_look else ABSENT for item in counts)
    return triggered, violations, format_count(counters.datapoints)


def format_metric(name: str, value: float | None) -> str:
    """Write a metric with the unit in its name."""
    unit = next((unit for suffix, unit in _METRIC_UNITS if name.endswith(suffix)), "")
    return format_value(value, unit)


def format_params(params: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Write parameters by name; ``None`` is "not set"."""
    return tuple((name, _format_param(value)) for name, value in params.items())


def _format_param(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_number(value) if isinstance(value, int | float) else str(value)


def _notices(rule_id: str, report: Report) -> list[Block]:
    entry = report.rules[RuleId(rule_id)]
    result = report.results.get(RuleId(rule_id))
    if entry.reason is not None:
        kind = {Status.FAILED: "failed", Status.SKIPPED: "skipped"}.get(entry.status, "info")
        return [notice_block(kind, entry.reason.text, hint_of(rule_id, report))]
    if result is None:
        return [notice_block("skipped", f"The file {entry.file} is not beside report.json.", "")]
    explained = _explained(rule_id, result, report)
    if explained:
        return [notice_block("info", explained, "")]
    if entry.status is Status.OK and not findings_of(rule_id, report):
        if about_of(rule_id, report).first_picture:  # it shows where time went, and judges nothing
            return []
        count = result.counters.datapoints
        checked = f"Checked {format_value(count, 'datapoints')}" if count else "Checked"
        return [notice_block("ok", f"{checked}: no problem found.", "")]
    if entry.status is Status.TRIGGERED and not findings_of(rule_id, report):
        return [notice_block("info", "SageMaker's counters rose, but no problem was found.", "")]
    return []


def _explained(rule_id: str, result: RuleResult, report: Report) -> str:
    """Name the findings about rhythms where a rule has slow steps and no finding on them."""
    n_slow = result.metrics.get("slow_steps")
    found = [
        f"{item.finding.id}, {item.finding.title}"
        for item in report.findings
        if item.finding.cause == Cause.PERIODIC_SLOW_STEPS
    ]
    if not n_slow or not found or findings_of(rule_id, report):
        return ""
    return f"{plural(int(n_slow), 'slow step')}, and no finding of this check; see {found[0]}."


def notice_block(kind: str, text: str, hint: str) -> Block:
    """Return one line on how a check ended, and what to do about it."""
    return block_of("notice", kind=kind, text=text, hint=hint)


def findings_of(rule_id: str, report: Report) -> list[Finding]:
    """Return a rule's findings, most important first."""
    return [item.finding for item in report.findings if item.rule == rule_id]


def card_blocks(rule_id: str, findings: Sequence[Finding], report: Report) -> list[Block]:
    """Return links to the findings that are shown in full above, and the others as cards."""
    if not findings:
        return []
    above = {card.anchor for card in cards_of(report)}
    cards = [card_of(rule_id, finding, report) for finding in findings]
    links = [card for card in cards if card.anchor in above]
    here = apart([card for card in cards if card.anchor not in above])
    first, more = here[:CARDS_AT_ONCE], here[CARDS_AT_ONCE:]
    return [block_of("rule_findings", links=links, cards=first, more_cards=more)]


def _foot(result: RuleResult, file: str) -> Block:
    counters = zip(
        ("RuleTriggered", "Violations", "Datapoints"), format_counters(result), strict=True
    )
    groups = {
        "Counters": list(counters),
        "Parameters": format_params(result.params),
        "Metrics": [(name, format_metric(name, value)) for name, value in result.metrics.items()],
    }
    return block_of(
        "rule_foot",
        rule_id=result.id,
        groups=[{"title": title, "pairs": pairs} for title, pairs in groups.items() if pairs],
        file=file,
    )
