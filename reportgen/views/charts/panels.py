"""Panels: one y axis per unit, stacked over one time axis, so that all zoom together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportgen.views.charts.layout import UnitScale, value_axis
from reportgen.views.values import plot_label

_GAP = 0.06


def axis_name(index: int) -> str:
    """Return plotly's short name of the y axis of a panel, counted from 0: ``y``, ``y2``."""
    return f"y{index + 1}" if index else "y"


def panel_axes(lines: Sequence[tuple[str, int]], scales: Sequence[UnitScale]) -> dict[str, Any]:
    """Return one y axis per panel, from top to bottom.

    Args:
        lines: (name, panel) of each line; a panel of one line is named after it where there are
            several panels to tell apart.
        scales: one per panel, at least one.
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
