"""Types of arrays, one row for each thing of a kind, and tables: dataclasses of such columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Instants = NDArray[np.int64]
"""Times in ns."""
Rows = NDArray[np.int64]
"""Which rows of a table."""
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
"""Whether each row is meant."""

Table = TypeVar("Table", bound="DataclassInstance")


def select(table: Table, rows: Any) -> Table:
    """Return some rows of a table; a column that is ``None`` stays so."""
    columns = {item.name: getattr(table, item.name) for item in fields(table)}
    kept = {name: None if column is None else column[rows] for name, column in columns.items()}
    return type(table)(**kept)


def join(parts: Sequence[Table]) -> Table:
    """Return the rows of one or more tables, one after another; ``None`` is so in all of them."""
    if len(parts) == 1:
        return parts[0]
    columns = {item.name: [getattr(part, item.name) for part in parts] for item in fields(parts[0])}
    return type(parts[0])(
        **{name: None if of[0] is None else np.concatenate(of) for name, of in columns.items()}
    )
