"""The sections of rules, all by one walker: sections and their content are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reportgen.errors import PluginError
from reportgen.report import Report
from reportgen.results import RuleId, Section, Status
from reportgen.views.cell_output import Block, PageSection, Sections, State, headed_section
from reportgen.views.findings import LONGEST_TITLE
from reportgen.views.outline import about_of, leads_to_own, section_of, section_with
from reportgen.views.profiling import why_not_recorded
from reportgen.views.recording import TRACE_HINT
from reportgen.views.sections import rule
from reportgen.views.sections.at_a_glance import at_a_glance
from reportgen.views.sections.closing import appendix, data_quality, not_recorded
from reportgen.views.sections.opening import findings, header, job_summary
from reportgen.views.sections.rules_summary import rules_summary
from reportgen.views.sections.timeline import timeline
from reportgen.views.status import MILDEST_FIRST, NOT_RECORDED, is_listed, rule_state
from reportgen.views.values import prose, shorten
from reportgen.views.verdict import named_finding

WHOLE_PAGE: Mapping[str, Callable[[Report], PageSection]] = {
    "overview": header,
    "at-a-glance": at_a_glance,
    "findings": findings,
    "timeline": timeline,
    "job-summary": job_summary,
    "rules-summary": rules_summary,
    "not-recorded": not_recorded,
    "data-quality": data_quality,
    "appendix": appendix,
}
"""Sections of no rule, by their ids."""
_FORMER = {"dashboard": "at-a-glance"}
"""Names in notebooks of earlier versions."""
_CELLS = (
    "system-usage gpu-time gpu-activity idle-time steps kernels traced-operators communication "
    "device-memory launches host-threads annotations framework operators step-durations "
    "long-pauses step-periodicity gpu-utilization gpu-power workload-balance data-loading "
    "python-functions batch-size cpu-bottlenecks io-bottlenecks network-bottlenecks gpu-memory "
    "memory-in-use initialization"
)
"""The sections of rules that have a cell in the notebook."""
_OPEN = frozenset({"warning", "critical", "failed"})
"""States of sections that are not folded."""
FUNCTIONS = {
    "annotated_ranges" if item == "annotations" else item.replace("-", "_"): item
    for item in _CELLS.split()
}
"""The names of the functions that showed these sections before there was ``section``;
``reportgen.views`` has them for one more version."""


def section(report: Report, section_id: str) -> PageSection:
    """Show a section of the page by its anchor, ``"idle-time"``; it may have nothing to show.

    Raises:
        PluginError: there is no such section; the message lists those of the report.
    """
    section_id = _FORMER.get(section_id, section_id)
    if section_id in WHOLE_PAGE:
        return WHOLE_PAGE[section_id](report)
    known = (*WHOLE_PAGE, *section_ids(report))
    if section_id not in known and section_id not in FUNCTIONS.values():
        raise PluginError(
            f"The report has no section {section_id}.",
            hint=f"It has: {', '.join(known)}.",
            rule_id="",
        )
    return rules_section(section_id, report)


def other_rules(report: Report) -> Sections:
    """Show all sections that no cell of the notebook shows: those of plugins and later versions."""
    return Sections(
        parts=tuple(
            rules_section(section_id, report)
            for section_id in section_ids(report)
            if section_id not in {*FUNCTIONS.values(), *WHOLE_PAGE}
        )
    )


def section_ids(report: Report) -> tuple[str, ...]:
    """Return the ids of the sections of rules, in the order of the page."""
    declared = [section_of(rule_id, report) for rule_id in report.rules]
    declared += [item for rule_id in report.rules for item in about_of(rule_id, report).further]
    return tuple(dict.fromkeys(item.id for item in sorted(declared, key=lambda item: item.order)))


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
    is_open |= any(leads_to_own(about_of(rule_id, report)) for rule_id in shown)
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
