"""What the sampler of each node sees of a run of the queue model."""

from __future__ import annotations

import numpy as np

from benchmarks.exam.coverage import Coverage, Floats
from benchmarks.exam.queue_model.params import Params
from benchmarks.exam.queue_model.simulate import Run
from sample_data.curves import TickValues

_JIFFIES_PER_S = 100
_POINTS = 600


def samples_of(params: Params, run: Run) -> tuple[TickValues, ...]:
    """Return the values of all ticks of each node."""
    interval_s = params.machine.interval_ms / 1000
    at_s = np.arange(int(run.total_s / interval_s) + 1, dtype=np.float64) * np.float64(interval_s)
    return tuple(_node(params, run, node, at_s) for node in range(params.machine.nodes))


def _node(params: Params, run: Run, node: int, at_s: Floats) -> TickValues:
    per_node = params.machine.workers_per_node
    rng = np.random.default_rng([params.seed, 20, node])
    ranks = np.arange(node * per_node, (node + 1) * per_node)
    return TickValues(
        gpu=_gpus(params, run, ranks, at_s, rng),
        cpu=_cores(params, run, ranks, at_s, rng),
        memory=_memory(params, at_s, rng),
        io=_disk(params, run, ranks, at_s, rng),
        network=_network(params, run, ranks, at_s, rng),
    )


def _gpus(
    params: Params, run: Run, ranks: np.ndarray, at_s: Floats, rng: np.random.Generator
) -> Floats:
    """Return (ticks, 2 x gpus) use and memory of each GPU, whole percent."""
    machine, interval_s = params.machine, params.machine.interval_ms / 1000
    if not machine.gpus:
        return np.empty((at_s.size, 0))
    columns = []
    node = int(ranks[0]) // machine.workers_per_node
    for index in range(machine.gpus):
        share = _share_of_gpu(params, node, index)
        rank = int(ranks[min(index, ranks.size - 1)])
        busy = gpu_busy(params, run, rank).mean(at_s, interval_s) * share
        if params.stopped_gpu == node * machine.gpus + index:
            first_s, last_s = run.steps.loop_s
            busy = busy * (at_s < first_s + params.stop_ratio * (last_s - first_s))
        drift = 1.0 + 0.015 * np.sin(at_s / rng.uniform(15, 60) + rng.uniform(0, 6))
        level = params.gpu_level * drift + rng.normal(0.0, 0.015, at_s.size)
        use_pct = 100 * np.clip(busy * level, 0, 1)
        memory_pct = use_pct * params.memory_ratio * (1 + rng.normal(0, 0.02, at_s.size))
        if params.memory_growth_pct and share > 0:
            first_s, last_s = run.steps.loop_s
            progress = np.clip((at_s - first_s) / (last_s - first_s), 0, 1)
            memory_pct = memory_pct + params.memory_growth_pct * progress * (busy > 0.02)
        columns += [use_pct, memory_pct]
    return np.clip(np.rint(np.stack(columns, axis=1)), 0, 100) + 0.0


def _share_of_gpu(params: Params, node: int, index: int) -> float:
    if node == params.idle_node and index >= params.machine.gpus - params.n_idle_gpus:
        return 0.0
    return params.gpu_shares[index] if params.gpu_shares else 1.0


def core_ratio(params: Params, run: Run) -> float:
    """Return the mean load of the first node's cores in the loop."""
    machine, loads = params.machine, run.loads
    at_s = np.linspace(*run.steps.loop_s, _POINTS)
    mine = (loads.rank < machine.workers_per_node) & (loads.process >= 0)
    each_s = float(at_s[1] - at_s[0])
    working = Coverage(loads.received_s[mine], loads.end_s[mine]).mean(at_s[1:], each_s)
    for rank in range(machine.workers_per_node):
        working = working + _training_load(params, run, rank, at_s[1:], each_s)
    return float(np.minimum(working / machine.cores, 1.0).mean())


def used_ratio(params: Params, run: Run) -> float:
    """Return the mean share of the loop in which kernels ran on the workers' GPUs."""
    edges_s = np.array(run.steps.loop_s)
    used = [
        float(np.diff(gpu_busy(params, run, rank).until(edges_s))[0])
        for rank in range(params.machine.n_workers)
    ]
    return float(np.mean(used)) / run.steps.loop_length_s


