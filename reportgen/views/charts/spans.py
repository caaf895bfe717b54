"""``spans``: what happened from when to when, one lane per place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts.arrays import float64, numbers
from reportgen.views.charts.layout import (
    ChartContext,
    Drawing,
    axis,
    describe,
    layout,
    time_axis,
    times,
)
from reportgen.views.meaning import Ink, inks
from reportgen.views.values import plot_label, say_interval

MOST_LANES = 40
MOST_NAMES = 12
_LANE_PX, _FRAME_PX, _LEAST_PX = 30, 88, 150


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpans:
    """All spans of one name: lane, start and length (in the axis's unit), and their words."""

    name: str
    ink: Ink
    lanes: list[int]
    starts: list[float]
    lengths: list[float]
    words: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansInfo:
    """What a span chart shows; ``n_left_out`` spans are in the table only."""

    lanes: tuple[str, ...]
    groups: tuple[NamedSpans, ...]
    n_left_out: int


def info(exhibit: Exhibit, context: ChartContext) -> SpansInfo:
    """Return the spans of a ``spans`` exhibit by name; beyond MOST_NAMES they share a colour."""
    columns = {column.name: column.values for column in exhibit.columns}
    all_lanes = tuple(dict.fromkeys(str(lane) for lane in columns["lane"]))
    lanes = {lane: index for index, lane in enumerate(all_lanes[:MOST_LANES])}
    names = list(dict.fromkeys(str(name) for name in columns["name"]))
    kept = names if len(names) <= MOST_NAMES else names[: MOST_NAMES - 1]
    heads = kept if len(kept) == len(names) else [*kept, f"others ({len(names) - len(kept)})"]
    groups = {
        name: NamedSpans(name=name, ink=ink, lanes=[], starts=[], lengths=[], words=[])
        for name, ink in zip(heads, inks(heads, exhibit.id, exhibit.title), strict=True)
    }
    starts, ends = numbers(columns["start_s"]), numbers(columns["end_s"])
    left_out = 0
    for lane, name, start, end in zip(columns["lane"], columns["name"], starts, ends, strict=True):
        if start is None or end is None or str(lane) not in lanes:
            left_out += 1
            continue
        group = groups.get(str(name)) or groups[heads[-1]]
        first, last = times([start, end], context)
        assert first is not None
        assert last is not None
        group.lanes.append(lanes[str(lane)])
        group.starts.append(first)
        group.lengths.append(last - first)
        when = say_interval(start, end, is_unix=context.is_unix)
        group.words.append(f"{plot_label(str(name))}<br>{when}")
    return SpansInfo(lanes=tuple(lanes), groups=tuple(groups.values()), n_left_out=left_out)


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``spans`` exhibit; the shortest span still leaves a line."""
    found = info(exhibit, context)
    n_lanes = len(found.lanes)
    return Drawing(
        figure={
            "data": [_trace(group) for group in found.groups],
            "layout": layout(
                barmode="overlay",
                showlegend=len(found.groups) > 1,
                xaxis=time_axis(context),
                yaxis=axis(
                    "",
                    tickvals=list(range(n_lanes)),
                    ticktext=[plot_label(lane) for lane in found.lanes],
                    range=[n_lanes - 0.5, -0.5],
                    showgrid=False,
                    zeroline=False,
                ),
            ),
        },
        height_px=max(_LEAST_PX, _FRAME_PX + _LANE_PX * n_lanes),
        alt=describe("Intervals over time", exhibit, found.lanes),
        remarks=(
            (f"Drawn: {n_lanes} lanes; {found.n_left_out:,} more intervals are in the table.",)
            if found.n_left_out
            else ()
        ),
    )


def _trace(group: NamedSpans) -> dict[str, Any]:
    colour = theme.shade(group.ink.hue, group.ink.index)
    return {
        "type": "bar",
        "orientation": "h",
        "name": plot_label(group.name),
        "y": group.lanes,
        "base": float64(group.starts),
        "x": float64(group.lengths),
        "width": 0.62,
        "text": group.words,
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "line": {"width": 1, "color": colour}},
    }
