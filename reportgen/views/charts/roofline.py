"""``roofline``: the speed of operators over their operations per byte, and what a GPU allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reportgen.results import Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import float64, numbers
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.color_roles import Ink, inks, inks_of
from reportgen.views.theme import DASHES
from reportgen.views.values import plot_label

_HEIGHT_PX = 420
_LARGEST_PX, _SMALLEST_PX = 34, 5
_SYMBOLS = ("circle", "square", "diamond", "cross")
_BEYOND = 3.0
"""How far roofs reach beyond the dots at either side, as a factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotGroup:
    """The dots of one group: operations per byte, speed, time, and words."""

    name: str
    ink: Ink
    flop_per_byte: list[float]
    tflops_per_s: list[float]
    times_us: list[float]
    words: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What a GPU allows in one number format: corners from left to right."""

    name: str
    ink: Ink
    flop_per_byte: tuple[float, ...]
    tflops_per_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineInfo:
    """Content of a roofline; rows without a positive place in it are in the table only."""

    groups: tuple[DotGroup, ...]
    roofs: tuple[Roof, ...]


def info(exhibit: Exhibit) -> RooflineInfo:
    """Return the dots of a ``roofline`` exhibit by group, and the roofs over them."""
    columns = {column.name: column.values for column in exhibit.columns}
    names = list(dict.fromkeys(str(name) for name in columns["group"]))
    groups = {
        name: DotGroup(name=name, ink=ink, flop_per_byte=[], tflops_per_s=[], times_us=[], words=[])
        for name, ink in zip(names, inks_of(exhibit, names), strict=True)
    }
    roofs: dict[tuple[str, float | None, float | None], None] = {}
    measured = (
        numbers(columns[name])
        for name in (
            "flop_per_byte", "tflops_per_s", "time_us", "peak_tflops_per_s", "memory_gb_per_s",
        )
    )  # fmt: skip
    texts = (columns[name] for name in ("name", "group", "format"))
    for name, group, roof, x, y, time_us, peak, memory in zip(*texts, *measured, strict=True):
        if not _is_placed(x, y, time_us):
            continue
        dots = groups[str(group)]
        dots.flop_per_byte.append(x or 0.0)
        dots.tflops_per_s.append(y or 0.0)
        dots.times_us.append(time_us or 0.0)
        share = f", {y / peak:.1%} of the peak".replace("%", " %") if y and _is_placed(peak) else ""
        dots.words.append(
            f"{plot_label(str(name))}<br>{time_us:,.4g} µs, {y:,.4g} TFLOP/s ({roof}{share})"
        )
        roofs[str(roof), peak, memory] = None
    return RooflineInfo(
        groups=tuple(group for group in groups.values() if group.words),
        roofs=_roofs(roofs, [x for group in groups.values() for x in group.flop_per_byte]),
    )


def _is_placed(*values: float | None) -> bool:
    """Return whether all values have a place on an axis of powers of ten."""
    return all(value is not None and _LEAST < value < 1 / _LEAST for value in values)


_LEAST = 1e-30
"""Smaller values have no place: plotly's axes of powers of ten end near 1e-308."""


def _roofs(
    limits: dict[tuple[str, float | None, float | None], None], placed: list[float]
) -> tuple[Roof, ...]:
    kinds = [(name, peak, memory) for name, peak, memory in limits if _is_placed(peak)]
    found = []
    colours = inks([name for name, _, _ in kinds])
    for (name, peak, memory), ink in zip(kinds, colours, strict=True):
        if peak is None:
            continue
        low, high = min(placed) / _BEYOND, max(placed) * _BEYOND
        slope = memory / 1e3 if memory is not None and _is_placed(memory) else None
        ridge = peak / slope if slope else low
        edges = sorted({low, max(ridge, low), max(high, ridge * _BEYOND)})
        label = f"peak of {name}" + (f" and {memory:,.4g} GB/s" if slope else "")
        found.append(
            Roof(
                name=label,
                ink=ink,
                flop_per_byte=tuple(edges),
                tflops_per_s=tuple(min(peak, x * slope) if slope else peak for x in edges),
            )
        )
    return tuple(found)


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw a ``roofline`` exhibit: both axes count powers of ten, the area of a dot is its time."""
    found = info(exhibit)
    most_us = max((us for group in found.groups for us in group.times_us), default=1.0)
    return layout.drawn(
        exhibit,
        "Roofline",
        [group.name for group in found.groups],
        traces=[
            *(_roof_trace(roof, at) for at, roof in enumerate(found.roofs)),
            *(_dots(group, at, most_us) for at, group in enumerate(found.groups)),
        ],
        height_px=_HEIGHT_PX,
        showlegend=True,
        xaxis=_power_axis("FLOP per byte"),
        yaxis=_power_axis("TFLOP/s"),
    )


def _power_axis(title: str) -> dict[str, Any]:
    return layout.axis(title, type="log", dtick=1, tickformat=",~r", zeroline=False)


def _roof_trace(roof: Roof, at: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plot_label(roof.name),
        "meta": {"role": roof.ink.role},
        "x": float64(roof.flop_per_byte),
        "y": float64(roof.tflops_per_s),
        "hoverinfo": "name",
        "line": {"color": roof.ink.colour, "width": 1.5, "dash": DASHES[at % len(DASHES)]},
    }


def _dots(group: DotGroup, at: int, most_us: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plot_label(group.name),
        "meta": {"role": group.ink.role},
        "x": float64(group.flop_per_byte),
        "y": float64(group.tflops_per_s),
        "text": group.words,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": group.ink.colour,
            "symbol": _SYMBOLS[at % len(_SYMBOLS)],
            "opacity": 0.65,
            "size": float64(group.times_us),
            "sizemode": "area",
            "sizeref": 2 * most_us / _LARGEST_PX**2,
            "sizemin": _SMALLEST_PX,
        },
    }
