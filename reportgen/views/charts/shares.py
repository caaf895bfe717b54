"""``shares``: the parts of a whole, as a pie or as one bar, and its legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reportgen.results import Column, ColumnType, Exhibit, ExhibitKind, words_for
from reportgen.text import format_pct, phase_words
from reportgen.views.charts.arrays import numbers
from reportgen.views.color_roles import Ink, inks_of
from reportgen.views.theme import N_SHADES
from reportgen.views.values import Shown, exact_name, exactly, heading_of, named, shown_value

FULL_NAME = "full_name"
"""A column of names whose short forms are the parts: shown where a part is pointed at."""
MOST_PARTS = 8
SMALL_BELOW_PCT = 1.0
_LABEL_FROM_PCT = 9.0
_OTHERS, _REST = "others", "the rest"
"""The rest of a pie also holds parts with rows beside it, and those that the rows call others."""
_OTHERS_HUE = "idle"
_SELF = "self_"
_WHOLE_PCT = 0.5
"""Shares that add up to 100 within this are those of a whole: each was rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePart:
    """One part of a whole.

    Attributes:
        written_pct: its share as written, with one decimal.
        width_pct: its share as drawn.
        exact: its share with more digits, shown where it is pointed at.
    """

    name: Shown
    amount: Shown
    written_pct: float
    exact: str
    width_pct: float
    colour: Ink

    @property
    def pct(self) -> Shown:
        """Return its share for people."""
        return Shown(text=format_pct(self.written_pct), exact=self.exact)

    @property
    def ink(self) -> str:
        """Return the classes that paint it."""
        return self.colour.css_class

    @property
    def is_hatched(self) -> bool:
        """Return whether a pattern distinguishes it from another part of its colour."""
        return self.colour.index >= N_SHADES

    @property
    def bar_label(self) -> str:
        """Return its label in a bar: nothing where the bar is too narrow for it."""
        return self.pct.text if self.width_pct >= _LABEL_FROM_PCT else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesInfo:
    """Content of a pie or a bar; parts in the order of the exhibit, small ones as one at the end.

    SageMaker's results hold shares alone: ``has_amounts`` is then false. ``remark`` says what the
    written shares add up to if rounding makes it another number than 100.
    """

    label: str
    amount_head: str
    amount_name: str
    parts: tuple[SharePart, ...]
    folded: tuple[SharePart, ...] = ()
    has_amounts: bool = True
    remark: str = ""


def are_several(parts: Sequence[SharePart]) -> bool:
    """Return whether more than one of some parts is larger than nothing."""
    return sum(part.width_pct > 0 for part in parts) > 1


def is_pie(exhibit: Exhibit) -> bool:
    """Return whether parts of a whole are drawn as a pie, not as one bar.

    Parts with words of their own are a scale from work to loss, read in that order.
    """
    return not exhibit.place.words


def as_shares(exhibit: Exhibit) -> Exhibit:
    """Return a list of names with SageMaker's shares of them as ``shares``, else what is given.

    It has a text column, an amount and ``aws_pct``, which adds up to 100.
    """
    columns = {column.name: column for column in exhibit.columns}
    pct = columns.pop("aws_pct", None)
    if exhibit.kind is not ExhibitKind.TABLE or pct is None or len(columns) != 2:
        return exhibit
    name, amount = columns.values()
    if name.type is not ColumnType.TEXT or not _is_whole(pct):
        return exhibit
    parts = (replace(name, name="part"), amount, replace(pct, name="pct"))
    return replace(exhibit, kind=ExhibitKind.SHARES, columns=parts)


def whole_of(exhibit: Exhibit) -> Column | None:
    """Return the group of a ``bars`` exhibit whose values are the parts of a whole, if one is.

    The only one in percent, if it adds up to 100; or times without what runs inside, which
    therefore do not overlap.
    """
    groups = [column for column in exhibit.columns[1:] if column.type is not ColumnType.TEXT]
    shares = [column for column in groups if column.unit == "%"]
    if len(shares) == 1 and _is_whole(shares[0]):
        return shares[0]
    self_columns = [column for column in groups if column.name.startswith(_SELF)]
    return self_columns[0] if len(self_columns) == 1 and _is_positive(self_columns[0]) else None


def _is_positive(column: Column) -> bool:
    values = numbers(column.values)
    return all(value is not None and value >= 0 for value in values) and any(values)


