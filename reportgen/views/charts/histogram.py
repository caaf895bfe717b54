"""``histogram``: how often values fell into each bin, as inline SVG; groups lie over each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from reportgen.results import ColumnType, Exhibit
from reportgen.text import phase_words
from reportgen.views.charts.arrays import numbers
from reportgen.views.color_roles import inks_of_columns
from reportgen.views.values import format_edges, format_value, heading_of

MOST_GROUPS = 16
_MARKED = {"p50_s": "p50", "p95_s": "p95", "p99_s": "p99"}
_N_TICKS = 5
_BIN_GAP = 0.94


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

    Several groups are areas with outlines, so that all are seen where they overlap.
    ``remark`` says how many groups are in the table only.
    """

    title: str
    caption: str
    alt: str
    groups: tuple[HistogramGroup, ...]
    ticks: tuple[str, ...]
    most: str
    remark: str
    marks: tuple[Mark, ...] = ()
    marks_of: str = ""


def histogram_of(exhibit: Exhibit) -> HistogramDrawing:
    """Return the drawing of a ``histogram`` exhibit with at least one bin."""
    unit, columns = exhibit.columns[0].unit, exhibit.columns[2 : 2 + MOST_GROUPS]
    start, end = (numbers(column.values) for column in exhibit.columns[:2])
    low, high = start[0] or 0.0, end[-1] or 0.0
    bins = [(left or 0.0, right or 0.0) for left, right in zip(start, end, strict=True)]
    edges = [(_pct_of(left, low, high), _pct_of(right, low, high)) for left, right in bins]
    said_edges = format_edges([low, *(right for _, right in bins)], unit)
    words = [f"{left} – {right}" for left, right in pairwise(said_edges)]
    draw = partial(_bars, words=words) if len(columns) == 1 else _outline
    counts = [numbers(column.values) for column in columns]
    top = max((count or 0.0 for group in counts for count in group), default=0.0)
    ticks = [low + (high - low) * at / (_N_TICKS - 1) for at in range(_N_TICKS)]
    said = tuple(format_edges(ticks, unit))
    n_left_out = len(exhibit.columns) - 2 - len(columns)
    rest = f"Only {len(columns)} groups are drawn; {n_left_out:,} more are in the table."
    return HistogramDrawing(
        title=exhibit.title,
        caption=exhibit.caption,
        alt=f"Histogram: {exhibit.title}, from {said[0]} to {said[-1]}.",
        groups=tuple(
            HistogramGroup(
                name=phase_words(heading_of(column.name)),
                colour=ink.colour,
                paths=tuple(draw(edges, [100 * (count or 0.0) / (top or 1.0) for count in group])),
            )
            for column, group, ink in zip(
                columns, counts, inks_of_columns(exhibit, columns), strict=True
            )
        ),
        ticks=said,
        most=format_value(int(top), columns[0].unit) if columns else "",
        remark=rest if n_left_out > 0 else "",
    )


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
    first, last = low[0] or 0.0, high[-1] or 0.0
    columns = {column.name: column for column in percentiles.columns}
    known = [(said, columns[name]) for name, said in _MARKED.items() if name in columns]
    marks = [
        Mark(
            name=said,
            left_pct=round(min(max(_pct_of(value, first, last), 0.0), 100.0), 2),
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
