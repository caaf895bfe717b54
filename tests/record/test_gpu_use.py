"""Which GPUs are the job's, and which processes on them are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reportgen.record.folder import NodeFolder, open_recording
from reportgen.record.gpu_use import GpuUse
from reportgen.record.nvidia import NvidiaGpus
from reportgen.record.readings import Reading


class Gpus:
    """Two GPUs and who computes on them."""

    driver = "550.1"

    def __init__(self, running: Mapping[int, Sequence[int]]) -> None:
        self.gpus = [
            SimpleNamespace(index=index, uuid=f"GPU-{index}", name="Fake", memory_bytes=8)
            for index in (0, 1)
        ]
        self._running = running

    def processes(self) -> Mapping[int, Sequence[int]]:
        return self._running


@pytest.fixture
def recording(tmp_path: Path) -> NodeFolder:
    return open_recording(tmp_path / "out", with_host_name=False)


@pytest.fixture
def child() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.communicate(b"\n")


def write_card(recording: NodeFolder, **card: Any) -> None:
    folder = recording.root / "recorder" / "ranks"
    folder.mkdir(exist_ok=True)
    (folder / f"{card['pid']}.json").write_text(json.dumps({"node": recording.node, **card}))


def use(
    recording: NodeFolder, running: Mapping[int, Sequence[int]], command: int = 1 << 22
) -> GpuUse:
    return GpuUse(recording, cast("NvidiaGpus", Gpus(running)), command)


def test_gpus_are_those_that_ranks_of_this_node_name(recording: NodeFolder) -> None:
    write_card(recording, pid=7, gpu_uuids=["GPU-1"])
    write_card(recording, pid=8, gpu_uuids=["GPU-0"], node="node-2")
    used = use(recording, {})

    used.look()

    assert [card["is_used"] for card in used.cards()] == [False, True]


def test_nobody_says_which_gpus_are_used_before_a_rank_does(recording: NodeFolder) -> None:
    used = use(recording, {0: [5]})

    assert used.look() == []
    assert [card["is_used"] for card in used.cards()] == [None, None]


def test_a_process_of_nobody_here_is_counted_on_the_gpus_of_the_job(recording: NodeFolder) -> None:
    write_card(recording, pid=os.getpid(), gpu_uuids=["GPU-0"])
    used = use(recording, {0: [os.getpid(), 1], 1: [1]})

    assert used.look() == [Reading("gpu", "gpu0", "GPUOtherProcesses", 1)]


def test_what_a_rank_or_the_command_started_is_the_job_s(recording: NodeFolder, child: int) -> None:
    write_card(recording, pid=os.getpid(), gpu_uuids=["GPU-0", "GPU-1"])
    used = use(recording, {0: [child], 1: [os.getpid()]}, command=os.getpid())

    assert used.look() == [
        Reading("gpu", "gpu0", "GPUOtherProcesses", 0),
        Reading("gpu", "gpu1", "GPUOtherProcesses", 0),
    ]


def test_nothing_is_judged_where_none_of_the_processes_is_ours(recording: NodeFolder) -> None:
    write_card(recording, pid=os.getpid(), gpu_uuids=["GPU-0"])

    assert use(recording, {0: [1]}).look() == []
