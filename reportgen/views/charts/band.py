"""``band``: curves as their mean, inside what they reached between the drawn points.

A thinned curve shows its mean; minimum and maximum of each bucket are an envelope, so a short
dip stays visible. With many curves the envelopes are drawn as one, of all curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts.arrays import Numbers, Outline, Pairs, numbers
from reportgen.views.charts.layout import (
    ChartContext,
    Drawing,
    UnitScale,
    axis_name,
    describe,
    layout,
    panel_axes,
    scaled,
    time_array,
    time_axis,
    times,
    unit_scale,
    value_array,
)
from reportgen.views.meaning import Ink, inks_of
from reportgen.views.shapes import BAND_PARTS, bands_of
from reportgen.views.values import heading_of, plot_label

MOST_ENVELOPES = 3
_JOINT_REMARK = "The shade spans the lowest and highest values of all curves together."
_PANEL_PX, _FRAME_PX = 180, 80

Curve = list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One curve: lowest, mean and highest value of each bucket, in its axis's unit."""

    name: str
    low: Curve
    mean: Curve
    high: Curve
    ink: Ink
    panel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BandInfo:
    """What a band chart shows."""

    time_x: Curve
    bands: tuple[Band, ...]
    panels: tuple[UnitScale, ...]


def info(exhibit: Exhibit, context: ChartContext) -> BandInfo:
    """Return the bands of a ``band`` exhibit; columns that belong to no band are left out."""
    columns = {column.name: column for column in exhibit.columns}
    names = bands_of(exhibit)
    units = list(dict.fromkeys(columns[f"{name}_mean"].unit for name in names))
    colours = inks_of(exhibit, names, [columns[f"{name}_mean"].role for name in names])
    highest = {name: numbers(columns[f"{name}_max"].values) for name in names}
    panels = tuple(
        unit_scale(
            unit,
            [
                value
                for name in names
                if columns[f"{name}_mean"].unit == unit
                for value in highest[name]
            ],
        )
        for unit in units
    )
    bands = []
    for name, ink in zip(names, colours, strict=True):
        panel = units.index(columns[f"{name}_mean"].unit)
        low, mean, high = (
            scaled(numbers(columns[name + part].values), panels[panel].factor)
            for part in BAND_PARTS
        )
        bands.append(
            Band(name=heading_of(name), low=low, mean=mean, high=high, ink=ink, panel=panel)
        )
    return BandInfo(
        time_x=times(numbers(exhibit.columns[0].values), context),
        bands=tuple(bands),
        panels=panels,
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``band`` exhibit."""
    found = info(exhibit, context)
    time_x = time_array(found.time_x, context)
    traces = [
        trace for panel in range(len(found.panels)) for trace in panel_traces(found, panel, time_x)
    ]
    lines = [(band.name, band.panel) for band in found.bands]
    n_panels = len(found.panels)
    busiest = max(sum(at == panel for _, at in lines) for panel in range(n_panels))
    return Drawing(
        figure={
            "data": traces,
            "layout": layout(
                hovermode="x unified",
                showlegend=len(lines) > 1,
                xaxis=time_axis(context, anchor=axis_name(n_panels - 1)),
                **panel_axes(lines, found.panels),
            ),
        },
        height_px=_FRAME_PX + _PANEL_PX * n_panels,
        alt=describe("Line chart with range", exhibit, [name for name, _ in lines]),
        remarks=(_JOINT_REMARK,) if busiest > MOST_ENVELOPES else (),
    )


def panel_traces(found: BandInfo, panel: int, time_x: Numbers) -> list[dict[str, Any]]:
    """Return the traces of one panel: envelopes below, lines above."""
    bands = [band for band in found.bands if band.panel == panel]
    scale, y_axis = found.panels[panel], axis_name(panel)
    reaches = [(value_array(band.low, scale), value_array(band.high, scale)) for band in bands]
    if len(bands) > MOST_ENVELOPES:
        low = _extremes(min, [band.low for band in bands])
        high = _extremes(max, [band.high for band in bands])
        reach = value_array(low, scale), value_array(high, scale)
        envelopes = [_envelope((time_x, *reach), bands[0].ink.hue, "")]
    else:
        envelopes = [
            _envelope((time_x, *reach), band.ink.hue, band.name)
            for band, reach in zip(bands, reaches, strict=True)
        ]
    lines = [
        _mean_line(band, time_x, Pairs(low=low32, high=high32), scale)
        for band, (low32, high32) in zip(bands, reaches, strict=True)
    ]
    points = [dots for band in bands for dots in _lone_points(band, time_x, scale)]
    return [{**trace, "yaxis": y_axis} for trace in (*envelopes, *lines, *points)]


def _mean_line(band: Band, time_x: Numbers, reach: Pairs, scale: UnitScale) -> dict[str, Any]:
    digits = ".1f" if scale.is_percent else ",.4~g"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plot_label(band.name),
        "legendgroup": plot_label(band.name),
        "x": time_x,
        "y": value_array(band.mean, scale),
        "customdata": reach,
        "hovertemplate": f"{scale.hover} ({_customdata(0, digits)} – {_customdata(1, digits)})",
        "connectgaps": False,
        "line": {
            "color": theme.shade(band.ink.hue, band.ink.index),
            "dash": theme.dash(band.ink.index),
            "width": 1.5,
        },
    }


def _lone_points(band: Band, time_x: Numbers, scale: UnitScale) -> list[dict[str, Any]]:
    """Return the points that no line joins to another, as dots: they would not be seen."""
    around = [None, *band.mean, None]
    lone = [
        value if before is None and after is None else None
        for before, value, after in zip(around, band.mean, around[2:], strict=False)
    ]
    if all(value is None for value in lone):
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": time_x,
            "y": value_array(lone, scale),
            "marker": {"color": theme.shade(band.ink.hue, band.ink.index), "size": 4},
            "hoverinfo": "skip",
            "showlegend": False,
            "legendgroup": plot_label(band.name),
        }
    ]


def _customdata(place: int, digits: str) -> str:
    return f"%{{customdata[{place}]:{digits}}}"


def _envelope(curves: tuple[Numbers, Numbers, Numbers], hue: str, group: str) -> dict[str, Any]:
    time_x, low, high = curves
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "fillcolor": theme.fill(hue),
        "line": {"width": 0, "color": theme.fill(hue)},
        "x": Outline(side="x", time_x=time_x, low=low, high=high),
        "y": Outline(side="y", time_x=time_x, low=low, high=high),
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plot_label(group),
    }


def _extremes(choose: Callable[..., float | None], curves: Sequence[Curve]) -> Curve:
    return [
        choose((value for value in values if value is not None), default=None)
        for values in zip(*curves, strict=True)
    ]
