"""The report of a job that still writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import LocationError
from reportgen.pipeline import watch as watch_module
from reportgen.pipeline.options import Options, OutputFormat
from reportgen.pipeline.watch import WatchOptions, watch
from reportgen.storage import ObjectInfo, open_location
from tests.builders import START_S, Quiet, system_line, write_end_marker, write_minute


def write(job: Path, number: int) -> None:
    start_s = START_S + 60 * number
    lines = [system_line("cpu0", 50, start_s + tick / 2) for tick in range(100)]
    write_minute(job, lines, minute_s=start_s)


def options(path: object, output: Path, **more: Any) -> WatchOptions:
    report = Options(path=str(path), output=output, formats=frozenset({OutputFormat.MD}))
    return WatchOptions(report=report, **{"every_s": 0.0, "idle_s": 60.0, **more})


def saved(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "profiler-report" / "report.json").read_text())
    return found


def test_each_look_with_news_makes_the_report_until_the_job_has_ended(tmp_path: Path) -> None:
    job, output = tmp_path / "job", tmp_path / "report"
    write(job, 0)
    states = []

    def on_made(_: str) -> None:
        states.append((saved(output)["job"]["running_until"], saved(output)["summary"]["end_time"]))
        write(job, len(states)) if len(states) < 3 else write_end_marker(job)

    assert watch(options(job, output), Quiet(), on_made=on_made)
    assert [until == end for until, end in states] == [True, True, True, False]
    assert states[-1][0] is None
    assert states[0][1] < states[1][1] < states[2][1]
    assert saved(output)["job"]["source"] == str(job)


def test_without_news_no_report_is_made_again_and_the_watch_ends(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write(job, 0)
    made: list[str] = []

    has_ended = watch(
        options(job, tmp_path / "report", every_s=0.01, idle_s=0.1), Quiet(), on_made=made.append
    )

    assert not has_ended
    assert len(made) == 1


def test_a_job_that_is_not_there_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    job = tmp_path / "job"
    looks: list[str] = []

    def come_at_the_third_look(*_: object) -> None:
        looks.append("look")
        if len(looks) == 3:
            write(job, 0)
            write_end_marker(job)

    monkeypatch.setattr("reportgen.pipeline.watch.time.sleep", come_at_the_third_look)

    assert watch(options(job, tmp_path / "report"), Quiet(), on_made=looks.append)
    assert looks[:3] == ["look"] * 3
    assert len(looks) == 4


def test_a_file_of_the_same_size_is_news_when_it_was_written_again(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write(job, 0)
    (path,) = job.rglob("*.json")
    made: list[str] = []

    def on_made(address: str) -> None:
        made.append(address)
        if len(made) == 1:
            path.write_text(path.read_text().replace("cpu0", "cpu1"))
        else:
            write_end_marker(job)

    assert watch(options(job, tmp_path / "report"), Quiet(), on_made=on_made)
    assert len(made) == 3


class Bucket:
    """A folder that looks like a bucket: it is listed with versions and its reads are counted."""

    root = "s3://bucket/job"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.fetched: list[str] = []

    def list(self) -> Sequence[ObjectInfo]:
        found = open_location(str(self._folder)).list()
        return [*found, ObjectInfo(key="../outside", size_bytes=1, version="v")]

    def local_path(self, _key: str) -> None:
        return None

    def read_many(self, keys: Sequence[str]) -> Iterator[bytes | LocationError]:
        for key in keys:
            self.fetched.append(key.rpartition("/")[2])
            yield (self._folder / key).read_bytes()


def test_of_a_bucket_only_news_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, output = tmp_path / "job", tmp_path / "report"
    write(job, 0)
    bucket = Bucket(job)
    monkeypatch.setattr(watch_module, "open_location", lambda _: bucket)

    def on_made(_: str) -> None:
        if len(bucket.fetched) == 1:
            write(job, 1)
        elif len(bucket.fetched) == 2:
            write_end_marker(job)

    assert watch(options("s3://bucket/job", output), Quiet(), on_made=on_made)
    assert bucket.fetched == [
        f"{START_S:.0f}.algo-1.json",
        f"{START_S + 60:.0f}.algo-1.json",
        "training_job_end.ts",
    ]
    assert saved(output)["job"]["source"] == "s3://bucket/job"
    assert saved(output)["job"]["name"] == "job"
