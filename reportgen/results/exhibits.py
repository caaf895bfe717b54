"""Build exhibits from sequences and numpy arrays.

The columns of each kind (drawn by ``views`` without knowing the rule):

* ``series``: ``time_s`` (Unix seconds), then one column per line, named as the line.
* ``band``: ``time_s``, then for each line ``<line>_min``, ``<line>_mean``, ``<line>_max``.
* ``histogram``: ``bin_start``, ``bin_end``, then one count column per group.
* ``boxes``: ``name, lower, p25, p50, p75, upper`` and more columns for the table.
* ``bars``: ``name``, then one numeric column per group; further text columns go to the table.
* ``shares``: ``part``, one absolute column, ``pct`` (sums to 100).
* ``heatmap``: ``row``, ``time_s`` (start of the cell), ``value`` column named by its quantity.
* ``spans``: ``lane, name, start_s, end_s``.
* ``roofline``: ``name, group, format, flop_per_byte, tflops_per_s, time_us``, and the limits of the
  format, ``peak_tflops_per_s, memory_gb_per_s``, ``None`` where they are not known.
* ``table``: any columns.
* ``timeline``: ``lane, kind, node, events``; the drawing is in ``Timeline.bin``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

from reportgen.results.model import COLUMNAR, Column, ColumnType, Exhibit, ExhibitKind, Scalar
from reportgen.results.place import NOWHERE, Place, Role
from reportgen.text import one_line

ColumnSpec = tuple[str, str, Iterable[object]]
MAX_SERIES_POINTS = 2_000


def exhibit(
    exhibit_id: str,
    kind: ExhibitKind,
    *,
    title: str,
    caption: str = "",
    columns: Sequence[Column | ColumnSpec],
    role: Role | None = None,
    row_roles: Sequence[Role | None] = (),
    place: Place = NOWHERE,
) -> Exhibit:
    """Build an exhibit.

    Args:
        exhibit_id: stable id, unique within one result.
        kind: how it is shaped; see the module's list of columns.
        title: its subject in words, without a full stop.
        caption: how to read it; says from how many points a series was thinned.
        columns: made by ``column``, or (name, unit, values) for each; numpy arrays are welcome.
            NaN and infinity become ``None``.
        role: the subject of the whole exhibit; decides its colour.
        row_roles: (n_rows,) the subject of each row, where rows differ.
        place: where it stands, if not in its turn in the section of its rule.

    Raises:
        ValueError: columns of different length; two lines of one name, of which the JSON of a
            ``series`` or ``band`` could hold only one.
    """
    built = tuple(item if isinstance(item, Column) else column(*item) for item in columns)
    if len({len(item.values) for item in built}) > 1:
        lengths = {item.name: len(item.values) for item in built}
        raise ValueError(f"exhibit {exhibit_id}: columns of different length: {lengths}")
    names = [item.name for item in built]
    if kind in COLUMNAR and len(set(names)) < len(names):
        raise ValueError(f"exhibit {exhibit_id}: two lines of one name: {sorted(names)}")
    return Exhibit(
        id=exhibit_id,
        kind=kind,
        title=title,
        caption=one_line(caption),
        columns=built,
        role=role,
        row_roles=tuple(row_roles),
        place=place,
    )


_HELD: Mapping[ColumnType, set[type[Any]]] = {
    ColumnType.BOOL: {bool, NoneType},
    ColumnType.INT: {int, NoneType},
    ColumnType.FLOAT: {int, float, NoneType},
    ColumnType.TEXT: {str, NoneType},
}


def column(
    name: str,
    unit: str,
    values: Iterable[object],
    *,
    type: ColumnType | None = None,  # noqa: A002 - the name in the JSON
    role: Role | None = None,
) -> Column:
    """Build one column.

    Args:
        name: of the column, unique within its exhibit.
        unit: empty for text and counts.
        values: NaN and infinity become ``None``.
        type: of the values; where it is not declared, the narrowest that holds all values, which
            may differ from job to job. Numbers beside text become text.
        role: the subject of the column; decides its colour.

    Raises:
        TypeError: values of other types than the declared one, or that no exhibit holds.
    """
    plain = tuple(_plain(value) for value in _as_list(values))
    kind = type or _type_of(plain)
    if kind is ColumnType.TEXT:
        plain = tuple(None if value is None else str(value) for value in plain)
    odd = {value.__class__ for value in plain} - _HELD[kind]
    if odd:
        names = sorted(item.__name__ for item in odd)
        raise TypeError(f"column {name}: {', '.join(names)} where {kind.value} is declared")
    return Column(name=name, unit=unit, type=kind, values=plain, role=role)


def _as_list(values: Iterable[object]) -> Iterable[object]:
    tolist = getattr(values, "tolist", None)
    return tolist() if tolist else values


def _plain(value: object) -> Scalar:
    item = getattr(value, "item", None)
    if item is not None:
        value = item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"an exhibit holds text, numbers and None, not {type(value).__name__}")


def _type_of(values: tuple[Scalar, ...]) -> ColumnType:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return ColumnType.BOOL
    if kinds == {int}:
        return ColumnType.INT
    if kinds <= {int, float}:
        return ColumnType.FLOAT
    return ColumnType.TEXT
