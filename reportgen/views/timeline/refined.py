"""The steps one by one: curves that wait in the time axis until a zoom asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reportgen.errors import FormatError
from reportgen.report import Report
from reportgen.results import PackedTable
from reportgen.results.packed_columns import unpack
from reportgen.units import NS_PER_S
from reportgen.views.charts.arrays import float32
from reportgen.views.charts.layout import ChartContext, axis_name, time_array, times
from reportgen.views.timeline.tracks import TimelinePanel
from reportgen.views.values import plot_label

MOST_STEPS = 20_000
"""More steps would make the page larger than its charts together."""
_STEPS = "steps"


def refined_traces(
    panels: Sequence[TimelinePanel], report: Report, context: ChartContext, *, n_lanes: int
) -> list[dict[str, Any]]:
    """Return a hidden curve of all steps for each worker and phase of a panel that thins them."""
    made = []
    for at, panel in enumerate(panels, start=1 if n_lanes else 0):
        tables = [item for item in report.results[panel.rule_id].data if _are_steps(item)]
        is_thinned = sum(item.n_rows for item in tables) > panel.exhibit.n_rows
        if is_thinned and sum(item.n_rows for item in tables) <= MOST_STEPS:
            made += [{**trace, "yaxis": axis_name(at)} for trace in _curves(tables, panel, context)]
    return made


def _curves(
    tables: Sequence[PackedTable], panel: TimelinePanel, context: ChartContext
) -> Iterator[dict[str, Any]]:
    for table in tables:
        try:
            columns = unpack(table)
        except FormatError:
            continue
        # A table is the curve of its worker or phase, which is in the name of the band.
        words = " ".join(table.of.values())
        bands = panel.found.bands
        band = next((band for band in bands if band.name in words), bands[0])
        time_x = times([float(start) / NS_PER_S for start in columns["start_ns"]], context)
        factor = panel.scale.factor / NS_PER_S
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": plot_label(band.name),
            # ``refined`` is the mark for the page's script (``range.js``).
            "meta": {"role": band.ink.role, "refined": True},
            "visible": False,
            "showlegend": False,
            "x": time_array(time_x, context),
            "y": float32(float(length) * factor for length in columns["duration_ns"]),
            "hovertemplate": panel.scale.hover,
            "line": {"color": band.ink.colour, "dash": band.ink.dash, "width": 1.5},
        }


def _are_steps(table: PackedTable) -> bool:
    names = {column.name for column in table.columns}
    return table.id == _STEPS and names >= {"start_ns", "duration_ns"}
