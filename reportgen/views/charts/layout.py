"""Common parts of all drawn charts: context, axes, units, fonts, hover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reportgen.results import Exhibit
from reportgen.text import list_names
from reportgen.views.charts.arrays import float64
from reportgen.views.tables import MOST_CELLS
from reportgen.views.values import (
    BYTE_RATES,
    BYTES,
    SECONDS_PER,
    heading_of,
    plot_label,
    plotly_date,
)

Figure = dict[str, Any]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_TEXT = "var(--rg-text)"
_MUTED = "var(--rg-muted)"
_GRID = "var(--rg-grid)"
_LINE = "var(--rg-line)"
_PERCENT_TOP = 101.0
_TINY, _SMALL, _NORMAL = 10, 11, 12
"""Instants are tiny: with milliseconds they are as long as plotly sets them apart."""

_GAP = 0.06
"""Between panels: one y axis per unit, stacked over one time axis, so that all zoom together."""
_LEFT_PX = 44
_LABEL_CHARACTER_PX, _LABEL_PADDING_PX = 6.4, 12

_HELD_UNITS = frozenset({"", "bytes"})
_PLAIN = "rgba(0,0,0,0)"
_OWN_HUES = ("gpu", "cpu", "network", "io", "memory", "step", "gpu-memory", "other")
"""Colours of figures that a notebook's author draws without choosing any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartContext:
    """Facts that a chart needs besides its exhibit.

    ``time_range_s`` is from when to when its time axis reaches, ``left_px`` how much room is left
    of it, where others below it do so too. ``most_cells`` is how many its table may have.
    """

    rule_id: str
    is_unix: bool
    time_range_s: tuple[float, float] | None = None
    left_px: int | None = None
    most_cells: int = MOST_CELLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A chart ready for the page: figure (colours as tokens), height, words, parts left out."""

    figure: Figure
    height_px: int
    alt: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitScale:
    """An axis's unit: values are multiplied by ``factor`` and written with ``label``."""

    factor: float
    label: str
    is_percent: bool = False

    @property
    def digits(self) -> str:
        """Return the number format of hover texts."""
        return ".1f" if self.is_percent else ",.4~g"

    @property
    def suffix(self) -> str:
        """Return the suffix of a number."""
        return f" {self.label}" if self.label else ""

    @property
    def hover(self) -> str:
        """Return the hover text of a value on the y axis, with the unit."""
        return f"%{{y:{self.digits}}}{self.suffix}"


_STEPS: dict[str, tuple[tuple[float, float, str], ...]] = {
    "time": (
        (1e-3, 1e6, "µs"),
        (1.0, 1e3, "ms"),
        (300.0, 1.0, "s"),
        (18_000.0, 1 / 60, "min"),
        (float("inf"), 1 / 3600, "h"),
    ),
    "bytes": (
        (1e3, 1.0, "B"),
        (1e6, 1e-3, "kB"),
        (1e9, 1e-6, "MB"),
        (1e12, 1e-9, "GB"),
        (float("inf"), 1e-12, "TB"),
    ),
}
_BASES = {unit: ("time", base, "") for unit, base in SECONDS_PER.items()}
_BASES |= dict.fromkeys(BYTES, ("bytes", 1.0, "")) | dict.fromkeys(BYTE_RATES, ("bytes", 1.0, "/s"))


def unit_scale(unit: str, values: Sequence[float | None]) -> UnitScale:
    """Return the scale that makes the largest value readable on an axis."""
    if unit == "%":
        return UnitScale(factor=1.0, label="%", is_percent=True)
    if unit not in _BASES:
        return UnitScale(factor=1.0, label=plot_label(unit))
    family, base, per = _BASES[unit]
    top = max((abs(value) for value in values if value is not None), default=0.0) * base
    factor, label = next((factor, name) for below, factor, name in _STEPS[family] if top < below)
    return UnitScale(factor=base * factor, label=f"{label}{per}")


