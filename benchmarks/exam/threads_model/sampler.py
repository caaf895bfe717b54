"""What the profiler's sampler of a node sees of a run."""

from __future__ import annotations

import numpy as np

from benchmarks.exam.coverage import Coverage
from benchmarks.exam.recording import Recording, Timeline
from benchmarks.exam.threads_model.params import Floats
from benchmarks.exam.threads_model.program import Ran
from sample_data.curves import TickValues
from sample_data.schedule import Integers


class Sampler:
    """Samples one run."""

    def __init__(self, ran: Ran) -> None:
        self._ran = ran
        self._params = ran.params
        self._machine = ran.params.machine
        self._looks = ran.params.looks
        self._interval_s = self._machine.interval_ms / 1000
        self._kernels = [self._kernels_of(rank) for rank in range(self._machine.n_workers)]

    def ticks(self) -> Integers:
        """Return the ticks with samples."""
        ticks = np.arange(int(self._ran.total_s / self._interval_s) + 1)
        if self._looks.gap is None:
            return ticks
        first, stop = (round(share * ticks.size) for share in self._looks.gap)
        return ticks[(ticks < first) | (ticks >= stop)]

    def node(self, node: int) -> TickValues:
        """Return what is sampled on a node."""
        at_s: Floats = self.ticks() * np.float64(self._interval_s)
        rng = np.random.default_rng([self._params.seed, 50, node])
        return TickValues(
            gpu=self._gpu(node, at_s, rng),
            cpu=self._cpu(node, at_s, rng),
            memory=self._memory(at_s, rng),
            io=self._io(node, at_s, rng),
            network=self._network(node, at_s, rng),
        )

    def used_ratio(self) -> float | None:
        """Return the mean share of the loop in which the GPUs of the workers compute."""
        if not self._machine.gpus:
            return None
        first_s, last_s = self._ran.steps.loop_s
        at_s, length_s = np.array([last_s]), last_s - first_s
        used = [float(each.mean(at_s, length_s)[0]) for each in self._kernels]
        return float(np.mean(used)) * float(np.mean(self._params.weights))

    def core_ratio(self) -> float:
        """Return the mean load of the first node's cores in the loop."""
        first_s, last_s = self._ran.steps.loop_s
        busy = self._busy_cores(0, np.array([last_s]), last_s - first_s)
        return float(busy[0]) / self._machine.cores

    def _kernels_of(self, rank: int) -> Coverage:
        steps, kernels_s = self._ran.steps, self._ran.kernels_s[rank]
        start_s, own_s = steps.start_s[rank], steps.own_s[rank]
        end_s, done_s = steps.end_s[rank], steps.optimized_s[rank]
        weight = np.minimum(1.0, kernels_s / np.maximum(own_s - start_s, 1e-9))
        starts = np.concatenate([start_s, own_s, end_s])
        next_s = np.append(start_s[1:], np.inf)
        filled_s = np.where(next_s - done_s < self._looks.fill_s, next_s, done_s)
        ends = np.concatenate([own_s, end_s, filled_s])
        weights = np.concatenate([weight, np.ones_like(end_s), np.full_like(done_s, 0.95)])
        if self._params.stop and self._params.stop[0] == rank:
            stop_s = self.stop_s()
            starts, ends = np.minimum(starts, stop_s), np.minimum(ends, stop_s)
        return Coverage(starts, ends, weights)

    def stop_s(self) -> float:
        """Return when a GPU stops."""
        first_s, last_s = self._ran.steps.loop_s
        share = self._params.stop[1] if self._params.stop else 1.0
        return first_s + share * (last_s - first_s)

    def _gpu(self, node: int, at_s: Floats, rng: np.random.Generator) -> Floats:
        machine = self._machine
        out = np.zeros((at_s.size, 2 * machine.gpus))
        per_worker = len(self._params.weights)
        for local in range(machine.workers_per_node if machine.gpus else 0):
            kernels = self._kernels[node * machine.workers_per_node + local]
            window_s = self._looks.window_s or self._interval_s
            use = kernels.mean(at_s, window_s)
            for index, weight in enumerate(self._params.weights):
                gpu = local * per_worker + index
                out[:, 2 * gpu] = self._use_pct(use * weight, rng)
                out[:, 2 * gpu + 1] = self._memory_pct(use * weight, at_s, rng)
        return out

    def _use_pct(self, use: Floats, rng: np.random.Generator) -> Floats:
        full = np.clip(use, 0, 1) * 100
        noise = rng.normal(0, 0.8, use.size) * (full > 2)
        return np.rint(np.clip(full + noise, 0, 100))

    def _memory_pct(self, use: Floats, at_s: Floats, rng: np.random.Generator) -> Floats:
        looks = self._looks
        first_s, last_s = self._ran.steps.loop_s
        done = np.clip((at_s - first_s) / (last_s - first_s), 0, 1)
        saw = looks.saw_pct * ((at_s % looks.saw_s) / looks.saw_s - 0.5)
        level = looks.memory_pct + looks.growth_pct * done + saw + rng.normal(0, 0.7, use.size)
        return np.rint(np.clip(level * np.clip(use * 1.05, 0, 1), 0, 100))

    def _busy_cores(self, node: int, at_s: Floats, interval_s: float) -> Floats:
        machine = self._machine
        cores = self._ran.cores[node]
        busy = cores.mean_users(at_s, interval_s, most=cores.capacity)
        for local in range(machine.workers_per_node):
            spans = self._spans(node * machine.workers_per_node + local)
            weight = self._looks.spins if machine.gpus else float(self._params.cpu_threads)
            busy = busy + weight * spans.mean(at_s, interval_s)
        return np.minimum(busy, machine.cores)

    def _spans(self, rank: int) -> Coverage:
        """Return when a worker waits for its GPU, besides launching kernels, or computes."""
        steps = self._ran.steps
        starts_s, ends_s = steps.start_s[rank], steps.optimized_s[rank]
        launching = self._params.launch_s if self._machine.gpus else 0.0
        ratio = np.maximum(1 - launching / (ends_s - starts_s), 0.0)
        return Coverage(starts_s, ends_s, ratio)

    def _cpu(self, node: int, at_s: Floats, rng: np.random.Generator) -> Floats:
        n, cores = at_s.size, self._machine.cores
        busy = self._busy_cores(node, at_s, self._interval_s) + self._starting(at_s)
        blocked = self._ran.disks[node].mean_users(at_s, self._interval_s)
        waits = np.minimum(blocked, np.maximum(cores - busy, 0))
        uneven = rng.gamma(1 / self._looks.core_noise**2, self._looks.core_noise**2, cores)
        use = _spread(np.minimum(busy / cores, 1), uneven, rng, n)
        use = use + np.abs(rng.normal(0, self._looks.noise_pct, (n, cores)))
        wait = _spread(waits / cores, rng.gamma(2, 0.5, cores), rng, n)
        wait = np.minimum(wait, np.maximum(100 - use, 0))
        out = np.empty((n, 2 * cores))
        out[:, ::2] = np.clip(use + wait, 0, 100)
        out[:, 1::2] = np.clip(wait, 0, 100)
        return np.round(out, 2)

    def _starting(self, at_s: Floats) -> Floats:
        """Return the cores that are busy before the loop and after it."""
        first_s, last_s = self._ran.steps.loop_s
        cores = {"compile": 1.0, "unpack": 0.4 * self._machine.cores}
        busy = cores.get(self._params.start_kind, 0.15)
        return np.where(at_s < first_s, busy, 0.0) + np.where(at_s > last_s, 0.6, 0.0)

    def _memory(self, at_s: Floats, rng: np.random.Generator) -> Floats:
        first_s = self._ran.steps.loop_s[0]
        level = np.where(at_s < first_s, 6 + 12 * at_s / max(first_s, 0.1), 18 + 6 * rng.random())
        return np.asarray(np.round(level + rng.normal(0, 0.1, at_s.size), 2)[:, None])

    def _io(self, node: int, at_s: Floats, rng: np.random.Generator) -> Floats:
        read = self._ran.disks[node].mean_rate(at_s, self._interval_s)
        first_s, last_s = self._ran.steps.loop_s
        write = np.abs(rng.normal(2e4, 2e4, at_s.size)) + np.where(at_s > last_s, 4e7, 0)
        if self._params.start_kind == "download":
            write = write + np.where(at_s < first_s, 1.1e8, 0)
        read = read * np.exp(rng.normal(0, 0.02, at_s.size))
        return np.round(np.stack([read / 131072 + write / 65536, read, write], axis=1), 2)

    def _network(self, node: int, at_s: Floats, rng: np.random.Generator) -> Floats:
        n = at_s.size
        received = self._ran.links[node].mean_rate(at_s, self._interval_s)
        received = received * np.exp(rng.normal(0, 0.015, n))
        first_s = self._ran.steps.loop_s[0]
        if self._params.start_kind == "download":
            received = received + np.where(at_s < first_s, 1.1e8, 0)
        background = self._looks.background_bytes * rng.gamma(0.6, 1.6, (2, n))
        exchanged = self._exchanged(node).mean(at_s, self._interval_s)
        exchanged = exchanged * np.exp(rng.normal(0, 0.03, n))
        values = [
            received + background[0] + exchanged,
            0.012 * received + background[1] + exchanged,
            rng.gamma(2, 900, n),
            rng.gamma(2, 3000, n),
        ]
        return np.round(np.stack(values, axis=1), 2)

    def _exchanged(self, node: int) -> Coverage:
        """Return the bytes of gradients that come to a node, and leave it."""
        steps, machine = self._ran.steps, self._machine
        if machine.nodes == 1 or not self._params.is_synced:
            return Coverage(np.zeros(0), np.zeros(0))
        rank = node * machine.workers_per_node
        train = steps.is_train
        end_s = steps.end_s[rank, train]
        length_s = max(self._params.exchange_s, 1e-3)
        return Coverage(end_s - length_s, end_s, self._params.exchange_bytes / length_s)


def _spread(ratio: Floats, uneven: Floats, rng: np.random.Generator, n: int) -> Floats:
    """Return (n, cores) percent of cores whose mean is ``ratio``; full cores give work away."""
    cores = uneven.size
    share = uneven * rng.gamma(8, 1 / 8, (n, cores))
    share /= share.mean(axis=1, keepdims=True)
    use = ratio[:, None] * share
    for _ in range(4):
        over = np.maximum(use - 1, 0).sum(axis=1, keepdims=True)
        room = np.maximum(1 - use, 0)
        use = np.minimum(use, 1) + room * over / np.maximum(room.sum(axis=1, keepdims=True), 1e-9)
    return np.asarray(np.clip(use, 0, 1) * 100)


def recording_of(ran: Ran, timelines: tuple[Timeline, ...]) -> Recording:
    """Return what is recorded of a run."""
    sampler = Sampler(ran)
    machine = ran.params.machine
    return Recording(
        machine=machine,
        samples=tuple(sampler.node(node) for node in range(machine.nodes)),
        ticks=sampler.ticks(),
        timelines=timelines,
    )
