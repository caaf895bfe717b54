"""What the sampler of each node sees of a simulated run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.exam.setup import Floats
from benchmarks.exam.training import Node, Run
from sample_data.curves import TickValues

_JIFFIES_PER_S = 100
_SPARE_BUSY = 0.02


def samples_of(run: Run, at_s: Floats) -> tuple[TickValues, ...]:
    """Return the values of each node, sampled at some times."""
    return tuple(_values(run, number, at_s) for number in range(run.setup.machine.nodes))


def busy_ratio(spans: Iterable[tuple[float, float, float]], edges_s: tuple[float, float]) -> float:
    """Return the mean weight of spans between two times."""
    at_s = np.array(edges_s)
    return float(np.diff(_until(spans, at_s))[0] / (at_s[1] - at_s[0]))


def _until(spans: Iterable[tuple[float, float, float]], at_s: Floats) -> Floats:
    """Return the weighted seconds of spans before each time."""
    rows = np.array(list(spans), dtype=np.float64).reshape(-1, 3)
    if not rows.size:
        return np.zeros(at_s.shape)
    edges_s = np.concatenate([rows[:, 0], rows[:, 1]])
    order = np.argsort(edges_s, kind="stable")
    slopes = np.cumsum(np.concatenate([rows[:, 2], -rows[:, 2]])[order])
    total = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(edges_s[order]))])
    return np.asarray(np.interp(at_s, edges_s[order], total))


def _means(spans: Iterable[tuple[float, float, float]], at_s: Floats, interval_s: float) -> Floats:
    """Return the mean weight in the interval that ends at each time."""
    rows = list(spans)
    return (_until(rows, at_s) - _until(rows, at_s - interval_s)) / interval_s


def _rates(done: Iterable[tuple[int, float, float, float]]) -> list[tuple[float, float, float]]:
    return [
        (begin_s, end_s, work / (end_s - begin_s))
        for _, begin_s, end_s, work in done
        if end_s > begin_s
    ]


def _values(run: Run, number: int, at_s: Floats) -> TickValues:
    node, rng = run.nodes[number], np.random.default_rng([run.setup.seed, 20, number])
    return TickValues(
        gpu=_gpus(run, number, at_s, rng),
        cpu=_cores(run, node, at_s, rng),
        memory=_memory(run, at_s, rng),
        io=_disk(run, node, at_s, rng),
        network=_network(run, node, at_s, rng),
    )


def _gpus(run: Run, number: int, at_s: Floats, rng: np.random.Generator) -> Floats:
    """Return (ticks, 2 x gpus) use and memory of each GPU, whole percent."""
    machine, setup = run.setup.machine, run.setup
    interval_s = machine.interval_ms / 1000
    first_s, last_s = run.loop_s
    progress = np.clip((at_s - first_s) / (last_s - first_s), 0, 1)
    columns = []
    n_used = machine.gpus - (setup.n_idle_gpus if number == machine.nodes - 1 else 0)
    for index in range(machine.gpus):
        local = min(index, machine.workers_per_node - 1)
        spans = run.gpu[number * machine.workers_per_node + local] if index < n_used else []
        level = setup.gpu_levels[index] if setup.gpu_levels else 1.0
        busy = _means(spans, at_s, interval_s) * level
        use_pct = 100 * np.clip(busy * (1 - np.abs(rng.normal(0.01, 0.01, at_s.size))), 0, 1)
        ratio = setup.memory_ratio * rng.uniform(0.9, 1.1)
        memory_pct = use_pct * ratio * (1 + rng.normal(0, 0.03, at_s.size))
        memory_pct += setup.memory_growth_pct * progress * (busy > _SPARE_BUSY)
        columns += [use_pct, memory_pct]
    if not columns:
        return np.empty((at_s.size, 0))
    return np.asarray(np.clip(np.rint(np.stack(columns, axis=1)), 0, 100) + 0.0)


def _cores(run: Run, node: Node, at_s: Floats, rng: np.random.Generator) -> Floats:
    """Return (ticks, 2 x cores) use and I/O wait of each core, percent, in whole jiffies.

    Each process has a core where it mostly runs, which changes now and then; what does not fit
    there runs on others. A core waits for the disk while it has nothing else to do.
    """
    interval_s, cores = run.setup.machine.interval_ms / 1000, run.setup.machine.cores
    load, asleep = np.zeros((at_s.size, cores)), np.zeros((at_s.size, cores))
    for owner, spans in _by_owner(node).items():
        home = _homes(rng, at_s, cores)
        busy = np.maximum(_means(spans, at_s, interval_s), 0)
        np.add.at(load, (np.arange(at_s.size), home), busy)
        reads = [each for each in node.disk.done if each[0] == owner]
        blocked = _means([(begin, end, 0.98) for _, begin, end, _ in reads], at_s, interval_s)
        np.add.at(asleep, (np.arange(at_s.size), home), blocked)
    for _ in range(6):
        spill = np.maximum(load - 1, 0).sum(axis=1)
        load = np.minimum(load, 1)
        room = 1 - load
        load += room * np.minimum(spill / np.maximum(room.sum(axis=1), 1e-9), 1)[:, None]
    load += rng.exponential(0.012, load.shape) + rng.uniform(0.0, 0.02)
    load = np.clip(load + rng.normal(0, 0.03, load.shape) * np.sqrt(load), 0, 1)
    asleep = np.clip(asleep, 0, 1 - load)
    jiffies = np.maximum(np.rint(_JIFFIES_PER_S * interval_s + rng.normal(0, 0.7, load.shape)), 1)
    waited = np.rint(asleep * jiffies)
    busy_pct = 100 * np.minimum(np.rint(load * jiffies) + waited, jiffies) / jiffies
    pct = np.stack([busy_pct, 100 * waited / jiffies], axis=2)
    return np.asarray(pct.reshape(at_s.size, 2 * cores))


def _by_owner(node: Node) -> dict[int, list[tuple[float, float, float]]]:
    """Return when each process was on a core, and how many of its threads."""
    spans: dict[int, list[tuple[float, float, float]]] = {}
    for row in node.cores.done:
        spans.setdefault(row[0], []).extend(_rates([row]))
    for owner, begin_s, end_s, weight in node.spinning:
        spans.setdefault(owner, []).append((begin_s, end_s, weight))
    for row in node.disk.done:
        spans.setdefault(row[0], [])
    return spans


def _homes(rng: np.random.Generator, at_s: Floats, cores: int) -> np.ndarray:
    block = (at_s // rng.uniform(4.0, 40.0)).astype(np.int64)
    return rng.integers(0, cores, int(block.max()) + 1)[block]


def _memory(run: Run, at_s: Floats, rng: np.random.Generator) -> Floats:
    grown = np.clip(at_s / max(run.setup.start_s, 1.0), 0, 1)
    drift = 0.5 * np.sin(at_s / 53.0) + rng.normal(0, 0.06, at_s.size)
    return np.clip(4 + rng.uniform(10, 55) * grown + drift * grown, 0, 100)[:, None]


def _disk(run: Run, node: Node, at_s: Floats, rng: np.random.Generator) -> Floats:
    """Return (ticks, 3) operations, bytes read and bytes written per second."""
    interval_s = run.setup.machine.interval_ms / 1000
    read = np.maximum(_means(_rates(node.disk.done), at_s, interval_s), 0)
    written = np.maximum(_means(node.writing, at_s, interval_s), 0)
    written += rng.lognormal(12.0, 1.2, at_s.size)
    operations = rng.lognormal(4.0, 0.8, at_s.size) + (read + written) / 1.8e5
    return np.stack([operations, read * rng.uniform(0.97, 1.03, at_s.size), written], axis=1)


def _network(run: Run, node: Node, at_s: Floats, rng: np.random.Generator) -> Floats:
    """Return (ticks, 4) bytes per second: received and sent by the job, then by the platform."""
    interval_s = run.setup.machine.interval_ms / 1000
    data = np.maximum(_means(_rates(node.net.done), at_s, interval_s), 0)
    exchanged = np.maximum(_means(node.exchanging, at_s, interval_s), 0)
    received = rng.lognormal(8.5, 1.0, at_s.size) + exchanged
    received += data * rng.uniform(0.985, 1.005, at_s.size)
    sent = rng.lognormal(8.3, 1.0, at_s.size) + exchanged + 0.01 * data
    platform = rng.lognormal(9.5, 0.9, at_s.size)
    return np.stack([received, sent, platform, platform * rng.uniform(4, 6, at_s.size)], axis=1)
