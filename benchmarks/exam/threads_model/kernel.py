"""Threads in simulated time, and what they share: cores, a disk, a link."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ALMOST = 1e-12


class Shared:
    """Something that all its users share evenly, up to a rate each.

    Attributes:
        capacity: What it does in a second for all, such as core seconds or bytes.
        most_each: What it does in a second for one user at most.
        thrash: How much time is lost for each user more than there is room for.
    """

    def __init__(
        self, clock: Clock, capacity: float, *, most_each: float = 1.0, thrash: float = 0.0
    ) -> None:
        self._clock = clock
        self.capacity = capacity
        self.most_each = most_each
        self.thrash = thrash
        self.times_s: list[float] = [0.0]
        self.users: list[int] = [0]
        self.rates: list[float] = [0.0]
        self._waiting: list[tuple[float, int, Thread]] = []
        self._served = 0.0
        self._rate = 0.0
        self._since_s = 0.0
        self._version = 0

    def serve(self, thread: Thread, amount: float) -> None:
        """Begin to serve a thread, which goes on when the amount is done."""
        self._advance()
        heappush(self._waiting, (self._served + amount, self._clock.next_number(), thread))
        self._plan()

    def fire(self, version: int) -> None:
        """Let those go on who are done, unless others came or went meanwhile."""
        if version != self._version:
            return
        self._advance()
        waiting = self._waiting
        limit = max(waiting[0][0], self._served) * (1 + _ALMOST)
        while waiting and waiting[0][0] <= limit:
            self._clock.wake(heappop(waiting)[2])
        self._plan()

    def _advance(self) -> None:
        now_s = self._clock.now_s
        self._served += (now_s - self._since_s) * self._rate
        self._since_s = now_s

    def _plan(self) -> None:
        n = len(self._waiting)
        self._version += 1
        self._rate = self._rate_of(n)
        self.times_s.append(self._since_s)
        self.users.append(n)
        self.rates.append(n * self._rate)
        if n:
            left = max(0.0, self._waiting[0][0] - self._served)
            self._clock.fire_at(self._since_s + left / self._rate, self, self._version)
        else:
            self._served = 0.0

    def _rate_of(self, n: int) -> float:
        if not n:
            return 0.0
        share = self.capacity / n
        if share >= self.most_each:
            return self.most_each
        return share / (1 + self.thrash * (self.most_each / share - 1))

    def mean_users(self, at_s: Floats, interval_s: float, *, most: float = np.inf) -> Floats:
        """Return the mean number of users, at most ``most``, in the interval before instants."""
        return _mean(self.times_s, np.minimum(self.users, most), at_s, interval_s)

    def mean_rate(self, at_s: Floats, interval_s: float) -> Floats:
        """Return what was done per second in the interval before each instant."""
        return _mean(self.times_s, np.asarray(self.rates), at_s, interval_s)


Request = tuple[Shared | None, float] | None
"""What a thread waits for: a service, some seconds, or that another one wakes it."""
Program = Generator[Request]


@dataclass(slots=True, eq=False)
class Thread:
    """One thread."""

    program: Program


@dataclass(slots=True)
class Clock:
    """Runs threads in the order of simulated time."""

    now_s: float = 0.0
    current: Thread | None = None
    _events: list[tuple[float, int, Thread | None, Shared | None, int]] = field(
        default_factory=list
    )
    _count: int = 0

    def next_number(self) -> int:
        """Return a number that orders what happens at once."""
        self._count += 1
        return self._count

    def start(self, program: Program) -> None:
        """Start a thread now."""
        self.wake(Thread(program))

    def wake(self, thread: Thread) -> None:
        """Let a thread go on now."""
        heappush(self._events, (self.now_s, self.next_number(), thread, None, 0))

    def fire_at(self, at_s: float, what: Shared, version: int) -> None:
        """Let something shared look at an instant who is done."""
        heappush(self._events, (at_s, self.next_number(), None, what, version))

    def run(self) -> None:
        """Run until no thread goes on."""
        events = self._events
        while events:
            self.now_s, _, thread, shared, version = heappop(events)
            if thread is not None:
                self._resume(thread)
            elif shared is not None:
                shared.fire(version)

    def _resume(self, thread: Thread) -> None:
        self.current = thread
        request = next(thread.program, None)
        if request is None:
            return
        where, amount = request
        if where is None:
            heappush(self._events, (self.now_s + amount, self.next_number(), thread, None, 0))
        else:
            where.serve(thread, amount)


def _mean(times_s: list[float], values: Floats, at_s: Floats, interval_s: float) -> Floats:
    edges_s = np.asarray(times_s)
    total = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(edges_s))])
    until, since = (np.interp(at, edges_s, total) for at in (at_s, at_s - interval_s))
    return np.asarray((until - since) / interval_s)
