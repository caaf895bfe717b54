"""Single exhibits for cells of the reader's own: as on the page, as figures, as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reportgen.errors import PluginError
from reportgen.report import Report
from reportgen.results import Column, ColumnType, Exhibit, ExhibitKind, RuleId
from reportgen.views.cell_output import PageSection
from reportgen.views.charts import shares
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import Figure, layout
from reportgen.views.color_roles import inks_of_columns
from reportgen.views.exhibits import anchor_of, exhibit_block, figure_of
from reportgen.views.outline import context_of
from reportgen.views.tables import headings_of
from reportgen.views.theme import resolved
from reportgen.views.values import heading_of, plot_label

if TYPE_CHECKING:
    import pandas as pd


def exhibit(report: Report, rule_id: str, exhibit_id: str) -> PageSection:
    """Show one exhibit of a rule.

    Raises:
        PluginError: the report holds no such rule or exhibit; the message lists those it holds.
    """
    found = _find(report, rule_id, exhibit_id)
    block = exhibit_block(found, context_of(rule_id, report))
    return PageSection(
        id=f"own-{anchor_of(rule_id, exhibit_id)}", title=found.title, blocks=(block,)
    )


def figure(report: Report, rule_id: str, exhibit_id: str) -> Figure:
    """Return the figure of an exhibit, to change and to pass to ``plotly.graph_objects.Figure``.

    Raises:
        PluginError: the report holds no such rule or exhibit; the message lists those it holds.
    """
    found = _find(report, rule_id, exhibit_id)
    drawn = figure_of(found, context_of(rule_id, report))
    made: Figure = resolved(plain_figure(found) if drawn is None else drawn)
    return made


def frame(report: Report, rule_id: str, exhibit_id: str) -> pd.DataFrame:
    """Return an exhibit as a pandas frame, one column per column; errors as ``exhibit``."""
    import pandas as pd

    found = _find(report, rule_id, exhibit_id)
    made = pd.DataFrame({place: column.values for place, column in enumerate(found.columns)})
    return made.set_axis([column.name for column in found.columns], axis="columns")


def _find(report: Report, rule_id: str, exhibit_id: str) -> Exhibit:
    result = report.results.get(RuleId(rule_id))
    if result is None:
        hint = f"It holds: {', '.join(report.results)}."
        raise PluginError(f"The report holds no rule {rule_id}.", hint=hint, rule_id=rule_id)
    found = result.exhibit(exhibit_id)
    if found is None:
        known = ", ".join(item.id for item in result.exhibits) or "none"
        hint = f"It has: {known}."
        raise PluginError(f"{rule_id} has no exhibit {exhibit_id}.", hint=hint, rule_id=rule_id)
    return found


_LONGEST_CELL = 60


def plain_figure(exhibit: Exhibit) -> Figure:
    """Return the figure of an exhibit that the page draws without plotly."""
    if exhibit.kind is ExhibitKind.SHARES:
        return _figure([_pie(exhibit)])
    if exhibit.kind is ExhibitKind.HISTOGRAM:
        return _figure(_histogram(exhibit), barmode="overlay")
    if exhibit.kind is ExhibitKind.BARS:
        return _figure(_bars(exhibit), yaxis={"autorange": "reversed"})
    return _figure([_table(exhibit)])


def _figure(traces: list[dict[str, Any]], **words: Any) -> Figure:
    return {"data": traces, "layout": layout(**words)}


def _pie(exhibit: Exhibit) -> dict[str, Any]:
    parts = [part for part in shares.info(exhibit).parts if part.width_pct > 0]
    return {
        "type": "pie",
        "labels": [plot_label(part.name.full or part.name.text) for part in parts],
        "values": [part.width_pct for part in parts],
        "marker": {"colors": [part.colour.colour for part in parts]},
        "sort": False,
        "direction": "clockwise",
    }


def _histogram(exhibit: Exhibit) -> list[dict[str, Any]]:
    start, end, *groups = exhibit.columns
    edges = list(zip(numbers(start.values), numbers(end.values), strict=True))
    bins = [(first, last) for first, last in edges if first is not None and last is not None]
    where = {
        "x": [(first + last) / 2 for first, last in bins],
        "width": [last - first for first, last in bins],
    }
    inks = inks_of_columns(exhibit, groups)
    return [
        {**_bar(group), **where, "y": numbers(group.values), "opacity": 1 / len(groups) ** 0.5}
        | {"marker": {"color": ink.colour}}
        for group, ink in zip(groups, inks, strict=True)
    ]


def _bars(exhibit: Exhibit) -> list[dict[str, Any]]:
    first, *others = exhibit.columns
    names = [plot_label(str(value)) for value in first.values]
    counted = [column for column in others if column.type in {ColumnType.INT, ColumnType.FLOAT}]
    drawn = [column for column in counted if column.unit == counted[0].unit]
    return [
        {**_bar(column), "orientation": "h", "x": numbers(column.values), "y": names}
        for column in drawn
    ]


def _bar(column: Column) -> dict[str, Any]:
    return {"type": "bar", "name": plot_label(heading_of(column.name))}


def _table(exhibit: Exhibit) -> dict[str, Any]:
    cells = [
        ["" if value is None else plot_label(str(value), most=_LONGEST_CELL) for value in column]
        for column in (column.values for column in exhibit.columns)
    ]
    heads = [plot_label(heading) for heading in headings_of(exhibit.columns)]
    return {"type": "table", "header": {"values": heads}, "cells": {"values": cells}}
