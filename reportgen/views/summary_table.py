"""The numbers behind a chart as a short table: curves condensed, extremes kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reportgen.results import Exhibit, ExhibitKind, Role
from reportgen.views import tables
from reportgen.views.charts.arrays import numbers
from reportgen.views.validation import BAND_PARTS, bands_of
from reportgen.views.values import (
    Shown,
    exactly,
    format_edges,
    format_instants,
    heading_of,
    shorten,
    shown_value,
)

CONDENSED_ROWS = 24
_MOST_CONDENSED_LINES = 6
_CURVES = frozenset({ExhibitKind.SERIES, ExhibitKind.BAND})


def data_of(
    exhibit: Exhibit, *, is_unix: bool, file: str, most_cells: int = tables.MOST_CELLS
) -> tables.TableInfo:
    """Return the numbers behind a chart; curves are condensed to a few rows with extremes."""
    what = "points"
    if exhibit.kind is ExhibitKind.HISTOGRAM:
        filled = _of_filled_bins(exhibit)
        table = tables.table_of(filled, is_unix=is_unix, file=file, most_cells=most_cells)
        table = _with_edges(table, filled)
        return replace(table, remark=f"Empty bins are left out. {table.remark}".strip())
    if exhibit.kind is ExhibitKind.HEATMAP:
        table, what = _by_row(exhibit), "cells"
    elif exhibit.kind in _CURVES and exhibit.n_rows > CONDENSED_ROWS:
        curves = curves_of(exhibit)
        condense = _extremes if len(curves) > _MOST_CONDENSED_LINES else _condensed
        table = condense(exhibit, curves, is_unix=is_unix)
    else:
        return tables.table_of(exhibit, is_unix=is_unix, file=file, most_cells=most_cells)
    rest = f"{what}. {file} has all of them, under “{exhibit.id}”."
    return replace(table, remark=f"Reduced from {exhibit.n_rows:,} {rest}")


def _of_filled_bins(exhibit: Exhibit) -> Exhibit:
    counts = zip(*(column.values for column in exhibit.columns[2:]), strict=True)
    rows = [row for row, values in enumerate(counts) if any(values)]
    columns = (
        replace(column, values=tuple(column.values[row] for row in rows))
        for column in exhibit.columns
    )
    return replace(exhibit, columns=tuple(columns))


def _with_edges(table: tables.TableInfo, filled: Exhibit) -> tables.TableInfo:
    """Return a table of bins whose first two cells, the edges, look as different as they are."""
    sides = [numbers(column.values) for column in filled.columns[:2]]
    texts = format_edges([value for side in sides for value in side], filled.columns[0].unit)
    edges = list(zip(texts[: filled.n_rows], texts[filled.n_rows :], strict=True))
    cells = [*table.rows, *table.folded]
    rows = tuple(
        (replace(row[0], text=start), replace(row[1], text=end), *row[2:])
        for row, (start, end) in zip(cells, edges, strict=False)
    )
    return replace(table, rows=rows[: len(table.rows)], folded=rows[len(table.rows) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One curve's lowest, mean and highest values, its unit, and its subject."""

    name: str
    unit: str
    role: Role | None
    low: list[float | None]
    mean: list[float | None]
    high: list[float | None]


def curves_of(exhibit: Exhibit) -> tuple[Curve, ...]:
    """Return the curves of a ``series`` or ``band`` exhibit."""
    columns = {column.name: column for column in exhibit.columns}
    is_band = exhibit.kind is ExhibitKind.BAND
    ends = BAND_PARTS if is_band else ("", "", "")
    found = []
    for name in bands_of(exhibit) if is_band else list(columns)[1:]:
        low, mean, high = (numbers(columns[name + end].values) for end in ends)
        middle = columns[name + ends[1]]
        heading, unit = heading_of(name), middle.unit
        found.append(
            Curve(name=heading, unit=unit, role=middle.role, low=low, mean=mean, high=high)
        )
    return tuple(found)


