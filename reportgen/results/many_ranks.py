"""Charts of many ranks: a heat map of all of them, and the few that a chart of lines shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reportgen import results
from reportgen.results.charts import floats
from reportgen.text import plural
from reportgen.units import NS_PER_S, NS_PER_US

HEATMAP_ABOVE = 8
"""Fewer ranks are compared in bars and lines."""
MOST_ROWS = 1_024
MOST_COLUMNS = 200
MOST_CELLS = 32_768
"""More cells cannot be distinguished, and a page would be too large: rows are blocks of ranks then,
columns blocks of steps."""
MOST_LINES = 16
"""Lines or bars of more ranks cannot be distinguished in one chart ..."""
MOST_UNUSUAL = 8
"""... which then shows the median rank and as many that differ most from it."""


def n_columns_for(n_ranks: int) -> int:
    """Return how many columns a heat map of this many ranks may have."""
    return min(MOST_COLUMNS, MOST_CELLS // min(max(n_ranks, 1), MOST_ROWS))


def unusual(values: Sequence[float]) -> list[int]:
    """Return the places of the median value and of those that differ most from it, ascending.

    All of them where there are few; the first of equal ones.
    """
    if len(values) <= MOST_LINES:
        return list(range(len(values)))
    middle = int(np.argsort(np.asarray(values), kind="stable")[(len(values) - 1) // 2])
    farthest = np.argsort(-np.abs(np.asarray(values) - values[middle]), kind="stable").tolist()
    return sorted([middle, *(at for at in farthest if at != middle)][: MOST_UNUSUAL + 1])


def heatmap(
    exhibit_id: str,
    ranks: Sequence[int],
    starts_ns: NDArray[np.int64],
    value_ns: NDArray[np.float64],
    *,
    title: str,
    caption: str,
    column: str,
    role: results.Role,
) -> results.Exhibit:
    """Return the times of each rank in each column, ranks from the top.

    Args:
        starts_ns: (n_columns,) ascending, when each begins, UTC.
        value_ns: (n_ranks, n_columns) times, NaN where nothing is known.
        column: name of the column of values, in µs.
    """
    tall = -(-len(ranks) // MOST_ROWS)
    wide = -(-starts_ns.size // n_columns_for(len(ranks)))
    cells = _means(_means(value_ns, tall).T, wide).T
    rows, columns = np.nonzero(np.isfinite(cells))
    names = [
        f"rank {block[0]}" if len(block) == 1 else f"ranks {block[0]} to {block[-1]}"
        for block in (ranks[at : at + tall] for at in range(0, len(ranks), tall))
    ]
    blocks = [plural(n, noun) for n, noun in ((tall, "rank"), (wide, "column")) if n > 1]
    mean = f" A cell is the mean of {' and '.join(blocks)}." if blocks else ""
    return results.exhibit(
        exhibit_id,
        results.ExhibitKind.HEATMAP,
        title=title,
        caption=caption + mean,
        columns=[
            results.column(
                "row", "", [names[at] for at in rows.tolist()], type=results.ColumnType.TEXT
            ),
            *floats(
                ("time_s", "s", starts_ns[::wide][columns] / NS_PER_S),
                (column, "us", cells[rows, columns] / NS_PER_US),
            ),
        ],
        role=role,
    )


def _means(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the means of blocks of rows, NaN where a block has no value."""
    if size == 1:
        return values
    edges = np.arange(0, len(values), size)
    there = np.add.reduceat(np.isfinite(values), edges, axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.nan_to_num(values), edges, axis=0)
    return np.where(there > 0, sums / np.maximum(there, 1), np.nan)
