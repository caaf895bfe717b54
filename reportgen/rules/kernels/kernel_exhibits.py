"""KernelTime as exhibits: the rankings, and the complete table of each grouping."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.facts.durations import DurationRow
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.rules.kernels.kernel_rankings import Context, category_in, rankings_of
from reportgen.rules.kernels.kernel_times import Grouping, category_of
from reportgen.rules.kernels.saying import pct_of, say_ns
from reportgen.units import NS_PER_US

TABLE = "kernels"
_CAPTIONS = {
    Grouping.SHAPE: "Every kernel with each size in which it was launched, by total time.",
    Grouping.OPERATOR: (
        "Kernels by the operator that launched them: the innermost on the thread of the launch."
    ),
    Grouping.CATEGORY: "Kernels that exchange data with other GPUs, and all others.",
}
_BY = {
    Grouping.SHAPE: "name, grid and block",
    Grouping.OPERATOR: "operator",
    Grouping.CATEGORY: "category",
}


def exhibits_of(context: Context, *, top: int) -> tuple[Exhibit, ...]:
    """Return the largest by time and by launches, and the complete tables."""
    if not context.kernels.by_name:
        return ()
    grouped = (_grouped(context, way) for way in _CAPTIONS)
    return (*rankings_of(context, top=top), _by_name(context), *grouped)


def _by_name(context: Context) -> Exhibit:
    kernels = context.kernels
    every = kernels.by_name
    readings = [kernels.readings[row.key[0]] for row in every]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="All kernels",
        caption=(
            "Over all ranks, by total time. pct_of_kernel_time is of the time of all kernels; "
            "pct_of_profile_time is of the time from the first to the last GPU operation, times "
            f"devices ({say_ns(context.profile_ns)}); kernels that run at the same time all "
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


def _grouped(context: Context, way: Grouping) -> Exhibit:
    kernels, rows = context.kernels, context.kernels.rows[way]
    names: list[ColumnSpec] = [(way.value, "", [row.key[0] for row in rows])]
    if way is Grouping.SHAPE:
        names = [
            ("name", "", [row.key[0] for row in rows]),
            ("shape", "", [row.key[1] for row in rows]),
        ]
    category: list[ColumnSpec] = [
        ("category", "", [category_in(way, row, kernels) for row in rows])
    ]
    return exhibit(
        f"{TABLE}_by_{way.value}",
        ExhibitKind.TABLE,
        title=f"All kernels by {_BY[way]}",
        caption=f"{_CAPTIONS[way]} Over all ranks; columns as in the table by name.",
        columns=[
            *names,
            *_figures(rows, context),
            *(category if way is not Grouping.CATEGORY else []),
        ],
    )


def _figures(rows: Sequence[DurationRow], context: Context) -> list[ColumnSpec]:
    """Return the columns of figures that every table of kernels has."""
    kernel_ns = sum(row.sum_ns for row in rows)
    return [
        ("count", "", [row.count for row in rows]),
        ("sum_us", "us", [row.sum_ns / NS_PER_US for row in rows]),
        ("mean_us", "us", [row.mean_ns / NS_PER_US for row in rows]),
        ("p50_us", "us", [row.p50_ns / NS_PER_US for row in rows]),
        ("p95_us", "us", [row.p95_ns / NS_PER_US for row in rows]),
        ("min_us", "us", [row.min_ns / NS_PER_US for row in rows]),
        ("max_us", "us", [row.max_ns / NS_PER_US for row in rows]),
        ("std_us", "us", [row.std_ns / NS_PER_US for row in rows]),
        ("pct_of_kernel_time", "%", [pct_of(row.sum_ns, kernel_ns) for row in rows]),
        ("pct_of_profile_time", "%", [pct_of(row.sum_ns, context.profile_ns) for row in rows]),
    ]
