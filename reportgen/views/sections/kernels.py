"""The sections of kernel traces: by topic what the dashboard draws, as findings and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Exhibit, RuleId, Status
from reportgen.views.blocks import Block, Section
from reportgen.views.choices import Pane, choices_block
from reportgen.views.exhibits import anchor_of, exhibit_block
from reportgen.views.fragments import render
from reportgen.views.outline import (
    SECTION_OF_RULE,
    about_of,
    context_of,
    is_of_traces,
    title_of,
)
from reportgen.views.sections.dashboard import hosted, hosted_ids
from reportgen.views.sections.rule import head_block, rule_blocks
from reportgen.views.status import MILDEST_FIRST, hint_of, rule_state

_TOPICS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("gpu-activity", "GPU activity", ("GPUActivity",)),
    ("idle-time", "Idle time", ("IdleTime",)),
    ("steps", "Steps", ("StepTime",)),
    ("kernels", "Kernels", ("KernelTime", "KernelPrecision")),
    ("traced-operators", "Traced operators", ("OperatorTime",)),
    ("communication", "Communication", ("Collectives",)),
    ("device-memory", "Memory", ("MemoryOperations", "DeviceMemory")),
    ("launches", "Launches", ("LaunchLatency", "LaunchQueue")),
    ("host-threads", "Host threads", ("HostThreads",)),
    ("annotations", "Annotations", ("Annotations",)),
)
MOST_GROUPED_ROWS = 50
"""So many rows of a further grouping stand on the page. Source: ours, for the page's size."""
_GROUPED_TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "KernelTime": (
        ("name", "kernels"),
        ("name, grid and block", "kernels_by_shape"),
        ("operator", "kernels_by_operator"),
        ("category", "kernels_by_category"),
    ),
}
"""Tables of the same rows, added up in several ways: label and id."""
_NOT_RECORDED_ID, _NOT_RECORDED_TITLE = "not-recorded", "Not recorded"
_NO_SYSTEM_METRICS = (
    "CPU, memory, disk and network of the machines: kernel traces do not hold them."
)
_SYSTEM_HINT = (
    "Put the profiler-output folder of SageMaker's profiler beside the traces; one report then "
    "shows both."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that another section shows."""

    title: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """What the recording lacks, why, and how to record it.

    Attributes:
        anchors: where links to the missing sections lead; none where a section is there.
        title: of what is missing.
        text: why it is missing.
        hint: how to record it, or empty.
    """

    anchors: tuple[str, ...]
    title: str
    text: str
    hint: str


def gpu_activity(report: Report) -> Section:
    """Show how much each GPU was at work, and with what."""
    return _topic("gpu-activity", report)


def idle_time(report: Report) -> Section:
    """Show why the GPUs idled."""
    return _topic("idle-time", report)


def steps(report: Report) -> Section:
    """Show how long the traced steps took."""
    return _topic("steps", report)


def kernels(report: Report) -> Section:
    """Show which kernels ran, how long, and in which precision."""
    return _topic("kernels", report)


def traced_operators(report: Report) -> Section:
    """Show how long the framework's operators ran, on the host and on the GPU."""
    return _topic("traced-operators", report)


def communication(report: Report) -> Section:
    """Show what of communication is transfer and what is waiting."""
    return _topic("communication", report)


def device_memory(report: Report) -> Section:
    """Show what was copied and how much memory was held."""
    return _topic("device-memory", report)


def launches(report: Report) -> Section:
    """Show how long operations waited after their launch, and how many."""
    return _topic("launches", report)


def host_threads(report: Report) -> Section:
    """Show what the traced threads of the host did."""
    return _topic("host-threads", report)


def annotated_ranges(report: Report) -> Section:
    """Show how long the ranges took that the script marks."""
    return _topic("annotations", report)


def not_recorded(report: Report) -> Section:
    """List what kernel traces could not tell, each with how to record it; nothing without them."""
    absent = absent_of(report)
    if not absent:
        return Section(id=_NOT_RECORDED_ID, title=_NOT_RECORDED_TITLE)
    lead = "What this recording could not tell, and how to record it."
    blocks = (
        head_block(_NOT_RECORDED_TITLE, None, lead),
        Block(html=render("absent", items=absent)),
    )
    return Section(id=_NOT_RECORDED_ID, title=_NOT_RECORDED_TITLE, blocks=blocks)


def absent_of(report: Report) -> tuple[Absent, ...]:
    """Return the rules of kernel traces that could not look, and system metrics, if missing."""
    rule_ids = [rule_id for _, _, ids in _TOPICS for rule_id in ids]
    if is_of_traces(report):
        rule_ids.insert(0, "GPUTimeBudget")
    unlooked = [rule_id for rule_id in rule_ids if _is_skipped(rule_id, report)]
    taken = {
        SECTION_OF_RULE[rule_id]
        for rule_id in rule_ids
        if RuleId(rule_id) in report.rules and rule_id not in unlooked
    }
    by_reason: dict[str, list[str]] = {}
    for rule_id in unlooked:
        reason = report.rules[RuleId(rule_id)].reason
        by_reason.setdefault(reason.text if reason else "", []).append(rule_id)
    found = []
    for text, alike in by_reason.items():
        sections = dict.fromkeys(SECTION_OF_RULE[rule_id] for rule_id in alike)
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
        found.append(
            Absent(anchors=(), title="System metrics", text=_NO_SYSTEM_METRICS, hint=_SYSTEM_HINT)
        )
    return tuple(found)


def _topic(section_id: str, report: Report) -> Section:
    _, title, rule_ids = next(topic for topic in _TOPICS if topic[0] == section_id)
    shown = [
        rule_id
        for rule_id in rule_ids
        if RuleId(rule_id) in report.rules and not _is_skipped(rule_id, report)
    ]
    if not shown:
        return Section(id=section_id, title=title)
    states = [rule_state(rule_id, report) for rule_id in shown]
    state = max(states, key=lambda item: MILDEST_FIRST.index(item.kind))
    blocks = [head_block(title, state, _lead(shown, report))]
    for rule_id in shown:
        blocks += _blocks_of(rule_id, report)
    return Section(id=section_id, title=title, state=state, blocks=tuple(blocks))


def _lead(rule_ids: Sequence[str], report: Report) -> str:
    said = [about_of(report.results.get(RuleId(rule_id))).checks for rule_id in rule_ids]
    return " ".join(filter(None, said))


def _blocks_of(rule_id: str, report: Report) -> list[Block]:
    drawn = hosted(rule_id, report)
    grouped = _grouped_tables(rule_id, report)
    elsewhere = hosted_ids(rule_id, report) | {item.id for _, item in grouped}
    blocks = rule_blocks(report, rule_id, elsewhere=elsewhere)
    if grouped:
        blocks.insert(-1, _choice_of(rule_id, grouped, report))
    if drawn:
        pictures = [
            Picture(title=item.title, link=f"#{anchor_of(rule_id, item.id)}") for item in drawn
        ]
        blocks.insert(0, Block(html=render("drawn_above", pictures=pictures)))
    charts = [block for block in blocks if block.figure is not None]
    if len(charts) < 2:
        return blocks
    return [replace(block, is_panel=block.figure is not None) for block in blocks]


def _grouped_tables(rule_id: str, report: Report) -> list[tuple[str, Exhibit]]:
    """Return the tables of which the reader chooses one, each with its label."""
    result = report.results.get(RuleId(rule_id))
    if result is None:
        return []
    found = ((label, result.exhibit(name)) for label, name in _GROUPED_TABLES.get(rule_id, ()))
    return [(label, item) for label, item in found if item is not None]


def _choice_of(rule_id: str, tables: Sequence[tuple[str, Exhibit]], report: Report) -> Block:
    context = context_of(rule_id, report)
    shown = [(label, item if at == 0 else _top_of(item)) for at, (label, item) in enumerate(tables)]
    panes = [Pane(label=label, html=exhibit_block(item, context).html) for label, item in shown]
    return choices_block(anchor_of(rule_id, "tables"), "Group by", panes)


def _top_of(table: Exhibit) -> Exhibit:
    """Return the first rows of a table that says what another one says in other groups."""
    if table.n_rows <= MOST_GROUPED_ROWS:
        return table
    columns = tuple(
        replace(column, values=column.values[:MOST_GROUPED_ROWS]) for column in table.columns
    )
    rest = f" The first {MOST_GROUPED_ROWS} of {table.n_rows:,}; all are in the JSON."
    return replace(table, columns=columns, caption=f"{table.caption}{rest}")


def _is_skipped(rule_id: str, report: Report) -> bool:
    entry = report.rules.get(RuleId(rule_id))
    return entry is not None and entry.status is Status.SKIPPED
