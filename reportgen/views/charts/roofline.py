"""``roofline``: the speed of operators over their operations per byte, and what a GPU allows."""

from __future__ import annotations

from typing import Any

from reportgen.results import Exhibit
from reportgen.views.charts import layout
from reportgen.views.charts.arrays import Number, float64, numbers
from reportgen.views.charts.layout import ChartContext, Drawing
from reportgen.views.color_roles import Ink, inks, inks_of
from reportgen.views.theme import DASHES
from reportgen.views.values import plot_label

_HEIGHT_PX = 420
_LARGEST_PX, _SMALLEST_PX = 34, 5
_SYMBOLS = ("circle", "square", "diamond", "cross")
_BEYOND = 3.0
"""How far roofs reach beyond the dots at either side, as a factor."""
_LEAST = 1e-30
"""Smaller values have no place: plotly's axes of powers of ten end near 1e-308."""
_PLACED = ("flop_per_byte", "tflops_per_s", "time_us")
_LIMITS = ("format", "peak_tflops_per_s", "memory_gb_per_s")
_Row = dict[str, Any]


def draw(exhibit: Exhibit, context: ChartContext) -> Drawing:  # noqa: ARG001 - one signature for all kinds
    """Draw a ``roofline`` exhibit: both axes count powers of ten, the area of a dot is its time.

    Rows without a positive place are in the table only.
    """
    rows = [row for row in _rows(exhibit) if all(_has_place(row[name]) for name in _PLACED)]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    limits = dict.fromkeys(tuple(row[name] for name in _LIMITS) for row in rows)
    roofs = [limit for limit in limits if _has_place(limit[1])]
    reach = [row["flop_per_byte"] for row in rows]
    most_us = max((row["time_us"] for row in rows), default=1.0)
    return layout.drawn(
        exhibit,
        "Roofline",
        groups,
        traces=[
            *(
                _roof(limit, reach, ink, DASHES[at % len(DASHES)])
                for at, (limit, ink) in enumerate(
                    zip(roofs, inks([name for name, *_ in roofs]), strict=True)
                )
            ),
            *(
                _dots([row for row in rows if row["group"] == group], ink, at, most_us)
                for at, (group, ink) in enumerate(
                    zip(groups, inks_of(exhibit, groups), strict=True)
                )
            ),
        ],
        height_px=_HEIGHT_PX,
        showlegend=True,
        xaxis=_power_axis("FLOP per byte"),
        yaxis=_power_axis("TFLOP/s"),
    )


def _rows(exhibit: Exhibit) -> list[_Row]:
    columns: dict[str, list[Any]] = {
        item.name: [str(value) for value in item.values]
        if item.name in {"name", "group", "format"}
        else numbers(item.values)
        for item in exhibit.columns
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _has_place(value: Number) -> bool:
    return value is not None and _LEAST < value < 1 / _LEAST


def _power_axis(title: str) -> dict[str, Any]:
    return layout.axis(title, type="log", dtick=1, tickformat=",~r", zeroline=False)


def _roof(limit: tuple[Any, ...], reach: list[float], ink: Ink, dash: str) -> dict[str, Any]:
    """Return the line of one format: up the slope of the memory to the peak, then flat."""
    name, peak, memory = limit
    slope = memory / 1e3 if _has_place(memory) else None
    low, high = min(reach) / _BEYOND, max(reach) * _BEYOND
    ridge = peak / slope if slope else low
    edges = sorted({low, max(ridge, low), max(high, ridge * _BEYOND)})
    label = f"peak of {name}" + (f" and {memory:,.4g} GB/s" if slope else "")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plot_label(label),
        "meta": {"role": ink.role},
        "x": float64(edges),
        "y": float64(min(peak, x * slope) if slope else peak for x in edges),
        "hoverinfo": "name",
        "line": {"color": ink.colour, "width": 1.5, "dash": dash},
    }


def _dots(rows: list[_Row], ink: Ink, at: int, most_us: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plot_label(rows[0]["group"]),
        "meta": {"role": ink.role},
        "x": float64(row["flop_per_byte"] for row in rows),
        "y": float64(row["tflops_per_s"] for row in rows),
        "text": [_words(row) for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": ink.colour,
            "symbol": _SYMBOLS[at % len(_SYMBOLS)],
            "opacity": 0.65,
            "size": float64(row["time_us"] for row in rows),
            "sizemode": "area",
            "sizeref": 2 * most_us / _LARGEST_PX**2,
            "sizemin": _SMALLEST_PX,
        },
    }


def _words(row: _Row) -> str:
    speed, peak = row["tflops_per_s"], row["peak_tflops_per_s"]
    share = f", {100 * speed / peak:.1f} % of the peak" if _has_place(peak) else ""
    return (
        f"{plot_label(row['name'])}<br>{row['time_us']:,.4g} µs, {speed:,.4g} TFLOP/s "
        f"({row['format']}{share})"
    )