def panel_scales(
    units: Sequence[str], curves: Sequence[Sequence[float | None]]
) -> dict[str, UnitScale]:
    """Return the scale of each unit, from its highest value; each is a panel."""
    values: dict[str, list[float | None]] = {}
    for unit, curve in zip(units, curves, strict=True):
        values.setdefault(unit, []).extend(curve)
    return {unit: unit_scale(unit, found) for unit, found in values.items()}


def scaled(values: Sequence[float | None], factor: float) -> list[float | None]:
    """Return the values in an axis's unit."""
    return [None if value is None else value * factor for value in values]


def template() -> dict[str, Any]:
    """Return the look of all charts, its colours as tokens.

    The page has it once and puts the colours of the reader's theme in
    (``templates/script/charts.js``); a figure in a notebook has it with those of the light theme.
    """
    axis_style = {
        "gridcolor": _GRID,
        "linecolor": _LINE,
        "zerolinecolor": _LINE,
        "tickfont": {"color": _MUTED, "size": _SMALL},
        "title": {"font": {"color": _MUTED, "size": _SMALL}, "standoff": 6},
        "ticks": "",
        "automargin": True,
    }
    return {
        "layout": {
            "paper_bgcolor": "var(--rg-surface)",
            "plot_bgcolor": _PLAIN,
            "colorway": [f"var(--rg-{hue})" for hue in _OWN_HUES],
            "font": {"family": FONT, "size": _NORMAL, "color": _MUTED},
            "hoverlabel": {
                "bgcolor": "var(--rg-surface)",
                "bordercolor": _LINE,
                "font": {"family": FONT, "size": _NORMAL, "color": _TEXT},
                "namelength": -1,
            },
            "legend": {"font": {"color": _TEXT}, "bgcolor": _PLAIN},
            "modebar": {"bgcolor": _PLAIN, "color": _MUTED, "activecolor": "var(--rg-link)"},
            "annotationdefaults": {"font": {"color": _TEXT, "size": _SMALL}},
            "shapedefaults": {"line": {"color": _MUTED}},
            "xaxis": axis_style,
            "yaxis": axis_style,
        },
        "data": {"heatmap": [{"colorbar": {"tickfont": {"color": _MUTED, "size": _SMALL}}}]},
    }


def layout(**parts: object) -> dict[str, Any]:
    """Return a layout in the look of all charts; ``parts`` add to it."""
    return {
        "template": template(),
        "margin": {"l": _LEFT_PX, "r": 12, "t": 8, "b": 30},
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "xanchor": "left", "yanchor": "bottom"},
        **parts,
    }


def drawn(
    exhibit: Exhibit,
    kind: str,
    names: Sequence[str],
    *,
    traces: list[dict[str, Any]],
    height_px: int,
    remark: str = "",
    **parts: object,
) -> Drawing:
    """Return a drawing; its text alternative says its kind and the names that it compares."""
    listed = list_names([heading_of(name) for name in names], most=6)
    about = f" of {listed}" if listed else ""
    return Drawing(
        figure={"data": traces, "layout": layout(**parts)},
        height_px=height_px,
        alt=f"{kind}{about}: {exhibit.title}. The numbers follow as a table.",
        remarks=(remark,) if remark else (),
    )


def aligned(drawing: Drawing, left_px: int) -> Drawing:
    """Return a chart whose axis begins after ``left_px``, whatever its labels take."""
    parts = {
        name: {**part, "automargin": False} if name.startswith("yaxis") else part
        for name, part in drawing.figure["layout"].items()
    }
    parts["margin"] = {**parts["margin"], "l": left_px}
    return replace(drawing, figure={**drawing.figure, "layout": parts})


def label_room_px(labels: Sequence[str]) -> int:
    """Return how much room tick labels take beside an axis; at least that of percentages."""
    longest = max((len(plot_label(text)) for text in labels), default=0)
    return max(_LEFT_PX, round(longest * _LABEL_CHARACTER_PX) + _LABEL_PADDING_PX)


def axis(title: str = "", **parts: object) -> dict[str, Any]:
    """Return an axis, with its title if it has one."""
    return {**parts, **({"title": {"text": title}} if title else {})}


