"""KernelTime as exhibits: the largest by time and by launches, and every table, each grouping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.rules.kernels.durations import DurationRow
from reportgen.rules.kernels.kernel_names import short_names
from reportgen.rules.kernels.kernel_times import (
    COMPUTE,
    NOT_TOLD,
    Grouping,
    Kernels,
    category_of,
)
from reportgen.rules.kernels.saying import pct_of, say_us
from reportgen.units import percentages, say_count

TABLE, BY_TIME, BY_COUNT = "kernels", "top_by_time", "top_by_launches"
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
    profile_us: float
    n_ranks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amount:
    """What a ranking ranks by: ids begin with ``exhibit_id``."""

    exhibit_id: str
    name: str
    unit: str
    title: str

    def of(self, row: DurationRow) -> float:
        return row.sum_us if self.unit else row.count


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


def exhibits_of(context: Context, *, top: int) -> tuple[Exhibit, ...]:
    """Return the largest by time and by launches, and the complete tables."""
    if not context.kernels.by_name:
        return ()
    return (*_rankings(context, top=top), *_tables(context))


def _rankings(context: Context, *, top: int) -> Iterator[Exhibit]:
    kernels = context.kernels
    is_mixed = len(kernels.rows[Grouping.CATEGORY]) > 1
    for amount in _AMOUNTS:
        for way in Grouping:
            rows = kernels.rows[way]
            if not _tells_apart(rows, way):
                continue
            yield _ranking(context, rows, amount, way, top=top)
            own = [row for row in rows if _category(row, way, kernels) == COMPUTE]
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
    labels = short_names([row.key[0] for row in shown])
    full: list[str | None] = [_full_name(row, way) for row in shown]
    if way is Grouping.SHAPE:
        labels = [
            f"{label} · {row.key[1]}"
            for label, row in zip(_numbered_by_name(shown), shown, strict=True)
        ]
    if way in (Grouping.OPERATOR, Grouping.CATEGORY):
        labels = [row.key[0] for row in shown]
    categories: list[str | None] = [_category(row, way, context.kernels) for row in shown]
    values = [amount.of(row) for row in shown]
    what = "all kernels but communication" if is_compute else "all kernels"
    caption = (
        f"Shares of the time of {what} ({say_kernel_time(rows, n_ranks=context.n_ranks)})."
        if amount.unit
        else f"Shares of all {say_count(sum(row.count for row in rows))} launches"
        f"{' but communication' if is_compute else ''}."
    )
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
            (amount.name, amount.unit, values),
            ("pct", "%", percentages(values)),
            ("full_name", "", full),
            ("category", "", categories),
        ],
    )


def _numbered_by_name(rows: Sequence[DurationRow]) -> list[str]:
    """Return a short name for each row, the same for rows of one kernel."""
    names = list(dict.fromkeys(row.key[0] for row in rows))
    short = dict(zip(names, short_names(names), strict=True))
    return [short[row.key[0]] for row in rows]


def _full_name(row: DurationRow, way: Grouping) -> str:
    return ", ".join(row.key) if way is Grouping.SHAPE else row.key[0]


def _category(row: DurationRow, way: Grouping, kernels: Kernels) -> str:
    if way in (Grouping.NAME, Grouping.SHAPE):
        return category_of(kernels.readings[row.key[0]])
    return row.key[-1]


def _tables(context: Context) -> Iterator[Exhibit]:
    kernels = context.kernels
    every = kernels.by_name
    readings = [kernels.readings[row.key[0]] for row in every]
    yield exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="All kernels",
        caption=(
            "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
            "pct_of_profile_time is of the time from the first to the last GPU operation, times "
            f"devices ({say_us(context.profile_us)}); kernels that run at the same time all "
            "count. Precision is read off the name, else off the inputs of the operator."
        ),
        columns=[
            ("name", "", [row.key[0] for row in every]),
            *_figures(every, context),
            ("precision", "", [reading.precision.value for reading in readings]),
            ("tensor_core", "", [reading.tensor_core for reading in readings]),
            ("category", "", [category_of(reading) for reading in readings]),
        ],
    )
    captions = {
        Grouping.SHAPE: "Every kernel with each size in which it was launched, by total time.",
        Grouping.OPERATOR: (
            "Kernels by the operator that launched them: the innermost on the thread of the "
            "launch. Kernels are not told apart by what called the operator."
        ),
        Grouping.CATEGORY: "Kernels that exchange data with other GPUs, and all others.",
    }
    for way, caption in captions.items():
        rows = kernels.rows[way]
        names: list[ColumnSpec] = [(way.value, "", [row.key[0] for row in rows])]
        if way is Grouping.SHAPE:
            names = [
                ("name", "", [row.key[0] for row in rows]),
                ("shape", "", [row.key[1] for row in rows]),
            ]
        yield exhibit(
            f"{TABLE}_by_{way.value}",
            ExhibitKind.TABLE,
            title=f"All kernels by {_BY[way]}",
            caption=f"{caption} Over all ranks; columns as in the table by name.",
            columns=[
                *names,
                *_figures(rows, context),
                *(
                    [("category", "", [_category(row, way, kernels) for row in rows])]
                    if way is not Grouping.CATEGORY
                    else []
                ),
            ],
        )


_BY = {
    Grouping.SHAPE: "name, grid and block",
    Grouping.OPERATOR: "operator",
    Grouping.CATEGORY: "category",
}


def _figures(rows: Sequence[DurationRow], context: Context) -> list[ColumnSpec]:
    """Return the columns of figures that every table of kernels has."""
    kernel_us = sum(row.sum_us for row in rows)
    return [
        ("count", "", [row.count for row in rows]),
        ("sum_us", "us", [row.sum_us for row in rows]),
        ("mean_us", "us", [row.mean_us for row in rows]),
        ("p50_us", "us", [row.p50_us for row in rows]),
        ("p95_us", "us", [row.p95_us for row in rows]),
        ("min_us", "us", [row.min_us for row in rows]),
        ("max_us", "us", [row.max_us for row in rows]),
        ("std_us", "us", [row.std_us for row in rows]),
        ("pct_of_kernel_time", "%", [pct_of(row.sum_us, kernel_us) for row in rows]),
        ("pct_of_profile_time", "%", [pct_of(row.sum_us, context.profile_us) for row in rows]),
    ]


def say_kernel_time(rows: Sequence[DurationRow], *, n_ranks: int) -> str:
    """Say how long some kernels took, and over how many ranks."""
    total = say_us(sum(row.sum_us for row in rows))
    return total if n_ranks == 1 else f"{total} over {n_ranks} ranks"
