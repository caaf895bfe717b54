"""Attacks by texts and tables: names that regular expressions read, secrets, rows without end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sample_data.nsight_report import training
from tests.traces import header, small_events, span

SECRET = "c4n4ry0001"
"""What no output may hold of ``secrets_everywhere``."""

ESCAPES = "\x1b[31m\x9b2J\x1b]8;;http://x\x07\u202e\r"
_EQUAL_ROWS = 10_000_000


def _named(folder: Path, *names: str) -> Path:
    events = small_events()
    events += [span(kind, name, 3, 4) for name in names for kind in ("user_annotation", "cpu_op")]
    path = folder / "t.pt.trace.json"
    path.write_text(json.dumps({**header(), "traceEvents": events}))
    return path


def digits_before_a_letter(folder: Path) -> Path:
    """A name of 3,000 digits, which a search for digits at the end begins at each of them."""
    return _named(folder, "1" * 3_000 + "x")


def long_digits_before_a_letter(folder: Path) -> Path:
    return _named(folder, "1" * 1_000_000 + "x", "step 1 " * 100_000 + "\0")


def escape_sequences(folder: Path) -> Path:
    return _named(folder, *(f"{ESCAPES}{number}" for number in range(50)), ESCAPES * 20_000)


def secrets_everywhere(folder: Path) -> Path:
    """Half a megabyte that begins like secrets again and again, and real ones between."""
    begun = ("password=", "token: ", "://", "hf_", "eyJaaaa.", "X-Amz-Signature%3D", "bearer  ")
    return _named(folder, *(word * (500_000 // len(word)) for word in begun), f"password={SECRET}")


def _parquet(folder: Path, rows: str, **options: str | int) -> Path:
    """Write an export whose annotations are the rows of a query."""
    path = training().write(folder / "run_pqtdir")
    said = "".join(f", {name} {value}" for name, value in options.items())
    target = f"{path / 'NVTX_EVENTS'}.parquet"
    query = f"COPY ({rows}) TO '{target}' (FORMAT parquet{said})"
    make = "import duckdb, sys; duckdb.execute(sys.argv[1])"  # aside: the memory is measured
    subprocess.run([sys.executable, "-c", make, query], check=True)
    return path


def parquet_of_equal_rows(folder: Path) -> Path:
    columns = '5::BIGINT AS start, 9::BIGINT AS "end", 59 AS eventType, 1::BIGINT AS globalTid'
    return _parquet(
        folder,
        f"SELECT {columns}, 'x' AS text FROM range({_EQUAL_ROWS})",
        compression="zstd",
        row_group_size=_EQUAL_ROWS,
    )


def parquet_of_one_long_text(folder: Path) -> Path:
    """60 kB that 50,000 rows mean."""
    text = "repeat('x', 60000)"
    return _parquet(
        folder,
        'SELECT 5 + range AS start, 9 + range AS "end", 59 AS eventType, 1::BIGINT AS globalTid, '
        f"{text} AS text FROM range(50000)",
        compression="zstd",
    )


def parquet_of_lists(folder: Path) -> Path:
    return _parquet(
        folder,
        'SELECT 5 + range AS start, range(1000000) AS "end", 59 AS eventType FROM range(100)',
        compression="zstd",
    )


TEXT_ATTACKS: Mapping[str, Callable[[Path], Path]] = {
    attack.__name__: attack
    for attack in (
        digits_before_a_letter, long_digits_before_a_letter, escape_sequences, secrets_everywhere,
        parquet_of_equal_rows, parquet_of_one_long_text, parquet_of_lists,
    )
}  # fmt: skip
