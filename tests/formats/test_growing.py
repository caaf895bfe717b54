"""Columns that grow hold what was added, in however many parts it came."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.formats.columns import Growing

N_ROWS = 20


def grown(*sizes: int) -> Growing:
    """Return a table of the numbers from 0 on, added in runs of these sizes."""
    table, n_rows = Growing(), 0
    for size in sizes:
        numbers = np.arange(n_rows, n_rows + size)
        table.add(number=numbers, is_odd=numbers % 2 == 1)
        n_rows += size
    return table


@pytest.mark.parametrize(
    "sizes",
    [(1,), (N_ROWS,), (N_ROWS - 1, 2), (3, 2 * N_ROWS, 5), (0, 7, 0)],
)
def test_every_row_is_kept_in_its_order(sizes: tuple[int, ...]) -> None:
    table = grown(*sizes)

    columns = table.take()

    assert columns["number"].tolist() == list(range(sum(sizes)))
    assert columns["is_odd"].dtype == np.bool_
    assert (columns["is_odd"] == (columns["number"] % 2 == 1)).all()


@pytest.mark.parametrize("sizes", [(), (0,)])
def test_without_rows_there_are_no_columns(sizes: tuple[int, ...]) -> None:
    assert grown(*sizes).take() == {}
    assert grown(*sizes).column("number").size == 0
