"""What the sampler of a node sees while a schedule runs: one row per sampling instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sample_data.schedule import Flags, Floats, Integers, Schedule, callback_s
from sample_data.spec import Fault, JobSpec

JIFFIES_PER_S = 100  # the kernel counts CPU time in hundredths of a second
_GPU_LEVEL_PCT = 96.0
_GPU_MEMORY_RATIO = 0.23
"""0.2 x 22 points stay under the memory rule's 5 (docs/rules.md, GPUMemoryIncrease)."""
_IMBALANCE_LEVELS = (0.97, 0.36, 0.31, 0.27)
_LEAK_PCT = 60.0
_DOWNLOAD_S = 18.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TickValues:
    """Values of successive sampling instants, columns in the order of the file's lines.

    Attributes:
        gpu: (n, 2 x gpus) utilisation and memory of each GPU, whole percent.
        cpu: (n, 2 x cores) utilisation and I/O wait of each core, percent.
        memory: (n, 1) used host memory, percent.
        io: (n, 3) operations/s, bytes read/s, bytes written/s.
        network: (n, 4) bytes/s: algorithm received, sent, platform received, sent.
    """

    gpu: Floats
    cpu: Floats
    memory: Floats
    io: Floats
    network: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeActivity:
    """Shares (0-1) of what happened in the interval before each instant of one node.

    Attributes:
        time_s: (n,) since the first sample.
        epoch: (n,) the current or last epoch.
        is_loop: (n,) whether the training loop runs.
        busy: (n, workers of the node) share of computation.
        wait: (n,) share of waiting for a batch.
        callback: (n,) share of the callback or checkpoint.
    """

    time_s: Floats
    epoch: Integers
    is_loop: Flags
    busy: Floats
    wait: Floats
    callback: Floats


def covered_share(starts_s: Floats, ends_s: Floats, *, at_s: Floats, interval_s: float) -> Floats:
    """Return (n,) the share of [at - interval, at] that disjoint, sorted spans cover."""
    if starts_s.size == 0:
        return np.zeros(at_s.shape)
    edges = np.stack([starts_s, ends_s], axis=1).ravel()
    total = np.cumsum(ends_s - starts_s)
    covered = np.stack([total - (ends_s - starts_s), total], axis=1).ravel()
    until = np.interp(at_s, edges, covered)
    since = np.interp(at_s - interval_s, edges, covered)
    return np.asarray((until - since) / interval_s)


def node_activity(spec: JobSpec, schedule: Schedule, *, node: int, ticks: Integers) -> NodeActivity:
    """Return what the node did before each of the given instants (numbers from 0)."""
    time_s: Floats = ticks * np.float64(spec.interval_s)
    first = node * spec.workers_per_node
    busy = [
        covered_share(
            schedule.start_s,
            schedule.start_s + schedule.compute_s[worker],
            at_s=time_s,
            interval_s=spec.interval_s,
        )
        for worker in range(first, first + spec.workers_per_node)
    ]
    slow_end_s = schedule.end_s[schedule.is_slow]
    if Fault.CALLBACK not in spec.faults:
        slow_end_s = slow_end_s + callback_s(spec)
    first_s, last_s = schedule.loop_s
    started = np.searchsorted(schedule.wait_s, time_s)
    return NodeActivity(
        time_s=time_s,
        epoch=schedule.epoch[np.clip(started - 1, 0, schedule.n_steps - 1)],
        is_loop=(time_s > first_s) & (time_s <= last_s),
        busy=np.stack(busy, axis=1),
        wait=covered_share(
            schedule.wait_s, schedule.start_s, at_s=time_s, interval_s=spec.interval_s
        ),
        callback=covered_share(
            slow_end_s - callback_s(spec), slow_end_s, at_s=time_s, interval_s=spec.interval_s
        ),
    )


