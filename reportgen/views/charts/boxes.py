"""``boxes``: the middle half, the median and the whiskers of each name's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import inks_of
from reportgen.views.values import plot_label

MOST_BOXES = 40
_ROW_PX, _FRAME_PX = 34, 64
_MARKS = ("lower", "p25", "p50", "p75", "upper")


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw the first boxes of a ``boxes`` exhibit, one row per box, first on top."""
    columns = {column.name: column for column in exhibit.columns}
    names = [str(name) for name in columns["name"].values]
    values = [numbers(columns[mark].values) for mark in _MARKS]
    scale = layout.unit_scale(columns["p50"].unit, [value for mark in values for value in mark])
    marks = zip(*(layout.scaled(items, scale.factor) for items in values), strict=True)
    hues = [ink.hue for ink in inks_of(exhibit, names, exhibit.row_roles)]
    boxes = list(zip(names, hues, marks, strict=True))[:MOST_BOXES]
    drawn, n_left_out = names[:MOST_BOXES], len(names) - len(boxes)
    hidden = f"Only the first {len(drawn)} are drawn; {n_left_out:,} more are in the table."
    x_axis = (
        layout.axis(range=[-1, 101], ticksuffix=" %")
        if scale.is_percent
        else layout.axis(scale.label, rangemode="tozero")
    )
    return layout.drawn(
        exhibit,
        "Box plot",
        drawn,
        traces=[_trace(name, hue, row, at, scale) for at, (name, hue, row) in enumerate(boxes)],
        height_px=_FRAME_PX + _ROW_PX * max(len(drawn), 2),
        remark=hidden if n_left_out else "",
        showlegend=False,
        xaxis=x_axis,
        yaxis=layout.row_axis(drawn),
    )


def _trace(
    name: str, hue: str, marks: Sequence[float | None], row: int, scale: UnitScale
) -> dict[str, Any]:
    lower, p25, p50, p75, upper = marks
    return {
        "type": "box",
        "orientation": "h",
        "meta": {"role": hue, "fill": theme.fill_role(hue)},
        "name": plot_label(name),
        "y": [row],
        "q1": [p25],
        "median": [p50],
        "q3": [p75],
        "lowerfence": [lower],
        "upperfence": [upper],
        "width": 0.56,
        "line": {"color": theme.shade(hue, 0), "width": 1.6},
        "fillcolor": theme.fill(hue),
        "hoverinfo": "x+name",
        "xhoverformat": scale.digits,
    }
