"""What a trace of plotly's looks like in a sketch, by its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reportgen.views.sketch.areas import bar_marks, bars_of, box_marks, cell_marks
from reportgen.views.sketch.curves import curve_marks
from reportgen.views.sketch.place import Mark, Place, Trace, present

_DRAW: Mapping[str, Callable[[Trace, Place], list[Mark]]] = {
    "scatter": curve_marks,
    "bar": bar_marks,
    "box": box_marks,
    "heatmap": cell_marks,
}


def values_of(trace: Trace, side: str) -> list[float]:
    """Return the values of a trace along an axis, ``x`` or ``y``, as far as its marks reach."""
    kind = trace["type"]
    if kind == "box":
        keys = ("lowerfence", "upperfence") if side == "x" else ("y",)
        return [value for key in keys for value in present(trace[key])]
    if kind == "bar" and side == "x":
        return [edge for bar in bars_of(trace) for edge in bar[:2]]
    if kind == "heatmap" and side == "y":
        return []
    return present(trace[side])


def marks_of(trace: Trace, place: Place) -> list[Mark]:
    """Return what a trace looks like; nothing for a kind that is not known."""
    draw = _DRAW.get(trace["type"])
    return draw(trace, place) if draw else []
