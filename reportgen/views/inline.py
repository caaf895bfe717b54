"""Pies, bars and spreads as inline SVG and HTML: they need no script, and print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from reportgen.results import Column, ColumnType, Exhibit
from reportgen.text import phase_words
from reportgen.views.charts import shares
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import unit_scale
from reportgen.views.charts.shares import SharePart
from reportgen.views.color_roles import PLAIN, Ink, hue_of, inks_of_columns
from reportgen.views.tables import UNIT_COLUMN
from reportgen.views.theme import N_SHADES, on
from reportgen.views.values import ABSENT, Shown, format_value, heading_of, shorten

RADIUS, _LABEL_AT, _LABELLED_FROM_PCT = 50.0, 32.0, 11.0
"""Radius of a pie, distance of a label from its middle (in units of the drawing), and the least
share that has room for a label."""
_LONGEST_NAME = 16
_TOP_PCT = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sector:
    """One part of a pie: its path, paint, and label with its place; no label without room."""

    path: str
    fill: str
    opacity: float
    label: str
    label_fill: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PieDrawing:
    """A pie, the rows of its legend, and the words for those who do not see it."""

    title: str
    caption: str
    alt: str
    sectors: tuple[Sector, ...]
    parts: tuple[SharePart, ...]
    has_amounts: bool = False


def pie_of(exhibit: Exhibit) -> PieDrawing:
    """Return the pie of a ``shares`` exhibit."""
    info = shares.info(exhibit)
    drawing = pie_of_parts(info.parts, exhibit.title)
    return replace(drawing, caption=exhibit.caption, has_amounts=info.has_amounts)


def pie_of_parts(parts: Sequence[SharePart], title: str) -> PieDrawing:
    """Return the pie of some parts, clockwise from twelve o'clock."""
    said = ", ".join(f"{part.name.text} {part.pct.text}" for part in parts)
    return PieDrawing(
        title=title,
        caption="",
        alt=f"Pie: {title}. {said}.",
        sectors=tuple(_sectors([part for part in parts if part.width_pct > 0])),
        parts=tuple(parts),
    )


