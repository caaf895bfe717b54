"""The numbers behind a chart as a short table: curves condensed, extremes kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reportgen.results import Exhibit, ExhibitKind
from reportgen.views.charts.arrays import numbers
from reportgen.views.shapes import BAND_PARTS, bands_of
from reportgen.views.tables import (
    FIRST_ROWS,
    MOST_ROWS,
    WHOLE_UP_TO_ROWS,
    Head,
    TableInfo,
    table_of,
)
from reportgen.views.values import (
    ABSENT,
    Shown,
    exactly,
    heading_of,
    say_instant,
    shorten,
    shown_value,
)

CONDENSED_ROWS = 24
_MOST_CONDENSED_LINES = 6


def data_of(exhibit: Exhibit, *, is_unix: bool, file: str) -> TableInfo:
    """Return the numbers behind a chart; curves are condensed to a few rows with extremes."""
    if exhibit.kind in {ExhibitKind.SERIES, ExhibitKind.BAND}:
        if exhibit.n_rows <= CONDENSED_ROWS:
            return table_of(exhibit, is_unix=is_unix, file=file)
        curves = curves_of(exhibit)
        if len(curves) > _MOST_CONDENSED_LINES:
            return _extremes(exhibit, curves, is_unix=is_unix, file=file)
        return _condensed(exhibit, curves, is_unix=is_unix, file=file)
    if exhibit.kind is ExhibitKind.HEATMAP:
        return _by_row(exhibit, file=file)
    return table_of(exhibit, is_unix=is_unix, file=file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One curve's lowest, mean and highest values, and its unit."""

    name: str
    unit: str
    low: list[float | None]
    mean: list[float | None]
    high: list[float | None]


def curves_of(exhibit: Exhibit) -> tuple[Curve, ...]:
    """Return the curves of a ``series`` or ``band`` exhibit."""
    columns = {column.name: column for column in exhibit.columns}
    if exhibit.kind is ExhibitKind.BAND:
        names = bands_of(exhibit)
        parts = [[numbers(columns[name + part].values) for part in BAND_PARTS] for name in names]
        units = [columns[f"{name}_mean"].unit for name in names]
    else:
        names = [column.name for column in exhibit.columns[1:]]
        parts = [[numbers(columns[name].values)] * 3 for name in names]
        units = [columns[name].unit for name in names]
    return tuple(
        Curve(name=heading_of(name), unit=unit, low=low, mean=mean, high=high)
        for name, unit, (low, mean, high) in zip(names, units, parts, strict=True)
    )


def _condensed(exhibit: Exhibit, curves: Sequence[Curve], *, is_unix: bool, file: str) -> TableInfo:
    instants = numbers(exhibit.columns[0].values)
    n_points = len(instants)
    edges = [n_points * at // CONDENSED_ROWS for at in range(CONDENSED_ROWS + 1)]
    rows = []
    for start, stop in pairwise(edges):
        cells = [_instant(instants[start], is_unix=is_unix)]
        for curve in curves:
            cells += [shown_value(value, curve.unit) for value in _summary(curve, start, stop)]
        rows.append(tuple(cells))
    heads = [_instant_head("from", is_unix=is_unix)]
    for curve in curves:
        heads += [_head(f"{curve.name} {part}", curve.unit) for part in ("min", "mean", "max")]
    return TableInfo(
        label=exhibit.title,
        heads=tuple(heads),
        rows=tuple(rows),
        n_rows=n_points,
        remark=_condensed_remark(exhibit, n_points, file),
    )


def _extremes(exhibit: Exhibit, curves: Sequence[Curve], *, is_unix: bool, file: str) -> TableInfo:
    instants = numbers(exhibit.columns[0].values)
    rows = []
    for curve in curves:
        low, mean, high = _summary(curve, 0, len(instants))
        at_low = _instant(
            instants[curve.low.index(low)] if low is not None else None, is_unix=is_unix
        )
        at_high = _instant(
            instants[curve.high.index(high)] if high is not None else None, is_unix=is_unix
        )
        values = [
            shown_value(value, curve.unit, row_unit=curve.unit) for value in (low, mean, high)
        ]
        rows.append((shorten(curve.name), values[0], at_low, *values[1:], at_high))
    heads = (
        Head(text="curve"),
        Head(text="lowest", is_number=True),
        _instant_head("when lowest", is_unix=is_unix),
        Head(text="mean", is_number=True),
        Head(text="highest", is_number=True),
        _instant_head("when highest", is_unix=is_unix),
    )
    return TableInfo(
        label=exhibit.title,
        heads=heads,
        rows=tuple(rows),
        n_rows=len(instants),
        remark=_condensed_remark(exhibit, len(instants), file),
    )


def _by_row(exhibit: Exhibit, *, file: str) -> TableInfo:
    row_column, _, value_column = exhibit.columns[:3]
    groups: dict[str, list[float]] = {}
    for name, value in zip(row_column.values, numbers(value_column.values), strict=True):
        group = groups.setdefault(str(name), [])
        if value is not None:
            group.append(value)
    rows = []
    for name, values in groups.items():
        mean = sum(values) / len(values) if values else None
        numbers_shown = (min(values, default=None), mean, max(values, default=None))
        rows.append(
            (shorten(name), *(shown_value(item, value_column.unit) for item in numbers_shown))
        )
    first = len(rows) if len(rows) <= WHOLE_UP_TO_ROWS else FIRST_ROWS
    return TableInfo(
        label=exhibit.title,
        heads=(
            Head(text=heading_of(row_column.name)),
            *(_head(part, value_column.unit) for part in ("min", "mean", "max")),
        ),
        rows=tuple(rows[:first]),
        folded=tuple(rows[first:MOST_ROWS]),
        n_rows=exhibit.n_rows,
        remark=_condensed_remark(exhibit, exhibit.n_rows, file, what="cells"),
    )


def _condensed_remark(exhibit: Exhibit, count: int, file: str, *, what: str = "points") -> str:
    return f"Condensed from {count:,} {what}; all of them are in {file}, exhibit “{exhibit.id}”."


def _summary(curve: Curve, start: int, stop: int) -> tuple[float | None, ...]:
    def present(values: Sequence[float | None]) -> list[float]:
        return [value for value in values[start:stop] if value is not None]

    mean = present(curve.mean)
    return (
        min(present(curve.low), default=None),
        sum(mean) / len(mean) if mean else None,
        max(present(curve.high), default=None),
    )


def _instant(time_s: float | None, *, is_unix: bool) -> Shown:
    if time_s is None:
        return Shown(text=ABSENT)
    return Shown(text=say_instant(time_s, is_unix=is_unix), exact=exactly(time_s))


def _instant_head(text: str, *, is_unix: bool) -> Head:
    name = f"{text.replace(' ', '_')}_s"
    return Head(text=text, note="UTC" if is_unix else "s", name=name, is_instant=is_unix)


def _head(text: str, unit: str) -> Head:
    return Head(text=text, name=f"{text} ({unit})" if unit else text, is_number=True)
