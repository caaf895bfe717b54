"""``reportgen index`` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reportgen.cli.index import command
from reportgen.errors import ReportgenError
from reportgen.index import JobRow
from reportgen.pipeline.index import IndexOptions, _from, make_index
from tests.builders import write_end_marker, write_system
from tests.index.test_read import save, wasteful
from tests.s3_server import Bucket


def index(*args: object) -> Result:
    return CliRunner().invoke(command, [*map(str, args)], standalone_mode=False)


def test_page_and_json_are_written(tmp_path: Path) -> None:
    save(tmp_path / "jobs" / "a", wasteful("<b>job</b>", 2.0, 5.0))

    answer = index(tmp_path / "jobs", "-o", tmp_path / "out")

    page = (tmp_path / "out" / "profiler-index.html").read_text()
    tree = json.loads((tmp_path / "out" / "profiler-index.json").read_text())
    assert answer.exception is None
    assert answer.stdout.strip() == str(tmp_path / "out" / "profiler-index.html")
    assert tree["jobs"][0]["wasted_gpu_hours"] == 2.0
    assert "&lt;b&gt;job&lt;/b&gt;" in page
    assert "<b>job" not in page
    assert "default-src 'none'" in unescape(page)


@pytest.mark.notebook
def test_missing_reports_are_made_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        write_system(tmp_path / "jobs" / name, {"gpu0": [50.0] * 100, "cpu0": [20.0] * 100})
        write_end_marker(tmp_path / "jobs" / name)
    (tmp_path / "jobs" / "no job").mkdir()

    first = index(tmp_path / "jobs", "--make", "--processes", 1, "-o", tmp_path / "out")
    made = {
        path: path.stat().st_mtime_ns
        for path in (tmp_path / "out" / "profiler-reports").glob("*/profiler-report.html")
    }
    second = index(tmp_path / "jobs", "--make", "-o", tmp_path / "out")

    rows = json.loads((tmp_path / "out" / "profiler-index.json").read_text())["jobs"]
    assert first.exception is None
    assert second.exception is None
    assert capfd.readouterr().err == "", "nothing of a kernel that is used again"
    assert sorted(row["job"] for row in rows) == ["one", "two"]
    assert {row["status"] for row in rows} == {"Completed"}
    assert len(made) == 2
    assert all(path.stat().st_mtime_ns == time_ns for path, time_ns in made.items())


@pytest.mark.notebook
def test_missing_reports_of_a_bucket_are_made_beside_the_index(s3: Bucket, tmp_path: Path) -> None:
    for place in ("one/job", "other/job"):
        write_system(tmp_path / place, {"gpu0": [50.0] * 100, "cpu0": [20.0] * 100})
    save(tmp_path / "one" / "reported", wasteful("reported", 1.0))
    write_system(tmp_path / "one" / "reported", {"gpu0": [50.0] * 100, "cpu0": [20.0] * 100})
    (tmp_path / "one" / "notes").mkdir()
    (tmp_path / "one" / "notes" / "a.txt").write_text("no job")
    s3.put_folder(tmp_path / "one", "runs")

    command = (f"{s3.url}/runs", tmp_path / "other", "--make", "--processes", 1)
    answers = [index(*command, "-o", tmp_path / "out") for _ in range(2)]

    rows = json.loads((tmp_path / "out" / "profiler-index.json").read_text())["jobs"]
    assert [answer.exception for answer in answers] == [None, None]
    assert [row["job"] for row in rows] == ["reported", "job", "job"]
    assert {row["status"] for row in rows[1:]} == {"Unknown"}
    assert len({row["path"] for row in rows}) == 3


def test_jobs_that_cannot_be_reported_are_listed_with_the_reason(tmp_path: Path) -> None:
    write_system(tmp_path / "jobs" / "broken", {"gpu0": [50.0] * 3})
    for path in (tmp_path / "jobs" / "broken").rglob("*.json"):
        path.write_text("{")

    answer = index(tmp_path / "jobs", "--make", "--processes", 1, "-o", tmp_path / "out")

    assert answer.exception is None
    (row,) = json.loads((tmp_path / "out" / "profiler-index.json").read_text())["jobs"]
    assert row["job"] == "broken"
    assert "not one readable sample" in row["problem"]


class Listener:
    """Keeps what a run says of how far it is."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def step(self, name: str) -> None:
        """A step begins."""

    def progress(self, text: str) -> None:
        """A step went on."""
        self.heard.append(text)


def test_a_job_whose_process_is_killed_costs_no_other_job_its_report(tmp_path: Path, monkeypatch):
    for name in ("large", "small"):
        write_system(tmp_path / "jobs" / name, {"gpu0": [50.0] * 3})
    monkeypatch.setattr("reportgen.pipeline.index._report", killed_if_large)
    listener = Listener()

    places = (str(tmp_path / "jobs"),)
    options = IndexOptions(places=places, makes=True, n_processes=1, output=tmp_path / "out")
    _, index = make_index(options, listener)

    problems = {row.job: row.problem for row in index.jobs}
    assert "too little memory" in problems["large"]
    assert problems["small"] == "done"
    assert listener.heard == ["1 of 2"]


def killed_if_large(job: tuple[str, Path]) -> str:
    if job[0].endswith("large"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_page_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    save(tmp_path / "a", wasteful("job", 2.0))
    (tmp_path / "profiler-index.html").write_text("mine")

    assert isinstance(index(tmp_path, "-o", tmp_path).exception, ReportgenError)
    assert (tmp_path / "profiler-index.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("javascript:alert(1)/p.html", "./javascript%3Aalert%281%29/p.html"),
        ("a%#?b/p.html", "./a%25%23%3Fb/p.html"),
        ("s3://b/a b/p.html", "s3://b/a%20b/p.html"),
        ("javascript://x/%0aalert(1)", ""),
    ],
)
def test_links_of_an_index_are_quoted_paths(page: str, link: str) -> None:
    assert _from(JobRow(job="a", group="a", path="a", page=page), Path()).page == link
