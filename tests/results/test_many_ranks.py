"""Charts of many ranks by hand-made numbers."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.results import Exhibit, Role
from reportgen.results.many_ranks import MOST_CELLS, MOST_ROWS, MOST_UNUSUAL, heatmap, unusual


def drawn(n_ranks: int, n_columns: int, *, missing: int | None = None) -> Exhibit:
    """A heat map in which a cell is its rank in µs."""
    value_ns = np.repeat(np.arange(n_ranks, dtype=np.float64)[:, None] * 1000, n_columns, axis=1)
    if missing is not None:
        value_ns[missing] = np.nan
    starts_ns = np.arange(n_columns, dtype=np.int64) * 1_000_000_000
    return heatmap(
        "map",
        range(n_ranks),
        starts_ns,
        value_ns,
        title="Map",
        caption="Cells.",
        column="wait_us",
        role=Role.IO,
    )


def test_few_values_are_all_shown() -> None:
    assert unusual([3.0, 1.0, 2.0]) == [0, 1, 2]


def test_of_many_the_median_and_the_most_unusual_are_shown() -> None:
    values = [10.0] * 100
    values[40], values[70] = 50.0, 0.0
    found = unusual(values)

    assert len(found) == MOST_UNUSUAL + 1
    assert {40, 70} <= set(found)
    assert found == sorted(found)


@pytest.mark.parametrize(("n_ranks", "n_columns"), [(9, 3), (9, 200)])
def test_each_rank_and_step_has_a_cell_where_there_is_room(n_ranks: int, n_columns: int) -> None:
    found = drawn(n_ranks, n_columns)

    assert found.n_rows == n_ranks * n_columns
    assert found.columns[0].values[-1] == f"rank {n_ranks - 1}"
    assert found.columns[2].values[-1] == n_ranks - 1
    assert found.caption == "Cells."


def test_more_cells_than_a_page_holds_are_blocks() -> None:
    found = drawn(2 * MOST_ROWS, 1_000)

    assert found.n_rows <= MOST_CELLS
    assert found.columns[0].values[-1] == f"ranks {2 * MOST_ROWS - 2} to {2 * MOST_ROWS - 1}"
    assert found.columns[2].values[0] == pytest.approx(0.5)
    assert found.caption == "Cells. A cell is the mean of 2 ranks and 32 columns."


def test_what_is_not_known_has_no_cell_and_no_part_in_a_mean() -> None:
    assert "rank 3" not in drawn(9, 2, missing=3).columns[0].values
    found = drawn(2 * MOST_ROWS, 2, missing=1)
    assert found.columns[2].values[0] == 0.0
