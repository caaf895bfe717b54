"""The pie of a whole's parts: sectors from twelve o'clock on, each with its share where it fits.

The table beside it has all names; a large sector also shows a short name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from reportgen.views.charts.layout import Drawing, layout
from reportgen.views.charts.shares import SharePart
from reportgen.views.theme import N_SHADES, on, shade
from reportgen.views.values import plot_label, unique_labels

SIZE_PX = 192
RADIUS_PX = 94.0
FONT_PX = 11
_MIDDLE = 0.6
"""How far from the pie's middle, of its radius, a label lies."""
_LABELLED_FROM, _NAMED_FROM, _LONGEST_NAME = 0.1, 0.25, 11
"""A tenth of the pie is as wide as "36.6 %" there, a quarter as wide as eleven letters."""
_MOST_NAMED, _LONGEST_HOVER = 4, 90
_TEXT = "var(--rg-text)"


def draw(parts: Sequence[SharePart], *, title: str) -> Drawing | None:
    """Return the pie of some parts; ``None`` where none of them is larger than nothing."""
    shown = [part for part in parts if part.width_pct > 0]
    if not shown:
        return None
    return Drawing(
        figure={
            "data": [_trace(shown)],
            "layout": layout(
                margin=dict.fromkeys("lrtb", SIZE_PX / 2 - RADIUS_PX),
                showlegend=False,
                legend={"x": 1.05, "y": 0.5, "yanchor": "middle", "font": {"color": _TEXT}},
                annotations=list(_labels(shown)),
            ),
        },
        height_px=SIZE_PX,
        alt=_said(shown, title),
    )


def _labels(parts: Sequence[SharePart]) -> Iterator[dict[str, object]]:
    """Yield the label of each sector that has room for one, in the middle of it."""
    whole, start = sum(part.width_pct for part in parts), 0.0
    for part in parts:
        share = part.width_pct / whole
        angle = math.tau * (start + share / 2)
        start += share
        reach = 0.0 if len(parts) == 1 else RADIUS_PX * _MIDDLE
        has_name = share >= _NAMED_FROM and len(part.name.text) <= _LONGEST_NAME
        if share >= _LABELLED_FROM:
            lines = [part.name.text, part.pct.text] if has_name else [part.pct.text]
            yield _annotation(part, lines, reach * math.sin(angle), reach * math.cos(angle))


def _trace(parts: Sequence[SharePart]) -> dict[str, object]:
    colours = [part.colour.colour for part in parts]
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
        "textinfo": "none",
        "sort": False,
        "direction": "clockwise",
        "marker": {
            "colors": colours,
            "line": {"color": "var(--rg-surface)", "width": 1.5 if len(parts) > 1 else 0},
            "pattern": {
                "shape": ["\\" if part.is_hatched else "" for part in parts],
                "bgcolor": colours,
                "fgcolor": "rgba(255,255,255,0.45)",
                "size": 7,
            },
        },
    }


def _annotation(part: SharePart, lines: Sequence[str], x: float, y: float) -> dict[str, object]:
    """Return a label; on a hatched sector it lies on a patch of the plain colour."""
    hue, step = part.colour.hue, part.colour.index % N_SHADES
    ground = {"bgcolor": shade(hue, step)} if part.is_hatched else {}
    text = "<br>".join(plot_label(line) for line in lines)
    middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    shift = {"xshift": round(x, 1), "yshift": round(y, 1), "showarrow": False, "borderpad": 0}
    font = {"size": FONT_PX, "color": on(hue, step)}
    return {**ground, "text": text, **middle, **shift, "font": font}


def _said(parts: Sequence[SharePart], title: str) -> str:
    largest = sorted(parts, key=lambda part: -part.width_pct)[:_MOST_NAMED]
    named = ", ".join(f"{part.name.text} {part.pct.text}" for part in largest)
    rest = f" and {len(parts) - len(largest)} more" if len(parts) > len(largest) else ""
    return f"Pie: {title}. {named}{rest}. The table has all parts."
