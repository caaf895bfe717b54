"""``boxes``: the middle half, the median and the whiskers of each name's values."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxShape:
    """One box in its axis's unit: lower, p25, p50, p75, upper."""

    name: str
    marks: tuple[float | None, ...]
    hue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxesInfo:
    """Content of a box plot; ``n_left_out`` boxes are in the table only."""

    boxes: tuple[BoxShape, ...]
    scale: UnitScale
    n_left_out: int


def info(exhibit: Exhibit) -> BoxesInfo:
    """Return the first boxes of a ``boxes`` exhibit, in its order."""
    columns = {column.name: column for column in exhibit.columns}
    names = [str(name) for name in columns["name"].values]
    values = {mark: numbers(columns[mark].values) for mark in _MARKS}
    scale = layout.unit_scale(
        columns["p50"].unit, [value for mark in _MARKS for value in values[mark]]
    )
    marks = [layout.scaled(values[mark], scale.factor) for mark in _MARKS]
    inks = inks_of(exhibit, names, exhibit.row_roles)
    return BoxesInfo(
        boxes=tuple(
            BoxShape(name=name, marks=row, hue=ink.hue)
            for name, row, ink in zip(names, zip(*marks, strict=True), inks, strict=True)
        )[:MOST_BOXES],
        scale=scale,
        n_left_out=max(0, len(names) - MOST_BOXES),
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw a ``boxes`` exhibit, one row per box, first on top."""
    found = info(exhibit)
    names = [box.name for box in found.boxes]
    hidden = f"Only the first {len(names)} are drawn; {found.n_left_out:,} more are in the table."
    x_axis = (
        layout.axis(range=[-1, 101], ticksuffix=" %")
        if found.scale.is_percent
        else layout.axis(found.scale.label, rangemode="tozero")
    )
    return layout.drawn(
        exhibit,
        "Box plot",
        names,
        traces=[_trace(box, row, found.scale) for row, box in enumerate(found.boxes)],
        height_px=_FRAME_PX + _ROW_PX * max(len(names), 2),
        remark=hidden if found.n_left_out else "",
        showlegend=False,
        xaxis=x_axis,
        yaxis=layout.row_axis(names),
    )


def _trace(box: BoxShape, row: int, scale: UnitScale) -> dict[str, Any]:
    lower, p25, p50, p75, upper = box.marks
    colour = theme.shade(box.hue, 0)
    return {
        "type": "box",
        "orientation": "h",
        "meta": {"role": box.hue, "fill": theme.fill_role(box.hue)},
        "name": plot_label(box.name),
        "y": [row],
        "q1": [p25],
        "median": [p50],
        "q3": [p75],
        "lowerfence": [lower],
        "upperfence": [upper],
        "width": 0.56,
        "line": {"color": colour, "width": 1.6},
        "fillcolor": theme.fill(box.hue),
        "hoverinfo": "x+name",
        "xhoverformat": scale.digits,
    }
