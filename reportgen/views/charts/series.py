"""``series``: curves over one time axis; one panel per unit, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts.arrays import Numbers, numbers
from reportgen.views.charts.layout import (
    ChartContext,
    Drawing,
    UnitScale,
    axis_name,
    describe,
    layout,
    panel_axes,
    scaled,
    time_array,
    time_axis,
    times,
    unit_scale,
    value_array,
)
from reportgen.views.meaning import Ink, inks_of
from reportgen.views.values import heading_of, plot_label

PANEL_PX = 190
_FRAME_PX = 84
_SPARSE_BELOW = 0.5
_LIMIT_WORDS = ("threshold", "limit")
_MEAN = "mean of "
"""A curve that stands for others: those wait in the legend."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesInfo:
    """What a series chart shows: common instants, curves, and a scale per panel."""

    time_x: list[float | None]
    lines: tuple[SeriesLine, ...]
    panels: tuple[UnitScale, ...]


def info(exhibit: Exhibit, context: ChartContext) -> SeriesInfo:
    """Return the curves of a ``series`` exhibit."""
    time_column, *columns = exhibit.columns
    colours = inks_of(
        exhibit, [column.name for column in columns], [column.role for column in columns]
    )
    units = list(dict.fromkeys(column.unit for column in columns))
    values = {column.name: numbers(column.values) for column in columns}
    panels = tuple(
        unit_scale(
            unit,
            [value for item in columns if item.unit == unit for value in values[item.name]],
        )
        for unit in units
    )
    has_means = any(column.name.startswith(_MEAN) for column in columns)
    lines = []
    for column, ink in zip(columns, colours, strict=True):
        panel = units.index(column.unit)
        curve = scaled(values[column.name], panels[panel].factor)
        lines.append(
            SeriesLine(
                name=heading_of(column.name),
                values=curve,
                ink=ink,
                panel=panel,
                is_points=_is_sparse(curve),
                is_limit=any(word in column.name.lower() for word in _LIMIT_WORDS),
                is_on_demand=has_means and not column.name.startswith(_MEAN),
            )
        )
    return SeriesInfo(
        time_x=times(numbers(time_column.values), context), lines=tuple(lines), panels=panels
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``series`` exhibit."""
    found = info(exhibit, context)
    time_x = time_array(found.time_x, context)
    traces = [_trace(line, time_x, found.panels[line.panel]) for line in found.lines]
    drawn_layout = layout(
        hovermode="x unified",
        showlegend=len(traces) > 1,
        xaxis=time_axis(context, anchor=axis_name(len(found.panels) - 1)),
        **panel_axes([(line.name, line.panel) for line in found.lines], found.panels),
    )
    return Drawing(
        figure={"data": traces, "layout": drawn_layout},
        height_px=_FRAME_PX + PANEL_PX * len(found.panels),
        alt=describe("Line chart", exhibit, [line.name for line in found.lines]),
        remarks=_remarks(found.lines),
    )


def _remarks(lines: Sequence[SeriesLine]) -> tuple[str, ...]:
    on_demand = sum(line.is_on_demand for line in lines)
    if not on_demand:
        return ()
    return (f"Drawn: the mean. A click in the legend shows one of the {on_demand} GPUs.",)


def _trace(line: SeriesLine, time_x: Numbers, scale: UnitScale) -> dict[str, Any]:
    colour = theme.shade(line.ink.hue, line.ink.index)
    trace = {
        "type": "scatter",
        "name": plot_label(line.name),
        "x": time_x,
        "y": value_array(line.values, scale),
        "yaxis": axis_name(line.panel),
        "hovertemplate": scale.hover,
        "connectgaps": False,
        **({"visible": "legendonly"} if line.is_on_demand else {}),
    }
    if line.is_points:
        return {
            **trace,
            "mode": "markers",
            "marker": {"color": colour, "size": 7, "symbol": "diamond"},
        }
    dash = "dash" if line.is_limit else theme.dash(line.ink.index)
    return {**trace, "mode": "lines", "line": {"color": colour, "width": 1.5, "dash": dash}}


def _is_sparse(values: Sequence[float | None]) -> bool:
    present = sum(value is not None for value in values)
    return bool(values) and present < _SPARSE_BELOW * len(values)
