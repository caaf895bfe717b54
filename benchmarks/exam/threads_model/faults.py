"""What is wrong with the loop of a job, how much it costs about, and where and when it acts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.exam.job import UnsuitableError
from benchmarks.exam.making import JOB, Plant, Seen, pauses_of, start_of
from benchmarks.exam.recording import Machine
from benchmarks.exam.threads_model.fault import Fault, Maker, longer
from benchmarks.exam.threads_model.gpu_faults import GPU_MAKERS
from benchmarks.exam.threads_model.params import Params, Source
from reportgen.results.causes import Cause

_LEAST_LINK = 2.5e7
"""Bytes per second of the slowest network that a machine with GPUs has."""
_LEAST_START_S = 45.0
_STANDSTILL_S = 8.0
_MOST_PAUSES = 8
"""A few steps that stand still for so long are pauses as well."""
_MOST_COPYING = 0.45
"""Of the loop: pageable copies take at most about as long as the kernels."""


def _few_loaders(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Load with too few processes, or within the worker, while cores are free."""
    machine, cycle_s = params.machine, params.cycle_s
    room = 0.6 * machine.cores / machine.workers_per_node - 1
    few = int(rng.choice([0, 0, 1, 2, 3]))
    load_s = cycle_s * (longer(share) if few == 0 else few / (1 - share))
    enough = max(few + 1, int(np.ceil(1.5 * load_s / cycle_s)))
    if enough > max(1.0, room) and few:
        raise UnsuitableError
    base = replace(
        params,
        loaders=enough,
        decode_s=load_s,
        load_spread=min(params.load_spread, 0.12),
        source=Source.MEMORY,
        is_persistent=True,
    )
    return Fault(
        base=base,
        twist=lambda one: replace(one, loaders=few),
        plant=Plant(cause=Cause.TOO_FEW_LOADERS),
    )


