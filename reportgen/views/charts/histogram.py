"""``histogram``: how often values fell into each bin; groups lie over each other.

The page shows it as inline SVG (``views/inline.py``), a notebook as plotly's figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.text import phase_words
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float32, float64, numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import Ink, inks_of_columns
from reportgen.views.values import heading_of, plot_label

MOST_GROUPS = 16
_HEIGHT_PX = 264
_SEE_THROUGH = 0.5
_BIN_GAP = 0.94


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group's counts, a count per bin."""

    name: str
    counts: list[float | None]
    ink: Ink


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramInfo:
    """Content of a histogram: bins in the axis's unit; ``n_left_out`` groups are in the table."""

    bin_start: list[float | None]
    bin_end: list[float | None]
    groups: tuple[Group, ...]
    scale: UnitScale
    n_left_out: int


def info(exhibit: Exhibit) -> HistogramInfo:
    """Return bins and groups of a ``histogram`` exhibit."""
    start, end, *columns = exhibit.columns
    edges = numbers(start.values) + numbers(end.values)
    scale = layout.unit_scale(start.unit, edges)
    left_out = max(0, len(columns) - MOST_GROUPS)
    columns = columns[:MOST_GROUPS]
    return HistogramInfo(
        bin_start=layout.scaled(numbers(start.values), scale.factor),
        bin_end=layout.scaled(numbers(end.values), scale.factor),
        groups=tuple(
            Group(name=phase_words(heading_of(column.name)), counts=numbers(column.values), ink=ink)
            for column, ink in zip(columns, inks_of_columns(exhibit, columns), strict=True)
        ),
        scale=scale,
        n_left_out=left_out,
    )


def remark_of(found: HistogramInfo) -> str:
    """Say how many groups are in the table only; empty where all are drawn."""
    if not found.n_left_out:
        return ""
    return f"Only {len(found.groups)} groups are drawn; {found.n_left_out:,} more are in the table."


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw a ``histogram`` exhibit."""
    found = info(exhibit)
    suffix = " %" if found.scale.is_percent else ""
    return layout.drawn(
        exhibit,
        "Histogram",
        [group.name for group in found.groups],
        traces=[_bars(found, group) for group in found.groups],
        height_px=_HEIGHT_PX,
        remark=remark_of(found),
        barmode="overlay",
        bargap=0.04,
        showlegend=len(found.groups) > 1,
        xaxis=layout.axis("" if suffix else found.scale.label, ticksuffix=suffix),
        yaxis=layout.axis("count", rangemode="tozero", tickformat=",d"),
    )


def _bars(found: HistogramInfo, group: Group) -> dict[str, Any]:
    pairs = list(zip(found.bin_start, found.bin_end, strict=True))
    return {
        "type": "bar",
        "name": plot_label(group.name),
        "meta": {"role": group.ink.role},
        "x": float64(_middle(start, end) for start, end in pairs),
        "width": float64(_width(start, end) for start, end in pairs),
        "y": float32(group.counts),
        "customdata": [[start, end] for start, end in pairs],
        "hovertemplate": (
            f"%{{customdata[0]:,.4~g}} – %{{customdata[1]:,.4~g}}{found.scale.suffix}: %{{y:,d}}"
        ),
        "opacity": 1.0 if len(found.groups) == 1 else _SEE_THROUGH,
        "marker": {"color": group.ink.colour, "line": {"width": 0}},
    }


def _middle(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (start + end) / 2


def _width(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * _BIN_GAP
