"""How a node's GPUs, cores and network are used, tick by tick; which GPUs the job uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Instants, Mask, Rows
from reportgen.facts.intervals import NOTHING, Union, covered_each, overlaps_any
from reportgen.facts.samples import (
    EDGE_AT_MOST_RATIO,
    count_where,
    idle_edges,
    mean_of,
    present_values,
    sum_of,
    totals_of,
)
from reportgen.profile import SeriesKind, SystemTable
from reportgen.profile.memo import fact
from reportgen.units import NS_PER_S

IDLE_BELOW_PCT = 10
"""A GPU below this idles; SageMaker's rules have the same default (docs/rules.md)."""
BUSY_ABOVE_PCT = 90.0
"""A GPU above this works, as in AWS's example notebook (docs/rules.md, Ranges of use)."""
UNTOUCHED_PCT = 2.0
"""A GPU that stays below this for the whole job runs nothing of it: a driver's own work is shown
as 1 %."""
FEW_SAMPLES, FEW_RATIO = 3, 0.05
"""A process that sets up CUDA and computes nothing on the GPU shows in up to so many samples, and
in no more than one of twenty."""
SHORT_FROM_RATIO = 0.1
"""GPUs that leave a tenth of their time unused are short of work, also where samples do not show
when and why. They are rarely read as 100 %, and rest while a job logs and saves (chosen: those of
healthy jobs leave up to 8 % unused)."""
USUAL_PERCENTILE = 75
"""A quarter of the samples of work hold no wait and show the usual use. The highest ones would show
how far a steady use scatters: by five points in samples of every second."""
STEADY_FROM_RATIO = 0.15
"""So much must be missing to a steady use: one of 90 % is healthy. Chosen in the exam: GPUs, and
cores, of healthy jobs leave up to a tenth unused, the least fault that shows there a sixth."""
LEAST_INSIDE = 10
"""From so many samples inside pauses of the host on, they say what GPUs do there."""
LEAST_JUDGED = 60
"""More samples than this are judged: half a minute at SageMaker's usual interval, three of them
above a 95th percentile. SageMaker's rules wait for 1,000, which a job of eight minutes has not."""
LEAST_LONG, LONG_NS = 20, 30 * NS_PER_S
"""More samples than this are judged as well if they span half a minute too, as W&B's or those of
five seconds each: what a GPU does takes time to see, not samples."""
RESTING_RATIO = 0.2
LEAST_WORK_PCT = 5.0
"""Cores rest at less than a fifth of their usual use: the rest is the system and its profilers.
Where all of them together are used up to 5 %, that could be all there is; where they are used more
for less than a fifth of the time, nothing shows what is usual."""
SUSTAINED_NS, LEAST_SUSTAINED, MOST_SUSTAINED = 5 * NS_PER_S, 2, 10
"""Work of five seconds in ten has begun; ten samples show it, and two that are further apart."""
PERCENT_DIGITS = 9
"""Percentiles are compared after rounding, so that the order of a sum decides nothing."""
CPU_HOT_PCT = 90
IO_HOT_PCT = 50
"""A core above the first is busy, above the second it waits for I/O: the defaults of SageMaker's
CPUBottleneck and IOBottleneck (docs/rules.md)."""
USED_UP_RATIO = 0.75
"""Where three quarters of the cores are hot, more loader processes only share what is left."""
FULL_RATIO = 0.85
"""Cores that compute at least this share of the time on average have no room for another
process."""
OTHERS_FROM_CORES = 0.5
"""Other programs that keep half a core busy where all cores are used up take it from the job."""
WAITS_FOR_DISK_RATIO = 0.4
"""Cores that neither compute nor idle wait for the disk: where that is two fifths of their time
at work, the disk sets the pace of whoever reads."""
LEAST_WAITING_CORES = 0.5
"""Half a core that waits for the disk is half a reader: less than that slows nothing down."""
OWN_LIMIT_PCT = 99
"""The percentile of a node's own rates that stands for the limit of its network: the few highest
rates may be bursts between two samples."""
NETWORK_BUSY_PCT = 90
FLOOR_BYTES_PER_S = 10_000_000
"""Defaults of NetworkBottleneck (docs/rules.md): the network is busy at this share of its limit
or more, and never below this rate, so that a network which is hardly used is not busy."""


