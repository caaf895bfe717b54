"""A report of the same input is not made twice: only its page is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import WouldOverwriteError
from reportgen.pipeline import measuring
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Options, OutputFormat
from reportgen.pipeline.wanted import wanted_range
from reportgen.pipeline.work import work_on
from tests.builders import Quiet, write_system
from tests.s3_server import Bucket
from tests.traces import ranked, write_trace


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A node and a rank, written a minute ago."""
    folder = tmp_path / "job"
    write_system(folder, {"gpu0": [50.0] * 40, "cpu0": [20.0] * 40})
    write_trace(folder / "rank0.json", ranked(0))
    age(folder)
    return folder


def age(folder: Path, *, by_s: float = 60.0) -> None:
    then_s = time.time() - by_s
    for path in folder.rglob("*"):
        os.utime(path, (then_s, then_s))


class Reads:
    """Counts the parts that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes: list[str] = []

        def counted(ref: Any, **more: Any) -> Any:
            self.nodes.append(ref.node)
            return work_on(ref, **more)

        monkeypatch.setattr(measuring, "work_on", counted)

    def taken(self) -> list[str]:
        nodes, self.nodes = sorted(self.nodes), []
        return nodes


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def report(job: Path | str, output: Path, *formats: OutputFormat, **more: Any) -> dict[str, bytes]:
    """Make a report and return its files."""
    make_report(Options(path=str(job), output=output, formats=frozenset(formats), **more), Quiet())
    return {path.name: path.read_bytes() for path in (output / "profiler-report").iterdir()}


BOTH = ["algo-1", "rank 0"]


def test_a_second_report_reads_nothing_and_keeps_the_results(job: Path, tmp_path, reads: Reads):
    first = report(job, tmp_path / "out")
    assert reads.taken() == BOTH
    assert report(job, tmp_path / "out", OutputFormat.MD) == first
    assert (tmp_path / "out" / "profiler-report.md").exists()
    assert reads.taken() == []


def test_what_the_digest_says_is_no_part_of_the_report(job: Path, tmp_path: Path) -> None:
    first = report(job, tmp_path / "first")
    age(job, by_s=90)
    second = report(job, tmp_path / "second")
    assert first.pop("Input.sha256") != second.pop("Input.sha256")
    assert first == second


@pytest.mark.parametrize(
    "more",
    [
        {"settings": {"LowGPUUtilization.threshold_p95": 60}},
        {"rules": ("LowGPUUtilization",)},
        {"wanted": wanted_range("2026-07-01T00:00:00Z", "2027-07-01T00:00:00Z", None)},
        {"name": "another"},
        {"timeline": "off"},
        {"force": True},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_is_asked_for_otherwise_is_read_again(job: Path, tmp_path: Path, reads: Reads, more):
    report(job, tmp_path / "out")
    reads.taken()
    report(job, tmp_path / "out", **more)
    assert reads.taken()


def test_a_file_that_changed_or_came_is_read(job: Path, tmp_path: Path, reads: Reads) -> None:
    report(job, tmp_path / "out")
    trace = job / "rank0.json"
    os.utime(trace, (0, 0))
    reads.taken()
    report(job, tmp_path / "out")
    assert reads.taken() == BOTH
    write_trace(job / "rank1.json", ranked(1))
    age(job)
    report(job, tmp_path / "out")
    assert reads.taken() == [*BOTH, "rank 1"]


def test_a_file_that_may_be_written_in_this_moment_is_read_again(job: Path, tmp_path, reads: Reads):
    age(job, by_s=-3600)
    for _ in range(2):
        assert "Input.sha256" not in report(job, tmp_path / "out")
        assert reads.taken() == BOTH


@pytest.mark.parametrize(
    "name", ["report.json", "LowGPUUtilization.json", "Timeline.bin", "Input.sha256"]
)
def test_a_report_that_was_changed_is_made_anew(job: Path, tmp_path: Path, reads: Reads, name):
    first = report(job, tmp_path / "out")
    path = tmp_path / "out" / "profiler-report" / name
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    reads.taken()
    assert report(job, tmp_path / "out") == first
    assert reads.taken() == BOTH


def test_a_job_with_files_that_were_skipped_is_read_again(job: Path, tmp_path: Path, reads: Reads):
    (job / "rank1.json").write_text('{"traceEvents": [')
    age(job)
    for _ in range(2):
        report(job, tmp_path / "out")
        assert reads.taken()


def test_an_edited_notebook_is_not_replaced(job: Path, tmp_path: Path, reads: Reads) -> None:
    report(job, tmp_path / "out")
    edited = tmp_path / "out" / "profiler-report.ipynb"
    edited.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    reads.taken()
    with pytest.raises(WouldOverwriteError, match="was edited since it was made"):
        report(job, tmp_path / "out", OutputFormat.HTML, OutputFormat.IPYNB)
    assert reads.taken() == []


def test_objects_are_known_by_their_etags(job: Path, tmp_path: Path, s3: Bucket, reads: Reads):
    s3.put_folder(job, "job")
    report(f"{s3.url}/job", tmp_path / "out")
    assert reads.taken() == BOTH
    report(f"{s3.url}/job", tmp_path / "out")
    assert reads.taken() == []
