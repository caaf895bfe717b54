"""``spans``: intervals of events, one lane per place."""

from __future__ import annotations

import re
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanGroup:
    """Spans of one kind: lane, start and length (in the axis's unit), and their words."""

    name: str
    ink: Ink
    lanes: list[int]
    starts: list[float]
    lengths: list[float]
    words: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansInfo:
    """Content of a span chart; ``n_left_out`` spans are in the table only."""

    lanes: tuple[str, ...]
    groups: tuple[SpanGroup, ...]
    n_left_out: int


def info(exhibit: Exhibit, context: ChartContext) -> SpansInfo:
    """Return the spans of a ``spans`` exhibit, grouped by what their names say besides numbers.

    "3 bottlenecks" and "12 bottlenecks" are one group. Beyond MOST_GROUPS the rest is "others".
    """
    columns = {column.name: column.values for column in exhibit.columns}
    every_lane = dict.fromkeys(str(lane) for lane in columns["lane"])
    lanes = {lane: index for index, lane in enumerate(list(every_lane)[:MOST_LANES])}
    kinds = [kind_of(str(name)) for name in columns["name"]]
    groups = _groups(list(dict.fromkeys(kinds)), exhibit)
    edges = (numbers(columns[name]) for name in ("start_s", "end_s"))
    rows = zip(columns["lane"], columns["name"], kinds, *edges, strict=True)
    left_out = 0
    for lane, name, kind, start_s, end_s in rows:
        if start_s is None or end_s is None or str(lane) not in lanes:
            left_out += 1
            continue
        group = groups[kind]
        start, end = (value or 0.0 for value in layout.times([start_s, end_s], context))
        when = format_interval(start_s, end_s, is_unix=context.is_unix)
        group.lanes.append(lanes[str(lane)])
        group.starts.append(start)
        group.lengths.append(end - start)
        group.words.append(f"{plot_label(str(name))}<br>{when}")
    distinct = {id(group): group for group in groups.values()}
    return SpansInfo(lanes=tuple(lanes), groups=tuple(distinct.values()), n_left_out=left_out)


def kind_of(name: str) -> str:
    """Return a span's name without its numbers, or the name if nothing else is left.

    Example:
        >>> kind_of("1,250 bottlenecks"), kind_of("42")
        ('bottlenecks', '42')
    """
    return " ".join(_NUMBER.sub(" ", name).split()) or name


def _groups(kinds: list[str], exhibit: Exhibit) -> dict[str, SpanGroup]:
    n_rest = len(kinds) - MOST_GROUPS + 1 if len(kinds) > MOST_GROUPS else 0
    heads = [*kinds[:-n_rest], f"others ({n_rest})"] if n_rest else kinds
    made = [
        SpanGroup(name=head, ink=ink, lanes=[], starts=[], lengths=[], words=[])
        for head, ink in zip(heads, inks_of(exhibit, heads), strict=True)
    ]
    return {kind: made[min(at, len(made) - 1)] for at, kind in enumerate(kinds)}


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``spans`` exhibit; the shortest span still leaves a line."""
    found = info(exhibit, context)
    n_lanes = len(found.lanes)
    hidden = (
        f"Only {n_lanes} lanes are drawn; {found.n_left_out:,} more intervals are in the table."
    )
    return layout.drawn(
        exhibit,
        "Intervals over time",
        found.lanes,
        traces=[_trace(group, context) for group in found.groups],
        height_px=max(_LEAST_PX, _FRAME_PX + _LANE_PX * n_lanes),
        remark=hidden if found.n_left_out else "",
        barmode="overlay",
        showlegend=len(found.groups) > 1,
        xaxis=layout.time_axis(context),
        yaxis=layout.row_axis(found.lanes),
    )


def _trace(group: SpanGroup, context: ChartContext) -> dict[str, Any]:
    colour = group.ink.colour
    return {
        "type": "bar",
        "orientation": "h",
        "name": plot_label(group.name),
        "meta": {"role": group.ink.role},
        "y": group.lanes,
        "base": layout.time_array(group.starts, context),
        "x": float64(group.lengths),
        "width": 0.62,
        "text": group.words,
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "line": {"width": 1, "color": colour}},
    }
