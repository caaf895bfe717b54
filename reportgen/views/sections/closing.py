"""How far to trust the report: missing data, oddities, and the source of the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.report import QualityNote, Report
from reportgen.results import Status
from reportgen.text import format_count, join_names, plural
from reportgen.views.cell_output import PageSection, State, block_of, headed_section, pairs_block
from reportgen.views.facts import Fact
from reportgen.views.outline import is_of_traces, section_of, title_of
from reportgen.views.sections.opening import LOSS_COUNTERS
from reportgen.views.status import counts_of_unlooked, hint_of, is_listed
from reportgen.views.values import format_bytes_exact, shorten

NOTES_AT_ONCE = 12
MOST_NOTES = 400
LONGEST_NAME = 160
_WHERE_ALL_IS = """The parameters of each check are in its section and under All checks. All results
    are in the folder profiler-report/, one JSON file per check."""
_NO_SYSTEM_METRICS = "Kernel traces do not contain CPU, memory, disk and network of the machines."
_SYSTEM_HINT = """Put the profiler-output folder of SageMaker's profiler beside the traces: then one
    report shows both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Data that the recording lacks, why, and how to record them.

    ``anchors`` are where links to the missing sections lead; none where a section is there.
    """

    anchors: tuple[str, ...]
    title: str
    text: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Remarks about the input: those with a file first, then those about the whole job."""

    first: tuple[QualityNote, ...]
    folded: tuple[QualityNote, ...]
    remark: str


def not_recorded(report: Report) -> PageSection:
    """List the checks that did not look, why, and how to record their data."""
    absent = absent_of(report)
    blocks = [block_of("absent", items=absent)] if absent else []
    lead = "Checks that could not look at this job, why, and how to record what they lack."
    said = ", ".join(counts_of_unlooked(report)) or join_names([item.title for item in absent])
    return headed_section("not-recorded", "Not checked", blocks, lead=lead, said=said)


def absent_of(report: Report) -> tuple[Absent, ...]:
    """Return the rules that did not look, and system metrics, if missing."""
    rule_ids = sorted(report.rules, key=lambda rule_id: section_of(rule_id, report).order)
    unlooked = [rule_id for rule_id in rule_ids if report.rules[rule_id].status is Status.SKIPPED]
    shown = [rule_id for rule_id in rule_ids if not is_listed(rule_id, report)]
    taken = {section_of(rule_id, report).id for rule_id in shown}
    by_reason: dict[str, list[str]] = {}
    for rule_id in unlooked:
        reason = report.rules[rule_id].reason
        by_reason.setdefault(reason.text if reason else "", []).append(rule_id)
    found = []
    for text, alike in by_reason.items():
        sections = dict.fromkeys(section_of(rule_id, report).id for rule_id in alike)
        hints = [hint for rule_id in alike if (hint := hint_of(rule_id, report))]
        found.append(
            Absent(
                anchors=tuple(section for section in sections if section not in taken),
                title=", ".join(title_of(rule_id, report) for rule_id in alike),
                text=text,
                hint=hints[0] if hints else "",
            )
        )
        taken |= set(sections)
    if is_of_traces(report):
        system = {"title": "System metrics", "text": _NO_SYSTEM_METRICS, "hint": _SYSTEM_HINT}
        found.append(Absent(anchors=(), **system))
    return tuple(found)


def data_quality(report: Report) -> PageSection:
    """Show read and skipped data, and every remark with its file."""
    counters = report.data_quality.counters
    n_lost = sum(counters.get(name, 0) for name in LOSS_COUNTERS)
    kind, word = ("warning", "input skipped") if n_lost else ("ok", "complete")
    state = State(kind=kind, word=word)
    lead = "The data that were read, and all data that could not be used."
    blocks = [pairs_block("quality-counters", "Counted while reading", quality_rows(report))]
    notes = notes_of(report)
    if notes.first:
        title = f"Remarks ({len(report.data_quality.notes):,})"
        shown = {"notes": notes.first, "folded": notes.folded, "remark": notes.remark}
        blocks.append(block_of("notes", title=title, **shown))
    said = None if n_lost else f"{plural(counters.get('files_read', 0), 'file')} read, nothing lost"
    return headed_section("data-quality", "Data quality", blocks, lead=lead, state=state, said=said)


def quality_rows(report: Report) -> tuple[Fact, ...]:
    """Return the counters: first the data that were read, then the losses, largest first."""
    counters = dict(report.data_quality.counters)
    ordered = sorted(counters, key=lambda name: (name != "files_read", -counters[name]))
    return tuple(
        Fact(name=name.replace("_", " "), text=write(counters[name]))
        for name in ordered
        for write in (format_bytes_exact if name.startswith("bytes_") else format_count,)
    )


def notes_of(report: Report) -> Notes:
    """Return the remarks, a long list folded."""
    notes = report.data_quality.notes
    left_out = max(0, len(notes) - MOST_NOTES)
    return Notes(
        first=notes[:NOTES_AT_ONCE],
        folded=notes[NOTES_AT_ONCE:MOST_NOTES],
        remark=f"{left_out:,} more remarks are in report.json." if left_out else "",
    )


def appendix(report: Report) -> PageSection:
    """Show what made the report: clock, id, versions; and how to take its advice.

    The place of the input is not shown: it is in ``report.json`` alone, so that a page shows its
    readers no paths, and a job gives the same page from wherever it is read.
    """
    is_unix = report.job.clock == "unix"
    clock = "wall clock, shown in UTC" if is_unix else "relative: no wall-clock times"
    facts = [
        _named("Job", report.job.name),
        Fact(name="Clock", text=clock),
        Fact(
            name="Report id",
            text=_name(report.report_id),
            note="a checksum of all results: equal ids mean equal results",
        ),
        *(_named(_name(name), text) for name, text in report.versions.items()),
    ]
    made = pairs_block("appendix-facts", "Software of this report", facts, caption=_WHERE_ALL_IS)
    blocks = [made, block_of("disclaimer")]
    said = "The software behind this report, and how to take its advice"
    return headed_section("appendix", "Appendix", blocks, lead="", said=said)


def _named(name: str, text: str) -> Fact:
    value = shorten(text, most=LONGEST_NAME)
    return Fact(name=name, text=value.text, full_text=value.full)


def _name(text: str) -> str:
    return shorten(text, most=LONGEST_NAME).text
