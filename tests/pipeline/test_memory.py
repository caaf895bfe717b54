"""A part is measured once as long as nothing that it depends on changes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reportgen.cache import Cache
from reportgen.errors import ConfigError
from reportgen.intake import cache_for, discover, kept_blocks
from reportgen.pipeline import Options, judging, make_report, measuring, memory
from reportgen.pipeline.work import work_on
from tests.builders import START_S, write_system
from tests.pipeline.test_measuring import Nobody
from tests.s3_server import Bucket
from tests.traces import ranked, write_trace


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A node with samples and events, and two ranks; all files are old enough."""
    folder = tmp_path / "job"
    write_system(folder, {"gpu0": [50.0] * 20, "cpu0": [30.0] * 20})
    for rank in range(2):
        write_trace(folder / f"rank{rank}.json", ranked(rank))
    age(folder)
    return folder


def age(folder: Path, *, by_s: float = 60.0) -> None:
    """Make files look as if they had been written a minute ago."""
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


def report(job: Path | str, tmp_path: Path, name: str = "out", **options: Any) -> dict[str, bytes]:
    """Make a report and return its files."""
    given = {"cache": str(tmp_path / "cache"), "engine": "threads", **options}
    output = tmp_path / name
    output.mkdir(exist_ok=True)
    make_report(Options(path=str(job), output=output, formats=frozenset(), **given), Nobody())
    folder = output / "profiler-report"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


ALL = ["algo-1", "rank 0", "rank 1"]


@pytest.mark.parametrize("most_parts", [1, 256])
def test_a_second_report_reads_nothing_and_is_the_same(
    job: Path, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch, most_parts: int
) -> None:
    monkeypatch.setattr(judging, "MOST_PARTS_HERE", most_parts)
    without = report(job, tmp_path, "without", cache="off")
    assert reads.taken() == ALL
    assert report(job, tmp_path, "first") == without
    assert reads.taken() == ALL
    assert report(job, tmp_path, "second") == without
    assert reads.taken() == []


def test_a_part_whose_file_changed_is_read_again(job: Path, tmp_path: Path, reads: Reads) -> None:
    report(job, tmp_path)
    reads.taken()
    write_trace(job / "rank1.json", ranked(1).replace("ncclKernel", "ncclKernal"))
    age(job, by_s=30.0)
    (job / "rank0.json").touch()
    age(job, by_s=20.0)
    changed = report(job, tmp_path)
    assert reads.taken() == ALL
    assert report(job, tmp_path) == changed
    assert reads.taken() == []
    then_s = time.time() - 10.0
    os.utime(job / "rank1.json", (then_s, then_s))
    report(job, tmp_path)
    assert reads.taken() == ["rank 1"]


def test_files_that_are_young_may_change_yet_and_are_not_kept(
    job: Path, tmp_path: Path, reads: Reads
) -> None:
    (job / "rank1.json").touch()
    report(job, tmp_path)
    report(job, tmp_path)
    assert reads.taken() == [*ALL, "rank 1"]


@pytest.mark.parametrize(
    "options",
    [
        {"settings": {"LowGPUUtilization.threshold_p95": 60}},
        {"rules": ("GPUActivity", "OverallSystemUsage")},
        {"until": str(START_S + 4)},
    ],
    ids=["parameter", "rules", "range"],
)
def test_whatever_measures_otherwise_reads_again(
    job: Path, tmp_path: Path, reads: Reads, options: Mapping[str, Any]
) -> None:
    report(job, tmp_path)
    reads.taken()
    report(job, tmp_path, **options)
    assert "algo-1" in reads.taken()


def test_another_version_of_ours_reads_again(
    job: Path, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(job, tmp_path)
    reads.taken()
    monkeypatch.setattr(memory, "software", lambda _: {"make-profiler-report": "9.9"})
    report(job, tmp_path)
    assert reads.taken() == ALL


def test_entries_that_are_damaged_are_read_again(job: Path, tmp_path: Path, reads: Reads) -> None:
    whole = report(job, tmp_path)
    reads.taken()
    for path in Cache(tmp_path / "cache").folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert report(job, tmp_path) == whole
    assert reads.taken() == ALL
    report(job, tmp_path)
    assert reads.taken() == []


def test_parts_with_files_that_could_not_be_read_are_not_kept(
    job: Path, tmp_path: Path, reads: Reads
) -> None:
    minute = next(job.rglob("*algo-1.json"))
    minute.with_name(f"{int(START_S) // 60 * 60 + 60}.algo-1.json").touch()
    age(job)
    report(job, tmp_path)
    report(job, tmp_path)
    assert reads.taken() == ["algo-1", *ALL]


def test_objects_are_known_by_their_tags(
    s3: Bucket, job: Path, tmp_path: Path, reads: Reads
) -> None:
    s3.put_folder(job, "job")
    url = f"{s3.url}/job"
    first = report(url, tmp_path)
    assert report(url, tmp_path) == first
    assert reads.taken() == ALL
    s3.put("job/rank1.json", ranked(1).encode() + b" ")
    report(url, tmp_path)
    assert reads.taken() == ["rank 1"]
    s3.trouble.hides_tags = True
    report(url, tmp_path)
    report(url, tmp_path)
    assert reads.taken() == sorted([*ALL, *ALL])


def test_only_large_jobs_use_the_cache_unasked(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    found = discover(str(job))
    assert cache_for(None, found) is None
    assert not (tmp_path / "mine").exists()
    monkeypatch.setattr(kept_blocks, "WORTH_BYTES", 10)
    chosen = cache_for(None, found)
    assert chosen is not None
    assert chosen.folder.parent == tmp_path / "mine"
    chosen.folder.chmod(0o777)
    assert cache_for(None, found) is None
    with pytest.raises(ConfigError):
        cache_for(str(tmp_path / "mine"), found)
    assert cache_for("off", found) is None
    with pytest.raises(ConfigError, match="a folder of this machine"):
        cache_for("s3://bucket/cache", found)
