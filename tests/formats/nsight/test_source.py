"""An export is opened without changing it, and what is wrong with it is said."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pytest

from reportgen.errors import FormatError
from reportgen.formats.nsight.source import open_report
from sample_data.nsight_report import ReportTables, training
from tests.fuzz.attacks_nsight import write_journal
from tests.fuzz.attacks_text import parquet_of_equal_rows, parquet_of_one_long_text


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return training().write(tmp_path_factory.mktemp("nsight") / "report.sqlite")


@pytest.fixture
def report(sample: Path, tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return Path(shutil.copy(sample, tmp_path / "in" / "report.sqlite"))


def state_of(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
    }


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    before = state_of(folder)
    yield
    assert state_of(folder) == before


def n_kernels(path: Path) -> int:
    with open_report(path) as opened:
        batches = opened.columns("CUPTI_ACTIVITY_KIND_KERNEL", ["start"])
        return sum(len(batch["start"]) for batch in batches)


def refusal(path: Path) -> FormatError:
    with pytest.raises(FormatError) as caught, open_report(path):
        pass
    return caught.value


def test_reading_changes_nothing(report: Path) -> None:
    with unchanged(report.parent):
        assert n_kernels(report) == 1232


def test_a_file_that_must_not_be_written_is_read(report: Path) -> None:
    report.chmod(0o444)
    report.parent.chmod(0o555)
    try:
        assert n_kernels(report) == 1232
    finally:
        report.parent.chmod(0o755)


@pytest.mark.parametrize(("mode", "side"), [("WAL", "-wal"), ("DELETE", "-journal")])
def test_a_database_with_changes_beside_it_is_refused(report: Path, mode: str, side: str) -> None:
    with closing(sqlite3.connect(report, isolation_level=None)) as writer:
        writer.execute(f"PRAGMA journal_mode={mode}")
        writer.execute("BEGIN")
        writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (1, 2)")
        if mode == "WAL":
            writer.execute("COMMIT")
        with unchanged(report.parent):
            error = refusal(report)
    assert error.message == (
        f"'report.sqlite' is not finished: 'report.sqlite{side}' beside it holds changes."
    )
    assert "nsys export --type=sqlite --force-overwrite=true" in error.hint


def test_a_journal_that_comes_while_a_report_is_read_deletes_nothing(report: Path) -> None:
    victim = report.with_name("victim")
    victim.write_text("kept")
    with open_report(report) as opened:
        write_journal(report, victim)
        with unchanged(report.parent):
            (batch,) = opened.columns("CUPTI_ACTIVITY_KIND_KERNEL", ["start"])
    assert len(batch["start"]) == 1232


def test_a_database_in_log_mode_without_a_log_gets_none(report: Path) -> None:
    with closing(sqlite3.connect(report)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
    assert [path.name for path in report.parent.iterdir()] == ["report.sqlite"]
    with unchanged(report.parent):
        assert n_kernels(report) == 1232


def test_a_view_that_the_list_of_tables_calls_a_table_is_refused(tmp_path: Path) -> None:
    path = ReportTables().write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(
            "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS "
            "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n"
        )
        writer.execute("PRAGMA writable_schema = ON")
        writer.execute("UPDATE sqlite_master SET type = 'table' WHERE type = 'view'")
        writer.commit()
    assert "malformed database schema" in refusal(path).message


@pytest.mark.parametrize(
    "made",
    [
        "TABLE NVTX_EVENTS (text, start AS (length(zeroblob(1000000))))",
        "VIEW NVTX_EVENTS AS SELECT 1 AS start",
    ],
)
def test_a_view_and_a_table_with_a_computed_column_are_no_tables(tmp_path: Path, made: str) -> None:
    path = ReportTables().write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(f"CREATE {made}")
        writer.commit()
    with open_report(path) as opened:
        assert "NVTX_EVENTS" not in opened.tables


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_query_and_keeps_its_signal(report: Path, number: int) -> None:
    def interrupt(heard: int, _: object) -> None:
        raise KeyboardInterrupt(heard)

    before = signal.signal(number, interrupt)
    try:
        with open_report(report) as opened:
            threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
            endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            with pytest.raises(KeyboardInterrupt) as caught:
                list(opened.rows(f"{endless} SELECT count(*) FROM n", table="n"))
    finally:
        signal.signal(number, before)
    assert caught.value.args == (number,)


def test_a_query_without_end_is_stopped_and_counts_as_damage(report: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    with open_report(report) as opened:
        list(opened.rows(f"{endless} SELECT x FROM n", table="rows"))
        list(opened.rows(f"{endless} SELECT count(*) FROM n", table="work"))
    assert opened.damage == {
        "rows": "more rows than a file of its size can hold",
        "work": "more work than a file of its size can ask for",
    }


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as writer:
        writer.execute("CREATE TABLE runs (id INTEGER)")
    error = refusal(tmp_path / "runs.sqlite")
    assert "'runs.sqlite' holds no table of Nsight Systems." in error.message


@pytest.mark.parametrize("n_bytes", [3_000, 9_000, 100_000])
def test_a_file_that_is_cut_off_is_refused_with_both_sizes(report: Path, n_bytes: int) -> None:
    whole = report.read_bytes()
    report.write_bytes(whole[:n_bytes])
    with unchanged(report.parent):
        said = f"of its {len(whole):,} bytes {n_bytes:,} are there."
        assert refusal(report).message == f"'report.sqlite' is cut off: {said}"


@pytest.mark.parametrize("n_bytes", [0, 40, 99])
def test_a_file_cut_off_in_its_head_is_refused(report: Path, n_bytes: int) -> None:
    report.write_bytes(report.read_bytes()[:n_bytes])
    assert "'report.sqlite'" in refusal(report).message


def test_a_file_with_a_broken_page_gives_the_rows_before(report: Path) -> None:
    whole = bytearray(report.read_bytes())
    whole[len(whole) // 2 :] = b"\xff" * (len(whole) - len(whole) // 2)
    report.write_bytes(whole)
    with unchanged(report.parent), open_report(report) as opened:
        rows = [
            sum(len(batch["start"]) for batch in opened.columns(table, ["start"]))
            for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS")
        ]
        assert opened.damage
        assert sum(rows) < 1232 + 1328
        assert all(str(report.parent) not in why for why in opened.damage.values())


def test_text_that_is_no_utf_8_is_read(tmp_path: Path) -> None:
    path = ReportTables().write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO StringIds VALUES (7, CAST(x'6b80ff' AS TEXT))")
        writer.execute("INSERT INTO StringIds VALUES (8, x'6b80ff')")
        writer.commit()
    with open_report(path) as opened:
        lossy = b"k\x80\xff".decode("utf-8", "replace")
        assert opened.texts([8, 7, None, 9, "x"]) == [lossy, lossy, "", "", ""]


def test_a_broken_parquet_file_is_damage_and_the_others_are_read(tmp_path: Path) -> None:
    folder = training().write(tmp_path / "report_pqtdir")
    broken = folder / "NVTX_EVENTS.parquet"
    broken.write_bytes(broken.read_bytes()[:100])
    with open_report(folder) as opened:
        assert list(opened.damage) == ["NVTX_EVENTS"]
        assert str(tmp_path) not in opened.damage["NVTX_EVENTS"]
    assert n_kernels(folder) == 1232


def test_a_folder_of_broken_parquet_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x_pqtdir").mkdir()
    (tmp_path / "x_pqtdir" / "StringIds.parquet").write_bytes(b"PAR1")
    assert "'x_pqtdir' cannot be read as an export" in refusal(tmp_path / "x_pqtdir").message


def test_parquet_with_more_rows_than_its_bytes_can_hold_is_not_read(tmp_path: Path) -> None:
    folder = parquet_of_equal_rows(tmp_path)
    with open_report(folder) as opened:
        assert "NVTX_EVENTS" not in opened.tables
        assert "10,000,000 rows" in opened.damage["NVTX_EVENTS"]
    assert n_kernels(folder) == 1232


def test_a_text_that_all_rows_of_parquet_mean_is_counted_for_each(tmp_path: Path) -> None:
    folder = parquet_of_one_long_text(tmp_path)
    with open_report(folder) as opened:
        assert sum(len(batch["text"]) for batch in opened.columns("NVTX_EVENTS", ["text"])) == 0
        assert "more bytes than a file of its size" in opened.damage["NVTX_EVENTS"]


def test_columns_of_parquet_of_another_type_count_as_absent(tmp_path: Path) -> None:
    folder = training().write(tmp_path / "run_pqtdir")
    table = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    rows = f"SELECT * REPLACE (DATE '2020-01-01' AS correlationId) FROM '{table}'"
    duckdb.execute(f"COPY ({rows}) TO '{table}.new' (FORMAT parquet)")
    Path(f"{table}.new").replace(table)
    assert n_kernels(folder) == 1232
