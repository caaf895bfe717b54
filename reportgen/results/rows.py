"""Rows that are their own table: a class declares the columns, their units, types and roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, dataclass_transform

from reportgen.merging import merged
from reportgen.results.exhibits import column, exhibit
from reportgen.results.model import Column, ColumnType, Exhibit, ExhibitKind
from reportgen.results.place import Role

_T = TypeVar("_T")


def col(
    unit: str = "",
    *,
    name: str = "",
    role: Role | None = None,
    per: float | None = None,
    digits: int | None = None,
    reduce: Callable[[Sequence[Any]], Any] | None = None,
) -> Any:
    """Declare a field of a row that is a column of its table, in the order of declaration.

    Args:
        unit: of the column; empty for text and counts.
        name: of the column; the field's own name by default.
        role: the subject of the column.
        per: values are divided by it for the table: nanoseconds are shown in µs by ``NS_PER_US``.
        digits: values are rounded to this many digits.
        reduce: how the values of merged rows become one; see ``merged``.
    """
    meta = {"unit": unit, "name": name, "role": role, "per": per, "digits": digits}
    return field(metadata={"column": meta, "reduce": reduce})


def derived(
    get: Callable[[Any], Any], unit: str = "", *, init: Literal[False] = False, **others: Any
) -> Any:
    """Declare a column whose value is computed from the other fields of a row when it is made.

    Args:
        get: from a row to the value.
        unit, others: as of ``col``.
        init: for the type checker: callers never pass a value.
    """
    meta = {**col(unit, **others).metadata["column"], "get": get}
    return field(init=init, default=None, repr=False, compare=False, metadata={"column": meta})


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(col, derived, merged)
)
def row(cls: type[_T]) -> type[_T]:
    """Make a frozen class of a measurement whose ``col`` fields are the columns of a table.

    Other fields are part of the measurement, but not of the table.
    """

    def compute(made: object) -> None:
        for name, get in computed.items():
            object.__setattr__(made, name, get(made))

    declared = {name: getattr(value, "metadata", {}) for name, value in vars(cls).items()}
    computed = {
        name: meta["column"]["get"]
        for name, meta in declared.items()
        if "get" in meta.get("column", {})
    }
    if computed:
        cls.__post_init__ = compute  # type: ignore[attr-defined]  # dataclasses call it
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def columns_of(rows: Sequence[object], kind: type[Any]) -> list[Column]:
    """Return the columns of some rows of one kind; also those of no rows at all."""
    return [
        column(
            meta["name"] or item.name,
            meta["unit"],
            [_shown(entry, item.name, meta) for entry in rows],
            type=ColumnType.FLOAT if meta["per"] else _type_of(item.type),
            role=meta["role"],
        )
        for item in fields(kind)
        if (meta := item.metadata.get("column"))
    ]


_TYPES = {"int": ColumnType.INT, "float": ColumnType.FLOAT, "bool": ColumnType.BOOL}


def _type_of(annotation: Any) -> ColumnType:
    """Return the type that a field declares, as text or as a class; names of all kinds are text."""
    declared = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return _TYPES.get(declared.removesuffix(" | None"), ColumnType.TEXT)


def _shown(entry: object, name: str, meta: Mapping[str, Any]) -> Any:
    value = meta["get"](entry) if "get" in meta else getattr(entry, name)
    if value is None:
        return None
    scaled = value if meta["per"] is None else value / meta["per"]
    return scaled if meta["digits"] is None else round(scaled, meta["digits"])


def table(
    exhibit_id: str,
    rows: Sequence[object],
    kind: type[Any],
    *,
    title: str,
    caption: str = "",
    drawn_as: ExhibitKind = ExhibitKind.TABLE,
    role: Role | None = None,
) -> Exhibit:
    """Return rows as a table, or as another kind of exhibit that has their columns.

    Args:
        exhibit_id: stable id, unique within the result.
        rows: of one kind, made with ``row``.
        kind: their class, which declares the columns.
        title: the subject of the table, without a full stop.
        caption: how to read it.
        drawn_as: the kind of exhibit.
        role: the subject of the whole exhibit.
    """
    columns = columns_of(rows, kind)
    return exhibit(exhibit_id, drawn_as, title=title, caption=caption, columns=columns, role=role)


def filled_table(
    exhibit_id: str, rows: Sequence[object], kind: type[Any], **words: Any
) -> tuple[Exhibit, ...]:
    """Return the ``table`` of some rows, nothing without rows; ``words`` are those of ``table``."""
    return (table(exhibit_id, rows, kind, **words),) if rows else ()
