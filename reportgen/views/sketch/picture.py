"""A chart as a small plain picture for readers without scripts: plotly's figure, drawn coarsely.

It follows the figure, not the exhibit, so that it shows what the chart shows; the exact numbers are
in the table beside it. All colours are tokens, all names are in HTML.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.views.charts.layout import Figure
from reportgen.views.sketch.marks import Mark, PlotArea, marks_of, sector_marks, values_of
from reportgen.views.values import format_instant, format_moment, format_number

WIDTH_PX = 720
MOST_TRACES = 12
MOST_KEYS = 6
_LEFT_PX, _RIGHT_PX, _TOP_PX, _BOTTOM_PX = 64, 8, 8, 22
_LEAST_PX, _MOST_PX = 110, 320
SHRINK = 0.62
_HEADROOM = 1.04
_LABEL_LENGTH = 9
_LABELLED_ROW_PX = 13
_UNDER_PX = 8
_BASELINE_PX = 4
_SHORT_MS = 10_000.0
"""Both ends of a shorter axis would be the same second."""

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchLabel:
    """A word: ``anchor`` is SVG's ``start``, ``middle`` or ``end``.

    ``colour`` is that of the label, if it has one, and ``ground`` covers the stripes behind it.
    """

    text: str
    x: float
    y: float
    anchor: str
    colour: str = ""
    ground: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A curve's name and colour."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A picture: its size, frames of its panels, marks, labels, and the key."""

    width_px: int
    height_px: int
    marks: tuple[Mark, ...]
    labels: tuple[SketchLabel, ...]
    frames: tuple[Mark, ...] = ()
    keys: tuple[Key, ...] = ()
    n_left_out: int = 0


def sketch_of(
    figure: Figure,
    *,
    height_px: int,
    most_traces: int = MOST_TRACES,
    most_px: int = _MOST_PX,
    shrink: float = SHRINK,
) -> Sketch | None:
    """Return the picture of a figure; ``None`` where it holds nothing that can be drawn."""
    if figure["data"] and figure["data"][0]["type"] == "pie":
        return _pie(figure, height_px)
    layout = figure["layout"]
    traces = [item for item in figure["data"] if item.get("visible", True) is True][:most_traces]
    x_limits = _limits(layout.get("xaxis", {}), _all_values(traces, "x"), is_from_zero=False)
    if x_limits is None:
        return None
    height = round(min(max(_LEAST_PX, height_px * shrink), most_px))
    frames: list[Mark] = []
    marks: list[Mark] = []
    labels = _x_labels(layout.get("xaxis", {}), x_limits, height)
    for name, axis in _y_axes(layout):
        members = [trace for trace in traces if trace.get("yaxis", "y") == name]
        place = _place(axis, members, x_limits, height)
        if place is None:
            continue
        frames.append(place.frame)
        labels += _y_labels(axis, members, place)
        for trace in members:
            marks += marks_of(trace, place)
    if not marks:
        return None
    labels += _notes(layout, height)
    keys = _keys(traces) if layout.get("showlegend", True) else []
    return Sketch(
        width_px=WIDTH_PX,
        height_px=height,
        frames=tuple(frames),
        marks=tuple(marks),
        labels=tuple(labels),
        keys=tuple(keys[:MOST_KEYS]) if len(keys) > 1 else (),
        n_left_out=max(0, len(figure["data"]) - most_traces),
    )


def _pie(figure: Figure, size_px: int) -> Sketch:
    """Return the pie as large as the chart, with its names at the same places."""
    labels = [
        SketchLabel(
            text=_plain(line),
            x=round(size_px / 2 + note["xshift"], 1),
            y=round(size_px / 2 - note["yshift"] + baseline, 1),
            anchor="middle",
            colour=note["font"]["color"],
            ground=note.get("bgcolor", ""),
        )
        for note in figure["layout"]["annotations"]
        for line, baseline in _baselines(note["text"].split("<br>"))
    ]
    radius_px = size_px / 2 - figure["layout"]["margin"]["t"]
    return Sketch(
        width_px=size_px,
        height_px=size_px,
        marks=tuple(sector_marks(figure["data"][0], radius_px=radius_px, middle_px=size_px / 2)),
        labels=tuple(labels),
    )


def _baselines(lines: Sequence[str]) -> list[tuple[str, float]]:
    """Return each line with its baseline below the middle of all of them."""
    first = -(len(lines) - 1) / 2 * _LABELLED_ROW_PX + _BASELINE_PX
    return [(line, first + at * _LABELLED_ROW_PX) for at, line in enumerate(lines)]


def _y_axes(layout: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (key.replace("axis", ""), layout[key])
        for key in layout
        if key.startswith("yaxis") and (key == "yaxis" or key[5:].isdigit())
    ]


