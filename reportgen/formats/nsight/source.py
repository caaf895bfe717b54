"""Open an export of Nsight Systems, without changing it, and read its tables batch by batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from reportgen.errors import FormatError
from reportgen.formats.diagnostics import printable
from reportgen.formats.nsight.database import Database, TooMuchError, open_database
from reportgen.formats.nsight.parquet import Folder, open_folder

BATCH_ROWS = 65_536
_CACHED_TEXTS = 65_536
_IDS_AT_ONCE = 8_192
_ERRORS = (sqlite3.Error, duckdb.Error, TooMuchError, OverflowError)
_NSIGHT_TABLES = (
    "StringIds",
    "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
)
"""Tables of which every report has one, whatever was recorded and whichever version wrote it."""


@dataclass(slots=True, kw_only=True)
class NsightReport:
    """An open export.

    Attributes:
        tables: the columns of each table; versions differ in both.
        damage: tables that could not be read to their end, and why.
    """

    connection: Database | Folder
    tables: Mapping[str, frozenset[str]]
    damage: dict[str, str] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)

    def rows(self, query: str, *, table: str) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query in batches; damage in the table ends them and is kept."""
        try:
            yield from self.connection.rows(query, at_once=BATCH_ROWS)
        except _ERRORS as err:
            self.damage.setdefault(table, _reason(err))

    def columns(
        self, table: str, names: Sequence[str], where: str = ""
    ) -> Iterator[dict[str, Sequence[Any]]]:
        """Yield some columns of a table in batches; one that the table has not holds ``None``.

        Edge cases: nothing for a table that is not there.
        """
        known = self.tables.get(table)
        if known is None:
            return
        chosen = ", ".join(f'"{name}"' if name in known else "NULL" for name in names)
        condition = f" WHERE {where}" if where else ""
        query = f'SELECT {chosen} FROM "{table}"{condition}'  # noqa: S608  # names of ours
        for batch in self.rows(query, table=table):
            yield dict(zip(names, zip(*batch, strict=True), strict=True))

    def all_rows(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return some columns of a small table, as rows."""
        return [
            row for batch in self.columns(table, names) for row in zip(*batch.values(), strict=True)
        ]

    def texts(self, ids: Sequence[Any]) -> list[str]:
        """Return the texts of ids, of which the table ``StringIds`` may hold millions."""
        wanted = [item for item in set(ids) - self._texts.keys() if isinstance(item, int)]
        found: dict[int, str] = {}
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            some = ",".join(map(str, wanted[start : start + _IDS_AT_ONCE]))
            for batch in self.columns("StringIds", ("id", "value"), f"id IN ({some})"):
                found.update(zip(batch["id"], map(_text, batch["value"]), strict=True))
        if len(self._texts) < _CACHED_TEXTS:
            self._texts |= found
            found = self._texts
        return [found.get(item) or self._texts.get(item, "") for item in ids]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


@contextmanager
def open_report(path: Path) -> Iterator[NsightReport]:
    """Open an export: an SQLite file, or a folder of Parquet files.

    Raises:
        FormatError: it is unfinished, damaged, or of another program.
    """
    with _opened_folder(path) if path.is_dir() else _opened_file(path) as report:
        if not any(name in report.tables for name in _NSIGHT_TABLES):
            raise FormatError(
                f"{printable(path.name)!r} holds no table of Nsight Systems.",
                hint="Pass an export: nsys export --type=sqlite REPORT.nsys-rep",
            )
        yield report


@contextmanager
def _opened_file(path: Path) -> Iterator[NsightReport]:
    with ExitStack() as exits:
        try:
            database = exits.enter_context(open_database(path))
        except (sqlite3.Error, TooMuchError) as err:
            raise _unreadable(path, err) from err
        yield NsightReport(connection=database, tables=database.tables)


@contextmanager
def _opened_folder(folder: Path) -> Iterator[NsightReport]:
    """Open a folder of Parquet files, each a table; a broken one counts as damage."""
    with open_folder(folder) as opened:
        damage = {name: _reason(err) for name, err in opened.broken.items()}
        if not opened.tables and damage:
            raise _unreadable(folder, next(iter(damage.values())))
        yield NsightReport(connection=opened, tables=opened.tables, damage=damage)


def _unreadable(path: Path, err: object) -> FormatError:
    name = printable(path.name)
    what = f"{name!r} cannot be read as an export of Nsight Systems: {_reason(err)}."
    return FormatError(what, hint="Export the report again: nsys export --type=sqlite.")


def _reason(err: object) -> str:
    """Return the first line of what a library says, without places of this machine."""
    said = next(iter(str(err).splitlines()), "")
    return printable(said.partition("'/")[0].rstrip(" :.\"'"))[:120]
