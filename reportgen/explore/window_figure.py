"""Charts for notebooks that the page does not draw: a window of time, two bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.views import theme
from reportgen.views.charts.layout import Figure, axis, axis_name, layout, vertical_line
from reportgen.views.color_roles import inks
from reportgen.views.values import plot_label, unique_labels

_PANEL_PX, _LANE_PX, _FRAME_PX, _BAR_PX = 150, 22, 110, 26
_GAP_RATIO = 0.04
_MOST_NAMED, _NAMED_A_ROW, _LEGEND_ROW_PX = 24, 4, 20
"""Lines that a legend names, and how it is set; of more, pointing at one names it: a longer legend
hides the chart."""
_STEP_ALPHA = 0.25
_MARGIN = {"l": 60, "r": 16, "t": 64, "b": 40}
_AT_THE_TOP = {"yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 8}}
"""Of a title, so that a legend of several rows fits below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """One series: ``x`` in ms since 1970, ``y`` in ``unit``; lines of a panel share its axis.

    ``texts`` say what each point is, ``step 41``; empty where that needs no saying.
    """

    name: str
    panel: str
    unit: str
    x: Sequence[float]
    y: Sequence[float]
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLane:
    """The events of one function: starts (ms since 1970) and lengths (ms)."""

    name: str
    starts_ms: Sequence[float]
    lengths_ms: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPlot:
    """Content of a figure between two instants, ms since 1970.

    ``lines`` are series, panel after panel; ``lanes`` functions, the one with most time first;
    ``step_ms`` starts of steps, drawn as markers through all panels; ``remark`` the parts left out.
    """

    title: str
    start_ms: float
    end_ms: float
    lines: tuple[WindowLine, ...]
    lanes: tuple[WindowLane, ...]
    step_ms: tuple[float, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One number per name on each of two sides; ``None`` where a side has none."""

    title: str
    unit: str
    names: tuple[str, ...]
    sides: tuple[str, str]
    values: tuple[tuple[float | None, ...], tuple[float | None, ...]]


def window_figure(window: WindowPlot) -> Figure:
    """Return the figure: a panel for each kind of series, then the functions, on one time axis."""
    panels: dict[str, str] = {}
    for line in window.lines:
        panels.setdefault(line.panel, f"{line.panel} ({line.unit})" if line.unit else line.panel)
    heights = [float(_PANEL_PX)] * len(panels)
    if window.lanes:
        heights.append(float(max(_LANE_PX * len(window.lanes), 2 * _LANE_PX)))
    n_rows = -(-len(window.lines) // _NAMED_A_ROW) if len(window.lines) <= _MOST_NAMED else 1
    legend_px = _LEGEND_ROW_PX * max(n_rows - 1, 0)
    lanes = _lane_traces(window.lanes, axis_name(len(panels))) if window.lanes else []
    step_style = {"color": theme.shade("step", 0), "width": 1, "dash": "dot"}
    return {
        "data": [*_line_traces(window.lines, list(panels)), *lanes],
        "layout": layout(
            title=_title(window.title, window.remark) | _AT_THE_TOP,
            height=int(sum(heights)) + _FRAME_PX + legend_px,
            margin=_MARGIN | {"t": _MARGIN["t"] + legend_px},
            showlegend=len(window.lines) <= _MOST_NAMED,
            hovermode="x",
            barmode="overlay",
            xaxis=axis(
                "",
                type="date",
                range=[window.start_ms, window.end_ms],
                anchor=axis_name(len(heights) - 1) if heights else "y",
                hoverformat="%H:%M:%S.%L UTC",
            ),
            shapes=[
                vertical_line(time_ms, 1, step_style) | {"opacity": _STEP_ALPHA}
                for time_ms in window.step_ms
            ],
            **_value_axes([*panels.values()], window.lanes, _domains(heights)),
        ),
    }


def _line_traces(lines: Sequence[WindowLine], panels: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter",
            "mode": "lines+markers" if line.texts else "lines",
            "name": plot_label(line.name),
            "x": list(line.x),
            "y": list(line.y),
            "yaxis": axis_name(panels.index(line.panel)),
            "line": {
                "color": theme.shade(ink.hue, ink.index),
                "dash": theme.dash(ink.index),
                "width": 1.5,
            },
            "text": list(line.texts) or None,
            "hovertemplate": _hover(line),
        }
        for line, ink in zip(lines, inks([line.name for line in lines]), strict=True)
    ]


def _value_axes(
    titles: Sequence[str], lanes: Sequence[WindowLane], domains: Sequence[list[float]]
) -> dict[str, Any]:
    axes = {
        _axis_key(place): axis(title, domain=domains[place], rangemode="tozero")
        for place, title in enumerate(titles)
    }
    if lanes:
        axes[_axis_key(len(titles))] = axis(
            "",
            type="category",
            autorange="reversed",
            domain=domains[-1],
            showgrid=False,
            categoryarray=_labels(lanes),
        )
    return axes


def comparison_figure(comparison: Comparison) -> Figure:
    """Return horizontal bars, two for each name."""
    names = unique_labels(comparison.names)
    hues = ("critical", "other")
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": plot_label(side),
                "x": list(values),
                "y": names,
                "marker": {"color": theme.shade(hue, 0)},
                "hovertemplate": f"%{{x:,.4~g}} {comparison.unit}<extra>{plot_label(side)}</extra>",
            }
            for side, values, hue in zip(comparison.sides, comparison.values, hues, strict=True)
        ],
        "layout": layout(
            title=_title(comparison.title),
            height=_FRAME_PX + 2 * _BAR_PX * max(len(names), 1),
            margin=_MARGIN,
            barmode="group",
            xaxis=axis(comparison.unit, rangemode="tozero"),
            yaxis=axis("", type="category", autorange="reversed"),
        ),
    }


def nothing_figure(title: str) -> Figure:
    """Return a chart that says that nothing was recorded which it could show."""
    parts = {key: {"visible": False} for key in ("xaxis", "yaxis")}
    note = {"text": "Nothing was recorded that this chart shows.", "showarrow": False}
    frame = {"title": _title(title), "height": _FRAME_PX + 2 * _BAR_PX, "margin": _MARGIN}
    return {"data": [], "layout": layout(**frame, **parts, annotations=[note])}


def _domains(heights: Sequence[float]) -> list[list[float]]:
    gaps = _GAP_RATIO * max(len(heights) - 1, 0)
    whole, top = sum(heights) or 1.0, 1.0
    domains = []
    for height in heights:
        share = (1 - gaps) * height / whole
        domains.append([max(top - share, 0.0), top])
        top -= share + _GAP_RATIO
    return domains


def _lane_traces(lanes: Sequence[WindowLane], axis_name: str) -> list[dict[str, Any]]:
    labels = _labels(lanes)
    inked = inks([lane.name for lane in lanes])
    return [
        {
            "type": "bar",
            "orientation": "h",
            "name": label,
            "showlegend": False,
            "base": list(lane.starts_ms),
            "x": list(lane.lengths_ms),
            "y": [label] * len(lane.starts_ms),
            "yaxis": axis_name,
            "marker": {"color": theme.shade(ink.hue, ink.index), "line": {"width": 0}},
            "hovertemplate": f"{label}<br>%{{x:,.4~g}} ms<extra></extra>",
        }
        for lane, label, ink in zip(lanes, labels, inked, strict=True)
    ]


def _labels(lanes: Sequence[WindowLane]) -> list[str]:
    return unique_labels([lane.name for lane in lanes])


def _title(title: str, remark: str = "") -> dict[str, Any]:
    text = plot_label(title, most=110)
    if remark:
        text += f"<br><sup>{plot_label(remark, most=110)}</sup>"
    return {"text": text, "x": 0, "xref": "paper"}


def _hover(line: WindowLine) -> str:
    said = f"%{{y:,.4~g}} {line.unit}<extra>{plot_label(line.name)}</extra>"
    return f"%{{text}}: {said}" if line.texts else said


def _axis_key(place: int) -> str:
    return axis_name(place).replace("y", "yaxis")
