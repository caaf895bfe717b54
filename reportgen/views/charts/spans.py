"""``spans``: intervals of events, one lane per place."""

from __future__ import annotations

import re
from typing import Any

from reportgen.results import Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float64, numbers
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.color_roles import Ink, inks_of
from reportgen.views.values import format_interval, plot_label

MOST_LANES = 40
MOST_GROUPS = 12
_NUMBER = re.compile(r"\d[\d,.]*")
_LANE_PX, _FRAME_PX, _LEAST_PX = 30, 76, 124

_Span = tuple[int, float, float, str]
"""Its lane, start and length in the unit of the axis, and what it says."""


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``spans`` exhibit, coloured by what the names say besides numbers.

    "3 bottlenecks" and "12 bottlenecks" are one group. Beyond MOST_GROUPS the rest is "others". The
    shortest span still leaves a line.
    """
    columns = {column.name: column.values for column in exhibit.columns}
    lanes = list(dict.fromkeys(map(str, columns["lane"])))[:MOST_LANES]
    kinds = [kind_of(str(name)) for name in columns["name"]]
    groups = _groups(kinds)
    heads = list(dict.fromkeys(groups.values()))
    spans: dict[str, list[_Span]] = {head: [] for head in heads}
    edges = (numbers(columns[name]) for name in ("start_s", "end_s"))
    for lane, name, kind, start_s, end_s in zip(
        columns["lane"], columns["name"], kinds, *edges, strict=True
    ):
        if start_s is None or end_s is None or str(lane) not in lanes:
            continue
        start, end = (value or 0.0 for value in layout.times([start_s, end_s], context))
        when = format_interval(start_s, end_s, is_unix=context.is_unix)
        words = f"{plot_label(str(name))}<br>{when}"
        spans[groups[kind]].append((lanes.index(str(lane)), start, end - start, words))
    n_left_out = exhibit.n_rows - sum(map(len, spans.values()))
    hidden = f"Only {len(lanes)} lanes are drawn; {n_left_out:,} more intervals are in the table."
    return layout.drawn(
        exhibit,
        "Intervals over time",
        lanes,
        traces=[
            _trace(head, spans[head], ink, context)
            for head, ink in zip(heads, inks_of(exhibit, heads), strict=True)
        ],
        height_px=max(_LEAST_PX, _FRAME_PX + _LANE_PX * len(lanes)),
        remark=hidden if n_left_out else "",
        barmode="overlay",
        showlegend=len(heads) > 1,
        xaxis=layout.time_axis(context),
        yaxis=layout.row_axis(lanes),
    )


def kind_of(name: str) -> str:
    """Return a span's name without its numbers, or the name if nothing else is left.

    Example:
        >>> kind_of("1,250 bottlenecks"), kind_of("42")
        ('bottlenecks', '42')
    """
    return " ".join(_NUMBER.sub(" ", name).split()) or name


def _groups(kinds: list[str]) -> dict[str, str]:
    """Return the group of each kind: itself, or the rest of many."""
    distinct = list(dict.fromkeys(kinds))
    n_kept = len(distinct) if len(distinct) <= MOST_GROUPS else MOST_GROUPS - 1
    rest = f"others ({len(distinct) - n_kept})"
    return {kind: kind if at < n_kept else rest for at, kind in enumerate(distinct)}


def _trace(head: str, spans: list[_Span], ink: Ink, context: ChartContext) -> dict[str, Any]:
    lanes, starts, lengths, words = zip(*spans, strict=True) if spans else ((), (), (), ())
    return {
        "type": "bar",
        "orientation": "h",
        "name": plot_label(head),
        "meta": {"role": ink.role},
        "y": list(lanes),
        "base": layout.time_array(starts, context),
        "x": float64(lengths),
        "width": 0.62,
        "text": list(words),
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": ink.colour, "line": {"width": 1, "color": ink.colour}},
    }
