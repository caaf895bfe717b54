"""Claims, locks and clocks of a shared folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.record import folder as folder_module
from reportgen.record.folder import (
    NodeClock,
    SamplerLock,
    is_alive,
    open_recording,
    process_start,
    read_clock,
    read_json,
    replace_json,
)
from reportgen.record.readings import MinuteFiles


def test_the_time_of_a_recording_follows_no_jump_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch):
    clock = read_clock()
    before_ns = clock.now_ns()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    monkeypatch.setattr(time, "time", lambda: 0.0)

    assert 0 <= clock.now_ns() - before_ns < 60 * 10**9
    assert NodeClock(wall_ns=5, monotonic_ns=time.monotonic_ns()).now_ns() < 60 * 10**9


def test_another_machine_is_another_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_recording(tmp_path, with_host_name=False)
    again = open_recording(tmp_path, with_host_name=False)
    monkeypatch.setattr(folder_module, "boot_token", lambda: "another boot")
    other = open_recording(tmp_path, with_host_name=False)

    assert [found.node for found in (first, again, other)] == ["node-1", "node-1", "node-2"]
    assert again.clock == first.clock != other.clock


def test_a_claim_that_was_never_written_is_passed_over(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(folder_module, "_EMPTY_FOR_S", 0.05)
    nodes = tmp_path / "recorder" / "nodes"
    nodes.mkdir(parents=True)
    (nodes / "node-1.json").touch()

    assert open_recording(tmp_path, with_host_name=False).node == "node-2"


def ended_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.parametrize(
    ("pid", "started"), [(ended_pid(), "1"), (os.getpid(), "another time")], ids=["gone", "another"]
)
def test_the_lock_of_a_process_that_is_gone_is_taken_over(pid, started, tmp_path: Path) -> None:
    recording = open_recording(tmp_path, with_host_name=False)
    lock = tmp_path / "recorder" / "nodes" / "node-1.sampler-1"
    lock.write_text(json.dumps({"pid": pid, "started": started}))

    assert SamplerLock(recording).is_ours()
    assert lock.with_name("node-1.sampler-2").exists()


def test_the_lock_of_a_living_process_is_respected(tmp_path: Path) -> None:
    recording = open_recording(tmp_path, with_host_name=False)
    first, second = SamplerLock(recording), SamplerLock(recording)

    assert first.is_ours()
    assert not second.is_ours()
    assert first.is_ours()


@pytest.mark.parametrize("pid", [None, "7", 0, -1, 1.5])
def test_what_is_no_process_is_not_alive(pid: object) -> None:
    assert not is_alive(pid, None)


def test_this_process_is_alive_since_it_began() -> None:
    assert is_alive(os.getpid(), process_start(os.getpid()))
    assert not is_alive(os.getpid(), "0")


def test_a_full_folder_costs_the_ticks_that_do_not_fit_and_no_other(tmp_path: Path, monkeypatch):
    files = MinuteFiles(tmp_path, "node-1")
    files.write("one\n", 0)
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, data[:2]))
    files.write("lost\n", 1)
    monkeypatch.setattr(os, "write", real_write)
    files.write("two\n", 2)

    (path,) = tmp_path.rglob("*.json")
    assert path.read_text().splitlines() == ["one", "lo", "two"]
    assert (files.n_lost_ticks, files.why_lost) == (1, "No space left on device")


def test_a_file_is_replaced_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    replace_json(path, {"n": 1})
    replace_json(path, {"n": 2})

    assert json.loads(path.read_text()) == {"n": 2}
    assert [found.name for found in tmp_path.iterdir()] == ["card.json"]


@pytest.mark.parametrize("text", ["", "[]", '{"a":', "[" * 100_000])
def test_a_card_that_is_none_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)

    assert read_json(path) == {}
