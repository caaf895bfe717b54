"""Many whole numbers as little text."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from zlib import decompress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.errors import FormatError
from reportgen.results.packed_columns import COUNT, MOST_ROWS, N_BLOCKS, pack, unpack

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64, max_size=50))
def test_any_whole_numbers_survive(values: list[int]) -> None:
    table = pack("t", {"start_ns": values})

    assert unpack(table)["start_ns"].tolist() == values
    assert (table.n_rows, table.n_measured) == (len(values), len(values))


def test_the_documented_line_reads_a_column() -> None:
    values = 1_783_071_000_000_000_000 + np.arange(1_000) ** 2 * 1_000
    (column,) = pack("steps", {"start_ns": values}).columns

    planes = np.frombuffer(decompress(b64decode(column.packed)), "u1")
    read = planes.reshape(8, -1).T.copy().view("<i8").ravel().cumsum()

    assert np.array_equal(read, values)
    assert column.unit == "ns"


def test_regular_steps_are_small() -> None:
    starts = np.cumsum(np.random.default_rng(1).normal(2e8, 1e6, MOST_ROWS)).astype(np.int64)
    (column,) = pack("steps", {"start_ns": starts}).columns

    assert len(column.packed) < 4 * MOST_ROWS


def test_one_row_too_many_is_kept_in_blocks() -> None:
    n = MOST_ROWS + 1
    starts = np.arange(n) * 10
    durations = np.where(np.arange(n) % 2, 6, 4)

    whole = pack("steps", {"start_ns": starts[:-1], "duration_ns": durations[:-1]})
    table = pack("steps", {"start_ns": starts, "duration_ns": durations})
    blocks = unpack(table)

    assert whole.n_rows == whole.n_measured == MOST_ROWS
    assert COUNT not in unpack(whole)
    assert (table.n_rows, table.n_measured) == (N_BLOCKS, n)
    assert blocks[COUNT].sum() == n
    assert set(blocks[COUNT].tolist()) == {10, 11}
    assert blocks["start_ns"].tolist() == [at * n // N_BLOCKS * 10 for at in range(N_BLOCKS)]
    assert set(blocks["duration_ns"].tolist()) == {5}


def test_nothing_is_a_table_without_rows() -> None:
    assert unpack(pack("steps", {"start_ns": [], "duration_ns": []}))["start_ns"].tolist() == []
    assert pack("steps", {}).n_rows == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [({"a": [1], "b": [1, 2]}, "different length"), ({"a_s": [1.5]}, "whole numbers")],
)
def test_what_cannot_be_packed_is_named(columns: dict[str, list[int]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pack("t", columns)


@pytest.mark.parametrize("text", ["?", "AAAA", ""])
def test_damaged_columns_are_named(text: str) -> None:
    table = pack("steps", {"start_ns": [1]})
    damaged = replace(table, columns=(replace(table.columns[0], packed=text),))

    with pytest.raises(FormatError, match="start_ns of data steps"):
        unpack(damaged)


def test_a_column_of_another_length_is_named() -> None:
    with pytest.raises(FormatError, match="holds 1 values, expected 2"):
        unpack(replace(pack("steps", {"start_ns": [1]}), n_rows=2))
