"""The processor time of the job is that of its processes, and of no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.record.folder import open_recording
from reportgen.record.job_cpu import JobCpu
from reportgen.record.readings import Reading

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="of /proc")
SPIN = "while True: pass"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPIN!r}])"


def cores_of(code: str, tmp_path: Path, *, is_job: bool = True) -> float:
    """Return what is sampled of a command while a program runs in it, or beside it."""
    with (
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as spinning,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle,
    ):
        recording = open_recording(tmp_path / "out", with_host_name=False)
        source = JobCpu(recording, spinning.pid if is_job else idle.pid)
        time.sleep(0.3)
        used = list[Reading]()
        for _ in range(8):
            used += source.read(time.monotonic_ns())
            time.sleep(0.1)
        os.killpg(spinning.pid, signal.SIGKILL)
        idle.communicate(b"\n")
    assert {reading[:3] for reading in used} == {("job", "JobCPUCores", "")}
    return max(reading.value for reading in used)


def test_what_the_command_has_started_counts(tmp_path: Path) -> None:
    assert 0.1 < cores_of(PARENT, tmp_path) < 1.6


def test_other_programs_do_not_count(tmp_path: Path) -> None:
    assert cores_of(SPIN, tmp_path, is_job=False) < 0.1
