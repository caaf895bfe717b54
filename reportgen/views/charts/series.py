"""``series``: curves over one time axis; one panel per unit, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reportgen.results import Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float32, numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import Ink, inks_of_columns
from reportgen.views.values import heading_of, plot_label

PANEL_PX = 190
_FRAME_PX = 84
_SPARSE_BELOW = 0.5
_LIMIT_WORDS = ("threshold", "limit")
_MEAN = "mean of "
"""A curve that stands for others: those wait in the legend."""
_ON_DEMAND = "The chart shows the mean. Click in the legend to show one of the {n} GPUs."


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLine:
    """One curve in its axis's unit. Sparse values are single moments: drawn as points."""

    name: str
    values: list[float | None]
    ink: Ink
    panel: int
    is_points: bool
    is_limit: bool
    is_on_demand: bool = False
    shape: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesInfo:
    """Content of a series chart: common instants, curves, and a scale per panel."""

    time_x: list[float | None]
    lines: tuple[SeriesLine, ...]
    panels: tuple[UnitScale, ...]


def info(exhibit: Exhibit, context: ChartContext) -> SeriesInfo:
    """Return the curves of a ``series`` exhibit."""
    time_column, *columns = exhibit.columns
    values = [numbers(column.values) for column in columns]
    panels = layout.panel_scales([column.unit for column in columns], values)
    has_means = any(column.name.startswith(_MEAN) for column in columns)
    lines = []
    for column, items, ink in zip(columns, values, inks_of_columns(exhibit, columns), strict=True):
        curve = layout.scaled(items, panels[column.unit].factor)
        lines.append(
            SeriesLine(
                name=heading_of(column.name),
                values=curve,
                ink=ink,
                panel=list(panels).index(column.unit),
                is_points=sum(item is not None for item in curve) < _SPARSE_BELOW * len(curve),
                is_limit=any(word in column.name.lower() for word in _LIMIT_WORDS),
                is_on_demand=has_means and not column.name.startswith(_MEAN),
                shape=layout.shape_of(column.unit, items),
            )
        )
    return SeriesInfo(
        time_x=layout.times(numbers(time_column.values), context),
        lines=tuple(lines),
        panels=tuple(panels.values()),
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``series`` exhibit."""
    found = info(exhibit, context)
    time_x = layout.time_array(found.time_x, context)
    n_panels, n_on_demand = len(found.panels), sum(line.is_on_demand for line in found.lines)
    return layout.drawn(
        exhibit,
        "Line chart",
        [line.name for line in found.lines],
        traces=[_trace(line, time_x, found.panels[line.panel]) for line in found.lines],
        height_px=_FRAME_PX + PANEL_PX * n_panels,
        remark=_ON_DEMAND.format(n=n_on_demand) if n_on_demand else "",
        hovermode="x unified",
        showlegend=len(found.lines) > 1,
        xaxis=layout.time_axis(context, anchor=layout.axis_name(n_panels - 1)),
        **layout.panel_axes([(line.name, line.panel) for line in found.lines], found.panels),
    )


def _trace(line: SeriesLine, time_x: Any, scale: UnitScale) -> dict[str, Any]:
    colour = line.ink.colour
    trace = {
        "type": "scatter",
        "name": plot_label(line.name),
        "meta": {"role": line.ink.role},
        "x": time_x,
        "y": float32(line.values),
        "yaxis": layout.axis_name(line.panel),
        "hovertemplate": scale.hover,
        "connectgaps": False,
        **({"visible": "legendonly"} if line.is_on_demand else {}),
    }
    if line.is_points:
        marker = {"color": colour, "size": 7, "symbol": "diamond"}
        return {**trace, "mode": "markers", "marker": marker}
    dash = "dash" if line.is_limit else line.ink.dash
    style = {"color": colour, "width": 1.5, "dash": dash, **line.shape}
    return {**trace, "mode": "lines", "line": style}
