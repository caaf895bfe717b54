"""What the samplers of the nodes see of a job of the fluid model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.coverage import Coverage
from benchmarks.exam.fluid_model.engine import Course, Span
from benchmarks.exam.fluid_model.plan import Plan
from sample_data.curves import TickValues

Floats = NDArray[np.float64]

_DAEMONS = 0.012
_SETUP_LOAD = 0.6


class _Node:
    """The sampler of one node."""

    def __init__(self, plan: Plan, course: Course, node: int) -> None:
        self._plan, self._course, self._node = plan, course, node
        self._each_s = plan.machine.interval_ms / 1000
        n_ticks = int(course.total_s / self._each_s) + 1
        self._at_s: Floats = np.arange(n_ticks, dtype=np.float64) * self._each_s
        self._rng = np.random.default_rng([plan.seed, 78, node])
        per_node = plan.machine.workers_per_node
        self._ranks = range(node * per_node, (node + 1) * per_node)
        changes = np.array(course.traces.feeding[node] or [(0.0,) * 5])
        self._fed = [self._level(changes[:, 0], changes[:, at]) for at in range(1, 5)]

    def values(self) -> TickValues:
        """Return the values of all ticks."""
        return TickValues(
            gpu=self._gpus(),
            cpu=self._cores(),
            memory=self._memory(),
            io=self._disk(),
            network=self._network(),
        )

    def _level(self, since_s: Floats, values: Floats) -> Floats:
        """Return the mean per interval of something that changes at instants."""
        until_s = np.append(since_s[1:], self._course.total_s)
        total = np.concatenate([[0.0], np.cumsum(values * (until_s - since_s))])
        edges_s = np.append(since_s, self._course.total_s)
        grown = np.interp(self._at_s, edges_s, total)
        before = np.interp(self._at_s - self._each_s, edges_s, total)
        return np.asarray((grown - before) / self._each_s)

    def _spent(self, spans: list[Span], window_s: float) -> Floats:
        """Return the mean use in the last so many seconds before each tick."""
        if not spans:
            return np.zeros(self._at_s.shape)
        columns = np.array(spans)
        return Coverage(columns[:, 0], columns[:, 1], columns[:, 2]).mean(self._at_s, window_s)

    def _gpus(self) -> Floats:
        """Return (ticks, 2 x gpus) use and memory activity, whole percent."""
        devices, rng, n = self._plan.devices, self._rng, self._at_s.size
        window_s = min(devices.window_s or self._each_s, self._each_s)
        first_s, last_s = self._course.steps.loop_s
        progress = np.clip((self._at_s - first_s) / (last_s - first_s), 0, 1)
        if devices.growth_stairs:
            progress = np.floor(progress * devices.growth_stairs) / devices.growth_stairs
        columns = []
        for index in range(self._plan.machine.gpus):
            rank = self._ranks[min(index, len(self._ranks) - 1)]
            use = self._spent(self._course.traces.gpu[rank], window_s) * self._weight(index)
            if devices.dead == (self._node, index):
                use = use * (self._at_s < first_s + devices.dead_from * (last_s - first_s))
            wander = np.cumsum(rng.normal(0, 0.02, n)) / np.sqrt(np.arange(1, n + 1))
            level = devices.occupied * (1 + wander) + rng.uniform(-0.02, 0.02, n)
            use_pct = 100 * np.clip(use * level, 0, 1)
            memory_pct = use_pct * devices.memory_ratio + rng.normal(0, 0.7, n) * (use > 0)
            memory_pct = memory_pct + devices.growth_pct * progress * (use > 0.02)
            columns += [use_pct, memory_pct]
        if not columns:
            return np.empty((n, 0))
        return np.asarray(np.clip(np.rint(np.stack(columns, axis=1)), 0, 100) + 0.0)

    def _weight(self, index: int) -> float:
        devices = self._plan.devices
        if (self._node, index) in devices.unused:
            return 0.0
        return devices.weights[index] if devices.weights else 1.0

    def _cores(self) -> Floats:
        """Return (ticks, 2 x cores): the scheduler spreads loaders evenly, with some luck."""
        machine, rng, n = self._plan.machine, self._rng, self._at_s.size
        fed, asleep = self._fed[0], self._fed[1]
        spread = rng.gamma(6.0, 1 / 6.0, (n, machine.cores))
        spread /= spread.mean(axis=1, keepdims=True)
        share = np.clip(fed / machine.cores, 0, 1)[:, None]
        load = np.clip(share * (spread * (1 - share) + share), 0, 1)
        for at, rank in enumerate(self._ranks):
            used = self._spent(self._course.traces.host[rank], self._each_s)
            if machine.gpus:
                core = (at * 5 + (self._at_s // 37).astype(np.int64)) % machine.cores
                load[np.arange(n), core] = 1 - (1 - load[np.arange(n), core]) * (1 - 0.97 * used)
            else:
                part = 0.75 * machine.cores / len(self._ranks)
                load = load + (used * part / machine.cores)[:, None]
        first_s = float(self._course.steps.asked_s[list(self._ranks)].min())
        setup = (self._at_s < first_s) * _SETUP_LOAD * rng.random(n)
        load[:, machine.cores // 2] += setup
        load = load + rng.gamma(1.0, _DAEMONS, (n, machine.cores))
        load = np.clip(load + rng.normal(0, 0.02, load.shape) * (load < 0.97), 0, 1)
        waits = np.clip(asleep / machine.cores, 0, 1)[:, None] * rng.gamma(4.0, 0.25, load.shape)
        waits = np.minimum(waits, 1 - load)
        both = np.stack([load + waits, waits], axis=2).reshape(n, 2 * machine.cores)
        jiffies = max(round(100 * self._each_s), 1)
        return np.asarray(np.clip(np.rint(both * jiffies) / jiffies, 0, 1) * 100)

    def _memory(self) -> Floats:
        level = self._rng.uniform(8, 60)
        settled = 1 - np.exp(-self._at_s / (0.4 * self._plan.setup_s + 1))
        return np.asarray(
            np.clip(level * settled + 3 + self._rng.normal(0, 0.1, settled.size), 0, 100)
        )[:, None]

    def _disk(self) -> Floats:
        rng, n = self._rng, self._at_s.size
        read = self._fed[2] * rng.normal(1, 0.03, n)
        written = rng.exponential(2e5, n)
        saving = self._course.traces.saving
        if saving and self._node == 0:
            written = written + self._spent([(*span, 2.2e8) for span in saving], self._each_s)
        return np.asarray(
            np.maximum(np.stack([20 + (read + written) / 1.3e5, read, written], 1), 0)
        )

    def _network(self) -> Floats:
        rng, n = self._rng, self._at_s.size
        received = self._fed[3] * rng.normal(1, 0.01, n) + rng.exponential(8e3, n)
        sent = 0.006 * self._fed[3] + rng.exponential(6e3, n)
        if self._plan.machine.nodes > 1:
            busy = self._spent(self._course.traces.gpu[self._ranks[0]], self._each_s)
            exchanged = 1.2e8 * busy * rng.normal(1, 0.05, n)
            received, sent = received + exchanged, sent + exchanged
        platform = rng.gamma(2.0, 6e3, n)
        return np.asarray(np.maximum(np.stack([received, sent, platform, 5 * platform], 1), 0))


def samples_of(plan: Plan, course: Course) -> tuple[TickValues, ...]:
    """Return the values of all ticks of each node."""
    return tuple(_Node(plan, course, node).values() for node in range(plan.machine.nodes))


def used_ratio(plan: Plan, course: Course) -> float:
    """Return the mean share of the loop in which the workers' GPUs ran kernels."""
    edges_s = np.array(course.steps.loop_s)
    used = []
    for spans in course.traces.gpu:
        columns = np.array(spans)
        total = Coverage(columns[:, 0], columns[:, 1], columns[:, 2]).until(edges_s)
        used.append(float(total[1] - total[0]) / float(edges_s[1] - edges_s[0]))
    return float(np.mean(used)) if plan.machine.gpus else 0.0


def core_ratio(plan: Plan, course: Course) -> float:
    """Return the mean load of the first node's cores in the loop."""
    first_s, last_s = course.steps.loop_s
    changes = np.array(course.traces.feeding[0] or [(0.0,) * 5])
    until_s = np.append(changes[1:, 0], course.total_s)
    lasted_s = np.clip(until_s, first_s, last_s) - np.clip(changes[:, 0], first_s, last_s)
    used_s = float((changes[:, 1] * lasted_s).sum())
    for rank in range(plan.machine.workers_per_node):
        columns = np.array(course.traces.host[rank])
        used_s += float(((columns[:, 1] - columns[:, 0]) * columns[:, 2]).sum())
    return used_s / (last_s - first_s) / plan.machine.cores
