"""A rule's section, drawn from its result alone: a stranger's rule gets the same as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Finding, RuleId, RuleResult, Status
from reportgen.units import say_count
from reportgen.views.blocks import Block, Section, State
from reportgen.views.depth import blocks_of
from reportgen.views.findings import Card, card_of
from reportgen.views.fragments import render
from reportgen.views.outline import about_of, section_id_of, title_of
from reportgen.views.status import hint_of, rule_state
from reportgen.views.values import ABSENT, say, say_number

CARDS_AT_ONCE = 4
SAGEMAKERS = frozenset(
    {
        "BatchSize",
        "CPUBottleneck",
        "Dataloader",
        "GPUMemoryIncrease",
        "IOBottleneck",
        "LoadBalancing",
        "LowGPUUtilization",
        "MaxInitializationTime",
        "OverallFrameworkMetrics",
        "OverallSystemUsage",
        "StepOutlier",
    }
)
"""The rules whose counters SageMaker writes, zeros included."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PairGroup:
    """Names and values under one heading."""

    title: str
    pairs: tuple[tuple[str, str], ...]


def rule_section(
    report: Report,
    rule_id: str,
    *,
    title: str | None = None,
    section_id: str | None = None,
    shows: Callable[[str | None], bool] = lambda _: True,
    elsewhere: frozenset[str] = frozenset(),
) -> Section:
    """Return the section of one rule: state, findings, exhibits, counters.

    Args:
        report: the saved report.
        rule_id: the rule; one that the report does not hold gives a section without blocks.
        title: another heading than the rule's own.
        section_id: another anchor than the rule's own.
        shows: which exhibits, by id, the section shows; findings go with their exhibits.
        elsewhere: exhibits that another section shows; their findings stay here.
    """
    about = about_of(report.results.get(RuleId(rule_id)))
    heading = title or title_of(rule_id, report)
    anchor = section_id or section_id_of(rule_id)
    if RuleId(rule_id) not in report.rules:
        return Section(id=anchor, title=heading)
    state = rule_state(rule_id, report)
    head = head_block(heading, state, about.checks)
    blocks = rule_blocks(report, rule_id, shows=shows, elsewhere=elsewhere)
    return Section(id=anchor, title=heading, state=state, blocks=(head, *blocks))


def rule_blocks(
    report: Report,
    rule_id: str,
    *,
    shows: Callable[[str | None], bool] = lambda _: True,
    elsewhere: frozenset[str] = frozenset(),
) -> list[Block]:
    """Return what a section says of a rule of the report, without a heading.

    Args:
        report: the saved report; it holds the rule.
        rule_id: the rule.
        shows: which exhibits, by id, are shown; findings go with their exhibits.
        elsewhere: exhibits that another section shows; their findings stay here.
    """
    result = report.results.get(RuleId(rule_id))
    about = about_of(result)
    blocks = _notices(rule_id, report)
    findings = [item for item in findings_of(rule_id, report) if shows(item.exhibit)]
    blocks += card_blocks(rule_id, findings, report)
    if result is not None:
        exhibits = [item for item in result.exhibits if shows(item.id) and item.id not in elsewhere]
        if exhibits and about.reading:
            blocks.append(Block(html=render("reading", text=about.reading)))
        blocks += blocks_of(exhibits, rule_id, report)
        file = report.rules[RuleId(rule_id)].file
        blocks.append(_foot(result, file, about.advice))
    return blocks


def say_counters(result: RuleResult) -> tuple[str, str, str]:
    """Write triggers, violations and datapoints.

    Edge cases: a check that did not look shows dashes, never zeros that look like health; so does
    one of ours that counts nothing in SageMaker's way.
    """
    counters = result.counters
    counted = counters.rule_triggered or counters.violations or counters.datapoints
    if not counted and result.id not in SAGEMAKERS:
        return ABSENT, ABSENT, ABSENT
    did_look = result.status in {Status.OK, Status.TRIGGERED}
    counts = (counters.rule_triggered, counters.violations)
    triggered, violations = (say_count(item) if did_look else ABSENT for item in counts)
    return triggered, violations, say_count(counters.datapoints)


def say_metric(name: str, value: float | None) -> str:
    """Write a metric with the unit in its name."""
    unit = next((unit for suffix, unit in _METRIC_UNITS if name.endswith(suffix)), "")
    return say(value, unit)


def say_params(params: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Write parameters by name; ``None`` is "not set"."""
    return tuple((name, _say_param(value)) for name, value in params.items())


def _say_param(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return say_number(value) if isinstance(value, int | float) else str(value)


def head_block(title: str, state: State | None, lead: str) -> Block:
    """Return a section's heading."""
    return Block(html=render("section_head", title=title, state=state, lead=lead))


def _notices(rule_id: str, report: Report) -> list[Block]:
    entry = report.rules[RuleId(rule_id)]
    result = report.results.get(RuleId(rule_id))
    if entry.reason is not None:
        kind = {Status.FAILED: "failed", Status.SKIPPED: "skipped"}.get(entry.status, "info")
        return [notice_block(kind, entry.reason.text, hint_of(rule_id, report))]
    if result is None:
        return [notice_block("skipped", f"The file {entry.file} is not beside report.json.", "")]
    if entry.status is Status.OK and not findings_of(rule_id, report):
        count = result.counters.datapoints
        looked = f"Looked at {say(count, 'datapoints')}" if count else "Looked"
        return [notice_block("ok", f"{looked} and found nothing wrong.", "")]
    return []


def notice_block(kind: str, text: str, hint: str) -> Block:
    """Return one line on how a check ended, and what to do about it."""
    return Block(html=render("notice", kind=kind, text=text, hint=hint))


def findings_of(rule_id: str, report: Report) -> list[Finding]:
    """Return a rule's findings, most important first."""
    return [item.finding for item in report.findings if item.rule == rule_id]


def card_blocks(rule_id: str, findings: Sequence[Finding], report: Report) -> list[Block]:
    """Return findings as cards; nothing where there are none."""
    if not findings:
        return []
    cards = _apart([card_of(rule_id, finding, report) for finding in findings])
    return [
        Block(
            html=render(
                "rule_findings", cards=cards[:CARDS_AT_ONCE], more_cards=cards[CARDS_AT_ONCE:]
            )
        )
    ]


def _apart(cards: Sequence[Card]) -> list[Card]:
    """Leave an anchor to the first of several findings with the same one."""
    seen: set[str] = set()
    kept = []
    for card in cards:
        kept.append(replace(card, anchor="") if card.anchor in seen else card)
        seen.add(card.anchor)
    return kept


def _foot(result: RuleResult, file: str, advice: str) -> Block:
    triggered, violations, datapoints = say_counters(result)
    groups = [
        PairGroup(
            title="Counters",
            pairs=(
                ("RuleTriggered", triggered),
                ("Violations", violations),
                ("Datapoints", datapoints),
            ),
        ),
        PairGroup(title="Parameters", pairs=say_params(result.params)),
        PairGroup(
            title="Metrics",
            pairs=tuple((name, say_metric(name, item)) for name, item in result.metrics.items()),
        ),
    ]
    return Block(
        html=render(
            "rule_foot",
            rule_id=result.id,
            groups=[group for group in groups if group.pairs],
            advice=advice,
            file=file,
        )
    )
