"""The steps one by one: flat bars that wait in the time axis until a zoom asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.errors import FormatError
from reportgen.report import Report
from reportgen.results import PackedTable
from reportgen.results.packed_columns import unpack
from reportgen.units import NS_PER_S
from reportgen.views.charts.arrays import float32
from reportgen.views.charts.layout import ChartContext, axis_name, time_array, times
from reportgen.views.timeline.tracks import TimelinePanel
from reportgen.views.values import plot_label

MOST_STEPS = 10_000
"""More steps, of three points each, would make the page larger than its charts together."""
_GAP_RATIO = 0.1
"""A time between two steps of more than a tenth of the first one is seen as a gap."""
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
        time_x, lengths, numbers = _bars(columns, panel.scale.factor / NS_PER_S, context)
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": plot_label(band.name),
            # ``refined`` is the mark for the page's script (``range.js``).
            "meta": {"role": band.ink.role, "refined": True},
            "visible": False,
            "showlegend": False,
            "x": time_array(time_x, context),
            "y": float32(lengths),
            "text": numbers,
            "hovertemplate": panel.scale.hover,
            "line": {"color": band.ink.colour, "width": 1.5, "shape": "hv"},
        }


def _bars(
    columns: Mapping[str, NDArray[np.int64]], factor: float, context: ChartContext
) -> tuple[list[float | None], list[float | None], list[str]]:
    """Return x, y and the step of the corners of a flat bar for each step; a gap ends a line."""
    start_ns, length_ns = columns["start_ns"], columns["duration_ns"]
    end_ns = start_ns + length_ns
    numbers = columns["step"].tolist() if "step" in columns else [""] * start_ns.size
    has_gap = np.append(start_ns[1:] - end_ns[:-1] > _GAP_RATIO * length_ns[:-1], True)
    xs, ys, steps = list[float](), list[float | None](), list[str]()
    places = (values.tolist() for values in (start_ns, end_ns, length_ns, has_gap))
    for start, end, length, is_last, number in zip(*places, numbers, strict=True):
        xs += [start, end, end] if is_last else [start]
        ys += [length * factor, length * factor, None] if is_last else [length * factor]
        steps += [str(number)] * (3 if is_last else 1)
    return times([x / NS_PER_S for x in xs], context), ys, steps


def _are_steps(table: PackedTable) -> bool:
    names = {column.name for column in table.columns}
    return table.id == _STEPS and names >= {"start_ns", "duration_ns"}
