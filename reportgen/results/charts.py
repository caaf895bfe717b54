"""The usual charts: columns of numbers, rankings, boxes, histograms, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from reportgen.results.exhibits import column, exhibit
from reportgen.results.model import Column, ColumnType, Exhibit, ExhibitKind
from reportgen.results.place import Role
from reportgen.results.rows import col, derived, row, table
from reportgen.text import plural
from reportgen.units import NS_PER_US, percentages

MOST_BOXES = 64
"""More boxes than this cannot be distinguished in a chart; all numbers stay in tables."""
MOST_LINES = 16
"""More lines than this cannot be distinguished in a chart; all numbers stay in the tables."""
MOST_INTERVALS = 200
"""More intervals than this cannot be distinguished on an axis of time; the longest stay."""


def floats(
    *specs: tuple[str, str, Iterable[object]], role: Role | None = None
) -> tuple[Column, ...]:
    """Return columns of numbers: (name, unit, values) each."""
    return tuple(
        column(name, unit, values, type=ColumnType.FLOAT, role=role) for name, unit, values in specs
    )


def ranking(
    exhibit_id: str,
    parts: Sequence[tuple[str, float]],
    *,
    title: str,
    caption: str = "",
    name: str = "part",
    amount: tuple[str, str] | None = None,
    most: int | None = None,
    others: str = "part",
    per: float = 1,
    drawn_as: ExhibitKind = ExhibitKind.SHARES,
    roles: Sequence[Role | None] = (),
    role: Role | None = None,
) -> Exhibit:
    """Return parts of a whole: a name, an amount and a percentage each; bars in reverse order.

    Args:
        exhibit_id: stable id, unique within the result.
        parts: name and amount, in the order in which they are shown.
        title: the quantity that is divided, without a full stop.
        caption: how to read it; where parts are added up, how many are shown is appended.
        name: of the column of names.
        amount: name and unit of the column of amounts; counts have no unit. Where it is not given
            amounts are durations in ns, shown in µs.
        most: number of parts that are shown one by one; the rest is added up as ``others``.
        others: name of a part where the rest is counted; ``match/matches`` where an s is
            not enough.
        per: amounts are divided by it for the table; percentages do not change.
        drawn_as: shares or bars.
        roles: the subject of each of ``parts``.
        role: the subject of the whole exhibit.
    """
    if amount is None:
        amount, per = ("time_us", "us"), NS_PER_US
    shown, rest = list(parts[:most]), parts[most:] if most is not None else ()
    row_roles = list(roles[:most])
    if rest:
        shown.append(
            (f"others ({plural(len(rest), *others.split('/'))})", sum(value for _, value in rest))
        )
        caption = f"{caption} Showing {most} of {len(parts):,}; the table has all.".strip()
        row_roles += [Role.OTHER] if row_roles else []
    values = [value for _, value in shown]
    kind = ColumnType.FLOAT if amount[1] else ColumnType.INT
    numbers = [
        column(*amount, [value / per for value in values] if amount[1] else values, type=kind),
        column("pct", "%", percentages(values), type=ColumnType.FLOAT),
    ]
    return exhibit(
        exhibit_id,
        drawn_as,
        title=title,
        caption=caption,
        columns=[
            column(name, "", [label for label, _ in shown], type=ColumnType.TEXT),
            *(numbers if drawn_as is ExhibitKind.SHARES else reversed(numbers)),
        ],
        role=role,
        row_roles=row_roles,
    )


def boxes(
    exhibit_id: str,
    items: Sequence[tuple[str, object, float | None]],
    *,
    title: str,
    unit: str,
    role: Role | None = None,
    row_roles: Sequence[Role | None] = (),
) -> Exhibit:
    """Return the first ``MOST_BOXES`` box plots; the caption says when some are missing.

    Args:
        exhibit_id: stable id, unique within the result.
        items: the name of each box, the box (lower, p25, p50, p75, upper, p95), and the largest
            value if it is known.
        title: the distributed quantity, without a full stop.
        unit: of the values.
        role: the subject of the whole exhibit.
        row_roles: the subject of each box.
    """
    shown = items[:MOST_BOXES]
    caption = (
        "The box reaches from the 25th to the 75th percentile, with the median inside; the "
        "whiskers reach to the last value within 1.5 times the length of the box."
    )
    if len(shown) < len(items):
        caption += f" The first {len(shown)} of {len(items)} are shown."
    marks = [
        (mark, [round(getattr(box, mark), 4) for _, box, _ in shown])
        for mark in ("lower", "p25", "p50", "p75", "upper", "p95")
    ]
    largest = [None if most is None else round(most, 4) for *_, most in shown]
    return exhibit(
        exhibit_id,
        ExhibitKind.BOXES,
        title=title,
        caption=caption,
        columns=[
            column("name", "", [name for name, *_ in shown], type=ColumnType.TEXT),
            *(
                column(mark, unit, values, type=ColumnType.FLOAT)
                for mark, values in (*marks, ("max", largest))
            ),
        ],
        role=role,
        row_roles=row_roles[:MOST_BOXES],
    )


def histogram(
    exhibit_id: str,
    edges: Sequence[Any] | NDArray[Any],
    groups: Sequence[tuple[str, Iterable[object]]],
    *,
    title: str,
    caption: str = "",
    unit: str,
    counted: str = "",
    edge_type: ColumnType = ColumnType.FLOAT,
    role: Role | None = None,
) -> Exhibit:
    """Return histograms over common bins.

    Args:
        exhibit_id: stable id, unique within the result.
        edges: (n + 1,) of the bins.
        groups: a name and (n,) counts each.
        title: the counted quantity, without a full stop.
        caption: how to read it.
        unit: of the edges.
        counted: the counted things, which is the unit of the counts.
        edge_type: of the edges.
        role: the subject of all groups.
    """
    return exhibit(
        exhibit_id,
        ExhibitKind.HISTOGRAM,
        title=title,
        caption=caption,
        columns=[
            column("bin_start", unit, edges[:-1], type=edge_type),
            column("bin_end", unit, edges[1:], type=edge_type),
            *(
                column(name, counted, counts, type=ColumnType.INT, role=role)
                for name, counts in groups
            ),
        ],
        role=role,
    )


def lane_of(node: str, device: str) -> str:
    """Name a line of the chart: a worker's name holds its node's, a GPU's does not."""
    is_whole = not device or device.startswith(f"{node}-")
    return (device or node) if is_whole else f"{node} {device}"