def _place(
    axis: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], x_limits: Limits, height_px: int
) -> PlotArea | None:
    names = _categories(traces)
    limits = (
        (len(names) - 0.5, -0.5)
        if names
        else _limits(axis, _all_values(traces, "y"), is_from_zero=True)
    )
    if limits is None:
        return None
    low, high = axis.get("domain", (0.0, 1.0))
    room = height_px - _TOP_PX - _BOTTOM_PX
    return PlotArea(
        x_limits=x_limits,
        y_limits=limits,
        left_px=_LEFT_PX,
        right_px=WIDTH_PX - _RIGHT_PX,
        top_px=round(_TOP_PX + (1 - high) * room),
        bottom_px=round(_TOP_PX + (1 - low) * room),
    )


def _categories(traces: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [trace["y"] for trace in traces if trace["type"] == "heatmap"]
    return [str(name) for name in rows[0]] if rows else []


def _limits(
    axis: Mapping[str, Any], values: Iterable[float], *, is_from_zero: bool
) -> Limits | None:
    if "range" in axis:
        low, high = axis["range"]
        return float(low), float(high)
    found = list(values)
    if not found:
        return None
    low, high = min(found), max(found)
    if is_from_zero:
        low, high = min(low, 0.0), max(high * _HEADROOM, 0.0)
    if not math.isfinite(high - low):
        return None
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _all_values(traces: Sequence[Mapping[str, Any]], side: str) -> list[float]:
    return [value for trace in traces for value in values_of(trace, side)]


def _x_labels(axis: Mapping[str, Any], limits: Limits, height_px: int) -> list[SketchLabel]:
    y = height_px - 6
    low, high = (_format_x(axis, value, limits) for value in limits)
    made = [
        SketchLabel(text=low, x=_LEFT_PX, y=y, anchor="start"),
        SketchLabel(text=high, x=WIDTH_PX - _RIGHT_PX, y=y, anchor="end"),
    ]
    title = axis.get("title", {}).get("text", "")
    if title:
        made.append(SketchLabel(text=title, x=(WIDTH_PX + _LEFT_PX) // 2, y=y, anchor="middle"))
    return made


def _format_x(axis: Mapping[str, Any], value: float, limits: Limits) -> str:
    if axis.get("type") == "date":
        is_short = abs(limits[1] - limits[0]) < _SHORT_MS
        text = format_moment(value / 1000) if is_short else format_instant(value / 1000)[:-2]
        return f"{text} UTC"
    return f"{format_number(float(f'{value:.4g}'))}{axis.get('ticksuffix', '')}"


def _notes(layout: Mapping[str, Any], height_px: int) -> list[SketchLabel]:
    room = height_px - _TOP_PX - _BOTTOM_PX
    return [
        SketchLabel(
            text=_plain(note["text"]),
            x=_LEFT_PX,
            y=round(_TOP_PX + (1 - note["y"]) * room)
            + (_UNDER_PX if note["yanchor"] == "top" else -3),
            anchor="start",
        )
        for note in layout.get("annotations", ())
        if note.get("yref") == "paper"
    ]


def _y_labels(
    axis: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], place: PlotArea
) -> list[SketchLabel]:
    if axis.get("showticklabels") is False:
        return []
    x = _LEFT_PX - 6
    names = _categories(traces) or [str(name) for name in axis.get("ticktext", ())]
    if names:
        every = max(1, -(-len(names) * _LABELLED_ROW_PX // (place.bottom_px - place.top_px)))
        return [
            SketchLabel(text=_cut(name), x=x, y=round(place.y(row)) + 4, anchor="end")
            for row, name in enumerate(names)
            if row % every == 0
        ]
    unit = axis.get("ticksuffix") or f" {axis.get('title', {}).get('text', '')}"
    low, high = place.y_limits
    top = 100.0 if axis.get("ticksuffix") == " %" else high
    said = f"{top:.3g}{unit}".strip()
    lines = [said] if len(said) <= _LABEL_LENGTH else [f"{top:.3g}", _cut(unit.strip())]
    rows = [(line, place.top_px + 9 + at * _LABELLED_ROW_PX) for at, line in enumerate(lines)]
    rows.append((f"{low:.3g}", place.bottom_px))
    return [SketchLabel(text=text, x=x, y=y, anchor="end") for text, y in rows]


def _plain(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _cut(text: str) -> str:
    plain = _plain(text)
    return plain if len(plain) <= _LABEL_LENGTH else f"{plain[: _LABEL_LENGTH - 1]}…"


def _keys(traces: Sequence[Mapping[str, Any]]) -> list[Key]:
    return [
        Key(name=trace["name"], colour=_colour(trace))
        for trace in traces
        if trace["type"] in {"scatter", "bar"} and "name" in trace
    ]


def _colour(trace: Mapping[str, Any]) -> str:
    parts = (trace.get(name, {}) for name in ("marker", "line"))
    return next((str(part["color"]) for part in parts if "color" in part), "currentColor")
