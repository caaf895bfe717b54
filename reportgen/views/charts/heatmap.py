"""``heatmap``: one row per device, one cell per stretch of time; empty cells were not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import matrix32, numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.values import heading_of, plot_label, unique_labels

_TALLEST_ROW_PX, _MOST_PX, _FRAME_PX = 26, 900, 84
_MOST_GAPPED = 40
_LABEL_PX = 14
"""Rows lower than this cannot all be named: then their nodes are, as many as fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapInfo:
    """Content of a heat map: cells[row][column] in the unit of its scale.

    ``nodes`` has the node of each row where the exhibit has it, and is empty otherwise.
    """

    rows: tuple[str, ...]
    time_x: list[float | None]
    cells: list[list[float | None]]
    quantity: str
    scale: UnitScale
    nodes: tuple[str, ...] = ()


def info(exhibit: Exhibit, context: ChartContext) -> HeatmapInfo:
    """Return the cells of a ``heatmap`` exhibit, rows in the order of their first cell."""
    row_column, time_column, value_column = exhibit.columns[:3]
    names = [str(name) for name in row_column.values]
    instants = numbers(time_column.values)
    values = numbers(value_column.values)
    scale = layout.unit_scale(value_column.unit, values)
    rows = {name: index for index, name in enumerate(dict.fromkeys(names))}
    moments = sorted({instant for instant in instants if instant is not None})
    places = {instant: index for index, instant in enumerate(moments)}
    cells: list[list[float | None]] = [[None] * len(moments) for _ in rows]
    for name, instant, value in zip(
        names, instants, layout.scaled(values, scale.factor), strict=True
    ):
        if instant is not None:
            cells[rows[name]][places[instant]] = value
    return HeatmapInfo(
        rows=tuple(rows),
        time_x=layout.times(list(moments), context),
        cells=cells,
        quantity=heading_of(value_column.name),
        scale=scale,
        nodes=_nodes(exhibit, rows),
    )


def _nodes(exhibit: Exhibit, rows: Mapping[str, int]) -> tuple[str, ...]:
    column = next((item for item in exhibit.columns if item.name == "node"), None)
    if column is None:
        return ()
    of_row = dict(zip(map(str, exhibit.columns[0].values), map(str, column.values), strict=True))
    return tuple(of_row[name] for name in rows)


def named_rows(found: HeatmapInfo, height_px: float) -> list[tuple[int, str]]:
    """Return which rows of a heat map carry a name, and the name: all of them if there is room.

    Otherwise the middle row of each node is named after the node, and of many nodes every n-th.
    """
    most = max(1, int(height_px / _LABEL_PX))
    if len(found.rows) <= most:
        return list(enumerate(unique_labels(found.rows)))
    runs: list[tuple[int, str]] = []
    for node, run in groupby(
        range(len(found.rows)), key=lambda at: (found.nodes or found.rows)[at]
    ):
        places = list(run)
        runs.append((places[len(places) // 2], plot_label(node)))
    return runs[:: -(-len(runs) // most)]


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``heatmap`` exhibit."""
    found = info(exhibit, context)
    n_rows = len(found.rows)
    height_px = min(_TALLEST_ROW_PX * max(n_rows, 2), _MOST_PX)
    labels = unique_labels(found.rows)
    named = named_rows(found, height_px)
    scale = found.scale
    bar = {"thickness": 10, "outlinewidth": 0, "ticksuffix": scale.suffix, "x": 1.01, "xpad": 4}
    trace = {
        "type": "heatmap",
        "x": layout.time_array(found.time_x, context),
        "y": labels,
        "z": matrix32(found.cells),
        "colorscale": theme.scale(),
        "zmin": 0,
        **({"zmax": 100} if scale.is_percent else {}),
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x}}<br>%{{z:{scale.digits}}}{scale.suffix}<extra></extra>",
        "colorbar": bar,
        "ygap": 1 if n_rows <= _MOST_GAPPED else 0,
    }
    return layout.drawn(
        exhibit,
        f"Heat map of {found.quantity} over time",
        found.rows,
        traces=[trace],
        height_px=_FRAME_PX + height_px,
        xaxis=layout.time_axis(context, showgrid=False),
        yaxis=layout.axis(
            type="category",
            autorange="reversed",
            showgrid=False,
            fixedrange=True,
            tickvals=[labels[at] for at, _ in named],
            ticktext=[name for _, name in named],
        ),
    )
