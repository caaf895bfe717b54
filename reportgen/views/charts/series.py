"""``series``: curves over one time axis; one panel per unit, gaps stay gaps."""

from __future__ import annotations

from typing import Any

from reportgen.results import Column, Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float32, numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import Ink, inks_of_columns
from reportgen.views.values import heading_of, plot_label

PANEL_PX = 190
_FRAME_PX = 84
_SPARSE_BELOW = 0.5
"""Curves with fewer values are single moments: drawn as points."""
_LIMIT_WORDS = ("threshold", "limit")
_MEAN = "mean of "
"""A curve that stands for others: those wait in the legend."""
_ON_DEMAND = "The chart shows the mean. Click in the legend to show one of the {n} GPUs."


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``series`` exhibit."""
    time_column, *columns = exhibit.columns
    values = [numbers(column.values) for column in columns]
    scales = layout.panel_scales([column.unit for column in columns], values)
    panels = {unit: at for at, unit in enumerate(scales)}
    lines = [(heading_of(column.name), panels[column.unit]) for column in columns]
    has_mean = any(column.name.startswith(_MEAN) for column in columns)
    n_on_demand = sum(not column.name.startswith(_MEAN) for column in columns) if has_mean else 0
    times = layout.times(numbers(time_column.values), context)
    traces = [
        {
            **_trace(column, items, ink, scales[column.unit]),
            "x": layout.time_array(times, context),
            "yaxis": layout.axis_name(panels[column.unit]),
            **({"visible": "legendonly"} if has_mean and not column.name.startswith(_MEAN) else {}),
        }
        for column, items, ink in zip(
            columns, values, inks_of_columns(exhibit, columns), strict=True
        )
    ]
    return layout.drawn(
        exhibit,
        "Line chart",
        [name for name, _ in lines],
        traces=traces,
        height_px=_FRAME_PX + PANEL_PX * len(panels),
        remark=_ON_DEMAND.format(n=n_on_demand) if n_on_demand else "",
        hovermode="x unified",
        showlegend=len(lines) > 1,
        xaxis=layout.time_axis(context, anchor=layout.axis_name(len(panels) - 1)),
        **layout.panel_axes(lines, list(scales.values())),
    )


def _trace(
    column: Column, values: list[float | None], ink: Ink, scale: UnitScale
) -> dict[str, Any]:
    trace = {
        "type": "scatter",
        "name": plot_label(heading_of(column.name)),
        "meta": {"role": ink.role},
        "y": float32(layout.scaled(values, scale.factor)),
        "hovertemplate": scale.hover,
        "connectgaps": False,
    }
    if sum(value is not None for value in values) < _SPARSE_BELOW * len(values):
        marker = {"color": ink.colour, "size": 7, "symbol": "diamond"}
        return {**trace, "mode": "markers", "marker": marker}
    is_limit = any(word in column.name.lower() for word in _LIMIT_WORDS)
    dash = "dash" if is_limit else ink.dash
    style = {"color": ink.colour, "width": 1.5, "dash": dash}
    return {**trace, "mode": "lines", "line": {**style, **layout.shape_of(column.unit, values)}}
