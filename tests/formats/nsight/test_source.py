"""An export is opened without changing it, and what is wrong with it is said."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reportgen.errors import FormatError
from reportgen.formats.nsight.source import open_report
from sample_data.nsight_report import ReportTables, training


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


def test_a_database_with_a_log_beside_it_is_read_whole_and_left_alone(report: Path) -> None:
    with closing(sqlite3.connect(report)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (1, 2)")
        writer.commit()
        for path in list(report.parent.iterdir()):
            shutil.copy(path, report.parent / path.name.replace("report", "copy"))
    copy = report.with_name("copy.sqlite")
    copy.with_name("copy.sqlite-shm").unlink()
    assert copy.with_name("copy.sqlite-wal").stat().st_size > 0
    with unchanged(report.parent):
        assert n_kernels(copy) == 1233


def test_a_database_in_log_mode_without_a_log_gets_none(report: Path) -> None:
    with closing(sqlite3.connect(report)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
    assert [path.name for path in report.parent.iterdir()] == ["report.sqlite"]
    with unchanged(report.parent):
        assert n_kernels(report) == 1232


def test_a_locked_database_is_named(report: Path) -> None:
    with closing(sqlite3.connect(report, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        error = refusal(report)
    assert error.message == "'report.sqlite' is locked: another program is writing it."
    assert error.hint is not None
    assert error.hint.startswith("Wait until the export has ended")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as writer:
        writer.execute("CREATE TABLE runs (id INTEGER)")
    error = refusal(tmp_path / "runs.sqlite")
    assert "'runs.sqlite' holds no table of Nsight Systems." in error.message


@pytest.mark.parametrize("n_bytes", [3_000, 5_000, 9_000])
def test_a_file_cut_off_in_its_list_of_tables_has_damage(report: Path, n_bytes: int) -> None:
    report.write_bytes(report.read_bytes()[:n_bytes])
    with unchanged(report.parent), open_report(report) as opened:
        assert not list(opened.columns("CUPTI_ACTIVITY_KIND_KERNEL", ["start"]))
        assert list(opened.damage) == ["CUPTI_ACTIVITY_KIND_KERNEL"]


@pytest.mark.parametrize("n_bytes", [0, 40, 99])
def test_a_file_cut_off_in_its_head_is_refused(report: Path, n_bytes: int) -> None:
    report.write_bytes(report.read_bytes()[:n_bytes])
    assert "'report.sqlite'" in refusal(report).message


def test_a_file_cut_off_in_its_rows_gives_those_before(report: Path) -> None:
    whole = report.read_bytes()
    report.write_bytes(whole[: len(whole) // 2])
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


def test_views_and_virtual_tables_are_no_tables(tmp_path: Path) -> None:
    path = ReportTables().write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start")
    with open_report(path) as opened:
        assert "NVTX_EVENTS" not in opened.tables


def test_a_folder_of_parquet_files_is_read_whatever_its_name(tmp_path: Path) -> None:
    folder = training().write(tmp_path / "odd '[x]*?_pqtdir")
    with unchanged(folder):
        assert n_kernels(folder) == 1232


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
