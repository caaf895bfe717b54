"""``heatmap``: one row per device, one cell per stretch of time; empty cells were not measured."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts.arrays import matrix32, numbers
from reportgen.views.charts.layout import (
    ChartContext,
    Drawing,
    UnitScale,
    axis,
    describe,
    layout,
    scaled,
    time_array,
    time_axis,
    times,
    unit_scale,
)
from reportgen.views.values import heading_of, unique_labels

_TALLEST_ROW_PX, _MOST_PX, _FRAME_PX = 26, 620, 84
_MOST_GAPPED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapInfo:
    """What a heat map shows: cells[row][column] in the unit of its scale."""

    rows: tuple[str, ...]
    time_x: list[float | None]
    cells: list[list[float | None]]
    quantity: str
    scale: UnitScale


def info(exhibit: Exhibit, context: ChartContext) -> HeatmapInfo:
    """Return the cells of a ``heatmap`` exhibit, rows in the order of their first cell."""
    row_column, time_column, value_column = exhibit.columns[:3]
    names = [str(name) for name in row_column.values]
    instants = numbers(time_column.values)
    values = numbers(value_column.values)
    scale = unit_scale(value_column.unit, values)
    rows = {name: index for index, name in enumerate(dict.fromkeys(names))}
    moments = sorted({instant for instant in instants if instant is not None})
    places = {instant: index for index, instant in enumerate(moments)}
    cells: list[list[float | None]] = [[None] * len(moments) for _ in rows]
    for name, instant, value in zip(names, instants, scaled(values, scale.factor), strict=True):
        if instant is not None:
            cells[rows[name]][places[instant]] = value
    return HeatmapInfo(
        rows=tuple(rows),
        time_x=times(list(moments), context),
        cells=cells,
        quantity=heading_of(value_column.name),
        scale=scale,
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``heatmap`` exhibit."""
    found = info(exhibit, context)
    n_rows = len(found.rows)
    unit = f" {found.scale.label}" if found.scale.label else ""
    digits = ".1f" if found.scale.is_percent else ",.4~g"
    trace = {
        "type": "heatmap",
        "x": time_array(found.time_x, context),
        "y": unique_labels(found.rows),
        "z": matrix32(found.cells),
        "colorscale": theme.scale(),
        "zmin": 0,
        **({"zmax": 100} if found.scale.is_percent else {}),
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x}}<br>%{{z:{digits}}}{unit}<extra></extra>",
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "ticksuffix": unit,
            "tickfont": {"color": "var(--rg-muted)", "size": 11},
            "x": 1.01,
            "xpad": 4,
        },
        "ygap": 1 if n_rows <= _MOST_GAPPED else 0,
    }
    return Drawing(
        figure={
            "data": [trace],
            "layout": layout(
                xaxis=time_axis(context, showgrid=False),
                yaxis=axis("", type="category", autorange="reversed", showgrid=False),
            ),
        },
        height_px=_FRAME_PX + min(_TALLEST_ROW_PX * max(n_rows, 2), _MOST_PX),
        alt=describe(f"Heat map of {found.quantity} over time", exhibit, found.rows),
    )
