"""A discrete simulation: processes that share cores, disks and networks, and wait for each other.

A process is a generator. It yields what it needs next: a number of seconds to sleep, a ``Use`` of
something shared, or a ``Gate`` to wait at. The simulation resumes it when it has got it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from itertools import count

_CLOSE = 1e-9


class Gate:
    """What processes wait at until somebody opens it; it closes again behind them."""

    def __init__(self) -> None:
        self.waiting: list[Process] = []


@dataclass(frozen=True, slots=True)
class Use:
    """An amount of work that a process wants done by something shared.

    ``owner`` names the process for the samples; ``weight`` is the number of its threads, which
    work on ``amount`` each.
    """

    shared: Shared
    amount: float
    owner: int = -1
    weight: float = 1.0


Process = Generator["float | Use | Gate"]


class World:
    """The clock, and what happens next."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, time_s: float, wake: Callable[[], None]) -> None:
        """Call something at a time that is not past."""
        heapq.heappush(self._queue, (max(time_s, self.now_s), next(self._number), wake))

    def start(self, process: Process) -> None:
        """Let a process begin now."""
        self.at(self.now_s, partial(self.resume, process))

    def open(self, gate: Gate) -> None:
        """Let those who wait at a gate go on."""
        waiting, gate.waiting = gate.waiting, []
        for process in waiting:
            self.start(process)

    def resume(self, process: Process) -> None:
        """Let a process go on until it needs something."""
        request = next(process, None)
        if isinstance(request, Use):
            request.shared.begin(request, process)
        elif isinstance(request, Gate):
            request.waiting.append(process)
        elif request is not None:
            self.at(self.now_s + max(request, 0.0), partial(self.resume, process))

    def run(self) -> float:
        """Run until nothing is left to happen; return the time."""
        while self._queue:
            self.now_s, _, wake = heapq.heappop(self._queue)
            wake()
        return self.now_s


class Shared:
    """Cores, a disk or a network, whose users get equal parts of what it can do.

    Attributes:
        capacity: Work per second: cores, or bytes per second.
        most_each: Work per second that one thread can get at most.
        crowding: Part of the work that is lost for each further user per capacity: switches
            between processes, and caches that are emptied.
        done: Owner, begin, end and total work of each use, for the samples.
    """

    def __init__(
        self, world: World, capacity: float, *, most_each: float, crowding: float = 0.0
    ) -> None:
        self.capacity, self.most_each, self.crowding = capacity, most_each, crowding
        self.done: list[tuple[int, float, float, float]] = []
        self._world = world
        self._users: list[tuple[float, int, float, Use, Process]] = []
        self._number = count()
        self._weight = self._reached = self._since_s = 0.0
        self._version = 0

    def begin(self, use: Use, process: Process) -> None:
        """Begin a use; the process goes on when it is done."""
        self._advance()
        if use.amount <= 0:
            self._world.start(process)
            return
        entry = (
            self._reached + use.amount,
            next(self._number),
            self._world.now_s,
            use,
            process,
        )
        heapq.heappush(self._users, entry)
        self._weight += use.weight
        self._plan()

    def set_capacity(self, capacity: float) -> None:
        """Change what it can do, from now on."""
        self._advance()
        self.capacity = capacity
        self._plan()

    def _rate(self) -> float:
        if self._weight <= 0:
            return 0.0
        over = max(0.0, self._weight * self.most_each / self.capacity - 1)
        return min(self.most_each, self.capacity / self._weight) / (1 + self.crowding * over)

    def _advance(self) -> None:
        now_s = self._world.now_s
        self._reached += self._rate() * (now_s - self._since_s)
        self._since_s = now_s

    def _plan(self) -> None:
        self._version += 1
        if self._users:
            left = max(0.0, self._users[0][0] - self._reached)
            wake = partial(self._finish, self._version)
            self._world.at(self._world.now_s + left / self._rate(), wake)

    def _finish(self, version: int) -> None:
        if version != self._version:
            return
        self._advance()
        limit = self._reached + _CLOSE * max(1.0, abs(self._reached))
        while self._users and self._users[0][0] <= limit:
            _, _, began_s, use, process = heapq.heappop(self._users)
            self._weight -= use.weight
            if not self._users:
                self._weight = 0.0
            work = use.amount * use.weight
            self.done.append((use.owner, began_s, self._world.now_s, work))
            self._world.start(process)
        self._plan()
