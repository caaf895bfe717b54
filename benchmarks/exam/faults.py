"""How each fault changes an ordinary job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.draw import Wish, log_uniform
from benchmarks.exam.setup import Extra, Floats, How, Program, Setup, Sync, Where
from benchmarks.exam.truth import EVERYWHERE
from reportgen.results.causes import Cause
from sample_data.spec import node_name

Change = Callable[[Setup], Setup]
"""Plants a fault; it changes nothing else, so that jobs differ by it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A fault of a job.

    Attributes:
        change: Plants it.
        places, also_right: As in the truth.
        when: Parts of the training steps (0 to 1) between which it acts; ``None`` for the start.
        needs: Framework events that name it: ``loader`` for those of a loader's begin.
        scale_s: How long one of its effects lasts, where samples alone must show it.
        is_hidden: Whether what was recorded shows the same for other causes.
    """

    change: Change
    places: tuple[str, ...] = (EVERYWHERE,)
    also_right: tuple[Cause, ...] = ()
    when: tuple[float, float] | None = (0.0, 1.0)
    needs: str = ""
    scale_s: float = np.inf
    is_hidden: bool = False


Planter = Callable[[Setup, np.random.Generator, float], tuple[Setup, Drawn]]
"""Takes a job, random numbers, and the time that an iteration shall gain, relative to its length.

It returns the job without the fault, which may have other cores or loaders than the one given."""


def _with_cores(setup: Setup, least: float) -> Setup:
    sizes = (2, 4, 8, 16, 32, 48, 64, 96)
    cores = max(setup.machine.cores, next((size for size in sizes if size >= least), 96))
    return replace(setup, machine=replace(setup.machine, cores=cores))


def _in_one_epoch(setup: Setup) -> Setup:
    """Return the job in one epoch if the first batches were a large part of each of them."""
    if setup.train_steps > 30 * setup.loading.num_workers:
        return setup
    return replace(
        setup,
        n_epochs=1,
        train_steps=setup.n_train,
        valid_steps=setup.n_epochs * setup.valid_steps,
    )


def _own_threads(setup: Setup) -> int:
    """Return the cores that a training process keeps busy."""
    return 1 if setup.has_gpus else setup.threads


def _too_few_loaders(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    ranks, cycle_s = setup.machine.workers_per_node, setup.cycle_s
    n_bad = int(rng.choice([0, 0, 1, 1, 2, 3]))
    load_s = cycle_s * (gain if not n_bad else n_bad * (1 + gain))
    n_good = max(n_bad + 1, int(np.ceil(1.5 * load_s / cycle_s)))
    base = _with_cores(setup, ranks * (n_good + _own_threads(setup)) * 1.25)
    read_ratio = float(rng.choice([0, 0, 0.2]))
    loading = replace(
        base.loading,
        num_workers=n_good,
        cpu_s=load_s * (1 - read_ratio),
        disk_bytes=read_ratio * load_s * base.limits.disk_each,
        net_bytes=0.0,
    )
    base = replace(base, loading=loading, limits=replace(base.limits, disk_rate=1e12), programs=())
    base = _in_one_epoch(base)

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, num_workers=n_bad))

    return base, Drawn(change=change, needs="loader")


def _too_many_loaders(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Start many processes anew in each epoch, which import their libraries on few cores."""
    ranks = setup.machine.workers_per_node
    cores = setup.machine.cores / ranks
    n_good = max(1, int(cores) - _own_threads(setup))
    n_bad = min(96, int(np.ceil(max(cores, 2) * rng.uniform(2.5, 6))))
    begin_s = log_uniform(rng, 0.5, 3)
    epoch_s = max(n_bad * begin_s / cores / gain, 4 * setup.cycle_s)
    n_epochs = int(np.clip(round(setup.loop_s / epoch_s), 1, min(40, setup.n_train // 4)))
    loading = replace(
        setup.loading,
        num_workers=n_good,
        cpu_s=setup.cycle_s * n_good * float(rng.uniform(0.3, 0.6)),
        begin_s=begin_s,
        is_persistent=False,
        disk_bytes=0.0,
        net_bytes=0.0,
        spread=0.1,
    )
    base = replace(
        setup,
        loading=loading,
        n_epochs=n_epochs,
        train_steps=setup.n_train // n_epochs,
        valid_steps=0,
        extras=(),
        programs=(),
    )

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, num_workers=n_bad))

    return base, Drawn(change=change, needs="loader")


def _cpu_preprocessing(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    ranks = setup.machine.workers_per_node
    if not setup.has_gpus:
        setup = replace(setup, threads=1)
    fewer = replace(setup.machine, cores=min(setup.machine.cores, 12 * ranks))
    base = _with_cores(replace(setup, machine=fewer), 4 * ranks)
    free = base.machine.cores / ranks - 0.6
    n = max(1, int(np.ceil(free * rng.uniform(1.0, 1.3))))
    cycle_s = base.cycle_s
    base = replace(
        base,
        loading=replace(
            base.loading,
            num_workers=n,
            cpu_s=0.3 * free * cycle_s,
            disk_bytes=0.0,
            net_bytes=0.0,
            spread=min(base.loading.spread, 0.15),
        ),
        programs=(),
    )
    base = _in_one_epoch(base)

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, cpu_s=free * cycle_s * (1 + gain)))

    return base, Drawn(change=change)


