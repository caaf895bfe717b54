"""Plain files are read; links in a folder, pipes, devices and large files are refused at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from reportgen.plain_files import read_entry, read_named


def test_what_the_user_names_may_be_a_link_and_an_entry_may_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")

    assert read_named(tmp_path / "link") == read_entry(tmp_path / "file") == b"x"
    with pytest.raises(OSError, match="a link, not a plain file"):
        read_entry(tmp_path / "link")


def test_nobody_waits_for_a_pipe_nor_reads_a_device(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, kind in {
            "pipe": "a pipe", "socket": "a socket", "/dev/zero": "a device", ".": "a folder",
        }.items():  # fmt: skip
            with pytest.raises(OSError, match=f"it is {kind}, not a plain file"):
                read_named(name)


@pytest.mark.parametrize(("most", "is_read"), [(10, True), (9, False)])
def test_a_file_is_read_up_to_its_limit(tmp_path: Path, most: int, *, is_read: bool) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10)
    if is_read:
        assert len(read_named(tmp_path / "file", most_bytes=most)) == most
    else:
        with pytest.raises(OSError, match="it has more than"):
            read_named(tmp_path / "file", most_bytes=most)
