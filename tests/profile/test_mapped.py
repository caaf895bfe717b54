"""Matrices in files: the same values, whatever their size, and memory that is let go."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from reportgen.arrays import Floats
from reportgen.profile import mapped
from reportgen.profile.mapped import (
    blank_matrix,
    chosen,
    count_present,
    forget,
    in_file,
    in_turn,
    piecewise,
    taken,
)

N_ROWS, N_COLUMNS = 100_000, 20


def resident_bytes() -> int:
    """Return the memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def matrix(large_bytes: int) -> Floats:
    """Return a matrix whose values are their places in column-major order."""
    values = blank_matrix(N_ROWS, N_COLUMNS, large_bytes=large_bytes)
    values.T.reshape(-1)[:] = np.arange(values.size)
    return values


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is counted as in Linux")
def test_a_large_matrix_takes_no_memory_until_it_is_used(temporary: Path) -> None:
    values = matrix(large_bytes=1)
    used = resident_bytes()

    forget(values[:, 3:7:2])

    assert used - resident_bytes() > 0.9 * values.nbytes
    assert values[5, 3] == 3 * N_ROWS + 5


def test_large_and_small_matrices_are_alike(temporary: Path) -> None:
    large, small = matrix(large_bytes=1), matrix(large_bytes=1 << 40)

    forget(large)
    forget(small)

    np.testing.assert_array_equal(large, small)
    assert large.flags.f_contiguous
    assert large.flags.writeable


def test_no_file_is_left_even_while_the_matrix_is_used(temporary: Path) -> None:
    values = matrix(large_bytes=1)

    assert not list(temporary.iterdir())
    assert values[1, 0] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux is told")
def test_freed_memory_is_kept_for_the_next_array() -> None:
    program = """
import resource
import numpy as np
from reportgen.profile.mapped import free_at_once

free_at_once()
np.ones(250_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    np.ones(250_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert int(done.stdout) < 10 * 250_000 * 8 / os.sysconf("SC_PAGE_SIZE")


def test_a_column_lies_in_memory_where_files_have_no_space(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    column = np.arange(600_000, dtype=np.int64)
    monkeypatch.setattr(tempfile, "TemporaryFile", is_full)

    np.testing.assert_array_equal(in_file(column), column)
    np.testing.assert_array_equal(taken(column, column % 2 == 0), column[::2])
    np.testing.assert_array_equal(piecewise(np.negative, column, dtype=np.int64), -column)


def test_without_space_it_lies_in_memory(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_full(handle: int, n_bytes: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "_reserve", is_full)
    values = matrix(large_bytes=1)
    forget(values)

    assert values[-1, -1] == values.size - 1


def test_a_matrix_may_be_empty() -> None:
    assert blank_matrix(0, 3, large_bytes=0).shape == (0, 3)
    assert count_present(blank_matrix(2, 0)) == []


def test_columns_come_in_the_order_asked_for(temporary: Path) -> None:
    values = matrix(large_bytes=1)

    assert [int(column[0]) // N_ROWS for column in in_turn(values, [4, 2])] == [4, 2]


def test_rows_and_columns_are_chosen(temporary: Path) -> None:
    values = matrix(large_bytes=1)
    values[1, 2] = np.nan

    found = chosen(values, np.arange(N_ROWS) < 3, [2, 0])

    np.testing.assert_array_equal(found[:, 1], [0, 1, 2])
    assert count_present(found) == [2, 3]


def test_a_column_keeps_its_type(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_LARGE_COLUMN_BYTES", 1)
    column = np.array([1 << 62, -1], dtype=np.int64)

    found = in_file(column)

    assert found.tolist() == [1 << 62, -1]
    assert found.dtype == column.dtype


def test_many_rows_are_computed_and_taken_in_pieces(temporary: Path) -> None:
    values = in_file(np.arange(300_001, dtype=np.int64) * 7 % 1_000)
    is_even, rows = values % 2 == 0, np.arange(300_000, -1, -1)

    assert np.array_equal(piecewise(np.add, values, rows, dtype=np.int64), values + rows)
    assert np.array_equal(taken(values, is_even), values[is_even])
    assert np.array_equal(taken(values, rows), values[::-1])
    assert not list(temporary.iterdir())
