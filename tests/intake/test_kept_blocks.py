"""Samples that were parsed before come from the cache, and are the same."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reportgen.cache import Cache
from reportgen.explore import Job
from reportgen.formats.sagemaker.system_metrics import read_block
from reportgen.intake import discover, kept_blocks, read_node, system
from reportgen.profile import NodeProfile
from tests.builders import START_S, system_line, write_minute
from tests.s3_server import Bucket

N_MINUTES = 6


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two minutes a block, all by DuckDB."""
    monkeypatch.setattr(system, "SMALL_BYTES", 0)
    monkeypatch.setattr(system, "BLOCK_BYTES", 30_000)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for minute in range(N_MINUTES):
        add_minute(tmp_path / "job", minute)
    age(tmp_path / "job")
    return tmp_path / "job"


def add_minute(job: Path, minute: int, *, more: str = "") -> Path:
    begin_s = START_S + 60 * minute
    lines = [
        system_line(name, 10 * minute + second / 7, begin_s + second)
        for second in range(50)
        for name in ("gpu0", "cpu0", *(["cpu1"] if minute % 2 else []))
    ]
    return write_minute(job, [*lines, *([more] if more else [])], minute_s=begin_s)


def age(folder: Path, *, by_s: float = 60.0) -> None:
    then_s = time.time() - by_s
    for path in folder.rglob("*"):
        os.utime(path, (then_s, then_s))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of files in each block that is parsed."""
    sizes: list[int] = []

    def counted(connection, files, codes, problems):
        sizes.append(len(files))
        return read_block(connection, files, codes, problems)

    monkeypatch.setattr(kept_blocks, "read_block", counted)
    return sizes


def node_of(job: Path, cache: Cache | None) -> NodeProfile:
    return node_at(str(job), cache)


def node_at(path: str, cache: Cache | None) -> NodeProfile:
    (part,) = discover(path).parts
    return read_node(part, cache=cache)


def assert_same(one: NodeProfile, other: NodeProfile) -> None:
    assert one.notes == other.notes
    assert one.system.series == other.system.series
    assert one.system.tick_ns.tobytes() == other.system.tick_ns.tobytes()
    assert one.system.values.tobytes("F") == other.system.values.tobytes("F")
    assert (one.system.first_ns, one.system.last_ns) == (
        other.system.first_ns,
        other.system.last_ns,
    )


def test_what_was_parsed_is_not_parsed_again_and_is_the_same(
    job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    cache, whole = Cache(tmp_path), node_of(job, None)
    assert_same(node_of(job, cache), whole)
    assert sum(parsed) == N_MINUTES
    assert len(parsed) > 2
    parsed.clear()
    assert_same(node_of(job, cache), whole)
    assert parsed == []


def test_analysis_by_hand_parses_nothing_that_was_parsed(
    job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    first = Job(str(job), cache=str(tmp_path)).system_metrics()
    assert sum(parsed) == N_MINUTES
    parsed.clear()
    again = Job(str(job), cache=str(tmp_path)).system_metrics()
    assert parsed == []
    assert again.equals(first)
    assert again.equals(Job(str(job), cache="off").system_metrics())


def test_of_a_job_that_grew_only_the_end_is_parsed(
    job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    cache = Cache(tmp_path)
    node_of(job, cache)
    parsed.clear()
    for minute in (N_MINUTES, N_MINUTES + 1):
        add_minute(job, minute)
    assert_same(node_of(job, cache), node_of(job, None))
    assert sum(parsed) <= 4


def test_a_block_with_a_broken_line_is_parsed_each_time(
    job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    add_minute(job, 0, more='{"Type": "gpu", ')
    age(job)
    cache = Cache(tmp_path)
    first = node_of(job, cache)
    assert any("cannot be read" in note.text or note.counts for note in first.notes)
    parsed.clear()
    assert_same(node_of(job, cache), first)
    assert parsed
    assert sum(parsed) < N_MINUTES + 3


def test_a_file_that_changed_is_parsed_again(job: Path, tmp_path: Path, parsed: list[int]) -> None:
    cache = Cache(tmp_path)
    node_of(job, cache)
    parsed.clear()
    path = add_minute(job, 2)
    then_s = time.time() - 20
    path.write_bytes(path.read_bytes().replace(b"20.0", b"21.0"))
    os.utime(path, (then_s, then_s))
    assert_same(node_of(job, cache), node_of(job, None))
    assert 1 <= sum(parsed) < N_MINUTES


def test_objects_are_known_by_their_tags(
    s3: Bucket, job: Path, tmp_path: Path, parsed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "REMOTE_BLOCK_BYTES", 30_000)
    s3.put_folder(job, "job")
    url, cache, whole = f"{s3.url}/job", Cache(tmp_path), node_of(job, None)
    assert_same(node_at(url, cache), whole)
    assert sum(parsed) == N_MINUTES
    parsed.clear()
    assert_same(node_at(url, cache), whole)
    assert parsed == []
    add_minute(job, 2, more=system_line("gpu0", 1.0, START_S + 175))
    s3.put_folder(job, "job")
    assert_same(node_at(url, cache), node_of(job, None))
    assert 1 <= sum(parsed) < N_MINUTES


def test_objects_without_tags_are_parsed_each_time(
    s3: Bucket, job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    s3.put_folder(job, "job")
    s3.trouble.hides_tags = True
    cache = Cache(tmp_path)
    node_at(f"{s3.url}/job", cache)
    node_at(f"{s3.url}/job", cache)
    assert sum(parsed) == 2 * N_MINUTES


def test_an_object_that_changed_after_it_was_listed_is_not_kept(
    s3: Bucket, job: Path, tmp_path: Path, parsed: list[int]
) -> None:
    s3.put_folder(job, "job")
    (part,) = discover(f"{s3.url}/job").parts
    add_minute(job, 0, more=system_line("gpu0", 1.0, START_S + 55))
    s3.put_folder(job, "job")
    cache = Cache(tmp_path)
    read_node(part, cache=cache)
    parsed.clear()
    assert_same(node_at(f"{s3.url}/job", cache), node_of(job, None))
    assert sum(parsed) > 0


def test_entries_that_are_no_columns_are_parsed_again(
    job: Path, tmp_path: Path, parsed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, whole = Cache(tmp_path), node_of(job, None)
    monkeypatch.setattr(Cache, "path", lambda *_: tmp_path / "gone")
    assert_same(node_of(job, cache), whole)
    assert sum(parsed) == N_MINUTES
