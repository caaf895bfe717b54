"""Exhibits as tables: whole while short, folded while long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.results import Column, ColumnType, Exhibit, Place, Scalar, words_for
from reportgen.views.charts.arrays import numbers
from reportgen.views.values import (
    ABSENT,
    Shown,
    exact_name,
    exactly,
    format_column,
    format_instants,
    heading_of,
    instant_scale,
    is_instant,
    is_moment,
    named,
    shown_value,
)

WHOLE_UP_TO_ROWS = 15
FIRST_ROWS = 10
MOST_ROWS = 2_000
MOST_CELLS = 2_400
UNIT_COLUMN = "unit"
SHORT_NAME = "short_name"
_PARTS = frozenset({"part", "cause"})
"""Columns whose names may have special words."""
UNBROKEN_UP_TO = 32
_UNIT_WORDS = dict.fromkeys(("s", "ms", "us", "ns"), "time") | {"": "count"}
_DAY_LENGTH = len("2026-07-03")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A column's heading: ``name`` as data, ``text`` as printed, and under it a ``note``.

    The note is the zone, and the day if all instants lie on one; ``is_number`` columns are set
    flush right.
    """

    text: str
    note: str = ""
    name: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """A table ready to be printed: ``n_rows`` in all, some shown at once, some folded.

    ``remark`` says what was condensed or left out, and where all of it is.
    """

    label: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Shown, ...], ...]
    folded: tuple[tuple[Shown, ...], ...] = ()
    n_rows: int
    remark: str = ""

    @property
    def column_classes(self) -> str:
        """Return how columns are set: ``n2`` numbers flush right, ``s1`` short words unbroken."""
        return " ".join(
            f"n{at}" if head.is_number else f"s{at}"
            for at, head in enumerate(self.heads, 1)
            if head.is_number or all(len(row[at - 1].text) <= UNBROKEN_UP_TO for row in self.rows)
        )


def table_of(
    exhibit: Exhibit, *, is_unix: bool, file: str, most_cells: int = MOST_CELLS
) -> TableInfo:
    """Return a ``table`` exhibit: every column that holds something, long ones folded.

    A text column ``unit`` gives its row's numbers their unit and is not shown itself. A column
    ``short_name`` is shown in place of the first column, whose names then appear on hover.
    ``file`` is the JSON that holds all rows.
    """
    n_rows = exhibit.n_rows
    shown = min(n_rows, MOST_ROWS, max(FIRST_ROWS, most_cells // max(len(exhibit.columns), 1)))
    row_units = _row_units(exhibit)
    columns = [
        worded(column, exhibit.place)
        for column in exhibit.columns
        if (row_units is None or column.name != UNIT_COLUMN) and _holds_something(column)
    ]
    short_names = next((column.values for column in columns if column.name == SHORT_NAME), ())
    columns = [column for column in columns if column.name != SHORT_NAME]
    day = _common_day(columns) if is_unix else None
    cells = [_cells(column, row_units, day, stop=shown, is_unix=is_unix) for column in columns]
    if short_names:
        pairs = zip(short_names[:shown], columns[0].values, strict=False)
        cells[0] = [named(short, full) for short, full in pairs]
    rows = tuple(zip(*cells, strict=True))
    first = shown if shown <= WHOLE_UP_TO_ROWS else FIRST_ROWS
    hidden = f"{n_rows - shown:,} more rows are in {file}, under “{exhibit.id}”."
    return TableInfo(
        label=exhibit.title,
        heads=tuple(
            _head(text, column, day, is_unix=is_unix)
            for text, column in zip(headings_of(columns), columns, strict=True)
        ),
        rows=rows[:first],
        folded=rows[first:],
        n_rows=n_rows,
        remark=hidden if shown < n_rows else "",
    )


def headings_of(columns: Sequence[Column]) -> list[str]:
    """Return a heading for each column; those that differ by unit alone say it: ``self time``."""
    bare = [heading_of(column.name) for column in columns]
    return [
        f"{text} {_UNIT_WORDS.get(column.unit, column.unit)}".strip()
        if bare.count(text) > 1 and column.type is not ColumnType.TEXT
        else text
        for text, column in zip(bare, columns, strict=True)
    ]


def _head(text: str, column: Column, day: str | None, *, is_unix: bool) -> Head:
    name = exact_name(column)
    if is_unix and is_instant(column):
        return Head(text=text, note=f"{day} UTC" if day else "UTC", name=name)
    is_number = column.type in {ColumnType.INT, ColumnType.FLOAT}
    return Head(text=text, name=name, is_number=is_number)


def _common_day(columns: Sequence[Column]) -> str | None:
    days = {
        text[:_DAY_LENGTH]
        for column in columns
        if is_instant(column)
        for text in _instants(column, len(column.values))
        if text != ABSENT
    }
    return days.pop() if len(days) == 1 else None


def _instants(column: Column, stop: int) -> list[str]:
    """Write the first instants of a column, as fine as all of them need."""
    scale = instant_scale(column)
    times_s = [value * scale if isinstance(value, int | float) else None for value in column.values]
    return format_instants(times_s, is_fine=scale != 1)[:stop]


def worded(column: Column, place: Place) -> Column:
    """Return a column of parts in the words declared for them; causes without signs of codes."""
    if column.name not in _PARTS or not (place.words or column.name == "cause"):
        return column
    names = [str(value) for value in column.values]
    if place.words:
        called = words_for(place, names).names
        return replace(column, values=tuple(called.get(name, name) for name in names))
    return replace(
        column, values=tuple(name.replace("_", " ").replace(":", ": ") for name in names)
    )


def _holds_something(column: Column) -> bool:
    """Return whether a column has a value, or no row at all: dashes or blanks say nothing."""
    return not column.values or any(value not in (None, "") for value in column.values)


def _row_units(exhibit: Exhibit) -> tuple[str, ...] | None:
    found = next((column for column in exhibit.columns if column.name == UNIT_COLUMN), None)
    if found is None or found.type is not ColumnType.TEXT:
        return None
    return tuple(str(value or "") for value in found.values)


def _cells(
    column: Column, row_units: tuple[str, ...] | None, day: str | None, *, stop: int, is_unix: bool
) -> list[Shown]:
    values: Sequence[Scalar] = column.values[:stop]
    if is_unix and is_instant(column):
        skip = _DAY_LENGTH + 1 if day else 0
        return [
            Shown(text=text[skip:], exact=exactly(value))
            if isinstance(value, int | float)
            else Shown(text=ABSENT)
            for text, value in zip(_instants(column, stop), values, strict=True)
        ]
    if is_moment(column):
        return [_moment(value, instant_scale(column)) for value in values]
    if column.type is ColumnType.FLOAT and not column.unit and row_units is None:
        texts = zip(format_column(numbers(values)), values, strict=True)
        return [Shown(text=text, exact=exactly(value)) for text, value in texts]
    if row_units is not None and not column.unit:
        pairs = zip(values, row_units[:stop], strict=True)
        return [shown_value(value, unit, row_unit=unit, name=column.name) for value, unit in pairs]
    return [shown_value(value, column.unit, name=column.name) for value in values]


def _moment(value: Scalar, scale: float) -> Shown:
    """Write a time of a clock that knows no date: seconds, those in µs to the microsecond."""
    if not isinstance(value, int | float):
        return Shown(text=ABSENT)
    digits = 3 if scale == 1 else 6
    return Shown(text=f"{value * scale:,.{digits}f} s", exact=exactly(value))
