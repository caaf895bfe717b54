"""Declarations of results: the section of a rule, and the links that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from reportgen.report import Report
from reportgen.results import (
    About,
    AtAGlance,
    Exhibit,
    ExhibitKind,
    Finding,
    RuleId,
    RuleResult,
    Section,
    Status,
)
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of
from reportgen.views.tables import MOST_CELLS
from reportgen.views.validation import has_shape

ALL_CHECKS_ID = "rules-summary"
KERNELS, SYSTEM = "kernel traces", "system metrics"
"""Needs of rules, as results name them."""
_LAST = 1_000_000
_CELLS_OF_PAGE = 11_000
"""With some 30 bytes each they take 0.3 MB; those of 64 ranks would take 0.8 MB."""
_TABULAR = frozenset({ExhibitKind.TABLE, ExhibitKind.SPANS, ExhibitKind.TIMELINE})


def about_of(rule_id: str, report: Report) -> About:
    """Return a rule in its own words; empty ones where they are not at hand."""
    result = report.results.get(RuleId(rule_id))
    return result.about if result and result.about else About(checks="", reading="", advice="")


def title_of(rule_id: str, report: Report) -> str:
    """Return a rule's title, or its id where its words are not at hand."""
    return about_of(rule_id, report).title or rule_id


def section_of(rule_id: str, report: Report) -> Section:
    """Return the section of a rule; a rule that declares no section has a separate one."""
    declared = about_of(rule_id, report).section
    anchor = anchor_of("rule", rule_id)
    return declared or Section(id=anchor, title=title_of(rule_id, report), order=_LAST)


def section_with(rule_id: str, finding: Finding, report: Report) -> Section:
    """Return the section with a finding's evidence: that of its exhibit, else that of its rule."""
    result = report.results.get(RuleId(rule_id))
    shown = result.exhibit(finding.exhibit) if result and finding.exhibit else None
    further = about_of(rule_id, report).further if shown else ()
    places = (item for item in further if shown and item.id == shown.place.section)
    return next(places, section_of(rule_id, report))


def leads_to_rule(about: About) -> bool:
    """Return whether a card "At a glance" leads to the section of a rule, which is then open."""
    return any(not part.section for part in about.at_a_glance)


def link_of(rule_id: str, finding: Finding, report: Report) -> str:
    """Return where a finding's evidence stands: its exhibit if there is one, else its section."""
    result = report.results.get(RuleId(rule_id))
    if finding.exhibit and result and result.exhibit(finding.exhibit):
        return f"#{anchor_of(rule_id, finding.exhibit)}"
    return f"#{section_of(rule_id, report).id}"


def is_drawn(item: Exhibit | None) -> bool:
    """Return whether an exhibit is there, has rows, and can be drawn as its kind."""
    return item is not None and item.n_rows > 0 and has_shape(item)


def exhibit_of(result: RuleResult, part: AtAGlance) -> Exhibit | None:
    """Return the exhibit that a part of a card shows: the first of its patterns with rows."""
    fitting = (
        item
        for pattern in part.exhibits
        for item in result.exhibits
        if fnmatchcase(item.id, pattern) and is_drawn(item)
    )
    return next(fitting, None)


def exhibits_of(report: Report) -> Iterator[tuple[RuleId, Exhibit]]:
    """Yield all exhibits and whose they are, in the order of the report."""
    for rule_id, result in report.results.items():
        for item in result.exhibits:
            yield rule_id, item


def has_dashboard(report: Report) -> bool:
    """Return whether the page has a dashboard: traces, or a rule that opens it has looked."""
    return is_of_traces(report) or any(
        about_of(rule_id, report).opens_dashboard
        for rule_id, entry in report.rules.items()
        if entry.status in {Status.OK, Status.TRIGGERED}
    )


def is_of_traces(report: Report) -> bool:
    """Return whether there are only kernel traces: the recording is not the whole job."""
    needs = [about_of(rule_id, report).needs for rule_id in report.rules]
    return (KERNELS,) in needs and not any(SYSTEM in one and KERNELS not in one for one in needs)


def context_of(rule_id: str, report: Report) -> ChartContext:
    """Return the facts that a rule's charts need."""
    is_unix = report.job.clock == "unix"
    return ChartContext(rule_id=rule_id, is_unix=is_unix, most_cells=_cells_of_table(report))


def _cells_of_table(report: Report) -> int:
    found = sorted(
        item.n_rows * len(item.columns)
        for result in report.results.values()
        for item in result.exhibits
        if item.kind in _TABULAR
    )
    left = _CELLS_OF_PAGE
    for n_shorter, n_cells in enumerate(found):
        share = left // (len(found) - n_shorter)
        if n_cells > share:
            return min(share, MOST_CELLS)
        left -= n_cells
    return MOST_CELLS
