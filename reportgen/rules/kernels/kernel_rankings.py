"""The largest kernels by time and by launches, in each grouping, with and without communication."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.facts.durations import DurationRow
from reportgen.facts.kernel_names import short_names
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.kernels.kernel_times import (
    COMPUTE,
    NOT_TOLD,
    Grouping,
    Kernels,
    category_of,
)
from reportgen.rules.kernels.saying import say_ns
from reportgen.rules.saying.wording import say_times
from reportgen.units import NS_PER_US, percentages

BY_TIME, BY_COUNT = "top_by_time", "top_by_launches"
_WAYS = {
    Grouping.NAME: "Kernels",
    Grouping.SHAPE: "Kernels and launch sizes",
    Grouping.OPERATOR: "Operators with kernels",
    Grouping.CATEGORY: "Categories of kernels",
}
_NOUNS = {
    Grouping.NAME: ("kernel", "kernels"),
    Grouping.SHAPE: ("kernel and launch size", "kernels and launch sizes"),
    Grouping.OPERATOR: ("operator", "operators"),
    Grouping.CATEGORY: ("category", "categories"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All ranks: their kernels, and windows times devices."""

    kernels: Kernels
    profile_ns: int
    n_ranks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amount:
    """What a ranking ranks by: ids begin with ``exhibit_id``."""

    exhibit_id: str
    name: str
    unit: str
    title: str

    def of(self, row: DurationRow) -> int:
        return row.sum_ns if self.unit else row.count

    def shown(self, value: int) -> float:
        return value / NS_PER_US if self.unit else value


_AMOUNTS = (
    _Amount(exhibit_id=BY_TIME, name="time_us", unit="us", title="by time"),
    _Amount(exhibit_id=BY_COUNT, name="launches", unit="", title="by launches"),
)


def ranking_id(amount: str, way: Grouping, *, is_compute: bool = False) -> str:
    """Return the id of a ranking.

    Example:
        >>> ranking_id(BY_TIME, Grouping.NAME), ranking_id(BY_TIME, Grouping.SHAPE, is_compute=True)
        ('top_by_time', 'top_by_time_shape_compute')
    """
    parts = (amount, "" if way is Grouping.NAME else way.value, "compute" if is_compute else "")
    return "_".join(filter(None, parts))


def rankings_of(context: Context, *, top: int) -> Iterator[Exhibit]:
    """Yield the largest by time, then by launches, the rest as one part."""
    kernels = context.kernels
    is_mixed = len(kernels.rows[Grouping.CATEGORY]) > 1
    for amount in _AMOUNTS:
        for way in Grouping:
            rows = kernels.rows[way]
            if not _tells_apart(rows, way):
                continue
            yield _ranking(context, rows, amount, way, top=top)
            own = [row for row in rows if category_in(way, row, kernels) == COMPUTE]
            if own and is_mixed and way is not Grouping.CATEGORY:
                yield _ranking(context, own, amount, way, top=top, is_compute=True)


def _tells_apart(rows: Sequence[DurationRow], way: Grouping) -> bool:
    """Return whether a ranking says more than that kernels ran."""
    if way is Grouping.CATEGORY:
        return len(rows) > 1
    return way is Grouping.NAME or any(NOT_TOLD not in row.key for row in rows)


def _ranking(
    context: Context,
    rows: Sequence[DurationRow],
    amount: _Amount,
    way: Grouping,
    *,
    top: int,
    is_compute: bool = False,
) -> Exhibit:
    ordered = sorted(rows, key=lambda row: (-amount.of(row), row.key))
    shown, rest = ordered[:top], ordered[top:]
    labels = _labels(shown, way)
    full: list[str | None] = [_full_name(row, way) for row in shown]
    categories: list[str | None] = [category_in(way, row, context.kernels) for row in shown]
    values = [amount.of(row) for row in shown]
    caption = _caption(rows, amount, n_ranks=context.n_ranks, is_compute=is_compute)
    if rest:
        full.append(None)
        categories.append(None)
        labels.append(f"others ({len(rest):,} {_NOUNS[way][len(rest) != 1]})")
        values.append(sum(amount.of(row) for row in rest))
        caption += f" Showing {len(shown)} of {len(rows):,}; the table has all."
    return exhibit(
        ranking_id(amount.exhibit_id, way, is_compute=is_compute),
        ExhibitKind.SHARES,
        title=f"{_WAYS[way]} {amount.title}",
        caption=caption,
        columns=[
            ("part", "", labels),
            (amount.name, amount.unit, [amount.shown(value) for value in values]),
            ("pct", "%", percentages(values)),
            ("full_name", "", full),
            ("category", "", categories),
        ],
    )


def _caption(
    rows: Sequence[DurationRow], amount: _Amount, *, n_ranks: int, is_compute: bool
) -> str:
    but = " but communication" if is_compute else ""
    if amount.unit:
        total = say_kernel_time(rows, n_ranks=n_ranks)
        return f"Shares of the time of all kernels{but} ({total})."
    return f"Shares of {say_times(sum(row.count for row in rows), 'launch', 'launches')}{but}."


def _labels(rows: Sequence[DurationRow], way: Grouping) -> list[str]:
    """Return how each row is called: kernels by a short name, the same for rows of one kernel."""
    if way in (Grouping.OPERATOR, Grouping.CATEGORY):
        return [row.key[0] for row in rows]
    names = list(dict.fromkeys(row.key[0] for row in rows))
    short = dict(zip(names, short_names(names), strict=True))
    return [" · ".join((short[row.key[0]], *row.key[1:])) for row in rows]


def _full_name(row: DurationRow, way: Grouping) -> str:
    return ", ".join(row.key) if way is Grouping.SHAPE else row.key[0]


def category_in(way: Grouping, row: DurationRow, kernels: Kernels) -> str:
    """Return whether the kernels of a row communicate or compute."""
    if way in (Grouping.NAME, Grouping.SHAPE):
        return category_of(kernels.readings[row.key[0]])
    return row.key[-1]


def say_kernel_time(rows: Sequence[DurationRow], *, n_ranks: int) -> str:
    """Say how long some kernels took, and over how many ranks."""
    total = say_ns(sum(row.sum_ns for row in rows))
    return total if n_ranks == 1 else f"{total} over {n_ranks} ranks"
