"""The dashboard: every picture of what the GPUs did, before any table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from reportgen.report import Report
from reportgen.results import Column, DashboardPanel, Exhibit, ExhibitKind, RuleId, RuleResult
from reportgen.text import format_pct
from reportgen.views.cell_output import Block
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.bars import as_ranking
from reportgen.views.charts.layout import label_room_px
from reportgen.views.exhibits import exhibit_block
from reportgen.views.outline import context_of, exhibits_of, has_dashboard, is_drawn
from reportgen.views.values import format_value, shorten

_AT_ONCE = 11
"""Open pictures: when the GPUs worked, with what, why they idled, how long steps took, and the
kernels, number formats and copies that took the time."""
_MOST_NAMED = 4
_FEW_BOXES = 4
_LONGEST_PART = 48
_NAMED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A picture of the dashboard."""

    rule_id: RuleId
    place: DashboardPanel
    exhibit: Exhibit


def dashboard_blocks(report: Report) -> list[Block]:
    """Return pictures of the work of the GPUs; nothing where no exhibit opens a dashboard."""
    panels = panels_of(report)
    first, rest = panels[:_AT_ONCE], panels[_AT_ONCE:]
    words = words_of([panel.exhibit for panel in rest])
    return [
        replace(_block(panel, panels, report), is_panel=not _stands_alone(at, group), fold=fold)
        for group, fold in ((first, ""), (rest, words))
        for at, panel in enumerate(group)
    ]


def panels_of(report: Report) -> list[Panel]:
    """Return the pictures in their order, without those that were not recorded."""
    if not has_dashboard(report):
        return []
    found: dict[tuple[RuleId, str], Panel] = {}
    for rule_id, item in exhibits_of(report):
        place, choice = item.place.dashboard, item.place.choice
        if place is not None and is_drawn(item):
            key = (rule_id, choice.group if choice else item.id)
            found.setdefault(key, Panel(rule_id=rule_id, place=place, exhibit=item))
    return sorted(found.values(), key=lambda panel: panel.place.order)


def words_of(folded: Sequence[Exhibit]) -> str:
    """Name what waits behind a fold; titles may hold commas."""
    named = [shorten(item.title).text for item in folded[:_MOST_NAMED]]
    n_more = len(folded) - len(named)
    return f"More: {' · '.join([*named, f'{n_more} more'] if n_more else named)}"


def hosted_ids(result: RuleResult, report: Report) -> set[str]:
    """Return the ids of all exhibits of a result that the dashboard shows."""
    return {panel.exhibit.id for panel in panels_of(report) if panel.rule_id == result.id}


def headline(exhibit: Exhibit) -> str:
    """Return an exhibit's title in the dashboard: ``GPU active time: 56.6 %``."""
    place = exhibit.place.dashboard
    columns = {column.name: column for column in exhibit.columns}
    at = _row_of(place, columns) if place else None
    if place is None or not place.headline or at is None:
        return exhibit.title
    values = {name: _said(column, at) for name, column in columns.items()}
    values["title"] = exhibit.title
    if not set(_NAMED.findall(place.headline)) <= values.keys():
        return exhibit.title
    return _NAMED.sub(lambda found: values[found[1]], place.headline)


def _row_of(place: DashboardPanel, columns: Mapping[str, Column]) -> int | None:
    if not place.row_of:
        return 0
    if place.row_of not in columns:
        return None
    names = columns["part"].values if "part" in columns else ()
    passed = {at for at, name in enumerate(names) if str(name).startswith(place.passed_over)}
    sizes = [value or 0.0 for value in numbers(columns[place.row_of].values)]
    rows = [at for at in range(len(sizes)) if at not in passed]
    return max(rows, key=lambda at: sizes[at], default=None)


def _said(column: Column, at: int) -> str:
    (value,) = numbers(column.values[at : at + 1])
    if column.unit == "%":
        return format_pct(value or 0.0)
    if value is not None:
        return format_value(value, column.unit)
    return shorten(str(column.values[at]), most=_LONGEST_PART).text


def _block(panel: Panel, panels: Sequence[Panel], report: Report) -> Block:
    context = context_of(panel.rule_id, report)
    if panel.place.shares_axis:
        alike = [other.exhibit for other in panels if other.place.shares_axis]
        context = replace(
            context, time_range_s=_window_s(alike), left_px=label_room_px(_lanes(alike))
        )
    item, noun = panel.exhibit, panel.place.row_noun
    shown = as_ranking(item, row_noun=noun) if noun else item
    return exhibit_block(shown, context, title=headline(item))


def _lanes(exhibits: Sequence[Exhibit]) -> list[str]:
    """Return the names of the lanes of pictures that share their time axis."""
    return [
        str(name)
        for item in exhibits
        if item.kind is ExhibitKind.SPANS
        for column in item.columns
        if column.name == "lane"
        for name in dict.fromkeys(column.values)
    ]


def _window_s(exhibits: Sequence[Exhibit]) -> tuple[float, float] | None:
    curve = next((item for item in exhibits if item.kind is ExhibitKind.SERIES), None)
    instants = numbers(curve.columns[0].values) if curve else []
    known = [instant for instant in instants if instant is not None]
    if len(known) < 2:
        return None
    return known[0], known[-1] + known[1] - known[0]


def _stands_alone(at: int, panels: Sequence[Panel]) -> bool:
    """Return whether a panel fills the width: a wide one, or one without another beside it."""
    if _is_wide(panels[at]):
        return True
    before = takewhile(lambda panel: not _is_wide(panel), reversed(panels[:at]))
    is_last = at + 1 == len(panels) or _is_wide(panels[at + 1])
    return is_last and sum(1 for _ in before) % 2 == 0


def _is_wide(panel: Panel) -> bool:
    found = panel.exhibit
    has_many_boxes = found.kind is ExhibitKind.BOXES and found.n_rows > _FEW_BOXES
    return panel.place.is_wide or bool(panel.place.row_noun) or has_many_boxes