# GPUs


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One series without its gaps: (n,) times and values, sorted by time.

    ``is_there``: (n_ticks,) which rows of the table they are.
    """

    is_there: Mask
    time_ns: Instants
    values: Floats

    def before(self, end_ns: Instants) -> Rows:
        """Return how many samples there are before each instant."""
        return np.searchsorted(self.time_ns, end_ns, side="left")


def samples_of(system: SystemTable, values: Floats) -> Samples:
    """Return the samples of (n_ticks,) values without NaN; without any NaN it copies no value."""
    is_there = ~np.isnan(values)
    if is_there.all():
        return Samples(is_there=is_there, time_ns=system.tick_ns, values=values)
    return Samples(is_there=is_there, time_ns=system.tick_ns[is_there], values=values[is_there])


def samples_by_gpu(system: SystemTable, kind: SeriesKind) -> Iterator[tuple[str, Samples]]:
    """Yield the samples of each GPU that has any, in device order."""
    for gpu, column in zip(system.names(kind), system.each(kind), strict=True):
        samples = samples_of(system, column)
        if samples.values.size:
            yield gpu, samples


def low_gpus(system: SystemTable, *, below: float = IDLE_BELOW_PCT) -> Rows:
    """Return (n_ticks,) how many GPUs lie under ``below``; an absent sample never does."""
    return count_where(system, SeriesKind.GPU_UTILIZATION, lambda use: use < below)


def low_used_gpus(system: SystemTable, *, below: float = IDLE_BELOW_PCT) -> Rows:
    """Return (n_ticks,) how many GPUs lie under ``below`` that reach it at some other time.

    A GPU that never does is not waiting for the host: the job does not use it. One that has done
    its last work while others work on has stopped, whatever the host does.
    """
    columns = system.columns_of(SeriesKind.GPU_UTILIZATION)
    used = np.flatnonzero(used_gpus(columns, above=below)).tolist()
    last = [int(np.flatnonzero(columns[gpu] >= below)[-1:].sum()) for gpu in used]
    n_low = np.zeros(system.n_ticks, dtype=np.int64)
    for gpu, last_work in zip(used, last, strict=True):
        use = columns[gpu]
        end = last_work + 1 if last_work < max(last) else use.size
        n_low[:end] += use[:end] < below
    return n_low


def used_gpus(use: Sequence[Floats], *, above: float = IDLE_BELOW_PCT) -> Mask:
    """Return (n_gpus,) which GPUs of a node the job uses: those that ever reach ``above``.

    Where no tick does, those that reach ``UNTOUCHED_PCT``: they may be held up all the time.
    ``use`` is the (n_ticks,) utilization of each in 0-100, NaN where absent.
    """
    reach = _reaching(use, above)
    return reach if reach.any() else _reaching(use, UNTOUCHED_PCT)


def lightly_used(use: Sequence[Floats], *, above: float = IDLE_BELOW_PCT) -> Mask:
    """Return (n_gpus,) which GPUs of a node never reach ``above``, and yet work with the others.

    They are at ``UNTOUCHED_PCT`` or more in at least half of the ticks in which another GPU works.
    """
    reach = _reaching(use, above)
    works = np.zeros(use[0].shape if len(use) else 0, dtype=np.bool_)
    for at in np.flatnonzero(reach).tolist():
        works |= use[at] >= above
    touched = [2 * (column[works] >= UNTOUCHED_PCT).sum() >= works.sum() > 0 for column in use]
    return ~reach & np.array(touched, dtype=np.bool_)


def reached_pct(use_pct: Floats) -> float:
    """Return what more than a few of (n_ticks,) samples reach; -1 without any."""
    known = present_values(use_pct)
    n_few = min(FEW_SAMPLES, int(FEW_RATIO * known.size))
    return float(np.partition(known, -1 - n_few)[-1 - n_few]) if known.size else -1.0


def _reaching(use: Sequence[Floats], level_pct: float) -> Mask:
    return np.array([reached_pct(column) >= level_pct for column in use], dtype=np.bool_)


def enough_samples(patience: int, time_ns: Instants | None = None) -> int:
    """Return how many samples must be exceeded before a use is judged; SageMaker counts later.

    Fewer are enough if their times, in order, span long. Histograms need them all.
    """
    is_long = time_ns is not None and time_ns.size and time_ns[-1] - time_ns[0] >= LONG_NS
    return min(patience, LEAST_LONG if is_long else LEAST_JUDGED)


def usual_by_quarter(use_pct: Floats) -> Floats:
    """Return (4,) the usual use in each quarter of (n,) samples of work, n >= 4."""
    quarters = np.array_split(use_pct, 4)
    return np.array([np.percentile(quarter, USUAL_PERCENTILE) for quarter in quarters])


def used_throughout(use: Sequence[Floats]) -> Mask:
    """Return (n_gpus,) which of the used GPUs idle no long edge; all of them where each does."""
    is_short = np.zeros(len(use), dtype=bool)
    for at, column in enumerate(use):
        values = present_values(column)
        longest = max(idle_edges(values, idle_below=IDLE_BELOW_PCT))
        is_short[at] = longest < EDGE_AT_MOST_RATIO * max(values.size, 1)
    used = used_gpus(use)
    has_any = (_reaching(use, IDLE_BELOW_PCT) & is_short).any()
    return used & is_short if has_any else used


def in_use(system: SystemTable) -> Iterator[Floats]:
    """Yield the (n_ticks,) utilization of each GPU that the job uses throughout."""
    use = system.columns_of(SeriesKind.GPU_UTILIZATION)
    yield from (use[gpu] for gpu in np.flatnonzero(used_throughout(use)).tolist())


def at_work(system: SystemTable) -> tuple[Mask, Mask]:
    """Return (n_ticks,) whether any used GPU of a node works, and whether that was sampled.

    A node without a GPU works where its cores do. What they usually do there is the median of what
    is more than rest; where that is rare, nothing is known.
    """
    if system.names(SeriesKind.GPU_UTILIZATION):
        is_busy, is_known = (np.zeros(system.n_ticks, dtype=np.bool_) for _ in range(2))
        for use in in_use(system):
            is_busy |= use >= IDLE_BELOW_PCT
            is_known |= ~np.isnan(use)
        return is_busy, is_known
    cores_pct = cores_mean_pct(system)
    is_known = ~np.isnan(cores_pct)
    is_work = is_known & (cores_pct > LEAST_WORK_PCT)
    if is_work.sum() < RESTING_RATIO * is_known.sum() or not is_work.any():
        return np.zeros_like(is_work), is_known
    usual_pct = float(np.median(cores_pct[is_work]))
    return np.asarray(cores_pct >= RESTING_RATIO * usual_pct), is_known


def begun_rows(system: SystemTable, is_busy: Mask) -> Rows:
    """Return the ticks at which work has begun that lasts; (n_ticks,) ``is_busy``, in order.

    Less work, as of a test, an import or the set-up of CUDA, is no begin.
    """
    busy = np.flatnonzero(is_busy)
    per_tick_ns = max(system.interval_ns or 0, 1)
    n_lasting = int(np.clip(SUSTAINED_NS // per_tick_ns, LEAST_SUSTAINED, MOST_SUSTAINED))
    length_ns = system.tick_ns[busy[n_lasting - 1 :]] - system.tick_ns[busy[: 1 - n_lasting]]
    return busy[: length_ns.size][length_ns <= 2 * n_lasting * per_tick_ns]


def while_at_work(system: SystemTable) -> Mask:
    """Return (n_ticks,) whether a tick lies from the first to the last work of a node.

    Edge cases: a node that never works has no such time, and all of its ticks are returned.
    """
    works = np.flatnonzero(at_work(system)[0])
    is_inside = np.full(system.n_ticks, not works.size)
    if works.size:
        is_inside[works[0] : works[-1] + 1] = True
    return is_inside


def working_ns(system: SystemTable) -> tuple[int, int] | None:
    """Return the first and the last tick of the work of the GPUs of a node, ``None`` without any.

    Cores work for other things than training, too.
    """
    if not system.names(SeriesKind.GPU_UTILIZATION):
        return None
    tick_ns = system.tick_ns[while_at_work(system)]
    return (int(tick_ns[0]), int(tick_ns[-1])) if tick_ns.size else None


def _unused_pct(system: SystemTable) -> Iterator[Floats]:
    """Yield (n_ticks,) what each used GPU leaves unused from its first work to its last, else NaN.

    One that stopped is another fault.
    """
    for use in in_use(system):
        works = np.flatnonzero(use >= IDLE_BELOW_PCT)
        unused_pct = 100 - use
        if works.size:
            unused_pct[: works[0]] = unused_pct[works[-1] + 1 :] = np.nan
        yield unused_pct


def _outside_pct(system: SystemTable, stops: Union) -> Floats:
    """Return (n_ticks,) how much of the time of each tick lies outside of some stretches, 0-100."""
    interval_ns = system.interval_ns or 1
    inside_ns = covered_each(stops, system.tick_ns - interval_ns, system.tick_ns)
    return 100 * (1 - inside_ns / interval_ns)


def unused_ratio(system: SystemTable, *, outside: Union = NOTHING) -> float | None:
    """Return how much of the time of the GPUs in use is unused at work, 0-1.

    At most what is unused outside of some stretches counts. Edge cases: ``None`` without GPUs, or
    with too few samples to know.
    """
    unused_pct, n_gpus = totals_of(_unused_pct(system), system.n_ticks)
    if (n_gpus > 0).sum() < LEAST_LONG:
        return None
    most_pct = n_gpus * _outside_pct(system, outside)
    return float(np.minimum(unused_pct, most_pct).sum()) / (100 * int(n_gpus.sum()))


def each_unused_ratio(system: SystemTable) -> list[float]:
    """Return how much of its working time each GPU in use leaves unused, 0-1, in device order."""
    known = map(present_values, _unused_pct(system))
    return [float(values.mean()) / 100 if values.size else 0.0 for values in known]


def idlest_unused_ratio(
    system: SystemTable, *, outside: Union = NOTHING, is_one_process: bool = False
) -> float | None:
    """Return the same of the GPU that works least: the others look busy while they wait for it.

    Of GPUs that one process drives it is what all of them leave unused at once.
    """
    columns = list(_unused_pct(system))
    if is_one_process:
        columns = [np.fmin.reduce(columns)]
    most_pct = _outside_pct(system, outside)
    known = (present_values(np.minimum(column, most_pct)) for column in columns)
    means = [float(values.mean()) / 100 for values in known if values.size >= LEAST_LONG]
    return max(means, default=None)


def most_unused_ratio(
    system: SystemTable, *, outside: Union = NOTHING, is_one_process: bool = False
) -> float | None:
    """Return the same, added up over the GPUs at each tick: the most that waits of the host cost.

    GPUs that wait in a collective look busy. The one that they wait for does not, and that may be
    another one each time, within a tick as well. Those that one process drives all wait for it at
    once: while one of them works, it does not. ``None`` without GPUs, or with too few samples.
    """
    columns = list(_unused_pct(system))
    unused_pct, n_gpus = totals_of(columns, system.n_ticks)
    if is_one_process:
        unused_pct = np.fmin.reduce(columns)
    known = np.minimum(unused_pct, _outside_pct(system, outside))[n_gpus > 0]
    return float(known.mean()) / 100 if known.size >= LEAST_LONG else None


def most_lost_ratio(system: SystemTable, pauses: Union) -> float:
    """Return the most that pauses of the host cost, as a share of the time, 0-1.

    It is what GPUs leave unused in all, and less where they work on in the pauses, so that the host
    only catches up with them: what the GPU that does least does less than usual. Those that are
    short of work may idle later, when they have done what the host launched before. Samples further
    apart than twice the usual length of a pause do not show it.
    """
    most_ratio = most_unused_ratio(system)
    if most_ratio is None:
        return 1.0
    is_coarse = (system.interval_ns or 0) > 2 * float(np.median(pauses.end_ns - pauses.start_ns))
    if is_coarse or (unused_ratio(system) or 0.0) >= SHORT_FROM_RATIO:
        return most_ratio
    is_inside = overlaps_any(system.tick_ns, system.tick_ns, pauses.start_ns, pauses.end_ns)
    is_work = while_at_work(system)
    less = []
    for use in in_use(system):
        outside = present_values(use[is_work & ~is_inside])
        if present_values(use[is_inside]).size < LEAST_INSIDE or not outside.any():
            return most_ratio
        less.append(1 - use[is_inside] / outside.mean())
    lost = np.nansum(np.clip(np.fmax.reduce(less), 0, 1)) if less else 0.0
    return min(most_ratio, float(lost) / max(int(is_work.sum()), 1))


# Cores


def wait_for_disk(waiting: Floats, busy: Floats) -> Mask:
    """Return (n,) whether the disk sets the pace where this many cores wait for it and compute."""
    is_enough = waiting >= WAITS_FOR_DISK_RATIO * (waiting + busy)
    return np.asarray((waiting >= LEAST_WAITING_CORES) & is_enough)


def hot_cores(system: SystemTable, kind: SeriesKind, *, above: float) -> Rows:
    """Return (n_ticks,) how many cores exceed ``above``; an absent sample never does."""
    return count_where(system, kind, lambda use: use > above)


@fact
def is_host_hot(system: SystemTable) -> Mask:
    """Return (n_ticks,) whether any core was busy or waited for I/O, by the default thresholds."""
    busy = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    waiting = hot_cores(system, SeriesKind.IO_WAIT, above=IO_HOT_PCT)
    return np.asarray((busy > 0) | (waiting > 0))


@fact
def host_bound_pct(system: SystemTable) -> float:
    """Return the share of one or more ticks with an idle used GPU and a busy or waiting core."""
    return 100 * float(((low_used_gpus(system) > 0) & is_host_hot(system)).mean())


@fact
def cores_mean_pct(system: SystemTable) -> Floats:
    """Return (n_ticks,) the mean use of the cores in 0-100, NaN where none was sampled."""
    return mean_of(system, SeriesKind.CPU_UTILIZATION)


@fact
def are_cores_full(system: SystemTable) -> Mask:
    """Return (n_ticks,) whether the cores of a node are used up, by whatever program."""
    n_cores = len(system.names(SeriesKind.CPU_UTILIZATION))
    hot = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=CPU_HOT_PCT)
    is_hot = (hot >= USED_UP_RATIO * n_cores) & (n_cores > 0)
    return np.asarray(is_hot | (cores_mean_pct(system) >= 100 * FULL_RATIO))


@fact
def other_cores(system: SystemTable) -> Floats:
    """Return (n_ticks,) how many cores programs outside of the job keep busy, NaN if unknown."""
    used = sum_of(system, SeriesKind.CPU_UTILIZATION) / 100
    waiting = np.nan_to_num(sum_of(system, SeriesKind.IO_WAIT)) / 100
    return used - waiting - sum_of(system, SeriesKind.JOB_CORES)


def crowded_by_others(system: SystemTable) -> Mask:
    """Return (n_ticks,) whether the cores are used up and other programs have some of them.

    What the job does then takes longer for their sake. Edge cases: without the job's own processor
    time, which only ``reportgen record`` samples, nobody knows.
    """
    return np.asarray(are_cores_full(system) & (other_cores(system) >= OTHERS_FROM_CORES))


# Network


@fact
def input_bytes_per_s(system: SystemTable) -> Floats:
    """Return (n_ticks,) bytes that the container receives beyond those it sends, NaN if unknown.

    Data come one way. What workers exchange, gradients for instance, each of them sends as well.
    """
    sent = np.nan_to_num(sum_of(system, SeriesKind.TRANSMIT_ALGORITHM))
    return np.maximum(sum_of(system, SeriesKind.RECEIVE_ALGORITHM) - sent, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation:
    """The (n_ticks,) ticks of one node.

    Attributes:
        received: bytes/s of the training container, NaN where not sampled.
        has_both: whether received bytes and a GPU were sampled.
        is_starved: whether a GPU idled while the network was busy.
        limit_bytes_per_s: given, or the node's own; ``None`` without received bytes.
    """

    received: Floats
    has_both: Mask
    is_starved: Mask
    limit_bytes_per_s: float | None


def starvation_of(
    system: SystemTable,
    *,
    gpu_pct: float = IDLE_BELOW_PCT,
    busy_pct: float = NETWORK_BUSY_PCT,
    limit_bytes_per_s: float | None = None,
) -> Starvation:
    """Find the ticks of one node in which a GPU is below ``gpu_pct`` while the network is busy.

    Only from the first work of the GPUs to the last: a download at the start holds up no GPU, and
    says nothing of what the loop receives. See ``busy_from``; a limit of ``None`` stands for the
    node's own 99th percentile in that time.
    """
    is_inside = while_at_work(system)
    received = sum_of(system, SeriesKind.RECEIVE_ALGORITHM)
    n_gpus = count_where(system, SeriesKind.GPU_UTILIZATION, np.isfinite)
    has_both = np.isfinite(received) & (n_gpus > 0)
    known, limit = received[np.isfinite(received) & is_inside], limit_bytes_per_s
    if not known.size:
        limit = None
    elif limit is None:
        limit = float(np.percentile(known, OWN_LIMIT_PCT))
    is_starved = np.zeros(system.n_ticks, dtype=np.bool_)
    if limit is not None:
        least = busy_from(limit, busy_pct=busy_pct)
        is_starved = (
            is_inside & has_both & (low_gpus(system, below=gpu_pct) > 0) & (received >= least)
        )
    return Starvation(
        received=received, has_both=has_both, is_starved=is_starved, limit_bytes_per_s=limit
    )


def busy_from(limit_bytes_per_s: float, *, busy_pct: float) -> float:
    """Return the rate above which a network is busy: a share of its limit, or the floor."""
    return max(limit_bytes_per_s * busy_pct / 100, FLOOR_BYTES_PER_S)
