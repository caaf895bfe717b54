"""Reports of Nsight Systems are ranks: one for each process that ran kernels."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import ReportgenError
from reportgen.profile import Clock, JobProfile, RankTrace, SourceNote
from reportgen.report.compose import data_quality
from sample_data.kernel_trace import FOLDER as KINETO
from sample_data.kernel_trace import START_US
from sample_data.nsight_report import REPORT, ReportTables, events_of
from tests.s3_server import Bucket


def read(path: Path | str) -> tuple[JobProfile, list[RankTrace]]:
    job = intake.discover(str(path))
    traces = [intake.read(part) for part in job.parts]
    return job, [trace for trace in traces if isinstance(trace, RankTrace)]


def write_rank(path: Path, *, rank: int = 0) -> Path:
    report = ReportTables()
    report.add_process(events_of(rank), pid=4100 + rank)
    return report.write(path)


def texts_of(traces: list[RankTrace]) -> list[str]:
    return [note.text for trace in traces for note in trace.notes if note.text]


def test_processes_of_one_report_are_ranks_by_gpu() -> None:
    job, traces = read(REPORT)
    assert job.info.name == "training"
    assert [(trace.rank, trace.is_rank_known) for trace in traces] == [(0, False), (1, False)]
    (note,) = job.notes
    assert note.text == (
        "The ranks of 2 processes are unknown: they are numbered by the names of the reports, "
        "then by GPU and process."
    )
    assert texts_of(traces) == []
    for trace in traces:
        assert trace.clock is Clock.UNIX
        assert trace.steps.number.tolist() == list(range(4, 12))
        assert trace.path == "training.sqlite"
        assert trace.origin_ns - trace.base_ns == int(START_US) * 1000


def test_a_report_of_two_processes_is_one_file_and_each_note_names_its_process() -> None:
    _, traces = read(REPORT)
    orphan = SourceNote(text="2 GPU operations have no launch.", path="training.sqlite, rank 0")
    quality = data_quality([note for trace in traces for note in trace.notes] + [orphan] * 2)
    assert quality.counters["files_read"] == 1
    assert [note.path for note in quality.notes] == ["training.sqlite, rank 0"]


def test_reports_say_their_rank_in_their_names(tmp_path: Path) -> None:
    for rank, name in ((0, "run_rank10.sqlite"), (1, "run_rank2.sqlite")):
        write_rank(tmp_path / name, rank=rank)
    _, traces = read(tmp_path)
    assert [(trace.rank, trace.is_rank_known, trace.threads[0].pid) for trace in traces] == [
        (2, True, "4101"), (10, True, "4100")
    ]  # fmt: skip


def test_reports_without_ranks_are_numbered_by_name(tmp_path: Path) -> None:
    for rank, name in ((0, "report10.sqlite"), (1, "report9.sqlite")):
        write_rank(tmp_path / name, rank=rank)
    _, traces = read(tmp_path)
    assert [(trace.rank, trace.is_rank_known, trace.path) for trace in traces] == [
        (0, False, "report9.sqlite"), (1, False, "report10.sqlite")
    ]  # fmt: skip


@pytest.mark.parametrize("below", ["", "run_pqtdir"])
def test_a_folder_of_parquet_files_is_one_report(tmp_path: Path, below: str) -> None:
    write_rank(tmp_path / "run_pqtdir")
    job, (trace,) = read(tmp_path / below)
    assert trace.gpu_ops.start_ns.size == 624
    assert trace.path == "run_pqtdir"
    assert sum(file.size_bytes for file in job.parts[0].files) > 10_000


def test_traces_of_pytorch_beside_reports_are_read_alone(tmp_path: Path) -> None:
    shutil.copytree(KINETO, tmp_path / "job")
    shutil.copy(REPORT, tmp_path / "job")
    job, traces = read(tmp_path / "job")
    assert all(trace.path.endswith(".json.gz") for trace in traces)
    (note,) = job.notes
    assert note.text == (
        "1 report of Nsight Systems lies beside kernel traces of PyTorch and was left out: pass it "
        "alone."
    )


def test_databases_of_other_programs_are_passed_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as writer:
        writer.execute("CREATE TABLE runs (id INTEGER)")
    write_rank(tmp_path / "run_rank3.sqlite")
    job, (trace,) = read(tmp_path)
    assert (trace.rank, trace.is_rank_known) == (3, True)
    assert job.notes == ()


def test_a_broken_report_beside_others_is_a_warning(tmp_path: Path) -> None:
    write_rank(tmp_path / "rank0.sqlite")
    whole = write_rank(tmp_path / "rank1.sqlite").read_bytes()
    (tmp_path / "rank1.sqlite").write_bytes(b"SQLite format 3\0" + whole[50:5000])
    job, traces = read(tmp_path)
    assert [trace.path for trace in traces] == ["rank0.sqlite"]
    assert [(note.text, note.path) for note in job.notes] == [
        ("1 file was skipped.", "rank1.sqlite"),
        ("'rank1.sqlite' cannot be read as an export of Nsight Systems: file is not a database.",
         "rank1.sqlite"),
    ]  # fmt: skip


def test_a_report_that_another_program_has_locked_is_read(tmp_path: Path) -> None:
    path = write_rank(tmp_path / "run.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        _, (trace,) = read(path)
    assert trace.gpu_ops.start_ns.size == 624


def test_a_report_that_goes_away_is_a_note(tmp_path: Path) -> None:
    path = write_rank(tmp_path / "run.sqlite")
    (part,) = intake.discover(str(path)).parts
    path.write_bytes(b"")
    trace = intake.read(part)
    assert isinstance(trace, RankTrace)
    assert trace.n_events == 0
    assert any("holds no table of Nsight" in text for text in texts_of([trace]))


def test_a_cut_off_report_alone_is_an_error(tmp_path: Path) -> None:
    path = write_rank(tmp_path / "run.sqlite")
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(ReportgenError, match=r"'run\.sqlite' is cut off"):
        intake.discover(str(path))


def test_a_report_without_events_says_so(tmp_path: Path) -> None:
    report = ReportTables()
    report.add_process([], pid=1)
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"):
        report.rows[table] = []
    _, (trace,) = read(report.write(tmp_path / "run.sqlite"))
    assert texts_of([trace]) == ["1 file holds no event of a kernel trace."]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.sqlite", "run_pqtdir"])
def test_a_report_in_a_bucket_is_read_as_from_disk(s3: Bucket, tmp_path: Path, name: str) -> None:
    write_rank(tmp_path / "job" / name)
    s3.put_folder(tmp_path / "job", "job")
    (_, (disk,)), (_, (bucket,)) = read(tmp_path / "job"), read(f"{s3.url}/job")
    assert disk.gpu_ops.start_ns.tolist() == bucket.gpu_ops.start_ns.tolist()
    assert disk.names == bucket.names
    assert disk.notes == bucket.notes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (("-wal",), "'run.sqlite-wal' beside it holds changes."),
        (("-journal",), "'run.sqlite-journal' beside it holds changes."),
        (("-journal", "-wal"), "'run.sqlite-journal' and 'run.sqlite-wal' beside it hold changes."),
    ],
)
@pytest.mark.parametrize("place", ["disk", "bucket", "bucket/run.sqlite"])
def test_a_report_with_changes_beside_it_is_refused(s3: Bucket, tmp_path: Path, sides, said, place):
    write_rank(tmp_path / "job" / "run.sqlite")
    for side in sides:
        (tmp_path / "job" / f"run.sqlite{side}").write_bytes(b"x")
    s3.put_folder(tmp_path / "job", "job")
    source = tmp_path / "job" if place == "disk" else place.replace("bucket", f"{s3.url}/job")
    with pytest.raises(ReportgenError) as caught:
        intake.discover(str(source))
    assert caught.value.message == f"'run.sqlite' is not finished: {said}"


@pytest.mark.slow
def test_empty_files_beside_a_report_in_a_bucket_change_nothing(s3: Bucket, tmp_path: Path) -> None:
    write_rank(tmp_path / "job" / "run.sqlite")
    for side in ("-journal", "-wal"):
        (tmp_path / "job" / f"run.sqlite{side}").touch()
    s3.put_folder(tmp_path / "job", "job")
    _, (trace,) = read(f"{s3.url}/job")
    assert trace.gpu_ops.start_ns.size == 624