def _is_whole(column: Column) -> bool:
    total = sum(value or 0.0 for value in numbers(column.values))
    return _is_positive(column) and abs(total - 100) <= _WHOLE_PCT


def parts_of_bars(exhibit: Exhibit, whole: Column) -> list[SharePart]:
    """Return the rows of a ``bars`` exhibit as parts of the whole that one of its groups is."""
    values = [value or 0.0 for value in numbers(whole.values)]
    total = sum(values)
    amounts = (
        column
        for column in exhibit.columns[1:]
        if column.type is not ColumnType.TEXT and column.unit != "%"
    )
    amount = next(amounts, None) if whole.unit == "%" else whole
    return _parts(exhibit, exhibit.columns[0], amount, [100 * value / total for value in values])


def parts_of(exhibit: Exhibit) -> list[SharePart]:
    """Return all parts of a ``shares`` exhibit, in its order."""
    columns = {column.name: column for column in exhibit.columns}
    pcts = [value or 0.0 for value in numbers(columns["pct"].values)]
    return _parts(exhibit, columns["part"], _amount_of(exhibit), pcts)


def _parts(
    exhibit: Exhibit, named_by: Column, amount: Column | None, pcts: Sequence[float]
) -> list[SharePart]:
    names = [str(name) for name in named_by.values]
    called = words_for(exhibit.place, names).names
    none = (None,) * len(names)
    full = next((item.values for item in exhibit.columns if item.name == FULL_NAME), none)
    return [
        SharePart(
            name=named(called.get(name, phase_words(name)), full_name),
            amount=shown_value(value, amount.unit) if amount else Shown(text=""),
            written_pct=round(pct, 1),
            exact=exactly(pct),
            width_pct=round(min(max(0.0, pct), 100.0), 3),
            colour=colour,
        )
        for name, full_name, value, pct, colour in zip(
            names,
            full,
            amount.values if amount else none,
            pcts,
            inks_of(exhibit, names, exhibit.row_roles),
            strict=True,
        )
    ]


def swatches_of(parts: Sequence[SharePart]) -> tuple[str, ...]:
    """Return the paint of the swatch of each part in a table beside its pie."""
    kept, small = split(parts)
    return tuple(kept[-1].ink if part in small else part.ink for part in parts)


def info(exhibit: Exhibit) -> SharesInfo:
    """Return the content of a ``shares`` exhibit.

    If there are many parts, the picture joins the smallest as "others (n)"; the legend lists each.
    """
    kept, small = split(parts_of(exhibit))
    amount = _amount_of(exhibit)
    total_pct = round(sum(part.written_pct for part in kept), 1)
    is_off = 0 < abs(total_pct - 100) <= _WHOLE_PCT
    return SharesInfo(
        label=exhibit.title,
        amount_head=heading_of(amount.name),
        amount_name=exact_name(amount),
        parts=tuple(kept),
        folded=tuple(small),
        has_amounts=any(value is not None for value in amount.values),
        remark=f"Each share is rounded; together they are {total_pct} %." if is_off else "",
    )


def _amount_of(exhibit: Exhibit) -> Column:
    return next(item for item in exhibit.columns if item.name not in {"part", "pct", FULL_NAME})


def split(parts: Sequence[SharePart]) -> tuple[list[SharePart], list[SharePart]]:
    """Return the parts of a picture, and those that are one in it, "others (n)", if any.

    Where there are many parts the largest stay; those too small to see, and what its rule already
    calls the others, do not.
    """
    if len(parts) <= MOST_PARTS:
        return list(parts), []
    named = [part for part in parts if not part.name.text.startswith(_OTHERS)]
    by_size = sorted(named, key=lambda part: -part.width_pct)[: MOST_PARTS - 1]
    kept = [part for part in parts if part in by_size and part.width_pct >= SMALL_BELOW_PCT]
    small = [part for part in parts if part not in kept]
    return [*kept, _others(small, kept)], small


def _others(small: Sequence[SharePart], kept: Sequence[SharePart]) -> SharePart:
    pct = sum(part.width_pct for part in small)
    is_counted = not any(part.name.text.startswith(_OTHERS) for part in small)
    return SharePart(
        name=Shown(text=f"{_OTHERS} ({len(small)})" if is_counted else _REST),
        amount=Shown(text=""),
        written_pct=round(pct, 1),
        exact=exactly(round(pct, 3)),
        width_pct=round(pct, 3),
        colour=Ink(hue=_OTHERS_HUE, index=sum(part.colour.hue == _OTHERS_HUE for part in kept)),
    )
