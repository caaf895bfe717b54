"""``band``: curves as their mean, inside what they reached between the drawn points.

The value of a bucket stands from its start to the start of the next one.
A thinned curve shows its mean; minimum and maximum of each bucket are an envelope, so a short
dip stays visible. With many curves the envelopes are drawn as one, of all curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.views import theme
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float32, matrix32, numbers, stepped, stepped_outline
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import Ink, inks_of
from reportgen.views.summary_table import curves_of
from reportgen.views.validation import bands_of
from reportgen.views.values import plot_label

MOST_ENVELOPES = 3
_JOINT_REMARK = "The shaded band is the range between the lowest and highest value of all curves."
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
    """Content of a band chart."""

    time_x: Curve
    bands: tuple[Band, ...]
    panels: tuple[UnitScale, ...]


def info(exhibit: Exhibit, context: ChartContext) -> BandInfo:
    """Return the bands of a ``band`` exhibit; columns that belong to no band are left out."""
    curves, names = curves_of(exhibit), bands_of(exhibit)
    panels = layout.panel_scales([curve.unit for curve in curves], [curve.high for curve in curves])
    bands = []
    for curve, ink in zip(
        curves, inks_of(exhibit, names, [curve.role for curve in curves]), strict=True
    ):
        low, mean, high = (
            layout.scaled(part, panels[curve.unit].factor)
            for part in (curve.low, curve.mean, curve.high)
        )
        panel = list(panels).index(curve.unit)
        bands.append(Band(name=curve.name, low=low, mean=mean, high=high, ink=ink, panel=panel))
    return BandInfo(
        time_x=layout.times(numbers(exhibit.columns[0].values), context),
        bands=tuple(bands),
        panels=tuple(panels.values()),
    )


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:
    """Draw a ``band`` exhibit."""
    found = info(exhibit, context)
    lines = [(band.name, band.panel) for band in found.bands]
    n_panels = len(found.panels)
    busiest = max(sum(at == panel for _, at in lines) for panel in range(n_panels))
    return layout.drawn(
        exhibit,
        "Line chart with range",
        [name for name, _ in lines],
        traces=[
            trace for panel in range(n_panels) for trace in panel_traces(found, panel, context)
        ],
        height_px=_FRAME_PX + _PANEL_PX * n_panels,
        remark=_JOINT_REMARK if busiest > MOST_ENVELOPES else "",
        hovermode="x unified",
        showlegend=len(lines) > 1,
        xaxis=layout.time_axis(context, anchor=layout.axis_name(n_panels - 1)),
        **layout.panel_axes(lines, found.panels),
    )


def panel_traces(found: BandInfo, panel: int, context: ChartContext) -> list[dict[str, Any]]:
    """Return the traces of one panel: envelopes below, lines above."""
    bands = [band for band in found.bands if band.panel == panel]
    scale, y_axis = found.panels[panel], layout.axis_name(panel)
    if len(bands) > MOST_ENVELOPES:
        low = _extremes(min, [band.low for band in bands])
        high = _extremes(max, [band.high for band in bands])
        outlines = [((low, high), bands[0].ink.hue, "")]
    else:
        outlines = [((band.low, band.high), band.ink.hue, band.name) for band in bands]
    envelopes = [
        _envelope(stepped_outline(found.time_x, *curves), hue, name, context)
        for curves, hue, name in outlines
    ]
    lines = [_mean_line(band, found.time_x, scale, context) for band in bands]
    return [{**trace, "yaxis": y_axis} for trace in (*envelopes, *lines)]


def _mean_line(
    band: Band, time_x: Curve, scale: UnitScale, context: ChartContext
) -> dict[str, Any]:
    xs, (mean, low, high) = stepped(time_x, band.mean, band.low, band.high)
    reached = f"%{{customdata[0]:{scale.digits}}} – %{{customdata[1]:{scale.digits}}}"
    return {
        "type": "scatter",
        # Nobody knows how long the value of a single time lasts.
        "mode": "lines" if len(time_x) > 1 else "lines+markers",
        "name": plot_label(band.name),
        "legendgroup": plot_label(band.name),
        "meta": {"role": band.ink.role},
        "x": layout.axis_times(xs, context),
        "y": float32(mean),
        "customdata": matrix32(list(zip(low, high, strict=True))),
        "hovertemplate": f"{scale.hover} ({reached})",
        "connectgaps": False,
        "line": {"color": band.ink.colour, "dash": band.ink.dash, "width": 1.5, "shape": "hv"},
    }


def _envelope(
    corners: tuple[Curve, Curve], hue: str, group: str, context: ChartContext
) -> dict[str, Any]:
    xs, ys = corners
    return {
        "type": "scatter",
        "mode": "lines",
        "meta": {"role": theme.fill_role(hue)},
        "fill": "toself",
        "fillcolor": theme.fill(hue),
        "line": {"width": 0, "color": theme.fill(hue), "shape": "hv"},
        "x": layout.axis_times(xs, context),
        "y": float32(ys),
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plot_label(group),
    }


def _extremes(choose: Callable[..., float | None], curves: Sequence[Curve]) -> Curve:
    return [
        choose((value for value in values if value is not None), default=None)
        for values in zip(*curves, strict=True)
    ]
