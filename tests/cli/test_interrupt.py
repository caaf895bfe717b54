"""Ctrl-C and SIGTERM while a library holds the main thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from reportgen.record.folder import process_stat
from tests.builders import known

_STUCK = """
import ctypes
from reportgen.cli.interrupt import interrupts_spare_imports
with interrupts_spare_imports():
    print("begun", flush=True)
    lock = ctypes.create_string_buffer(128)
    library = ctypes.CDLL(None)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)  # waits for good, whatever signal comes
"""


def wait_until_it_sleeps(pid: int) -> None:
    """Wait until a process does nothing for a fifth of a second."""
    ends_at, looks = time.monotonic() + 60, 0
    while looks < 20 and time.monotonic() < ends_at:
        looks = looks + 1 if process_stat(pid)[:1] == ["S"] else 0
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_that_waits_for_a_library(number: int, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert known(process.stdout).readline() == "begun\n"
        wait_until_it_sleeps(process.pid)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)

    assert process.returncode == code
    assert stderr.startswith("Interrupted")


def test_a_command_that_was_interrupted_leaves_its_program_running() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _GOES_ON], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "on\n")


_GOES_ON = """
import os, signal, time
from reportgen.cli.interrupt import interrupts_spare_imports
try:
    with interrupts_spare_imports():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
except KeyboardInterrupt:
    time.sleep(6)
    print("on")
"""
