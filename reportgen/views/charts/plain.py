"""Pies, bars, histograms and tables as figures of plotly's, for cells of the reader's own.

The page and the notebook have them as SVG and HTML, which need no script.
"""

from __future__ import annotations

from typing import Any

from reportgen.results import Column, ColumnType, Exhibit, ExhibitKind
from reportgen.views.charts import shares
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import Figure, layout
from reportgen.views.color_roles import inks_of_columns
from reportgen.views.tables import headings_of
from reportgen.views.values import heading_of, plot_label

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