def row_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return a y axis of named rows, the first on top."""
    return axis(
        tickvals=list(range(len(names))),
        ticktext=[plot_label(name) for name in names],
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )


def value_axis(name: str, scale: UnitScale, **parts: object) -> dict[str, Any]:
    """Return a y axis from zero; percentages always span 0-100 so that charts compare."""
    label = f"{name} ({scale.label})" if name and scale.label else name or scale.label
    if scale.is_percent:
        parts = {"range": [0, _PERCENT_TOP], "dtick": 25, "ticksuffix": " %", **parts}
        label = name
    return axis(label, rangemode="tozero", **parts)


def time_axis(context: ChartContext, **parts: object) -> dict[str, Any]:
    """Return the x axis of a chart over time."""
    if context.time_range_s:
        parts["range"] = axis_times(times(context.time_range_s, context), context)
    if not context.is_unix:
        return axis("seconds since the recording began", **parts)
    return axis(
        "",
        type="date",
        tickangle=0,
        tickfont={"size": _TINY},
        hoverformat="%Y-%m-%d %H:%M:%S.%L UTC",
        tickformatstops=[
            {"dtickrange": [None, 1], "value": "%H:%M:%S.%6f\n%b %-d, %Y UTC"},
            {"dtickrange": [1, 1000], "value": "%H:%M:%S.%L\n%b %-d, %Y UTC"},
            {"dtickrange": [1000, 60_000], "value": "%H:%M:%S\n%b %-d, %Y UTC"},
            {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%b %-d, %Y UTC"},
            {"dtickrange": [86_400_000, None], "value": "%b %-d\n%Y UTC"},
        ],
        **parts,
    )


def time_array(values: Sequence[float | None], context: ChartContext) -> Any:
    """Return instants as plotly takes them for the x axis: dates, or a typed array of seconds."""
    return axis_times(values, context) if context.is_unix else float64(values)


def axis_times(values: Sequence[float | None], context: ChartContext) -> list[Any]:
    """Return a few instants as plotly takes them for an axis.

    Dates are texts: a number on a date axis is an instant in the browser's zone to plotly, and its
    label says UTC.
    """
    if not context.is_unix:
        return list(values)
    return [None if value is None else plotly_date(value) for value in values]


def shape_of(unit: str, values: Sequence[float | None]) -> dict[str, str]:
    """Return steps as the shape of a count or of bytes: they stay as they are until they change."""
    is_held = unit in _HELD_UNITS and all(value is None or value % 1 == 0 for value in values)
    return {"shape": "hv"} if is_held else {}


def times(values: Sequence[float | None], context: ChartContext) -> list[float | None]:
    """Return instants as the time axis counts them: epoch milliseconds, or seconds."""
    return scaled(values, 1000.0) if context.is_unix else list(values)


def vertical_line(x: float | str | None, top: float, line: dict[str, Any]) -> dict[str, Any]:
    """Return a shape from the bottom of the figure to ``top`` (0-1), behind its curves."""
    edges = {"x0": x, "x1": x, "y0": 0, "y1": top}
    return {"type": "line", **edges, "xref": "x", "yref": "paper", "layer": "below", "line": line}


def axis_name(index: int) -> str:
    """Return plotly's short name of the y axis of a panel, counted from 0: ``y``, ``y2``."""
    return f"y{index + 1}" if index else "y"


def panel_axes(lines: Sequence[tuple[str, int]], scales: Sequence[UnitScale]) -> dict[str, Any]:
    """Return one y axis per panel, from top to bottom, for (name, panel) of each line.

    A panel of one line is named after it where there are several panels.
    """
    n_panels = len(scales)
    height = (1 - _GAP * (n_panels - 1)) / n_panels
    axes = {}
    for index, scale in enumerate(scales):
        names = [name for name, panel in lines if panel == index]
        name = plot_label(names[0]) if n_panels > 1 and len(names) == 1 else ""
        top = 1 - index * (height + _GAP)
        key = f"yaxis{index + 1}" if index else "yaxis"
        axes[key] = value_axis(name, scale, domain=[max(0.0, top - height), top])
    return axes
