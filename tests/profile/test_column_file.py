"""Columns in a file: the same numbers as in memory, whatever the disk does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from reportgen.arrays import Floats
from reportgen.profile.column_file import ColumnFile, Columns, count_present, stored

N_COLUMNS = 3


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def columns(large_bytes: int) -> Columns:
    """Return columns of two stretches; the last column came with the second."""
    file = ColumnFile(large_bytes=large_bytes)
    stretches = (
        file.keep(lambda place: _numbers(place, 5), n_columns=N_COLUMNS - 1, n_rows=5),
        file.keep(lambda place: _numbers(place, 2), n_columns=N_COLUMNS, n_rows=2),
    )
    return Columns(stretches=stretches, places=(2, 0, 1))


def _numbers(place: int, n_rows: int) -> Floats:
    return place + np.arange(n_rows) / 10


def test_columns_of_a_file_are_those_of_memory(temporary: Path) -> None:
    large, small = columns(large_bytes=1), columns(large_bytes=1 << 40)

    np.testing.assert_array_equal(list(large), list(small))
    assert large[0].tolist()[5:] == [2.0, 2.1]
    assert count_present(large) == [2, 7, 7]
    np.testing.assert_array_equal(large[1:], small[1:])


def test_a_file_has_no_name_while_it_is_read(temporary: Path) -> None:
    large = columns(large_bytes=1)

    assert not list(temporary.iterdir())
    assert large[1][0] == 0.0


def test_without_space_columns_lie_in_memory(temporary: Path, monkeypatch: pytest.MonkeyPatch):
    def is_full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", is_full)

    np.testing.assert_array_equal(list(columns(large_bytes=1)), list(columns(large_bytes=1 << 40)))


def test_there_may_be_no_columns_and_no_rows() -> None:
    assert list(stored(lambda place: _numbers(place, 2), n_columns=0, n_rows=2)) == []
    assert stored(lambda place: _numbers(place, 0), n_columns=1, n_rows=0)[0].size == 0