def _sectors(parts: Sequence[SharePart]) -> Iterator[Sector]:
    whole, done_pct = sum(part.width_pct for part in parts) or 1.0, 0.0

    def at(pct: float, radius: float) -> tuple[float, float]:
        angle = math.tau * pct / whole
        return round(radius * math.sin(angle), 2), round(-radius * math.cos(angle), 2)

    for part in parts:
        end_pct, middle_pct = done_pct + part.width_pct, done_pct + part.width_pct / 2
        # In two halves: an arc whose ends are the same point would be none.
        arcs = "".join(
            "A{0:g} {0:g} 0 0 1 {1[0]} {1[1]}".format(RADIUS, at(pct, RADIUS))
            for pct in (middle_pct, end_pct)
        )
        start = at(done_pct, RADIUS)
        x, y = (0.0, 0.0) if len(parts) == 1 else at(middle_pct, _LABEL_AT)
        step = part.colour.index % N_SHADES
        yield Sector(
            path=f"M0 0L{start[0]} {start[1]}{arcs}z",
            fill=part.colour.colour,
            opacity=0.6 if part.is_hatched else 1.0,
            label=part.pct.text if part.width_pct >= _LABELLED_FROM_PCT else "",
            label_fill=on(part.colour.hue, step),
            x=x,
            y=y,
        )
        done_pct = end_pct


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A small bar from p5 to p95 with a line at p50, in percent of its width."""

    left_pct: float
    width_pct: float
    middle_pct: float
    ink: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRow:
    """A row of a table of percentiles: names, a small bar, numbers.

    ``span`` is the number of rows that its first name stands for, 0 where one above holds it.
    """

    span: int
    names: tuple[Shown, ...]
    unit: str
    spread: Spread | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadTable:
    """A short table of percentiles, with a small bar in each row where it has the ends for one."""

    title: str
    caption: str
    name_heads: tuple[str, ...]
    heads: tuple[str, ...]
    has_bars: bool
    rows: tuple[SpreadRow, ...]


def spreads_of(exhibit: Exhibit, *, most_rows: int) -> SpreadTable:
    """Return a ``table`` exhibit without names that all say the same and columns without a value.

    The column whose names stand together comes first: one name is written for all of its rows.
    Where each row has a unit, the last one stays: it says what the row measures.
    """
    columns = {column.name: column for column in exhibit.columns}
    row_units = columns.pop(UNIT_COLUMN, None)
    names = [item for item in columns.values() if item.type is ColumnType.TEXT]
    varied = [item for item in names if len(set(item.values)) > 1]
    varied.sort(key=lambda item: sum(1 for _ in groupby(item.values)))
    measured = [item for item in names[-1:] if row_units and item not in varied]
    names = [*measured, *varied]
    values = [
        item
        for item in columns.values()
        if item.type is not ColumnType.TEXT and any(value is not None for value in item.values)
    ]
    n_rows = min(exhibit.n_rows, most_rows)
    firsts = [str(value) for value in names[0].values] if names else [""] * n_rows
    rows = []
    for at in range(n_rows):
        unit = str(row_units.values[at]) if row_units else ""
        alike = [row for row in range(n_rows) if firsts[row] == firsts[at]]
        is_new = at == 0 or firsts[at - 1] != firsts[at]
        written, label = _written(values, at, unit, alike)
        rows.append(
            SpreadRow(
                span=sum(1 for _ in takewhile(firsts[at].__eq__, firsts[at:n_rows]))
                if is_new
                else 0,
                names=tuple(
                    shorten(phase_words(str(item.values[at])), most=_LONGEST_NAME) for item in names
                ),
                unit=label,
                spread=_spread(columns, at, unit, alike, hue_of(firsts[at]) or PLAIN),
                values=written,
            )
        )
    return SpreadTable(
        title=exhibit.title,
        caption=exhibit.caption,
        name_heads=tuple(heading_of(item.name) for item in names),
        heads=tuple(heading_of(item.name) for item in values),
        has_bars=any(row.spread for row in rows),
        rows=tuple(rows),
    )


def _written(
    columns: Sequence[Column], at: int, unit: str, alike: Sequence[int]
) -> tuple[tuple[str, ...], str]:
    """Return the numbers of a row, and the unit that they have in common."""
    cells = [numbers(column.values[at : at + 1])[0] for column in columns]
    if not unit:
        texts = [format_value(column.values[at], column.unit) for column in columns]
        return tuple(texts), ""
    every = [value for column in columns for row in alike for value in [column.values[row]]]
    scale = unit_scale(unit, numbers(every))
    digits = ".1f" if scale.is_percent else ",.3g"
    texts = [ABSENT if value is None else f"{value * scale.factor:{digits}}" for value in cells]
    return tuple(texts), scale.label


def _spread(
    columns: Mapping[str, Column], at: int, unit: str, alike: Sequence[int], hue: str
) -> Spread | None:
    if not {"min", "p50", "p95", "max"} <= columns.keys():
        return None
    tops = numbers([columns["max"].values[row] for row in alike])
    top = _TOP_PCT if unit == "%" else max((value or 0.0 for value in tops), default=0.0) or 1.0
    lows = columns["p5"] if "p5" in columns else columns["min"]
    low, middle, high, least = (
        numbers(column.values[at : at + 1])[0]
        for column in (lows, columns["p50"], columns["p95"], columns["min"])
    )
    ends = [
        round(min(max(100 * value / top, 0.0), 100.0), 1)
        for value in (least if low is None else low, middle, high)
        if value is not None
    ]
    if len(ends) < 3:
        return None
    left, at_middle, right = ends
    return Spread(
        left_pct=left,
        width_pct=round(right - left, 1),
        middle_pct=at_middle,
        ink=Ink(hue=hue, index=0).css_class,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BarList:
    """Named bars below each other: name, value, length in percent, paint."""

    title: str
    caption: str
    rows: tuple[tuple[Shown, str, float, str], ...]


def bars_of(exhibit: Exhibit, *, most_rows: int) -> BarList:
    """Return the first group of a ``bars`` exhibit; shares reach from 0 to 100 %."""
    names, group = exhibit.columns[0], exhibit.columns[1]
    values = [value or 0.0 for value in numbers(group.values[:most_rows])]
    top = _TOP_PCT if group.unit == "%" else max(map(abs, values), default=0.0) or 1.0
    (ink,) = inks_of_columns(exhibit, [group])
    return BarList(
        title=exhibit.title,
        caption=exhibit.caption,
        rows=tuple(
            (
                shorten(str(name)),
                format_value(value, group.unit),
                round(min(100 * abs(value) / top, 100.0), 2),
                ink.css_class,
            )
            for name, value in zip(names.values[:most_rows], values, strict=True)
        ),
    )