@row
class Interval:
    """A stretch of time in which something was detected, in one shape for all rules.

    Attributes:
        what: in a few words.
        start_s, end_s: Unix seconds.
        node, device: where; a device is a GPU or a worker, empty for the whole node.
    """

    lane: str = derived(lambda item: lane_of(item.node, item.device))
    what: str = col(name="name")
    start_s: float = col("s")
    end_s: float = col("s")
    node: str = col()
    device: str
    shown_device: str | None = derived(lambda item: item.device or None, name="device")


def intervals(
    items: Sequence[Interval],
    *,
    title: str,
    caption: str = "",
    n_all: int | None = None,
    role: Role | None = None,
) -> Exhibit:
    """Return the longest ``MOST_INTERVALS`` as spans in order of time, with the id "intervals".

    Args:
        items: any order, at least one.
        title: their name.
        caption: how to read them; how many were left out is added.
        n_all: how many there are where not all are given.
        role: the subject of all of them.
    """

    def place(item: Interval) -> tuple[float, float, str, str, str]:
        return item.start_s, item.end_s, item.node, item.device, item.what

    longest = sorted(items, key=lambda item: (item.start_s - item.end_s, place(item)))
    shown = sorted(longest[:MOST_INTERVALS], key=place)
    n_all = n_all or len(items)
    if len(shown) < n_all:
        caption = f"{caption} The {len(shown):,} longest of {n_all:,}.".strip()
    return table(
        "intervals",
        shown,
        Interval,
        title=title,
        caption=caption,
        drawn_as=ExhibitKind.SPANS,
        role=role,
    )