def _fed(setup: Setup, rng: np.random.Generator) -> Setup:
    """Return the job with loaders whose cores are never short."""
    ranks = setup.machine.workers_per_node
    n = int(rng.integers(3, 9))
    base = _with_cores(setup, ranks * (n + _own_threads(setup)) * 1.2)
    n = max(2, min(n, int(base.machine.cores / ranks) - _own_threads(base)))
    loading = replace(
        base.loading,
        num_workers=n,
        cpu_s=base.cycle_s * n * float(rng.uniform(0.05, 0.35)),
        disk_bytes=0.0,
        net_bytes=0.0,
        only_first_epoch=False,
    )
    return _in_one_epoch(replace(base, loading=loading, programs=()))


def _io_wait(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Read from a disk that is too slow in all, or answers each process too slowly."""
    base = _fed(setup, rng)
    cycle_s, n = base.cycle_s, base.loading.num_workers
    ranks = base.machine.workers_per_node
    rate = log_uniform(rng, 6e7, 9e8)
    is_late = rng.random() < 0.4
    need = rate * cycle_s * (1 + gain) / ranks
    each = need / (n * cycle_s * (1 + gain)) if is_late else rate
    limits = replace(base.limits, disk_rate=rate * (3 if is_late else 1), disk_each=each)
    node = base.machine.nodes - 1 if base.machine.nodes > 1 and rng.random() < 0.5 else None
    base = replace(base, limits=replace(limits, slow_node=node))

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, disk_bytes=need))

    places = (EVERYWHERE,) if node is None else (node_name(node), *_workers(base, node))
    also_right = (Cause.TOO_FEW_LOADERS,) if is_late else ()
    return base, Drawn(change=change, places=places, also_right=also_right)


def _workers(setup: Setup, node: int) -> tuple[str, ...]:
    per_node = setup.machine.workers_per_node
    ranks = range(node * per_node, (node + 1) * per_node)
    return tuple(setup.machine.worker_name(rank) for rank in ranks)


def _network_input(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Stream data over a network that is too slow, or becomes so when its burst is used up."""
    base = _fed(setup, rng)
    ranks = base.machine.workers_per_node
    rate = float(rng.choice([1.25e8, 3.1e8, 6.2e8, 1.2e9])) * float(rng.uniform(0.9, 1.0))
    drop_at = float(rng.uniform(0.2, 0.6)) if rng.random() < 0.25 else None
    part = 1.0 if drop_at is None else 1 - drop_at
    need = rate * base.cycle_s * (1 + gain / part) / ranks
    limits = replace(
        base.limits,
        net_rate=rate * (1 if drop_at is None else 4),
        net_each=rate,
        drop_at_ratio=drop_at,
        drop_to=0.25,
    )
    base = replace(base, limits=limits)

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, net_bytes=need))

    return base, Drawn(change=change, when=(drop_at or 0.0, 1.0))


