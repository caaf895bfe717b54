"""One node's minute files to its table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from reportgen.formats import Diagnostics
from reportgen.formats.format import Progress
from reportgen.formats.sagemaker.minute_files import SystemFile, readable
from reportgen.formats.sagemaker.system_lines import RawRows
from reportgen.formats.sagemaker.system_metrics import read_block, read_small_block
from reportgen.formats.series_codes import SeriesCodes
from reportgen.intake.blocks import TableBuilder
from reportgen.intake.ticks import Rows
from reportgen.intake.time_range import cut_rows
from reportgen.intake.validate import limits_of, valid_rows
from reportgen.profile import Quality, SystemTable, TimeRange
from reportgen.profile.system import empty_system
from reportgen.units import US_PER_S

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BLOCK_BYTES = 26_000_000
"""Bytes read at once: eight minutes of a large node, which occupy up to eight cores evenly. In
measurements half of it took 15 % longer, twice as much 5 % less and 20 MiB more."""

REMOTE_BLOCK_BYTES = 64_000_000
"""The same where files have to be fetched first, many at a time."""

BLOCK_FILES = 2_048
"""Most files read at once: of tiny ones what is known of each takes more than its text."""

SMALL_BYTES, MANY_FILES, TINY_BYTES = 24_000_000, 64, 32 << 10
"""Less than the first is read without DuckDB, and so are more files than the second whose mean is
less than the third: by measurement its start, and opening each, take longer than reading."""

MAX_THREADS = 8
"""Threads of one node's parser. Each takes a buffer, and disks are not faster."""

_SAY_READ = "{n} [file|files] of system metrics of NODE [was|were] read"

BlockReader = Callable[[Sequence[SystemFile], SeriesCodes, Diagnostics], list[RawRows]]
"""Reads some minute files of one node; see ``read_block``."""


def read_system(
    files: Sequence[SystemFile],
    problems: Diagnostics,
    *,
    kept: TimeRange | None = None,
    on_progress: Progress | None = None,
) -> SystemTable:
    """Read one node's minute files, given in any order; samples outside ``kept`` are left out.

    Edge cases: without samples the table is empty.
    """
    in_order = sorted(readable(files, problems), key=lambda file: (file.minute_s, file.key))
    if not in_order:
        return empty_system()
    problems.add(
        Quality.FILES_READ, "", len(in_order), what=_SAY_READ.replace("NODE", in_order[0].node)
    )
    codes, builder = SeriesCodes(), TableBuilder()
    n_read = 0
    for block, rows in valid_blocks(in_order, codes, problems):
        n_read += len(block)
        next_start_us = in_order[n_read].minute_s * US_PER_S if n_read < len(in_order) else None
        in_range = cut_rows(rows, kept)
        builder.add(in_range, codes.series, next_start_us=next_start_us)
        if on_progress is not None:
            on_progress(rows.n_rows, sum(file.size_bytes for file in block))
        del rows, in_range  # the next block takes their memory
    table = builder.table(codes.series)
    problems.add(Quality.LINES_DUPLICATE, "", builder.n_duplicates)
    return table


def valid_blocks(
    files: Sequence[SystemFile], codes: SeriesCodes, problems: Diagnostics
) -> Iterator[tuple[list[SystemFile], Rows]]:
    """Yield blocks of files and what in them are samples; see ``valid_rows``."""
    if not files:
        return
    with _block_reader(files) as read:
        for block in _blocks_of(files):
            raw = read(block, codes, problems)
            rows = [valid_rows(raw, block, limits_of(codes.series), problems)]
            del raw
            yield block, rows.pop()


@contextmanager
def _block_reader(files: Sequence[SystemFile]) -> Iterator[BlockReader]:
    """Yield what reads blocks of these files: DuckDB, or what starts at once, from any place."""
    n_bytes = sum(file.text_bytes for file in files)
    is_tiny = len(files) > MANY_FILES and n_bytes < TINY_BYTES * len(files)
    if n_bytes <= SMALL_BYTES or is_tiny or None in map(SystemFile.path, files):
        yield read_small_block
        return
    with _connect() as connection:
        yield partial(read_block, connection)


def _connect() -> DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": min(os.cpu_count() or 1, MAX_THREADS),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(config=config)


def _blocks_of(files: Sequence[SystemFile]) -> Iterator[list[SystemFile]]:
    is_local = files[0].location.local_path(files[0].key) is not None
    most_bytes = BLOCK_BYTES if is_local else REMOTE_BLOCK_BYTES
    block: list[SystemFile] = []
    size_bytes = 0
    for file in files:
        if len(block) == BLOCK_FILES or (block and size_bytes + file.text_bytes > most_bytes):
            yield block
            block, size_bytes = [], 0
        block.append(file)
        size_bytes += file.text_bytes
    if block:
        yield block
