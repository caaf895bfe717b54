"""The pie of a whole's parts as plotly's figure, for notebooks: the page has it as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportgen.views.charts.layout import Drawing, layout
from reportgen.views.charts.shares import SharePart
from reportgen.views.values import plot_label, unique_labels

_SIZE_PX, _EDGE_PX = 260, 16
_LONGEST_HOVER = 90


def draw(parts: Sequence[SharePart], *, title: str) -> Drawing:
    """Return the pie of some parts, clockwise from twelve o'clock, with a legend."""
    legend = {"x": 1.05, "y": 0.5, "yanchor": "middle"}
    margin = dict.fromkeys("lrtb", _EDGE_PX)
    return Drawing(
        figure={
            "data": [_trace([part for part in parts if part.width_pct > 0])],
            "layout": layout(margin=margin, showlegend=True, legend=legend),
        },
        height_px=_SIZE_PX,
        alt=f"Pie: {title}.",
    )


def _trace(parts: Sequence[SharePart]) -> dict[str, Any]:
    return {
        "type": "pie",
        "values": [part.width_pct for part in parts],
        "labels": unique_labels([part.name.text for part in parts]),
        "text": [
            plot_label(part.name.full or part.name.text, most=_LONGEST_HOVER) for part in parts
        ],
        "customdata": [
            " · ".join(filter(None, (part.pct.text, plot_label(part.amount.text))))
            for part in parts
        ],
        "hovertemplate": "%{text}<br>%{customdata}<extra></extra>",
        "textinfo": "percent",
        "sort": False,
        "direction": "clockwise",
        "marker": {
            "colors": [part.colour.colour for part in parts],
            "line": {"color": "var(--rg-surface)", "width": 1.5 if len(parts) > 1 else 0},
        },
    }
