"""Which functions ran in a range: sums over the buckets of a heatmap of seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reportgen.report import Report
from reportgen.results import Track
from reportgen.views.charts.arrays import matrix32, numbers
from reportgen.views.timeline.tracks import tracks_of
from reportgen.views.values import Shown, format_value, shorten

MOST_LISTED = 10
_MOST_BUCKETS = 5_000
"""Cells that are no even grid, from elsewhere, would make a matrix without end."""
_COLUMNS = {"row", "time_s", "function_s", "width_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTable:
    """Seconds of each function in each stretch of time: ``cells`` is (n, m) for n ``names``.

    The first stretch begins at ``first_s``; the JSON ``file`` holds all rows.
    """

    names: tuple[str, ...]
    first_s: float
    width_s: float
    cells: list[list[float]]
    file: str
    exhibit_id: str

    @property
    def caption(self) -> str:
        """Return the caption of the table: its counted time."""
        return (
            "Time in each function in the visible range, added up over the training processes. A "
            "function inside another one counts in both. The time resolution is "
            f"{format_value(self.width_s, 's')}."
        )

    @property
    def listed(self) -> list[tuple[Shown, str, float]]:
        """Return name, time and bar of the functions with the most time in the whole job."""
        totals = [sum(row) for row in self.cells]
        top = max(totals, default=0.0) or 1.0
        order = sorted(range(len(totals)), key=lambda at: -totals[at])[:MOST_LISTED]
        return [
            (
                shorten(self.names[at]),
                format_value(totals[at], "s"),
                round(100 * totals[at] / top, 2),
            )
            for at in order
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers that the page's script sums up."""
        return {
            "names": [shorten(name).text for name in self.names],
            "first": self.first_s,
            "width": self.width_s,
            "n": len(self.cells[0]),
            "most": MOST_LISTED,
            "cells": matrix32(self.cells)["bdata"],
        }


def functions_of(report: Report) -> FunctionTable | None:
    """Return the functions over time, ``None`` where none were recorded."""
    rule_id, found, _ = next(iter(tracks_of(report, Track.FUNCTIONS)), ("", None, None))
    if found is None or not {column.name for column in found.columns} >= _COLUMNS:
        return None
    columns = {column.name: column.values for column in found.columns}
    rows = [
        (str(name), time_s, function_s)
        for name, time_s, function_s in zip(
            columns["row"], numbers(columns["time_s"]), numbers(columns["function_s"]), strict=True
        )
        if time_s is not None and function_s is not None
    ]
    width_s = next((value for value in numbers(columns["width_s"]) if value), 0.0)
    if not rows or width_s <= 0:
        return None
    first_s = min(time_s for _, time_s, _ in rows)
    last_s = max(time_s for _, time_s, _ in rows)
    if (last_s - first_s) / width_s > _MOST_BUCKETS:
        return None
    places = {name: at for at, name in enumerate(dict.fromkeys(name for name, _, _ in rows))}
    cells = [[0.0] * (round((last_s - first_s) / width_s) + 1) for _ in places]
    for name, time_s, function_s in rows:
        cells[places[name]][round((time_s - first_s) / width_s)] += function_s
    return FunctionTable(
        names=tuple(places),
        first_s=first_s,
        width_s=width_s,
        cells=cells,
        file=f"{rule_id}.json",
        exhibit_id=found.id,
    )
