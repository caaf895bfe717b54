"""The sections of the page by their ids: those of rules as results declare them, and the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reportgen.report import Report
from reportgen.results import RuleId, Section, Status
from reportgen.views.cell_output import Block, PageSection, State, headed_section
from reportgen.views.findings import LONGEST_TITLE
from reportgen.views.outline import about_of, leads_to_rule, section_of, section_with
from reportgen.views.recording import TRACE_HINT, why_not_recorded
from reportgen.views.sections import rule
from reportgen.views.sections.at_a_glance import at_a_glance
from reportgen.views.sections.closing import appendix, data_quality, not_recorded
from reportgen.views.sections.opening import findings, header, job_summary
from reportgen.views.sections.rules_summary import rules_summary
from reportgen.views.sections.timeline import timeline
from reportgen.views.status import MILDEST_FIRST, NOT_RECORDED, is_listed, rule_state
from reportgen.views.values import prose, shorten
from reportgen.views.verdict import named_finding

WHOLE_PAGE: Mapping[str, tuple[int, Callable[[Report], PageSection]]] = {
    "overview": (1, header),
    "at-a-glance": (2, at_a_glance),
    "findings": (3, findings),
    "timeline": (5, timeline),
    "job-summary": (8, job_summary),
    "rules-summary": (138, rules_summary),
    "not-recorded": (2_000_000, not_recorded),
    "data-quality": (2_000_001, data_quality),
    "appendix": (2_000_002, appendix),
}
"""Sections of no rule: their places among those that results declare, and what shows them."""
_FORMER = {"dashboard": "at-a-glance"}
"""Names in notebooks of earlier versions."""
_OPEN = frozenset({"warning", "critical", "failed"})
"""States of sections that are not folded."""


def section(report: Report, section_id: str) -> PageSection:
    """Show a section of the page by its anchor, ``"idle-time"``; it may have nothing to show.

    Edge cases: one that the report does not have is empty, so that a notebook can be used for any
    report; in the notebook, not on the page, it lists the sections that there are.
    """
    section_id = _FORMER.get(section_id, section_id)
    if section_id in WHOLE_PAGE:
        return WHOLE_PAGE[section_id][1](report)
    known = section_ids(report)
    if section_id in known:
        return rules_section(section_id, report)
    text = f"This report has no section {section_id}. It has: {', '.join(known)}."
    said = replace(rule.notice_block("info", text, ""), is_for_notebook=True)
    return PageSection(id=section_id, title=section_id, blocks=(said,))


def section_ids(report: Report) -> tuple[str, ...]:
    """Return the ids of all sections, in the order of the page."""
    declared = [section_of(rule_id, report) for rule_id in report.rules]
    declared += [item for rule_id in report.rules for item in about_of(rule_id, report).further]
    places = [(item.order, item.id) for item in declared if item.id not in WHOLE_PAGE]
    places += [(order, section_id) for section_id, (order, _) in WHOLE_PAGE.items()]
    places.sort(key=lambda place: place[0])
    return tuple(dict.fromkeys(section_id for _, section_id in places))


def rules_section(section_id: str, report: Report) -> PageSection:
    """Return the section with an id: its rules one after the other, then exhibits of others.

    A rule that did not look is left out: ``not_recorded`` lists it. Without any rule or exhibit the
    section has no blocks.
    """
    rules = [rule_id for rule_id in report.rules if section_of(rule_id, report).id == section_id]
    shown = [rule_id for rule_id in rules if not is_listed(rule_id, report)]
    guests = [
        (rule_id, place)
        for rule_id in report.rules
        for place in about_of(rule_id, report).further
        if place.id == section_id and report.rules[rule_id].status in {Status.OK, Status.TRIGGERED}
    ]
    title = next(
        (section_of(rule_id, report).title for rule_id in rules),
        next((place.title for _, place in guests), section_id),
    )
    blocks = [block for rule_id in shown for block in rule.rule_blocks(report, rule_id)]
    states = [rule_state(rule_id, report) for rule_id in shown]
    lead = [about_of(rule_id, report).checks for rule_id in shown]
    for rule_id, place in guests:
        made, state = _guest_blocks(rule_id, place, report)
        blocks += made
        states += [state] if state else []
        lead += [place.lead] if made and not state else []
    worst = max(states, key=lambda item: MILDEST_FIRST.index(item.kind), default=None)
    named = named_finding(report)
    is_bad = worst is not None and worst.kind in _OPEN
    is_open = is_bad or (named is not None and named.rule in shown)
    is_open |= any(leads_to_rule(about_of(rule_id, report)) for rule_id in shown)
    return headed_section(
        section_id,
        title,
        blocks,
        lead=" ".join(filter(None, lead)),
        state=worst,
        said=None if is_open else _said_of(section_id, rules, guests, report),
    )


def _said_of(
    section_id: str,
    rules: Sequence[RuleId],
    guests: Sequence[tuple[RuleId, Section]],
    report: Report,
) -> str:
    """Return the line of a folded section: its first finding, else missing data or its question."""
    rule_ids = rules or [rule_id for rule_id, _ in guests]
    titles = [
        item.finding.title
        for item in report.findings
        if item.rule in rule_ids and section_with(item.rule, item.finding, report).id == section_id
    ]
    entries = [report.rules[rule_id] for rule_id in rule_ids]
    titles += [entry.reason.text for entry in entries if entry.reason is not None]
    if not rules and not any(
        rule.guests_of(report.results.get(rule_id), section_id) for rule_id, _ in guests
    ):
        titles += [place.missing for _, place in guests if place.missing]
    titles += [about_of(rule_id, report).checks.partition(". ")[0] for rule_id in rule_ids]
    return prose(shorten(titles[0], most=LONGEST_TITLE).text) if titles else ""


def _guest_blocks(rule_id: str, place: Section, report: Report) -> tuple[list[Block], State | None]:
    exhibits = rule.guests_of(report.results.get(RuleId(rule_id)), place.id)
    if exhibits:
        ids = {item.id for item in exhibits}
        findings = [item for item in rule.findings_of(rule_id, report) if item.exhibit in ids]
        cards = rule.card_blocks(rule_id, findings, report)
        return [*cards, *rule.evidence_blocks(exhibits, rule_id, report)], None
    if not place.missing:
        return [], None
    hint = f"{why_not_recorded(place.recorded_by, report)} {place.hint}".strip()
    if report.recording is not None:
        hint = TRACE_HINT
    state = State(kind="skipped", word=NOT_RECORDED)
    return [rule.notice_block("skipped", place.missing, hint)], state
