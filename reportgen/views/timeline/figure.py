"""The figure of the time axis: lanes above panels, with one x axis and the same margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.views import theme
from reportgen.views.charts import band, layout
from reportgen.views.charts.arrays import float32
from reportgen.views.charts.layout import ChartContext, Drawing, axis_name, time_array, times
from reportgen.views.timeline.tracks import PHASES, TRAINING_LOOP, SummaryLane, TimelinePanel
from reportgen.views.values import format_interval, format_number, plot_label

LANE_PX, PANEL_PX, TITLE_PX = 32, 86, 30
_MARGIN = {"l": 62, "r": 14, "t": 58, "b": 42}
_BAR = 0.3
_LANE_LABEL = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a panel lies: pixels from the top of the plot area, title not included."""

    top_px: float
    height_px: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisExtent:
    """From when to when the axis reaches, in seconds of the job's clock."""

    start_s: float
    end_s: float


def slots_of(n_lanes: int, n_panels: int) -> tuple[list[Slot], float]:
    """Return the slots from top to bottom, that of the lanes first, and the height of them all."""
    slots, at = [], 0.0
    if n_lanes:
        slots.append(Slot(top_px=0.0, height_px=float(LANE_PX * n_lanes)))
        at = LANE_PX * n_lanes
    for _ in range(n_panels):
        at += TITLE_PX
        slots.append(Slot(top_px=at, height_px=float(PANEL_PX)))
        at += PANEL_PX
    return slots, at


def draw(
    lanes: Sequence[SummaryLane],
    panels: Sequence[TimelinePanel],
    extent: AxisExtent,
    context: ChartContext,
) -> Drawing:
    """Draw lanes and panels; at least one of them there is."""
    slots, height_px = slots_of(len(lanes), len(panels))
    domains = [
        [1 - (slot.top_px + slot.height_px) / height_px, 1 - slot.top_px / height_px]
        for slot in slots
    ]
    ends = layout.axis_times(times([extent.start_s, extent.end_s], context), context)
    axes: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    if lanes:
        axes["yaxis"] = _lane_axis(len(lanes), domains[0])
        # The times stand above the lanes as well: the panels are higher than a window.
        axes["xaxis2"] = layout.time_axis(
            context, anchor="y", side="top", matches="x", range=ends, automargin=False
        )
        traces += [trace for at, lane in enumerate(lanes) for trace in _bars(lane, at, context)]
        notes += [
            _note(lane.name, 1 - LANE_PX * at / height_px, "top") for at, lane in enumerate(lanes)
        ]
    for at, panel in enumerate(panels, start=1 if lanes else 0):
        axes[f"yaxis{at + 1}" if at else "yaxis"] = _panel_axis(panel, domains[at])
        notes.append(_note(panel.title, domains[at][1], "bottom"))
        traces += [
            {**trace, "yaxis": axis_name(at), "showlegend": False}
            for trace in band.panel_traces(panel.found, 0, context)
        ]
    return Drawing(
        figure={
            "data": traces,
            "layout": layout.layout(
                hovermode="x unified",
                hoversubplots="axis",
                dragmode="zoom",
                showlegend=False,
                margin=_MARGIN,
                annotations=notes,
                shapes=_loop_lines(lanes, domains[-len(panels)][1] if panels else 1.0, context),
                xaxis=layout.time_axis(
                    context, anchor=axis_name(len(slots) - 1), range=ends, automargin=False
                ),
                **axes,
            ),
        },
        height_px=round(height_px) + _MARGIN["t"] + _MARGIN["b"],
        alt=alt_of(lanes, panels, extent, context),
    )


def alt_of(
    lanes: Sequence[SummaryLane],
    panels: Sequence[TimelinePanel],
    extent: AxisExtent,
    context: ChartContext,
) -> str:
    """Return the content of the figure in words, with the range of each panel."""
    when = format_interval(extent.start_s, extent.end_s, is_unix=context.is_unix)
    curves = "; ".join(
        f"{panel.title} from {_said(panel, 0)} to {_said(panel, 2)}, on average {_said(panel, 1)}"
        for panel in panels
    )
    marked = ", ".join(f"{lane.name} ({lane.n_spans:,})" for lane in lanes)
    return (
        f"The job over one time axis, {when}. {curves}."
        f"{f' Marked above: {marked}.' if marked else ''} The numbers follow as tables."
    )


def _said(panel: TimelinePanel, place: int) -> str:
    return f"{format_number(round(panel.reach[place], 3))} {panel.scale.label}".strip()


def _lane_axis(n_lanes: int, domain: list[float]) -> dict[str, Any]:
    return layout.axis(
        domain=domain,
        range=[n_lanes - 0.5, -0.5],
        showticklabels=False,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=False,
    )


def _panel_axis(panel: TimelinePanel, domain: list[float]) -> dict[str, Any]:
    more = {"dtick": 50} if panel.scale.is_percent else {"nticks": 4}
    made = layout.value_axis(
        "", panel.scale, domain=domain, fixedrange=True, automargin=False, zeroline=False, **more
    )
    made.pop("title", None)
    if panel.scale.label and not panel.scale.is_percent:
        made["ticksuffix"] = f" {panel.scale.label}"
    return made


def _bars(lane: SummaryLane, place: int, context: ChartContext) -> list[dict[str, Any]]:
    """Return a lane's intervals as one outline per colour: few elements, whatever their number."""
    traces = []
    centre = place + 0.5 - _BAR
    for hue in dict.fromkeys(span.hue for span in lane.spans):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for span in lane.spans:
            if span.hue != hue:
                continue
            start, end = times([span.start_s, span.end_s], context)
            xs += [start, end, end, start, start, None]
            low, high = centre - _BAR / 2, centre + _BAR / 2
            ys += [low, low, high, high, low, None]
        colour = theme.shade(hue, 0)
        curve = {"name": plot_label(lane.name), "x": time_array(xs, context), "y": float32(ys)}
        style = {"fill": "toself", "fillcolor": colour, "line": {"width": 1.2, "color": colour}}
        trace = {"type": "scatter", "mode": "lines", "meta": {"role": hue}, **curve, **style}
        traces.append({**trace, "hoverinfo": "skip", "showlegend": False, "xaxis": "x2"})
    return traces


def _note(text: str, y: float, anchor: str) -> dict[str, Any]:
    place = {"x": 0, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": anchor}
    label = {"text": plot_label(text, most=_LANE_LABEL), "xshift": 0, "showarrow": False}
    return {**label, **place, "yshift": 0 if anchor == "top" else 3}


def _loop_lines(
    lanes: Sequence[SummaryLane], top: float, context: ChartContext
) -> list[dict[str, Any]]:
    loop = [
        span
        for lane in lanes
        if lane.name == PHASES
        for span in lane.spans
        if span.words == TRAINING_LOOP
    ]
    return [
        layout.vertical_line(x, top, {"width": 1, "dash": "dot"})
        for span in loop
        for x in layout.axis_times(times([span.start_s, span.end_s], context), context)
    ]
