"""Pies, histograms, bars and spreads as inline SVG and HTML: they need no script, and print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from reportgen.results import Column, ColumnType, Exhibit
from reportgen.text import phase_words
from reportgen.views.charts import histogram, shares
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import unit_scale
from reportgen.views.charts.shares import SharePart
from reportgen.views.color_roles import PLAIN, Ink, hue_of, inks_of_columns
from reportgen.views.tables import UNIT_COLUMN
from reportgen.views.theme import N_SHADES, on
from reportgen.views.values import ABSENT, Shown, format_value, heading_of, shorten

RADIUS, _LABEL_AT, _LABELLED_FROM_PCT = 50.0, 32.0, 11.0
"""Of a pie, in its own units: its radius, how far from the middle a label is, and the least share
that has room for one."""
_LONGEST_NAME = 16
_MARKED = {"p50_s": "p50", "p95_s": "p95", "p99_s": "p99"}
_TOP_PCT = 100.0
_N_TICKS = 5
_BIN_GAP = 0.94


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
class Mark:
    """A value on the axis of a histogram: how far from its left end, and its words."""

    name: str
    left_pct: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BinPath:
    """The bar of one bin, or the outline of a group: its path, and what it says when pointed at."""

    path: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramGroup:
    """One group of a histogram: a bar for each bin where it is alone, else one outline."""

    name: str
    colour: str
    paths: tuple[BinPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramDrawing:
    """Bars, 100 units wide and high, the values below their axis, and the highest count.

    Of several groups each is an area with an outline, so that all are seen where they overlap.
    """

    title: str
    caption: str
    alt: str
    groups: tuple[HistogramGroup, ...]
    ticks: tuple[str, ...]
    most: str
    marks: tuple[Mark, ...] = ()
    marks_of: str = ""
    remark: str = ""


def histogram_of(exhibit: Exhibit) -> HistogramDrawing:
    """Return the histogram of an exhibit with at least one bin."""
    found, unit = histogram.info(exhibit), exhibit.columns[0].unit
    start, end = (numbers(column.values) for column in exhibit.columns[:2])
    low, high = start[0] or 0.0, end[-1] or 0.0
    bins = [(left or 0.0, right or 0.0) for left, right in zip(start, end, strict=True)]
    edges = [(_pct_of(left, low, high), _pct_of(right, low, high)) for left, right in bins]
    words = [f"{format_value(left, unit)} – {format_value(right, unit)}" for left, right in bins]
    draw = partial(_bars, words=words) if len(found.groups) == 1 else _outline
    top = max((count or 0.0 for group in found.groups for count in group.counts), default=0.0)
    ticks = [low + (high - low) * at / (_N_TICKS - 1) for at in range(_N_TICKS)]
    said = tuple(format_value(value, unit) for value in ticks)
    return HistogramDrawing(
        title=exhibit.title,
        caption=exhibit.caption,
        alt=f"Histogram: {exhibit.title}, from {said[0]} to {said[-1]}.",
        groups=tuple(
            HistogramGroup(
                name=group.name,
                colour=group.ink.colour,
                paths=tuple(draw(edges, _heights(group.counts, top))),
            )
            for group in found.groups
        ),
        ticks=said,
        most=format_value(int(top), exhibit.columns[2].unit) if len(exhibit.columns) > 2 else "",
        remark=histogram.remark_of(found),
    )


def _heights(counts: Sequence[float | None], top: float) -> list[float]:
    return [100 * (count or 0.0) / (top or 1.0) for count in counts]


def _pct_of(value: float, low: float, high: float) -> float:
    return 100 * (value - low) / ((high - low) or 1.0)


def _bars(
    edges: Sequence[tuple[float, float]], heights: Sequence[float], *, words: Sequence[str]
) -> Iterator[BinPath]:
    for (left, right), height, said in zip(edges, heights, words, strict=True):
        if height:
            width = _BIN_GAP * (right - left)
            path = f"M{left:.2f} {100 - height:.2f}h{width:.2f}V100H{left:.2f}z"
            yield BinPath(path=path, says=said)


def _outline(edges: Sequence[tuple[float, float]], heights: Sequence[float]) -> Iterator[BinPath]:
    steps = "".join(
        f"H{left:.2f}V{100 - height:.2f}H{right:.2f}"
        for (left, right), height in zip(edges, heights, strict=True)
    )
    yield BinPath(path=f"M0 100{steps}V100z")


def with_marks(
    drawing: HistogramDrawing, exhibit: Exhibit, percentiles: Exhibit
) -> HistogramDrawing:
    """Add the percentiles in the first row of a table as lines to a histogram of its values."""
    low, high = (numbers(exhibit.columns[side].values) for side in (0, 1))
    first, width = low[0] or 0.0, (high[-1] or 0.0) - (low[0] or 0.0)
    columns = {column.name: column for column in percentiles.columns}
    known = [(said, columns[name]) for name, said in _MARKED.items() if name in columns]
    marks = [
        Mark(
            name=said,
            left_pct=round(min(max(100 * (value - first) / (width or 1.0), 0.0), 100.0), 2),
            text=format_value(value, column.unit),
        )
        for said, column in known
        for value in numbers(column.values[:1])
        if value is not None
    ]
    texts = [item for item in percentiles.columns if item.type is ColumnType.TEXT]
    row_names = " ".join(
        phase_words(str(item.values[0])) for item in texts if len(set(item.values)) > 1
    )
    return replace(drawing, marks=tuple(marks), marks_of=row_names)


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
    """Return a ``table`` exhibit; columns of names that all say the same are left out.

    Where each row has a unit, the first one stays: it says what the row measures.
    """
    columns = {column.name: column for column in exhibit.columns}
    row_units = columns.pop(UNIT_COLUMN, None)
    names = [item for item in columns.values() if item.type is ColumnType.TEXT]
    varied = [item for item in names if len(set(item.values)) > 1]
    names = varied or (names[:1] if row_units else [])
    values = [item for item in columns.values() if item.type is not ColumnType.TEXT]
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
                span=firsts[at:n_rows].count(firsts[at]) if is_new else 0,
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