def _condensed(exhibit: Exhibit, curves: Sequence[Curve], *, is_unix: bool) -> tables.TableInfo:
    instants = numbers(exhibit.columns[0].values)
    edges = [len(instants) * at // CONDENSED_ROWS for at in range(CONDENSED_ROWS + 1)]
    rows = []
    begins = _instants([instants[start] for start in edges[:-1]], is_unix=is_unix)
    for begin, (start, stop) in zip(begins, pairwise(edges), strict=True):
        cells = [begin]
        for curve in curves:
            cells += [shown_value(value, curve.unit) for value in _summary(curve, start, stop)]
        rows.append(tuple(cells))
    heads = [_instant_head("from", is_unix=is_unix)]
    for curve in curves:
        heads += [_head(f"{curve.name} {part}", curve.unit) for part in ("min", "mean", "max")]
    return tables.TableInfo(
        label=exhibit.title, heads=tuple(heads), rows=tuple(rows), n_rows=exhibit.n_rows
    )


def _extremes(exhibit: Exhibit, curves: Sequence[Curve], *, is_unix: bool) -> tables.TableInfo:
    instants = numbers(exhibit.columns[0].values)

    def when(values: Sequence[float | None], value: float | None) -> float | None:
        return None if value is None else instants[values.index(value)]

    reaches = [_summary(curve, 0, len(instants)) for curve in curves]
    ends = list(zip(curves, reaches, strict=True))
    lowest = _instants([when(curve.low, low) for curve, (low, *_) in ends], is_unix=is_unix)
    highest = _instants([when(curve.high, high) for curve, (*_, high) in ends], is_unix=is_unix)
    rows = []
    for (curve, (low, _, high)), at_low, at_high in zip(ends, lowest, highest, strict=True):
        said = [shown_value(value, curve.unit, row_unit=curve.unit) for value in (low, high)]
        rows.append((shorten(curve.name), said[0], at_low, said[1], at_high))
    heads = (
        tables.Head(text="curve"),
        tables.Head(text="lowest", is_number=True),
        _instant_head("when lowest", is_unix=is_unix),
        tables.Head(text="highest", is_number=True),
        _instant_head("when highest", is_unix=is_unix),
    )
    return tables.TableInfo(
        label=exhibit.title, heads=heads, rows=tuple(rows), n_rows=exhibit.n_rows
    )


def _by_row(exhibit: Exhibit) -> tables.TableInfo:
    row_column, _, value_column = exhibit.columns[:3]
    groups: dict[str, list[float | None]] = {}
    for name, value in zip(row_column.values, numbers(value_column.values), strict=True):
        groups.setdefault(str(name), []).append(value)
    rows = [
        (shorten(name), *(shown_value(item, value_column.unit) for item in _reach(*[cells] * 3)))
        for name, cells in groups.items()
    ]
    first = len(rows) if len(rows) <= tables.WHOLE_UP_TO_ROWS else tables.FIRST_ROWS
    parts = (_head(part, value_column.unit) for part in ("min", "mean", "max"))
    return tables.TableInfo(
        label=exhibit.title,
        heads=(tables.Head(text=heading_of(row_column.name)), *parts),
        rows=tuple(rows[:first]),
        folded=tuple(rows[first : tables.MOST_CELLS // 4]),
        n_rows=exhibit.n_rows,
    )


def _summary(curve: Curve, start: int, stop: int) -> tuple[float | None, ...]:
    return _reach(*(part[start:stop] for part in (curve.low, curve.mean, curve.high)))


def _reach(*parts: Sequence[float | None]) -> tuple[float | None, ...]:
    low, mean, high = ([value for value in part if value is not None] for part in parts)
    middle = sum(mean) / len(mean) if mean else None
    return min(low, default=None), middle, max(high, default=None)


def _instants(times_s: Sequence[float | None], *, is_unix: bool) -> list[Shown]:
    texts = format_instants(times_s, is_unix=is_unix)
    return [
        Shown(text=text, exact="" if time_s is None else exactly(time_s))
        for text, time_s in zip(texts, times_s, strict=True)
    ]


def _instant_head(text: str, *, is_unix: bool) -> tables.Head:
    name = f"{text.replace(' ', '_')}_s"
    return tables.Head(text=text, note="UTC" if is_unix else "s", name=name)


def _head(text: str, unit: str) -> tables.Head:
    return tables.Head(text=text, name=f"{text} ({unit})" if unit else text, is_number=True)
