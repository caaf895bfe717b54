"""``bars``: one bar per name and group, drawn in the table itself; no script needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.results import ColumnType, Exhibit, ExhibitKind
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.shares import FULL_NAME
from reportgen.views.color_roles import PLAIN, Ink, hue_of, inks_of, inks_of_columns
from reportgen.views.tables import MOST_CELLS, headings_of
from reportgen.views.values import (
    Shown,
    exact_name,
    format_value,
    heading_of,
    named,
    shorten,
    shown_value,
)

_LONE_BARS_PCT, _BARS_PCT = 50, 64
_WHOLE_UP_TO_ROWS, _FIRST_ROWS = 20, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value and how long its bar is, in percent of the longest; no ink means no bar."""

    value: Shown
    width_pct: float
    ink: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHead:
    """A group's heading; ``name`` is the column's name as data."""

    text: str
    name: str
    has_bars: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One name: a value per group, then the further texts; ``swatch`` is its part of a pie."""

    name: Shown
    bars: tuple[Bar, ...]
    texts: tuple[Shown, ...]
    swatch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsInfo:
    """Content of a bar chart: bars for the first group and all others of its unit."""

    label: str
    name_head: str
    groups: tuple[GroupHead, ...]
    text_heads: tuple[str, ...]
    rows: tuple[BarRow, ...]
    folded: tuple[BarRow, ...]
    remark: str

    @property
    def bar_cell_pct(self) -> int:
        """Return how much of the table's width each column of bars takes."""
        n_drawn = max(1, sum(group.has_bars for group in self.groups))
        return (_LONE_BARS_PCT if n_drawn == 1 else _BARS_PCT) // n_drawn


def as_ranking(exhibit: Exhibit, *, row_noun: str) -> Exhibit:
    """Return shares of many long names as bars below each other, painted by what each row is."""
    columns = {column.name: column for column in exhibit.columns}
    name, pct = replace(columns.pop("part"), name=row_noun), columns.pop("pct")
    rest = (
        column
        for column in columns.values()
        if column.type is not ColumnType.TEXT or column.name == FULL_NAME
    )
    return replace(exhibit, kind=ExhibitKind.BARS, columns=(name, pct, *rest))


def info(exhibit: Exhibit, *, file: str) -> BarsInfo:
    """Return the rows of a ``bars`` exhibit, in its order."""
    name_column, *others = [item for item in exhibit.columns if item.name != FULL_NAME]
    full_names = next((item.values for item in exhibit.columns if item.name == FULL_NAME), None)
    groups = [column for column in others if column.type is not ColumnType.TEXT]
    texts = [column for column in others if column.type is ColumnType.TEXT]
    values = [numbers(column.values) for column in groups]
    has_bars = [column.unit == groups[0].unit for column in groups]
    drawn = [values[at] for at, has_bar in enumerate(has_bars) if has_bar]
    longest = max((abs(item) for items in drawn for item in items if item), default=1.0)
    group_inks = inks_of_columns(exhibit, groups)
    is_lone = sum(has_bars) == 1 and group_inks[0].hue == PLAIN
    names = [str(name) for name in name_column.values]
    row_inks = _row_inks(exhibit, names) if is_lone or exhibit.row_roles else ()
    n_shown = min(exhibit.n_rows, MOST_CELLS // max(len(exhibit.columns), 1))
    rows = tuple(
        BarRow(
            name=named(name_column.values[at], full_names[at] if full_names else None),
            bars=tuple(
                Bar(
                    value=shown_value(column.values[at], column.unit, name=column.name),
                    width_pct=round(100 * abs(items[at] or 0.0) / longest, 2),
                    ink=(row_inks[at] if row_inks else ink.css_class) if is_drawn else "",
                )
                for column, items, ink, is_drawn in zip(
                    groups, values, group_inks, has_bars, strict=True
                )
            ),
            texts=tuple(shorten(format_value(column.values[at], "")) for column in texts),
        )
        for at in range(n_shown)
    )
    hidden = exhibit.n_rows - n_shown
    first = n_shown if n_shown <= _WHOLE_UP_TO_ROWS else _FIRST_ROWS
    return BarsInfo(
        label=exhibit.title,
        name_head=heading_of(name_column.name),
        groups=tuple(
            GroupHead(text=text, name=exact_name(column), has_bars=is_drawn)
            for text, column, is_drawn in zip(headings_of(groups), groups, has_bars, strict=True)
        ),
        text_heads=tuple(heading_of(column.name) for column in texts),
        rows=rows[:first],
        folded=rows[first:],
        remark=f"{hidden:,} more rows are in {file}, under “{exhibit.id}”." if hidden else "",
    )


def with_swatches(info: BarsInfo, swatches: Sequence[str]) -> BarsInfo:
    """Return the rows with a swatch each, as the legend of a pie."""
    rows = [*info.rows, *info.folded]
    marked = tuple(replace(row, swatch=swatch) for row, swatch in zip(rows, swatches, strict=False))
    n_first = len(info.rows)
    return replace(info, rows=marked[:n_first], folded=marked[n_first:])


def _row_inks(exhibit: Exhibit, names: Sequence[str]) -> list[str]:
    """Paint rows whose groups say nothing: by the role of each row, else by what it is called."""
    if exhibit.row_roles:
        hues = [ink.hue for ink in inks_of(exhibit, names, exhibit.row_roles)]
    else:
        hues = [hue_of(name) or PLAIN for name in names]
    return [Ink(hue=hue, index=0).css_class for hue in hues]