def _many_loaders(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Start several times as many loaders as there are cores."""
    machine, cycle_s = params.machine, params.cycle_s
    each = machine.cores / machine.workers_per_node
    speed = (1 - share) * float(rng.uniform(0.7, 0.8))
    thrash = float(rng.uniform(0.06, 0.3))
    times = 1 + (1 / speed - 1) / thrash
    many = round(times * each)
    if not 2.5 <= times <= 14 or many * machine.workers_per_node > 160:
        raise UnsuitableError
    base = replace(
        params,
        loaders=max(1, int(each)),
        decode_s=cycle_s / (1 - share) * each * speed,
        load_spread=0.06,
        source=Source.MEMORY,
        is_persistent=True,
        thrash=thrash,
    ).looking(spins=0.08)
    base = replace(base, launch_s=0.02 * base.gpu_s)
    return Fault(
        base=base,
        twist=lambda one: replace(one, loaders=many),
        plant=Plant(cause=Cause.TOO_MANY_LOADERS),
    )


def _preprocessing(params: Params, share: float, _rng: np.random.Generator) -> Fault:
    """Decode at a cost that takes all cores."""
    machine, cycle_s = params.machine, params.cycle_s
    each = machine.cores / machine.workers_per_node
    dear_s = each * cycle_s / (1 - share)
    base = replace(
        params,
        loaders=max(1, round(each)),
        decode_s=min(0.5 * each * cycle_s, dear_s * 0.6),
        load_spread=0.1,
        source=Source.MEMORY,
        is_persistent=True,
    ).looking(spins=0.08)
    base = replace(base, launch_s=0.03 * base.gpu_s)
    return Fault(
        base=base,
        twist=lambda one: replace(one, decode_s=dear_s),
        plant=Plant(cause=Cause.CPU_PREPROCESSING),
    )


def _slow_disk(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Read from a disk that is too slow."""
    needed = params.machine.workers_per_node * params.read_bytes / params.cycle_s
    base = _from(params, Source.DISK, rng)
    slow = needed * (1 - share)
    return Fault(
        base=replace(base, disk_bytes=needed * 5),
        twist=lambda one: replace(one, disk_bytes=slow),
        plant=Plant(cause=Cause.IO_WAIT),
    )


def _slow_network(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Stream batches through a link that is too slow."""
    least = _LEAST_LINK / (1 - share) * params.cycle_s / params.machine.workers_per_node
    big = max(params.read_bytes, least)
    base = _from(replace(params, read_bytes=big), Source.NETWORK, rng)
    needed = params.machine.workers_per_node * big / params.cycle_s
    slow = needed * (1 - share)
    return Fault(
        base=replace(base, network_bytes=needed * 5),
        twist=lambda one: replace(one, network_bytes=slow),
        plant=Plant(cause=Cause.NETWORK_INPUT),
    )


def _from(params: Params, source: Source, rng: np.random.Generator) -> Params:
    """Return the job with enough loaders that mostly read."""
    machine = params.machine
    each = machine.cores / machine.workers_per_node
    loaders = max(2, min(8, int(0.6 * each)))
    decode_s = params.gpu_s * float(rng.uniform(0.1, 0.4))
    return replace(params, source=source, loaders=loaders, decode_s=decode_s, load_spread=0.1)


def _unpinned(params: Params, share: float, _rng: np.random.Generator) -> Fault:
    """Copy batches from pageable memory."""
    copy_s = params.copy_s + longer(min(share, _MOST_COPYING)) * params.cycle_s
    return Fault(
        base=params,
        twist=lambda one: replace(one, copy_s=copy_s, is_pinned=False),
        plant=Plant(cause=Cause.UNPINNED_MEMORY),
    )


def _between(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Do something else between steps: compute metrics, or wait for a service."""
    extra_s = longer(share) * params.cycle_s
    is_busy = bool(rng.random() < 0.6)
    return Fault(
        base=params,
        twist=lambda one: replace(one, host_s=one.host_s + extra_s, is_host_busy=is_busy),
        plant=Plant(cause=Cause.WORK_BETWEEN_STEPS),
    )


def _long_start(params: Params, share: float, _rng: np.random.Generator) -> Fault:
    """Prepare for long before the first step."""
    extra_s = longer(share) * params.n_train * params.cycle_s
    if extra_s < _LEAST_START_S:
        raise UnsuitableError
    return Fault(
        base=params,
        twist=lambda one: replace(one, start_s=one.start_s + extra_s),
        plant=Plant(cause=Cause.LONG_START, share_of=JOB, when=start_of),
    )


def _random_steps(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let single steps of one worker or another take far longer."""
    n, workers = params.n_train, params.machine.n_workers
    count = int(np.clip(n * rng.uniform(0.005, 0.03), 4, 200))
    each_s = longer(share) * n * params.cycle_s / count
    if not 2.5 * params.cycle_s <= each_s <= 60 * params.cycle_s:
        raise UnsuitableError
    is_pause = each_s > _STANDSTILL_S and count <= _MOST_PAUSES
    also = (Cause.LONG_PAUSE,) if is_pause else ()
    rows = rng.choice(np.arange(5, n - 2), count, replace=False)
    extra_s = np.zeros((workers, n))
    extra_s[rng.integers(workers, size=count), rows] = each_s * rng.gamma(12, 1 / 12, count)
    return Fault(
        base=params,
        twist=lambda one: replace(one, step_extra_s=one.step_extra_s + extra_s),
        plant=Plant(cause=Cause.RANDOM_SLOW_STEPS, also_right=also),
    )


def _periodic(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let every nth step, or what follows it, take long."""
    n = params.n_train
    every = int(rng.choice([10, 20, 25, 50, 100]))
    each_s = longer(share) * every * params.cycle_s
    if n / every < 5 or each_s < 1.2 * params.cycle_s:
        raise UnsuitableError
    extra_s = np.zeros(n)
    extra_s[every - 1 :: every] = each_s * rng.uniform(0.92, 1.08, n // every)
    is_within = bool(rng.random() < 0.4)

    def twist(one: Params) -> Params:
        if is_within:
            return replace(one, step_extra_s=one.step_extra_s + extra_s)
        return replace(one, gap_extra_s=one.gap_extra_s + extra_s)

    return Fault(base=params, twist=twist, plant=Plant(cause=Cause.PERIODIC_SLOW_STEPS))


def _slowing(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let steps grow longer and longer: evenly, late, or in jumps."""
    n = params.n_train
    done = np.linspace(0, 1, n)
    shape = [done, done**2, np.floor(done * 6) / 6][int(rng.integers(3))]
    factor = 1 + shape / shape.mean() * longer(share) * params.cycle_s / params.gpu_s
    return Fault(
        base=params,
        twist=lambda one: replace(one, growth=one.growth * factor),
        plant=Plant(cause=Cause.SLOWING_DOWN),
    )


def _pause(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Stand still once or a few times."""
    n = params.n_train
    count = int(rng.choice([1, 1, 2, 3, 6]))
    each_s = longer(share) * n * params.cycle_s / count
    if each_s < max(12.0, 12 * params.cycle_s):
        raise UnsuitableError
    chosen = np.sort(rng.choice(np.arange(n // 10, n - n // 10), count, replace=False))
    gap_s = np.zeros(n)
    gap_s[chosen] = each_s
    rows = tuple(int(_row_of(params, int(at))) for at in chosen)
    return Fault(
        base=params,
        twist=lambda one: replace(one, gap_extra_s=one.gap_extra_s + gap_s),
        plant=Plant(cause=Cause.LONG_PAUSE, when=pauses_of(rows)),
    )


def _row_of(params: Params, train_row: int) -> int:
    """Return the number of a training step among all steps."""
    is_train = np.repeat(
        [phase.is_train for phase in params.phases], [phase.steps for phase in params.phases]
    )
    return int(np.flatnonzero(is_train)[train_row])


def _slow_worker(params: Params, share: float, rng: np.random.Generator) -> Fault:
    """Let one worker compute slower than the others, which wait for it."""
    machine = params.machine
    if machine.n_workers < 2:
        raise UnsuitableError
    rank = int(rng.integers(machine.n_workers))
    since = float(rng.choice([0.0, 0.0, 0.35]))
    slow = list(params.slow)
    slow[rank] = 1 + longer(share) * params.cycle_s / params.gpu_s / (1 - since)

    def acts(seen: Seen) -> tuple[float, float]:
        steps = seen.steps
        return float(steps.start_s[0, int(since * steps.number.size)]), steps.loop_s[1]

    places = (machine.worker_name(rank), *_of_rank(machine, rank))
    return Fault(
        base=params,
        twist=lambda one: replace(one, slow=tuple(slow), slow_since=since),
        plant=Plant(cause=Cause.SLOW_WORKER, places=places, when=acts),
    )


def _of_rank(machine: Machine, rank: int) -> tuple[str, ...]:
    """Return the node of a worker that is alone there, or its GPU."""
    node, local = divmod(rank, machine.workers_per_node)
    if machine.workers_per_node == 1:
        return (f"algo-{node + 1}",)
    return (f"algo-{node + 1}/gpu{local}",) if machine.gpus else ()


MAKERS: dict[Cause, Maker] = {
    Cause.TOO_FEW_LOADERS: _few_loaders,
    Cause.TOO_MANY_LOADERS: _many_loaders,
    Cause.CPU_PREPROCESSING: _preprocessing,
    Cause.IO_WAIT: _slow_disk,
    Cause.NETWORK_INPUT: _slow_network,
    Cause.UNPINNED_MEMORY: _unpinned,
    Cause.WORK_BETWEEN_STEPS: _between,
    Cause.LONG_START: _long_start,
    Cause.RANDOM_SLOW_STEPS: _random_steps,
    Cause.PERIODIC_SLOW_STEPS: _periodic,
    Cause.SLOWING_DOWN: _slowing,
    Cause.LONG_PAUSE: _pause,
    Cause.SLOW_WORKER: _slow_worker,
    **GPU_MAKERS,
}
"""Who makes which fault."""
