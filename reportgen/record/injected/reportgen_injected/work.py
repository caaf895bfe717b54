"""What those who load batches did while the loop waited: they computed, or had no core.

What is left of the time they slept, or waited for a disk, a network or a lock.
"""

from __future__ import annotations

import os
import time
from typing import Any, Optional

LEAST_WAIT_NS = 1_000_000
"""Shorter waits cost less than looking at them does: after one, the next is not looked at."""
_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 10**7

now_ns = time.monotonic_ns


class Work:
    """Sums of what was measured; ``queued_ns`` stays 0 where the system does not count it."""

    __slots__ = ("cpu_ns", "has_queue", "n", "queued_ns", "wall_ns")

    def __init__(self) -> None:
        self.n = self.wall_ns = self.cpu_ns = self.queued_ns = 0
        self.has_queue = True

    def add(self, wall_ns: int, cpu_ns: int, queued_ns: Optional[int]) -> None:
        """Add one stretch of time; threads that compute side by side count as one."""
        self.n += 1
        self.wall_ns += wall_ns
        self.cpu_ns += min(max(cpu_ns, 0), wall_ns)
        if queued_ns is None:
            self.has_queue = False
        else:
            self.queued_ns += min(max(queued_ns, 0), wall_ns)

    def card(self) -> dict[str, Any]:
        """Return the sums for the card of the process."""
        queued_ns = self.queued_ns if self.has_queue else None
        return {"n": self.n, "wall_ns": self.wall_ns, "cpu_ns": self.cpu_ns, "queued_ns": queued_ns}


class WaitWork(Work):
    """The work of this process in the waits of its loop, where the loop loads batches itself."""

    __slots__ = ("_before", "_is_worth_it")

    def __init__(self) -> None:
        super().__init__()
        self._is_worth_it = True
        self._before: Optional[tuple[int, Optional[int]]] = None

    def began(self) -> None:
        """A wait begins, in the thread of the loop."""
        self._before = (
            (time.process_time_ns(), queued_ns("thread-self")) if self._is_worth_it else None
        )

    def ended(self, wall_ns: int, *, is_own: bool) -> None:
        """It has ended; ``is_own``: this process has made the batch, and no other one."""
        self._is_worth_it = is_own and wall_ns >= LEAST_WAIT_NS
        before, self._before = self._before, None
        if before is None or not self._is_worth_it:
            return
        cpu_ns, after_ns = time.process_time_ns() - before[0], queued_ns("thread-self")
        is_known = after_ns is not None and before[1] is not None
        self.add(wall_ns, cpu_ns, after_ns - before[1] if is_known else None)  # type: ignore[operator]


class ProcessWork(Work):
    """The work of loader processes in the intervals in which the loop waits for them.

    The writer's thread looks at them from time to time; their processes need no code of ours.
    """

    __slots__ = ("_before",)

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[int, tuple[int, int, Optional[int]]] = {}

    def look(self, pid: int, *, counts: bool) -> None:
        """Look at a process; ``counts``: the loop has waited for it since the last look."""
        cpu_ns, at_ns = _cpu_ns(pid), now_ns()
        if cpu_ns is None:
            self._before.pop(pid, None)
            return
        waited_ns, before = queued_ns(str(pid)), self._before.get(pid)
        self._before[pid] = at_ns, cpu_ns, waited_ns
        if before is not None and counts:
            is_known = waited_ns is not None and before[2] is not None
            more_ns = waited_ns - before[2] if is_known else None  # type: ignore[operator]
            self.add(at_ns - before[0], cpu_ns - before[1], more_ns)

    def forget(self, pid: int) -> None:
        """Forget a process that ends."""
        self._before.pop(pid, None)


def queued_ns(name: str) -> Optional[int]:
    """Return how long a thread was ready and had no core; ``None`` where that is not counted."""
    words = _read(f"/proc/{name}/schedstat").split()
    return int(words[1]) if len(words) == 3 and words[2] != b"0" else None


def _cpu_ns(pid: int) -> Optional[int]:
    words = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(words[11]) + int(words[12])) * _TICK_NS if len(words) > 12 else None


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1024)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
