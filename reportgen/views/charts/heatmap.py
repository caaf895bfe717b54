"""``heatmap``: one row per device, one cell per stretch of time; empty cells were not measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import matrix32, numbers
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.values import heading_of, plot_label, unique_labels

_TALLEST_ROW_PX, _MOST_PX, _FRAME_PX = 26, 900, 84
_MOST_GAPPED = 40
_LABEL_PX = 14
"""Rows lower than this cannot all be named: then their nodes are, as many as fit."""


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``heatmap`` exhibit, rows in the order of their first cell."""
    row_column, time_column, value_column = exhibit.columns[:3]
    names = [str(name) for name in row_column.values]
    instants, values = numbers(time_column.values), numbers(value_column.values)
    scale = layout.unit_scale(value_column.unit, values)
    rows = {name: at for at, name in enumerate(dict.fromkeys(names))}
    moments = sorted({instant for instant in instants if instant is not None})
    places = {instant: at for at, instant in enumerate(moments)}
    cells: list[list[float | None]] = [[None] * len(moments) for _ in rows]
    shown = layout.scaled(values, scale.factor)
    for name, instant, value in zip(names, instants, shown, strict=True):
        if instant is not None:
            cells[rows[name]][places[instant]] = value
    height_px = min(_TALLEST_ROW_PX * max(len(rows), 2), _MOST_PX)
    labels = unique_labels(list(rows))
    named = named_rows(labels, _nodes(exhibit, list(rows)), height_px)
    bar = {"thickness": 10, "outlinewidth": 0, "ticksuffix": scale.suffix, "x": 1.01, "xpad": 4}
    trace = {
        "type": "heatmap",
        "x": layout.time_array(layout.times(list(moments), context), context),
        "y": labels,
        "z": matrix32(cells),
        "colorscale": theme.scale(),
        "zmin": 0,
        **({"zmax": 100} if scale.is_percent else {}),
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x}}<br>%{{z:{scale.digits}}}{scale.suffix}<extra></extra>",
        "colorbar": bar,
        "ygap": 1 if len(rows) <= _MOST_GAPPED else 0,
    }
    return layout.drawn(
        exhibit,
        f"Heat map of {heading_of(value_column.name)} over time",
        list(rows),
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


def _nodes(exhibit: Exhibit, rows: Sequence[str]) -> Sequence[str]:
    """Return the node of each row; the row itself where the exhibit does not say it."""
    column = next((item for item in exhibit.columns if item.name == "node"), None)
    if column is None:
        return rows
    of_row = dict(zip(map(str, exhibit.columns[0].values), map(str, column.values), strict=True))
    return [of_row[name] for name in rows]


def named_rows(
    labels: Sequence[str], nodes: Sequence[str], height_px: float
) -> list[tuple[int, str]]:
    """Return which rows of a heat map carry a name, and the name: all of them if there is room.

    Otherwise the middle row of each node is named after the node, and of many nodes every n-th.
    """
    most = max(1, int(height_px / _LABEL_PX))
    if len(labels) <= most:
        return list(enumerate(labels))
    runs: list[tuple[int, str]] = []
    for node, run in groupby(range(len(nodes)), key=nodes.__getitem__):
        places = list(run)
        runs.append((places[len(places) // 2], plot_label(node)))
    return runs[:: -(-len(runs) // most)]