def gpu_busy(params: Params, run: Run, rank: int) -> Coverage:
    """Return when kernels ran on the GPU of a worker."""
    steps = run.steps
    waiting = 1.0 if params.is_waiting_busy else 0.03
    return Coverage(
        np.concatenate([steps.start_s[rank], steps.own_s[rank], steps.end_s[rank]]),
        np.concatenate([steps.own_s[rank], steps.end_s[rank], steps.optimized_s[rank]]),
        np.concatenate(
            [
                run.gpu_ratio[rank],
                np.full(steps.number.shape, waiting),
                np.full(steps.number.shape, 0.97),
            ]
        ),
    )


def _cores(
    params: Params, run: Run, ranks: np.ndarray, at_s: Floats, rng: np.random.Generator
) -> Floats:
    """Return (ticks, 2 x cores) use and I/O wait of each core, percent, in whole jiffies."""
    machine, interval_s = params.machine, params.machine.interval_ms / 1000
    n, cores = at_s.size, machine.cores
    loaders, reading = _loader_load(params, run, ranks, at_s)
    n_loaders = max(ranks.size * params.num_workers, 1)
    position = np.arange(cores)
    per_core = n_loaders // cores + (position < n_loaders % cores)
    load = np.minimum(loaders[:, None] / n_loaders * per_core, 1.0)
    overflow = np.maximum(loaders - load.sum(axis=1), 0.0)
    load = np.minimum(load + overflow[:, None] / cores, 1.0)
    asleep = reading[:, None] / n_loaders * per_core
    for local, rank in enumerate(ranks):
        load[:, cores - 1 - local % cores] += _training_load(
            params, run, int(rank), at_s, interval_s
        )
    spill = np.maximum(load - 1.0, 0.0).sum(axis=1) / cores
    load = np.clip(load + spill[:, None], 0.0, 1.0)
    starting = (at_s < run.steps.asked_s[ranks].min()) * 0.8
    load[:, 0] = np.clip(load[:, 0] + starting, 0, 1)
    block = (at_s // rng.uniform(4.0, 30.0)).astype(np.int64)
    orders = np.argsort(rng.random((int(block.max()) + 1, cores)), axis=1)[block]
    load = np.take_along_axis(load, orders, axis=1)
    asleep = np.take_along_axis(asleep, orders, axis=1)
    load = load + rng.uniform(0.01, 0.06) + rng.exponential(0.015, (n, cores))
    load = load + rng.normal(0, 0.06, (n, cores)) * np.sqrt(np.clip(load * (1 - load), 0, 1))
    load = np.clip(load, 0.0, 1.0)
    asleep = np.clip(asleep, 0.0, 1.0 - load)
    jiffies = np.maximum(np.rint(_JIFFIES_PER_S * interval_s + rng.normal(0, 0.7, (n, cores))), 1)
    waited = np.rint(asleep * jiffies)
    busy = np.minimum(np.rint(load * jiffies) + waited, jiffies)
    pct = 100 * np.stack([busy / jiffies, waited / jiffies], axis=2)
    return np.asarray(pct.reshape(n, 2 * cores))


def _loader_load(
    params: Params, run: Run, ranks: np.ndarray, at_s: Floats
) -> tuple[Floats, Floats]:
    """Return (ticks,) cores kept busy by loader processes, and loaders that wait for the disk."""
    loads, interval_s = run.loads, params.machine.interval_ms / 1000
    mine = np.isin(loads.rank, ranks)
    work = mine & (loads.process >= 0)
    runnable = Coverage(loads.received_s[work], loads.end_s[work]).mean(at_s, interval_s)
    busy = np.minimum(runnable * params.loader_load, params.machine.cores)
    reading = np.zeros(at_s.shape)
    if params.load_read_s:
        reading = Coverage(loads.begin_s[mine], loads.read_s[mine], 0.97).mean(at_s, interval_s)
    return busy, reading


def _training_load(params: Params, run: Run, rank: int, at_s: Floats, interval_s: float) -> Floats:
    """Return (ticks,) how much of a core a training process uses."""
    steps = run.steps
    rng = np.random.default_rng([params.seed, 21])
    spin = rng.uniform(0.5, 0.98) if params.machine.gpus else 1.0
    spans = [
        (steps.there_s[rank], steps.start_s[rank], 0.95),
        (steps.start_s[rank], steps.end_s[rank], spin),
        (steps.end_s[rank], steps.optimized_s[rank], spin),
        (steps.optimized_s[rank], run.worked_s[rank], 0.95),
        (run.worked_s[rank], steps.kept_s[rank], 0.5),
    ]
    if not params.num_workers:
        own = run.loads.rank == rank
        spans.append((run.loads.received_s[own], run.loads.end_s[own], 0.98))
    total = np.zeros(at_s.shape)
    for starts_s, ends_s, weight in spans:
        total += Coverage(starts_s, ends_s, weight).mean(at_s, interval_s)
    if not params.machine.gpus:  # on the CPU the kernels use most cores
        total *= max(1.0, 0.7 * params.machine.cores / params.machine.workers_per_node)
    return total


def _memory(params: Params, at_s: Floats, rng: np.random.Generator) -> Floats:
    grown = np.clip(at_s / params.init_s, 0, 1)
    level = rng.uniform(12, 45)
    drift = 0.5 * np.sin(at_s / 53.0) + rng.normal(0, 0.06, at_s.size)
    return np.clip(4 + level * grown + drift * grown, 0, 100)[:, None]


def _disk(
    params: Params, run: Run, ranks: np.ndarray, at_s: Floats, rng: np.random.Generator
) -> Floats:
    """Return (ticks, 3) operations, bytes read and written per second."""
    loads, interval_s = run.loads, params.machine.interval_ms / 1000
    mine = np.isin(loads.rank, ranks)
    read = np.zeros(at_s.shape)
    if params.load_read_s:
        rate = params.batch_bytes / params.load_read_s
        read = Coverage(loads.read_from_s[mine], loads.read_s[mine], rate).mean(at_s, interval_s)
    steps = run.steps
    saving = run.is_saving
    written = rng.lognormal(12.0, 1.2, at_s.size)
    if saving.any() and 0 in ranks:
        written = written + Coverage(run.worked_s[0, saving], steps.kept_s[0, saving], 1.5e8).mean(
            at_s, interval_s
        )
    noise = rng.uniform(0.93, 1.07, at_s.size)
    operations = rng.lognormal(4.0, 0.8, at_s.size) + (read + written) / 1.8e5
    return np.maximum(np.stack([operations, read * noise, written], axis=1), 0)


def _network(
    params: Params, run: Run, ranks: np.ndarray, at_s: Floats, rng: np.random.Generator
) -> Floats:
    """Return (ticks, 4) bytes per second: received and sent by the job, then by the platform."""
    loads, interval_s = run.loads, params.machine.interval_ms / 1000
    mine = np.isin(loads.rank, ranks)
    received = rng.lognormal(8.5, 1.0, at_s.size)
    sent = rng.lognormal(8.3, 1.0, at_s.size)
    if params.load_receive_s:
        rate = params.batch_bytes / params.load_receive_s
        data = Coverage(loads.receive_from_s[mine], loads.received_s[mine], rate).mean(
            at_s, interval_s
        )
        received = received + data * rng.uniform(0.97, 1.01, at_s.size)
        sent = sent + 0.01 * data
    if params.machine.nodes > 1:
        steps = run.steps
        exchange = Coverage(
            steps.forward_s[ranks[0]][steps.is_train], steps.end_s[ranks[0]][steps.is_train], 2.5e8
        ).mean(at_s, interval_s)
        received = received + exchange * rng.uniform(0.93, 1.07, at_s.size)
        sent = sent + exchange * rng.uniform(0.93, 1.07, at_s.size)
    platform = rng.lognormal(9.5, 0.9, at_s.size)
    columns = [received, sent, platform, platform * rng.uniform(4, 6, at_s.size)]
    return np.maximum(np.stack(columns, axis=1), 0)
