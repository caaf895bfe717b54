"""``histogram``: how often values fell into each bin; a click on the legend hides a group.

Few values are marks, one each: bars of one value say nothing but where it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.text import phase_words
from reportgen.views import theme
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float32, float64, numbers
from reportgen.views.charts.layout import ChartContext, Drawing, UnitScale
from reportgen.views.color_roles import Ink, inks_of_columns
from reportgen.views.values import heading_of, plot_label

MOST_WITH_BARS = 2
MOST_GROUPS = 16
BARS_FROM = 20
"""So few values have no distribution yet."""
_MARKS_PX, _MARK_ROW_PX = 96, 22
_HEIGHT_PX = 264
_SEE_THROUGH = 0.5
_BIN_GAP = 0.94
_FEW_COUNTS = 4


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


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw a ``histogram`` exhibit: bars for one or two groups, outlines for more."""
    found = info(exhibit)
    n_groups = len(found.groups)
    counts = [count for group in found.groups for count in group.counts if count]
    if min(counts, default=0) > 0 and sum(counts) < BARS_FROM:
        return _marked(exhibit, found)
    if n_groups > MOST_WITH_BARS:
        traces = [_outline(found, group) for group in found.groups]
    else:
        first, *others = found.groups
        traces = [_bars(found, first, is_alone=not others)]
        traces += [_outline(found, group, is_overlay=True) for group in others]
    suffix = " %" if found.scale.is_percent else ""
    hidden = f"Only {n_groups} groups are drawn; {found.n_left_out:,} more are in the table."
    return layout.drawn(
        exhibit,
        "Histogram",
        [group.name for group in found.groups],
        traces=traces,
        height_px=_HEIGHT_PX,
        remark=hidden if found.n_left_out else "",
        barmode="overlay",
        bargap=0.04,
        showlegend=n_groups > 1,
        xaxis=layout.axis("" if suffix else found.scale.label, ticksuffix=suffix),
        yaxis=layout.axis("count", rangemode="tozero", tickformat=",d", **_whole(found.groups)),
    )


def _marked(exhibit: Exhibit, found: HistogramInfo) -> Drawing:
    """Draw a row of marks for each group; marks of one bin are side by side."""
    names = [group.name for group in found.groups]
    suffix = " %" if found.scale.is_percent else ""
    return layout.drawn(
        exhibit,
        "Marks of single values",
        names,
        traces=[_marks(found, group, row) for row, group in enumerate(found.groups)],
        height_px=_MARKS_PX + _MARK_ROW_PX * len(names),
        remark="Each mark is one value; marks of one bin are spread evenly over it.",
        showlegend=False,
        xaxis=layout.axis("" if suffix else found.scale.label, ticksuffix=suffix),
        yaxis=layout.row_axis(names),
    )


def _marks(found: HistogramInfo, group: Group, row: int) -> dict[str, Any]:
    bins = zip(found.bin_start, found.bin_end, group.counts, strict=True)
    places = [
        (start + (end - start) * (at + 0.5) / count, start, end)
        for start, end, count in bins
        if start is not None and end is not None and count
        for at in range(round(count))
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plot_label(group.name),
        "x": float64(x for x, _, _ in places),
        "y": float32([float(row)] * len(places)),
        "customdata": [[start, end] for _, start, end in places],
        "hovertemplate": (
            f"%{{customdata[0]:,.4~g}} – %{{customdata[1]:,.4~g}}{found.scale.suffix}"
        ),
        "marker": {"color": group.ink.colour, "size": 9, "symbol": "diamond"},
    }


def _whole(groups: Sequence[Group]) -> dict[str, int]:
    """Return the step of an axis whose few counts would have halves between them."""
    highest = max((count or 0.0 for group in groups for count in group.counts), default=0.0)
    return {"dtick": 1} if highest <= _FEW_COUNTS else {}


def _bars(found: HistogramInfo, group: Group, *, is_alone: bool) -> dict[str, Any]:
    pairs = list(zip(found.bin_start, found.bin_end, strict=True))
    return {
        "type": "bar",
        "name": plot_label(group.name),
        "x": float64(_middle(start, end) for start, end in pairs),
        "width": float64(_width(start, end) for start, end in pairs),
        "y": float32(group.counts),
        "customdata": [[start, end] for start, end in pairs],
        "hovertemplate": (
            f"%{{customdata[0]:,.4~g}} – %{{customdata[1]:,.4~g}}{found.scale.suffix}: %{{y:,d}}"
        ),
        "opacity": 1.0 if is_alone else _SEE_THROUGH,
        "marker": {"color": group.ink.colour, "line": {"width": 0}},
    }


def _outline(found: HistogramInfo, group: Group, *, is_overlay: bool = False) -> dict[str, Any]:
    last = found.bin_end[-1:]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plot_label(group.name),
        "x": float64([*found.bin_start, *last]),
        "y": float32([*group.counts, *([0.0] if last else [])]),
        "hovertemplate": "%{x:,.4~g}: %{y:,d}",
        "line": {
            "shape": "hv",
            "width": 1.8,
            "color": theme.shade(group.ink.hue, 2 if is_overlay else group.ink.index),
            "dash": group.ink.dash,
        },
    }


def _middle(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (start + end) / 2


def _width(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * _BIN_GAP
