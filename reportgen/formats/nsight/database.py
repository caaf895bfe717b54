"""Open an SQLite file of somebody else: it is only read, alone, and at a cost that its size limits.

SQLite would finish what a writer left in a log or journal beside the file, and a journal can name
any file to be deleted then. A schema can hold programs: views without end, computed columns. So the
file is opened as one that never changes (``immutable``), which leaves files beside it alone, and
only what was created as a plain table is ever named to SQLite.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reportgen.errors import FormatError
from reportgen.formats.diagnostics import printable

SIDES = ("-journal", "-wal")
"""Files in which the writer of a database keeps changes until they are in the database."""

_CREATED = re.compile(r"""CREATE TABLE (["'`\[]?)([A-Za-z_]\w*)["'`\]]?\s*\(""")
_HEAD_BYTES = 100
_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0")
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 18,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COLUMN: 256,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
"""The longest value and statement in bytes, and most columns; real exports have 16 kB, 5 kB, 60."""

_STEPS_AT_ONCE = 100_000
_LEAST_STEPS, _STEPS_PER_BYTE = 10_000_000, 32
"""A real export takes 2 steps of SQLite's machine for each byte; 20 million take a second."""

_LEAST_BYTES, _READ_PER_BYTE = 16 << 20, 16
_LEAST_ROW_BYTES = 4
_ROWS_AT_ONCE = 32
"""As many values of the greatest length fit into memory before they are counted."""


class TooMuchError(Exception):
    """A database asks for more work, rows or bytes than a file of its size can hold."""


@dataclass(slots=True, kw_only=True)
class Database:
    """An open file, and what reading it may still cost.

    Attributes:
        tables: the columns of each plain table.
    """

    connection: sqlite3.Connection
    size_bytes: int
    tables: dict[str, frozenset[str]] = field(default_factory=dict)
    _interrupt: KeyboardInterrupt | None = None
    _bytes_left: int = 0

    def __post_init__(self) -> None:
        """Set the limits."""
        self._bytes_left = _LEAST_BYTES + _READ_PER_BYTE * self.size_bytes
        for kind, most in _LIMITS.items():
            self.connection.setlimit(kind, most)
        ticks = self._ticks()
        next(ticks)
        self.connection.set_progress_handler(ticks.__next__, _STEPS_AT_ONCE)
        self.connection.text_factory = self._text
        for pragma in _PRAGMAS:
            self.connection.execute(f"PRAGMA {pragma}")

    def rows(self, query: str, *, at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, so many at once.

        Raises:
            TooMuchError: it has no end that the size of the file allows.
            sqlite3.Error: the file is damaged.
        """
        rows_left = self.size_bytes // _LEAST_ROW_BYTES
        try:
            with closing(self.connection.execute(query)) as cursor:
                while batch := self._fetch(cursor, at_once):
                    rows_left -= len(batch)
                    if rows_left < 0:
                        raise TooMuchError("more rows than a file of its size can hold")
                    yield batch
        except sqlite3.OperationalError as err:
            if self._interrupt is not None:
                raise self._interrupt from None
            if err.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TooMuchError("more work than a file of its size can ask for") from err
            raise

    def _fetch(self, cursor: sqlite3.Cursor, n_rows: int) -> list[tuple[Any, ...]]:
        batch: list[tuple[Any, ...]] = []
        while len(batch) < n_rows and (some := cursor.fetchmany(_ROWS_AT_ONCE)):
            self._spend(sum([len(item) for row in some for item in row if type(item) is bytes]))
            batch += some
        return batch

    def _text(self, raw: bytes) -> str:
        self._spend(len(raw))
        return raw.decode("utf-8", "replace")

    def _spend(self, n_bytes: int) -> None:
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            raise TooMuchError("more bytes than a file of its size can hold")

    def _ticks(self) -> Iterator[int]:
        """Yield 0 as long as SQLite may go on, once for each ``_STEPS_AT_ONCE``.

        Ctrl-C and SIGTERM are raised here while SQLite works, which would drop them.
        """
        try:
            for _ in range(0, _LEAST_STEPS + _STEPS_PER_BYTE * self.size_bytes, _STEPS_AT_ONCE):
                yield 0
        except KeyboardInterrupt as err:  # raised again where the query was asked for
            self._interrupt = err
        while True:
            yield 1


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open a file that nobody may be writing.

    Raises:
        FormatError: a writer left changes beside it, or its end is missing.
        TooMuchError: its list of tables takes too long.
        sqlite3.Error: it is damaged, or no database.
    """
    beside = {side: path.with_name(path.name + side) for side in SIDES}
    if filled := [side for side, it in beside.items() if it.is_file() and it.stat().st_size]:
        raise unfinished(path.name, filled)
    size_bytes = path.stat().st_size
    _refuse_cut_off(path, size_bytes)
    address = path.resolve().as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
        database = Database(connection=connection, size_bytes=size_bytes)
        database.tables = _tables_of(database)
        yield database


def _refuse_cut_off(path: Path, size_bytes: int) -> None:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).ljust(_HEAD_BYTES, b"\0")
    page_bytes = int.from_bytes(head[16:18]) << (16 if head[16:18] == b"\0\1" else 0)
    whole_bytes = page_bytes * int.from_bytes(head[28:32])
    if whole_bytes > size_bytes and head[24:28] == head[92:96]:  # else the number is out of date
        raise FormatError(
            f"{printable(path.name)!r} is cut off: of its {whole_bytes:,} bytes {size_bytes:,} are "
            "there.",
            hint="Copy it again, or export the report again: nsys export --type=sqlite.",
        )


def _tables_of(database: Database) -> dict[str, frozenset[str]]:
    """Return what was created as a plain table, with its columns.

    A view is not even described: SQLite works out its columns for that, and it may join itself to
    no end. The first words of the statement that SQLite runs decide, since the list of tables may
    call a view a table.
    """
    tables: dict[str, frozenset[str]] = {}
    found = "SELECT name, substr(sql, 1, 200) FROM sqlite_master WHERE sql LIKE 'CREATE TABLE %'"
    named = [row for batch in database.rows(found, at_once=_ROWS_AT_ONCE) for row in batch]
    for name, sql in named:
        head = _CREATED.match(sql)
        if head is None or head[2] != name:
            continue
        (columns,) = database.rows(f'PRAGMA table_xinfo("{name}")', at_once=1 << 16)
        is_plain = not any(hidden for *_, hidden in columns)  # a computed column is a program
        if is_plain:
            tables[name] = frozenset(str(column[1]) for column in columns)
    return tables


def unfinished(name: str, sides: Sequence[str]) -> FormatError:
    """Return that a database is not whole without the files beside it."""
    beside = " and ".join(repr(printable(name + side)) for side in sides)
    hold = "holds" if len(sides) == 1 else "hold"
    return FormatError(
        f"{printable(name)!r} is not finished: {beside} beside it {hold} changes.",
        hint="Wait until its writer has ended, or export the report again: "
        "nsys export --type=sqlite --force-overwrite=true",
    )
