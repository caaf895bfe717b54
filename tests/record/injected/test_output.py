"""The files of one process: read back by our own reader, private, and never a reason to fail."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pytest

import reportgen
from reportgen.record.injected.reportgen_injected import output
from reportgen.record.injected.reportgen_injected.output import Event, Output
from reportgen.record.injected.reportgen_injected.settings import Settings

START_NS = 1_760_000_000_000_000_000
TRAIN = "Step:ModeKeys.TRAIN"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(str(tmp_path), (START_NS, 0))


@pytest.fixture
def made(settings: Settings) -> Output:
    return Output(settings)


def step(number: int) -> Event:
    start_ns = number * 100_000_000
    return Event(TRAIN, TRAIN, start_ns, start_ns + 60_000_000, number)


def n_steps(folder: Path) -> int:
    """Return how many steps our own reader finds."""
    return len(reportgen.open(str(folder)).framework_metrics(processes=TRAIN))


def test_what_is_written_is_read_back(made: Output, tmp_path: Path) -> None:
    made.begin()
    for number in range(30):
        made.add(step(number))
    made.flush()
    for number in range(30, 50):
        made.add(step(number))
    made.add(Event("annotation", 'a "name"\n', 5_000_000, 7_000_000, None, '"tid": 5'))
    made.flush(is_end=True)
    assert n_steps(tmp_path) == 50
    names = set(reportgen.open(str(tmp_path)).framework_metrics()["framework_metric"])
    assert any(name.startswith('a "name"') for name in names)
    (path,) = tmp_path.glob("framework/pevents/*/p*/*.json.gz")
    assert path.name.startswith(str((START_NS + 49 * 10**8 + 6 * 10**7) // 1000))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    json.loads(gzip.decompress(path.read_bytes()))
    assert len(list(path.parent.iterdir())) == 1


def test_a_process_that_is_killed_leaves_what_was_flushed(made: Output, tmp_path: Path) -> None:
    made.begin()
    made.add(step(0))
    made.add(step(1))
    made.flush()
    assert len(list(tmp_path.glob("framework/pevents/*/p*/*.json.tmp"))) == 1
    assert n_steps(tmp_path) == 2


def test_a_full_file_is_closed_and_the_next_one_begun(made: Output, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(output, "ROTATE_BYTES", 500)
    made.begin()
    for number in range(12):
        made.add(step(number))
        made.flush()
    made.flush(is_end=True)
    assert len(list(tmp_path.glob("framework/pevents/*/p*/*.json.gz"))) > 2
    assert n_steps(tmp_path) == 12


def test_the_file_of_a_program_replaced_by_exec_is_kept(settings: Settings, tmp_path: Path) -> None:
    for first in (0, 10):
        made = Output(settings)
        made.begin()
        made.add(step(first))
        made.flush()
    made.flush(is_end=True)
    assert n_steps(tmp_path) == 2


def test_a_disk_that_takes_nothing_is_given_up(made: Output, tmp_path: Path, monkeypatch) -> None:
    def full(*_args: object) -> int:
        raise OSError(28, "no space")

    monkeypatch.setattr(output, "append", full)
    made.begin()
    for number in range(5):
        made.add(step(number))
        made.flush()
    assert made.is_off
    assert made.n_lost == 3  # the others were never tried


def test_the_rank_names_the_files_unless_a_living_process_has_it(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    ranks = tmp_path / "recorder" / "ranks"
    ranks.mkdir(parents=True)
    (ranks / "3-node-1-999999999.json").touch()  # of a process that has died
    first = Output(settings)
    first.begin()
    assert first.card["rank"] == 3
    (ranks / f"3-node-1-{os.getppid()}.json").touch()  # its child inherits the variable
    second = Output(settings)
    second.begin()
    assert "rank" not in second.card


def test_a_fork_writes_nothing_of_its_parent(made: Output, tmp_path: Path) -> None:
    made.begin()
    made.add(step(0))
    made.pid += 1  # as if this were another process
    made.flush()
    assert list(tmp_path.iterdir()) == []


def test_a_fault_is_written_at_once_and_says_no_path(made: Output, tmp_path: Path) -> None:
    made.report("fault", "torch.optimizer", "TypeError", "torch_hooks.py:12")
    (path,) = tmp_path.glob("recorder/faults/*.jsonl")
    assert json.loads(path.read_text())["error"] == "TypeError"
    assert "/" not in path.read_text()
