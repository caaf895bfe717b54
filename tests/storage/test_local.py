"""Folders of this machine: what is listed, and what is never followed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from reportgen.errors import LocationError
from reportgen.storage import LocalLocation, at_home, read_blocks


def test_files_are_listed_by_key_with_sizes(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.json").write_text("12345")
    (tmp_path / "a.json").write_text("")
    listed = LocalLocation(tmp_path).list()
    assert [(info.key, info.size_bytes, info.problem) for info in listed] == [
        ("a.json", 0, ""),
        ("b/2.json", 5, ""),
    ]


def test_links_are_listed_with_a_problem_and_never_followed(tmp_path: Path) -> None:
    job, outside = tmp_path / "job", tmp_path / "outside"
    job.mkdir()
    outside.mkdir()
    (outside / "secret.json").write_text("{}")
    (job / "loop").symlink_to(job)
    (job / "out").symlink_to(outside)
    (job / "file.json").symlink_to(outside / "secret.json")
    listed = LocalLocation(job).list()
    assert [(info.key, info.problem) for info in listed] == [
        ("file.json", "a link"),
        ("loop", "a link"),
        ("out", "a link"),
    ]


def test_a_tilde_is_the_home_of_somebody_or_a_name_like_others(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert at_home("~/job") == tmp_path / "job"
    assert at_home("~nobody-of-that-name/job") == Path("~nobody-of-that-name/job")


def test_a_link_to_the_job_itself_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "job")
    assert LocalLocation(tmp_path / "link").root == str((tmp_path / "job").resolve())


def test_sockets_and_pipes_are_not_plain_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        problems = {info.key: info.problem for info in LocalLocation(tmp_path).list()}
    assert problems == {"pipe.json": "a pipe", "s": "a socket"}


def test_hidden_folders_are_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.json").write_text("{}")
    assert not LocalLocation(tmp_path).list()


def test_a_file_that_is_gone_is_a_location_error_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match=r"Cannot read gone\.json") as info:
        LocalLocation(tmp_path).read_bytes("gone.json")
    assert info.value.details["path"] == "gone.json"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_may_not_be_listed_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        listed = LocalLocation(tmp_path).list()
    finally:
        closed.chmod(0o755)
    assert [(info.key, info.problem) for info in listed] == [("closed/.", "permission denied")]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no such files here")
def test_a_file_that_is_longer_than_it_says_is_read_whole() -> None:
    location = LocalLocation("/proc/self")
    assert Path("/proc/self/cmdline").stat().st_size == 0
    assert location.read_bytes("cmdline") == Path("/proc/self/cmdline").read_bytes() != b""


def test_a_part_of_a_file_is_read_and_blocks_make_the_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    location = LocalLocation(tmp_path)
    assert location.read_range("a", 3, 4) == b"3456"
    assert location.read_range("a", 8, 40) == b"89"
    assert list(read_blocks(location, "a", 10, block_bytes=4)) == [b"0123", b"4567", b"89"]
    with pytest.raises(LocationError, match="Cannot read gone"):
        location.read_range("gone", 0, 1)