def _unpinned_memory(setup: Setup, _rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    loading = replace(setup.loading, is_pinned=True, copy_s=setup.cycle_s * gain * 1.25)
    base = replace(setup, loading=loading)

    def change(good: Setup) -> Setup:
        return replace(good, loading=replace(good.loading, is_pinned=False))

    return base, Drawn(change=change, needs="loader")


def _with(extra: Extra) -> Change:
    return lambda good: replace(good, extras=(*good.extras, extra))


def _part(setup: Setup, rng: np.random.Generator, *, ratio: float) -> tuple[Floats, float, float]:
    """Return for each training step whether a fault acts, in all of the job or a part of it."""
    at = np.arange(setup.n_train) / setup.n_train
    if rng.random() >= ratio:
        return np.ones(setup.n_train), 0.0, 1.0
    length = float(rng.uniform(0.3, 0.6))
    first = float(rng.uniform(0, 1 - length))
    return ((at >= first) & (at < first + length)).astype(float), first, first + length


def _work_between_steps(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    acts, first, last = _part(setup, rng, ratio=0.2)
    noise = rng.lognormal(-0.005, 0.1, setup.n_train)
    seconds = acts * noise * setup.cycle_s * gain / max(acts.mean(), 0.05)
    how = How(rng.choice([How.COMPUTE, How.COMPUTE, How.SLEEP]))
    extra = Extra(where=Where.BETWEEN, how=how, seconds=seconds)
    return setup, Drawn(change=_with(extra), when=(first, last))


def _random_slow_steps(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Let some steps, or times between steps, take longer; in part of the jobs of one rank."""
    rate = max(log_uniform(rng, 0.005, 0.06), 8 / setup.n_train)
    hit = rng.random(setup.n_train) < rate
    hit[rng.integers(setup.n_train)] = True
    extra_s = setup.cycle_s * gain / hit.mean()
    seconds = hit * extra_s * rng.lognormal(-0.08, 0.4, setup.n_train)
    n_ranks = setup.machine.n_workers
    is_one = n_ranks > 1 and rng.random() < 0.4
    ranks = (int(rng.integers(n_ranks)),) if is_one else ()
    where = Where(rng.choice([Where.FORWARD, Where.BACKWARD, Where.BETWEEN]))
    how = How(rng.choice([How.COMPUTE, How.SLEEP]))
    extra = Extra(where=where, how=how, seconds=seconds, ranks=ranks)
    return setup, Drawn(change=_with(extra))


def _periodic_slow_steps(
    setup: Setup, rng: np.random.Generator, gain: float
) -> tuple[Setup, Drawn]:
    most = max(4, min(200, setup.n_train // 6))
    period = int(log_uniform(rng, 4, most))
    seconds = np.zeros(setup.n_train)
    seconds[period - 1 :: period] = setup.cycle_s * gain * period
    where = Where(rng.choice([Where.FORWARD, Where.BETWEEN, Where.BETWEEN]))
    how = How.COMPUTE if where is Where.FORWARD else How(rng.choice(list(How)))
    ranks = (0,) if setup.machine.n_workers > 1 and rng.random() < 0.5 else ()
    extra = Extra(where=where, how=how, seconds=seconds, ranks=ranks)
    return setup, Drawn(change=_with(extra))


def _gpu_swings(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Let the host collect for seconds, then the GPU train for seconds, in turns."""
    busy_s = log_uniform(rng, 3, 40)
    period = max(2, round(busy_s / setup.cycle_s))
    idle_s = period * setup.cycle_s * gain
    seconds = np.zeros(setup.n_train)
    seconds[period - 1 :: period] = idle_s
    seconds *= rng.lognormal(-0.02, 0.2, setup.n_train)
    extra = Extra(where=Where.BETWEEN, how=How.COMPUTE, seconds=seconds)
    also_right = (Cause.PERIODIC_SLOW_STEPS,)
    scale_s = min(busy_s, idle_s)
    return setup, Drawn(change=_with(extra), also_right=also_right, scale_s=scale_s)


def _slowing_down(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Let a list of the host, or the GPU's heat, make each step longer than the one before."""
    grows = np.linspace(0, 2 * gain, setup.n_train) ** float(rng.choice([1.0, 1.0, 1.5]))
    grows *= gain / max(grows.mean(), 1e-9)
    if setup.has_gpus and rng.random() < 0.3:

        def change(good: Setup) -> Setup:
            factors = {
                rank: good.gpu_factors.get(rank, np.ones(1)) * (1 + grows)
                for rank in range(good.machine.n_workers)
            }
            return replace(good, gpu_factors=factors)

        return setup, Drawn(change=change)
    where = Where(rng.choice([Where.FORWARD, Where.BACKWARD, Where.BETWEEN]))
    extra = Extra(where=where, how=How.COMPUTE, seconds=setup.cycle_s * grows)
    return setup, Drawn(change=_with(extra))


def _long_pause(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    total_s = gain * setup.loop_s
    n_pauses = int(rng.integers(1, 4)) if total_s > 90 else 1
    at = np.sort(rng.choice(np.arange(0.1, 0.9, 0.1), n_pauses, replace=False))
    seconds = np.zeros(setup.n_train)
    seconds[(at * setup.n_train).astype(int)] = total_s * rng.dirichlet(np.full(n_pauses, 20))
    where = Where(rng.choice([Where.BETWEEN, Where.BETWEEN, Where.BACKWARD]))
    ranks = (0,) if setup.machine.n_workers > 1 and rng.random() < 0.5 else ()
    extra = Extra(where=where, how=How.SLEEP, seconds=seconds, ranks=ranks)
    when = (float(at[0]), float(at[-1]))
    return setup, Drawn(change=_with(extra), when=when, scale_s=float(seconds.max()))


def _slow_worker(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Slow down the GPU of one rank, its host, or all cores of its node by another program."""
    machine = setup.machine
    rank = int(rng.integers(machine.n_workers))
    node, local = divmod(rank, machine.workers_per_node)
    places = (machine.worker_name(rank), f"{node_name(node)}/gpu{local}", node_name(node))
    acts, first, last = _part(setup, rng, ratio=0.2)
    gain_each = gain / max(acts.mean(), 0.05)
    kind = rng.choice(["gpu", "gpu", "host", "program"])
    if kind == "program" and not setup.has_gpus:
        program = Program(
            node=node,
            threads=round(machine.cores * (1 + gain)),
            duty_ratio=1.0,
            start_s=0.0,
            end_s=3 * (setup.start_s + setup.loop_s),
        )
        drawn = Drawn(
            change=lambda good: replace(good, programs=(*good.programs, program)),
            places=(*_workers(setup, node), node_name(node)),
        )
        return setup, drawn
    if kind == "host":
        seconds = acts * setup.cycle_s * gain_each
        extra = Extra(where=Where.FORWARD, how=How.COMPUTE, seconds=seconds + 0.0, ranks=(rank,))
        base = replace(setup, sync=Sync.BOTH)
        return base, Drawn(change=_with(extra), places=places, when=(first, last))
    share = setup.gpu_s / setup.cycle_s
    factors = {rank: 1 + acts * gain_each / share}
    is_hidden = setup.has_gpus and setup.sync is not Sync.BOTH
    drawn = Drawn(
        change=lambda good: replace(good, gpu_factors={**good.gpu_factors, **factors}),
        places=places,
        when=(first, last),
        is_hidden=is_hidden,
    )
    return setup, drawn


def _long_start(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Take 165 seconds and 17 % of the job at least; both are above what is usual."""
    job_s = setup.loop_s + setup.ends.save_s + setup.ends.upload_s
    part = str(rng.choice(["download_s", "import_s", "scan_s"]))
    short = replace(setup.ends, download_s=8.0, import_s=12.0, scan_s=5.0)
    base = replace(setup, ends=short)
    extra_s = max(165.0, gain * job_s, 0.22 * job_s) - base.start_s

    def change(good: Setup) -> Setup:
        longer = getattr(good.ends, part) + extra_s
        return replace(good, ends=replace(good.ends, **{part: longer}))

    return base, Drawn(change=change, when=None)


def _much_validation(setup: Setup, rng: np.random.Generator, gain: float) -> tuple[Setup, Drawn]:
    """Validate for a third of the loop at least."""
    ratio = max(gain, float(rng.uniform(0.55, 1.0)))
    steps = max(2, round(ratio * setup.train_steps / 0.37))
    base = replace(setup, valid_steps=max(1, steps // 8))
    return base, Drawn(change=lambda good: replace(good, valid_steps=steps))


def _gpu_underused(setup: Setup, rng: np.random.Generator, _gain: float) -> tuple[Setup, Drawn]:
    """Launch kernels that take a part of the time that launching takes."""
    cycle_s, used = setup.gpu_s, float(rng.uniform(0.15, 0.6))
    base = replace(setup, sync=Sync.AFTER, loading=replace(setup.loading, copy_s=0.0))

    def change(good: Setup) -> Setup:
        return replace(good, host_s=cycle_s, gpu_s=used * cycle_s, optimizer_ratio=0.01)

    return base, Drawn(change=change)


def _gpu_idle(setup: Setup, rng: np.random.Generator, _gain: float) -> tuple[Setup, Drawn]:
    machine = setup.machine
    n_idle = int(rng.integers(1, machine.gpus))
    per_node = 1 if machine.workers_per_node == 1 else machine.gpus - n_idle
    fewer = replace(
        machine, nodes=1, workers_per_node=per_node, clock_offsets_s=machine.clock_offsets_s[:1]
    )
    base = replace(setup, machine=fewer, programs=())
    names = [f"algo-1/gpu{at}" for at in range(machine.gpus - n_idle, machine.gpus)]
    drawn = Drawn(change=lambda good: replace(good, n_idle_gpus=n_idle), places=(*names, "algo-1"))
    return base, drawn


def _gpu_stopped(setup: Setup, rng: np.random.Generator, _gain: float) -> tuple[Setup, Drawn]:
    """Let one of several processes that train on their own end long before the others."""
    machine = setup.machine
    rank = int(rng.integers(1, machine.n_workers))
    at = float(rng.uniform(0.2, 0.75))
    base = replace(setup, is_synced=False, exchange_s=0.0)
    node, local = divmod(rank, machine.workers_per_node)
    drawn = Drawn(
        change=lambda good: replace(good, stops={rank: at}),
        places=(f"{node_name(node)}/gpu{local}", node_name(node), machine.worker_name(rank)),
        when=(at, 1.0),
    )
    return base, drawn


def _gpu_imbalance(setup: Setup, rng: np.random.Generator, _gain: float) -> tuple[Setup, Drawn]:
    """Let one process drive all GPUs of its node unevenly."""
    machine = setup.machine
    levels = (1.0, *rng.uniform(0.2, 0.7, machine.gpus - 1).tolist())
    names = [
        f"{node_name(node)}/gpu{at}" for node in range(machine.nodes) for at in range(machine.gpus)
    ]
    places = (*names, *(node_name(node) for node in range(machine.nodes)))
    return setup, Drawn(change=lambda good: replace(good, gpu_levels=levels), places=places)


def _memory_growth(setup: Setup, rng: np.random.Generator, _gain: float) -> tuple[Setup, Drawn]:
    grown = float(rng.uniform(20, 60))
    base = replace(setup, memory_ratio=float(rng.uniform(0.15, 0.35)))
    return base, Drawn(change=lambda good: replace(good, memory_growth_pct=grown))


_TIME, _GPU_TIME, _NOTHING = "loop", "GPU time of the loop", "nothing yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A cause that can be planted.

    Attributes:
        group: Faults of one group change the same thing, so that a job has one of them at most.
        share_of: ``loop`` and ``job`` are found by a run without the fault.
        is_estimated: Whether what it costs can be compared with what a report estimates.
    """

    plant: Planter
    wish: Wish = field(default_factory=Wish)
    group: str = ""
    share_of: str = _TIME
    is_estimated: bool = True


_GPUS = (1, 1, 2, 4, 8)
_SEVERAL = (2, 4, 8)
_PYTORCH = Wish(inputs=(Input.PYTORCH,), gpus=_GPUS)

FAULTS: dict[Cause, Fault] = {
    Cause.TOO_FEW_LOADERS: Fault(plant=_too_few_loaders, group="loading"),
    Cause.TOO_MANY_LOADERS: Fault(plant=_too_many_loaders, group="loading", wish=_PYTORCH),
    Cause.CPU_PREPROCESSING: Fault(plant=_cpu_preprocessing, group="loading"),
    Cause.IO_WAIT: Fault(plant=_io_wait, group="loading"),
    Cause.NETWORK_INPUT: Fault(plant=_network_input, group="loading"),
    Cause.UNPINNED_MEMORY: Fault(plant=_unpinned_memory, wish=_PYTORCH),
    Cause.WORK_BETWEEN_STEPS: Fault(plant=_work_between_steps),
    Cause.LONG_START: Fault(plant=_long_start, share_of="job"),
    Cause.RANDOM_SLOW_STEPS: Fault(plant=_random_slow_steps),
    Cause.PERIODIC_SLOW_STEPS: Fault(plant=_periodic_slow_steps),
    Cause.SLOWING_DOWN: Fault(plant=_slowing_down, group="pace"),
    Cause.LONG_PAUSE: Fault(plant=_long_pause),
    Cause.MUCH_VALIDATION: Fault(plant=_much_validation, is_estimated=False),
    Cause.SLOW_WORKER: Fault(plant=_slow_worker, wish=Wish(least_ranks=2), group="ranks"),
    Cause.GPU_UNDERUSED: Fault(
        plant=_gpu_underused, wish=Wish(gpus=_GPUS), group="pace", share_of=_GPU_TIME
    ),
    Cause.GPU_SWINGS: Fault(plant=_gpu_swings, wish=Wish(inputs=(Input.SYSTEM,), gpus=_GPUS)),
    Cause.GPU_IDLE: Fault(
        plant=_gpu_idle, wish=Wish(gpus=_SEVERAL), group="ranks", share_of=_GPU_TIME
    ),
    Cause.GPU_STOPPED: Fault(
        plant=_gpu_stopped, wish=Wish(gpus=_SEVERAL), group="ranks", share_of=_GPU_TIME
    ),
    Cause.GPU_IMBALANCE: Fault(
        plant=_gpu_imbalance,
        wish=Wish(gpus=_SEVERAL, one_process=True),
        group="ranks",
        share_of=_GPU_TIME,
    ),
    Cause.MEMORY_GROWTH: Fault(
        plant=_memory_growth, wish=Wish(gpus=_GPUS), share_of=_NOTHING, is_estimated=False
    ),
}
