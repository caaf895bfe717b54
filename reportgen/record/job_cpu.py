"""How many cores the job's own processes keep busy: the load of other programs is not in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from reportgen.record.folder import NodeFolder, process_stat, read_json
from reportgen.record.readings import Rates, Reading

_PROCESSES = Path("/proc")
_UTIME, _TIMES = 11, 4
"""Where a process's times begin in its ``stat``, behind its state: its own, and those of children
that have ended."""
_ROOTS_EVERY_NS = 10 * 1_000_000_000


class JobCpu:
    """Samples of the processor time of the command and of everything that it started (Linux).

    Where several recorders share a node, the commands of the others count as well.
    """

    def __init__(self, recording: NodeFolder, command_pid: int) -> None:
        self.missing: list[str] = []
        self._runs = recording.root / "recorder" / "runs"
        self._node, self._command_pid = recording.node, command_pid
        self._roots: set[int] = set()
        self._next_look_ns = 0
        self._rates = Rates()
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._is_known = (_PROCESSES / "self" / "task" / str(os.getpid()) / "children").exists()
        if not self._is_known:
            self.missing.append("the job's own processor time (this system does not tell it)")

    def read(self, now_ns: int) -> Sequence[Reading]:
        """Return the cores that the job has kept busy since the last call."""
        if not self._is_known:
            return ()
        if now_ns >= self._next_look_ns:
            self._next_look_ns = now_ns + _ROOTS_EVERY_NS
            self._roots = {self._command_pid, *self._commands_of_others()}
        used_s = self._tick_s * sum(map(_ticks, _descendants(self._roots)))
        cores = self._rates.rate("job", used_s, now_ns)
        return () if cores is None else (Reading("job", "JobCPUCores", "", cores),)

    def _commands_of_others(self) -> Iterator[int]:
        for path in self._runs.glob(f"{self._node}-*.json"):
            entry = read_json(path)
            pid = entry.get("pid")
            if isinstance(pid, int) and pid != os.getpid() and "ended_ns" not in entry:
                yield from _children(pid)


def _descendants(roots: Iterable[int]) -> set[int]:
    found, waiting = set[int](), list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(_children(pid))
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError, ValueError):
        for task in (_PROCESSES / str(pid) / "task").iterdir():
            children.extend(map(int, (task / "children").read_text().split()))
    return children


def _ticks(pid: int) -> int:
    return sum(map(int, process_stat(pid)[_UTIME : _UTIME + _TIMES]))