def tick_values(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> TickValues:
    """Return what the sampler writes for these instants."""
    return TickValues(
        gpu=_gpu(spec, activity, rng),
        cpu=_cpu(spec, activity, rng),
        memory=_host_memory(spec, activity, rng),
        io=_io(spec, activity, rng),
        network=_network(spec, activity, rng),
    )


def _gpu(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> Floats:
    shape = (activity.time_s.shape[0], spec.gpus)
    if spec.gpus == 0:
        return np.empty((shape[0], 0))
    level = np.ones(spec.gpus)
    if Fault.IMBALANCE in spec.faults:
        level = np.resize(_IMBALANCE_LEVELS, spec.gpus)
        level[len(_IMBALANCE_LEVELS) :] = _IMBALANCE_LEVELS[-1]
    share = np.broadcast_to(activity.busy, shape) * level
    drift = 1.0 + 0.012 * np.sin(activity.time_s / 23.0)[:, None]
    busy_pct = share * drift * _GPU_LEVEL_PCT + (share > 0) * rng.normal(0.0, 1.6, shape)
    memory_pct = share * _GPU_LEVEL_PCT * _GPU_MEMORY_RATIO + (share > 0) * rng.normal(
        0.0, 0.5, shape
    )
    if Fault.MEMORY_LEAK in spec.faults:
        progress = np.clip((activity.time_s - spec.init_s) / (spec.duration_s - spec.init_s), 0, 1)
        memory_pct = memory_pct + activity.is_loop[:, None] * progress[:, None] * _LEAK_PCT
    both = np.stack([busy_pct, memory_pct], axis=2).reshape(shape[0], 2 * spec.gpus)
    return _percent(np.rint(both))


def _cpu(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> Floats:
    """Cores in whole jiffies, as the kernel counts them: 6.25 is 3 of 48."""
    load, waiting = _core_load(spec, activity)
    n_jiffies = JIFFIES_PER_S * spec.interval_s
    spread = max(1, round(0.04 * n_jiffies))
    jiffies = np.rint(n_jiffies) + rng.integers(-spread, spread + 1, load.shape)
    noise = rng.normal(0.0, 0.035, load.shape) * np.sqrt(np.clip(load * (1 - load), 0.003, 1) * 4)
    wait_part = np.rint(np.clip(waiting, 0, 1) * jiffies)
    busy_part = np.rint(np.clip(load + waiting + noise, 0, 1) * jiffies)
    pct = np.stack([np.maximum(busy_part, wait_part), wait_part], axis=2) / jiffies[:, :, None]
    return _percent(100.0 * pct.reshape(load.shape[0], 2 * spec.cores))


def _core_load(spec: JobSpec, activity: NodeActivity) -> tuple[Floats, Floats]:
    """Return (n, cores) expected busy share and I/O wait share of each core, without noise."""
    n = activity.time_s.shape[0]
    load = np.full((n, spec.cores), 0.05)
    waiting = np.zeros((n, spec.cores))
    row = np.arange(n)
    is_starting = activity.time_s < spec.init_s
    load[row, (activity.time_s // 11).astype(np.int64) % spec.cores] += 0.62 * is_starting
    if not spec.has_slow_input:
        n_loaders = spec.workers_per_node * spec.loader_workers
        load += (0.42 * n_loaders / spec.cores) * activity.is_loop[:, None]
    for worker in range(activity.busy.shape[1]):
        core = (2 + worker * 3 + activity.epoch) % spec.cores  # the scheduler moves it at times
        load[row, core] += 0.06 * activity.busy[:, worker] + 0.5 * activity.callback
        if Fault.INPUT_BOUND in spec.faults:
            load[row, core] += 0.93 * activity.wait + 0.4 * activity.busy[:, worker]
        if Fault.IO_BOUND in spec.faults:
            waiting[row, core] += 0.72 * activity.wait
    return load, waiting


def _host_memory(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> Floats:
    grown = np.clip(activity.time_s / spec.init_s, 0.0, 1.0)
    drift = 0.4 * np.sin(activity.time_s / 61.0)
    pct = 5.0 + 19.5 * grown + drift * grown + rng.normal(0.0, 0.05, grown.shape)
    return _percent(pct[:, None])


def _io(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> Floats:
    n = activity.time_s.shape[0]
    operations = rng.lognormal(5.4, 0.6, n)
    written = rng.lognormal(15.0, 0.8, n) + activity.callback * rng.uniform(0.9e8, 1.2e8, n)
    rate = 1.6e8 if Fault.IO_BOUND in spec.faults else 1.4e7
    is_reading = activity.wait if spec.has_slow_input else np.zeros(n)
    is_scanning = (activity.time_s > _DOWNLOAD_S) & (activity.time_s < spec.init_s)
    read = (rate * is_reading + 4e7 * is_scanning) * rng.uniform(0.9, 1.1, n)
    return _rate(np.stack([operations + read / 2e5, read, written], axis=1))


def _network(spec: JobSpec, activity: NodeActivity, rng: np.random.Generator) -> Floats:
    """The data set comes first; later only gradients, when there is more than one node."""
    n = activity.time_s.shape[0]
    is_loading = (activity.time_s > 2.0) & (activity.time_s < min(_DOWNLOAD_S, spec.init_s))
    gradients = 9e7 * activity.busy.mean(axis=1) if spec.nodes > 1 else np.zeros(n)
    received = (6e7 * is_loading + gradients) * rng.uniform(0.93, 1.07, n)
    sent = (4e5 * is_loading + gradients) * rng.uniform(0.93, 1.07, n)
    platform = rng.lognormal(9.5, 0.9, n)
    return _rate(np.stack([received, sent, platform, platform * rng.uniform(4, 6, n)], axis=1))


def _percent(values: Floats) -> Floats:
    return np.clip(values, 0.0, 100.0) + 0.0  # + 0.0 turns -0.0 into 0.0


def _rate(values: Floats) -> Floats:
    return np.maximum(values, 0.0) + 0.0
