"""Open a folder of Parquet files of somebody else, at a cost that the sizes of the files limit.

A few kilobytes can claim any number of equal rows, and one text can be meant by all of them. So the
footer of each file is read first, only columns of single values are named to DuckDB, and what it
returns is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from reportgen.formats.nsight.database import TooMuchError

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_LEAST_ROWS, _BYTES_PER_ROW = 65_536, 4
"""Rows of a small file, and the fewest bytes of a row of a larger one; real ones have 15."""

_LEAST_BYTES, _READ_PER_BYTE = 16 << 20, 32
_LONGEST_BYTES = 1 << 16
"""The longest text; real exports have 16 kB. DuckDB makes 2,048 at once, whatever its limit."""

_ROWS_AT_ONCE = 32
"""As many texts of the greatest length fit into memory before they are counted."""


@dataclass(slots=True, kw_only=True)
class Folder:
    """The files that could be opened, each a table, and how many bytes reading may still give.

    Attributes:
        tables: the columns of each table.
        broken: why the others could not be opened.
    """

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, frozenset[str]] = field(default_factory=dict)
    broken: dict[str, Exception] = field(default_factory=dict)
    _bytes_left: int = _LEAST_BYTES

    def add(self, path: Path) -> None:
        """Open a file; one that is damaged or claims too much is broken."""
        try:
            self.tables[path.stem] = self._columns(path)
        except (duckdb.Error, TooMuchError) as err:
            self.broken[path.stem] = err

    def _columns(self, path: Path) -> frozenset[str]:
        size_bytes, address = path.stat().st_size, _literal(str(path))
        n_rows, n_bytes = self._claimed(address)
        if n_rows > _LEAST_ROWS + size_bytes // _BYTES_PER_ROW:
            raise TooMuchError(
                f"{n_rows:,} rows in {size_bytes:,} bytes, more than a file of its size can hold"
            )
        if n_bytes > _LEAST_BYTES + _READ_PER_BYTE * size_bytes:
            raise TooMuchError("more bytes than a file of its size can hold")
        source = f"read_parquet({address})"
        kinds = {
            str(name): str(kind)
            for name, kind, *_ in self.connection.execute(f"DESCRIBE FROM {source}").fetchall()
            if not set(str(kind)) & set("([")  # a list or a structure has no end of its own
        }
        chosen = ", ".join(_limited(_quoted(name), kind) for name, kind in kinds.items())
        query = f"SELECT {chosen} FROM {source}"  # noqa: S608  # quoted
        self.connection.execute(f'CREATE VIEW "{path.stem}" AS {query}')
        self._bytes_left += _READ_PER_BYTE * size_bytes
        return frozenset(kinds)

    def _claimed(self, address: str) -> tuple[int, int]:
        """Return the rows and the unpacked bytes that the footer of a file claims."""
        of_file = f"SELECT num_rows FROM parquet_file_metadata({address})"  # noqa: S608  # quoted
        of_groups = f"FROM parquet_metadata({address})"
        (said,) = self.connection.execute(of_file).fetchall()[0]
        rows, unpacked = self.connection.execute(
            "SELECT sum(row_group_num_rows) FILTER (column_id = 0), "
            f"sum(abs(total_uncompressed_size)) {of_groups}"
        ).fetchall()[0]
        return max(said, rows or 0), unpacked or 0

    def rows(self, query: str, *, at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, so many at once.

        Raises:
            TooMuchError: there are more bytes than the files can hold.
            duckdb.Error: a file is damaged, or a text is too long.
        """
        with closing(self.connection.cursor()) as cursor:  # new: queries run inside others
            cursor.execute(query)
            while batch := self._fetch(cursor, at_once):
                yield batch

    def _fetch(self, cursor: duckdb.DuckDBPyConnection, n_rows: int) -> list[tuple[Any, ...]]:
        batch: list[tuple[Any, ...]] = []
        while len(batch) < n_rows and (some := cursor.fetchmany(_ROWS_AT_ONCE)):
            for row in some:
                self._bytes_left -= sum([len(v) for v in row if type(v) is str or type(v) is bytes])
            if self._bytes_left < 0:
                raise TooMuchError("more bytes than a file of its size can hold")
            batch += some
        return batch


@contextmanager
def open_folder(folder: Path) -> Iterator[Folder]:
    """Open the files of a folder whose names can be those of tables."""
    with closing(duckdb.connect(config=SETTINGS)) as connection:
        opened = Folder(connection=connection)
        for path in sorted(folder.glob("*.parquet")):
            if path.stem.isidentifier():
                opened.add(path)
        yield opened


def _limited(name: str, kind: str) -> str:
    length = {"VARCHAR": "strlen", "BLOB": "octet_length"}.get(kind)
    if length is None:
        return name
    too_long = f"error('a text of more than {_LONGEST_BYTES:,} bytes')"
    return f"if({length}({name}) > {_LONGEST_BYTES}, {too_long}, {name}) AS {name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(path: str) -> str:
    """Return a path for DuckDB, which would take some characters for a pattern of names."""
    for character in "[*?":
        path = path.replace(character, f"[{character}]")
    return "'" + path.replace("'", "''") + "'"
