"""What was done while the loop waited, measured on real threads and processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.record.injected.reportgen_injected import work
from reportgen.record.injected.reportgen_injected.work import ProcessWork, WaitWork
from tests.builders import known

pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux counts it")
SPIN = "print(flush=True)\nwhile True: pass"
SLEEP = "print(flush=True)\nwhile True: __import__('time').sleep(0.01)"


def spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def waited(wait_s: float, *, compute_s: float, is_own: bool = True) -> WaitWork:
    found = WaitWork()
    for _ in range(3):
        found.began()
        began_ns = time.monotonic_ns()
        spin(compute_s)
        time.sleep(wait_s)
        found.ended(time.monotonic_ns() - began_ns, is_own=is_own)
    return found


def test_computing_and_sleeping_are_told_apart() -> None:
    computing, sleeping = waited(0.0, compute_s=0.05), waited(0.05, compute_s=0.0)

    assert computing.cpu_ns + computing.queued_ns > 0.8 * computing.wall_ns
    assert sleeping.cpu_ns < 0.3 * sleeping.wall_ns
    assert computing.n == sleeping.n == 3


def test_waits_for_other_processes_are_not_measured() -> None:
    assert waited(0.01, compute_s=0.0, is_own=False).n == 0


def test_after_a_short_wait_the_next_one_is_not_looked_at() -> None:
    found = WaitWork()
    for wall_ns in (2_000_000, 10, 2_000_000, 2_000_000):
        found.began()
        found.ended(wall_ns, is_own=True)

    assert (found.n, found.wall_ns) == (2, 4_000_000)


@pytest.mark.parametrize(("code", "least", "most"), [(SPIN, 0.8, 1.1), (SLEEP, 0.0, 0.3)])
def test_loader_processes_are_measured_from_outside(code: str, least: float, most: float) -> None:
    found = ProcessWork()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        known(process.stdout).readline()
        for counts in (False, True):
            found.look(process.pid, counts=counts)
            time.sleep(0.3)
        found.look(process.pid, counts=False)
        process.kill()

    assert found.n == 1
    # The system counts processor time in ticks of 10 ms: up to 0.07 more than the 0.3 s waited.
    # On a busy machine a process that sleeps also waits for a core when it wakes.
    assert least <= (found.cpu_ns + found.queued_ns) / found.wall_ns
    assert found.cpu_ns / found.wall_ns <= most


def test_a_process_that_has_ended_and_a_system_that_counts_nothing_are_no_fault(monkeypatch):
    found = ProcessWork()
    found.look(1 << 22, counts=True)
    assert found.n == 0
    monkeypatch.setattr(work, "_read", lambda _path: b"")
    assert waited(0.01, compute_s=0.0).card()["queued_ns"] is None
