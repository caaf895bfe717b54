"""The dashboard of kernel traces: every picture of what the GPUs did, before any table."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, RuleId
from reportgen.views.blocks import Block, Section
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import label_room_px
from reportgen.views.choices import Pane, choices_block
from reportgen.views.exhibits import anchor_of, exhibit_block
from reportgen.views.kernel_ranking import ranking_block
from reportgen.views.outline import context_of, has_kernels
from reportgen.views.sections.panels import PANELS, Choice, Panel
from reportgen.views.sections.rule import head_block
from reportgen.views.shapes import has_shape

ID, TITLE = "dashboard", "Dashboard"
_LEAD = (
    "What the GPUs did, from kernel traces. Each percentage says what it is a share of; tables, "
    "findings and parameters follow by topic."
)
_FEW_BOXES = 4


def gpu_dashboard(report: Report) -> Section:
    """Show what the GPUs did in pictures; nothing where no kernels were traced."""
    if not has_kernels(report):
        return Section(id=ID, title=TITLE)
    drawn = [(panel, found) for panel in PANELS if (found := exhibit_of(panel, report))]
    blocks = [
        _block(panel, found, report, is_alone=_stands_alone(at, drawn))
        for at, (panel, found) in enumerate(drawn)
    ]
    return Section(id=ID, title=TITLE, blocks=(head_block(TITLE, None, _LEAD), *blocks))


def hosted(rule_id: str, report: Report) -> tuple[Exhibit, ...]:
    """Return the exhibits of a rule that the dashboard shows, without what waits behind them."""
    if not has_kernels(report):
        return ()
    found = [exhibit_of(panel, report) for panel in PANELS if panel.rule_id == rule_id]
    return tuple(item for item in found if item is not None)


def hosted_ids(rule_id: str, report: Report) -> frozenset[str]:
    """Return the ids of all exhibits of a rule that the dashboard shows, chosen or not."""
    if not has_kernels(report):
        return frozenset()
    shown = [
        exhibit_of(panel, report, end)
        for panel in PANELS
        if panel.rule_id == rule_id and exhibit_of(panel, report)
        for end in ends_of(panel)
    ]
    return frozenset(item.id for item in shown if item is not None)


def exhibit_of(panel: Panel, report: Report, end: str = "") -> Exhibit | None:
    """Return what a panel shows, ``None`` where it was not recorded.

    ``end`` is the end of the id of what may be shown in its place.
    """
    result = report.results.get(RuleId(panel.rule_id))
    found = result.exhibit(f"{panel.exhibit_id}{end}") if result else None
    if found is None or found.n_rows == 0 or not has_shape(found):
        return None
    return found


def ends_of(panel: Panel) -> tuple[str, ...]:
    """Return the ends of the ids of the exhibits that a panel may show."""
    if panel.choice is None:
        return ("",)
    ends = tuple(end for _, end, _ in panel.choice.options)
    twin = panel.choice.twin
    return (*ends, *(f"{end}{twin}" for end in ends)) if twin else ends


def _block(panel: Panel, found: Exhibit, report: Report, *, is_alone: bool) -> Block:
    choice = panel.choice
    block = _choices(panel, choice, report) if choice else _picture(panel, found, report)
    return replace(block, is_panel=not is_alone)


def _picture(panel: Panel, found: Exhibit, report: Report, *, noun: str = "kernel") -> Block:
    context, title = context_of(panel.rule_id, report), panel.says(found)
    if panel.shares_axis:
        context = replace(
            context, time_range_s=_window_s(report), left_px=label_room_px(_lanes(report))
        )
    if panel.is_ranking:
        return ranking_block(found, context, title=title, noun=noun)
    return exhibit_block(found, context, title=title)


def _lanes(report: Report) -> list[str]:
    """Return the names of the lanes of pictures that share their time axis."""
    found = [exhibit_of(panel, report) for panel in PANELS if panel.shares_axis]
    return [
        str(name)
        for item in found
        if item is not None and item.kind is ExhibitKind.SPANS
        for column in item.columns
        if column.name == "lane"
        for name in dict.fromkeys(column.values)
    ]


def _window_s(report: Report) -> tuple[float, float] | None:
    """Return from when to when utilization is told, the last bin included."""
    activity = report.results.get(RuleId("GPUActivity"))
    curve = activity.exhibit("utilization") if activity else None
    instants = numbers(curve.columns[0].values) if curve and curve.columns else []
    known = [instant for instant in instants if instant is not None]
    if len(known) < 2:
        return None
    return known[0], known[-1] + known[1] - known[0]


def _choices(panel: Panel, choice: Choice, report: Report) -> Block:
    def html_of(end: str, noun: str) -> str:
        found = exhibit_of(panel, report, end)
        return _picture(panel, found, report, noun=noun).html if found else ""

    panes = [
        Pane(
            label=label,
            html=html,
            html_without=html_of(f"{end}{choice.twin}", noun) if choice.twin else "",
        )
        for label, end, noun in choice.options
        if (html := html_of(end, noun))
    ]
    anchor = anchor_of(panel.rule_id, panel.exhibit_id)
    return choices_block(anchor, choice.question, panes, switch=choice.switch)


def _stands_alone(at: int, drawn: list[tuple[Panel, Exhibit]]) -> bool:
    """Return whether a panel fills the width: a wide one, or one without another beside it."""
    if _is_wide(*drawn[at]):
        return True
    before = takewhile(lambda item: not _is_wide(*item), reversed(drawn[:at]))
    is_last = at + 1 == len(drawn) or _is_wide(*drawn[at + 1])
    return is_last and sum(1 for _ in before) % 2 == 0


def _is_wide(panel: Panel, found: Exhibit) -> bool:
    has_many_boxes = found.kind is ExhibitKind.BOXES and found.n_rows > _FEW_BOXES
    return panel.is_wide or panel.is_ranking or has_many_boxes
