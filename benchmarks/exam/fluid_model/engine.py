"""Run a job of the fluid model.

Workers are coroutines that sleep, ask for a batch or wait for all others. Batches are a fluid: the
loaders of a worker fill its buffer at a rate that follows from what they want of cores, disk and
network, and from what the others of the node want.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.fluid_model.plan import Plan
from benchmarks.exam.log import StepLog

Floats = NDArray[np.float64]

_ENOUGH = 1 - 1e-6
_HANDING_S = 0.0003
_FORK_S = 0.02
_WASTE = 0.1
"""What each further process per core costs."""
_MOST_WASTE = 0.5
_HOST_LOAD = 0.7
"""Part of a core that a training process keeps busy during its steps."""

Span = tuple[float, float, float]
"""Begin, end, and how much of a core or a GPU was used."""


@dataclass(slots=True)
class Traces:
    """What ran: changes of what loaders use per node, and spans of each worker."""

    feeding: list[list[tuple[float, float, float, float, float]]]
    host: list[list[Span]]
    gpu: list[list[Span]]
    saving: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A job that ran."""

    steps: StepLog
    traces: Traces
    total_s: float


@dataclass(slots=True)
class _Sleep:
    until_s: float


@dataclass(slots=True)
class _Batch:
    row: int


@dataclass(slots=True)
class _Meet:
    row: int


_Wish = _Sleep | _Batch | _Meet


class _Buffers:
    """Buffers of the workers of one node, and who fills them how fast."""

    def __init__(self, plan: Plan, cost: Floats, traces: Traces, node: int) -> None:
        feed, machine = plan.feed, plan.machine
        self._feed, self._cores, self._cost = feed, machine.cores, cost
        self._traces = traces.feeding[node]
        self._now_s = 0.0
        n = machine.workers_per_node
        self.level = [0.0] * n
        self._factor = [1.0] * n
        self._is_open = [False] * n
        self._rate = [0.0] * n
        self._capacity = float(feed.processes * feed.depth)
        self._runnable = 0.0
        self._is_host_busy = [True] * n

    def crowding(self) -> float:
        """Return runnable processes per core, at least 1, with what switching costs."""
        load = (self._runnable + len(self.level)) / self._cores
        return max(load, 1.0) * (1 + min(_WASTE * max(load - 1.0, 0.0), _MOST_WASTE))

    def advance(self, now_s: float) -> None:
        """Fill the buffers until now; full ones stop."""
        while now_s > self._now_s:
            until_s = now_s
            for at, rate in enumerate(self._rate):
                if rate > 0:
                    full_s = self._now_s + (self._capacity - self.level[at]) / rate
                    until_s = min(until_s, max(full_s, self._now_s + 1e-7))
            passed_s = until_s - self._now_s
            for at, rate in enumerate(self._rate):
                self.level[at] = min(self.level[at] + rate * passed_s, self._capacity)
            self._now_s = until_s
            if until_s < now_s:
                self._settle()

    def begin(self, local: int, row: int, now_s: float, *, is_fresh: bool) -> None:
        """Begin an epoch."""
        self.advance(now_s)
        self._is_open[local] = True
        if is_fresh:
            self.level[local] = 0.0
        self._factor[local] = float(self._cost[local, row])
        self._settle()

    def close(self, local: int, now_s: float) -> None:
        """End the epochs of a worker: nobody fills its buffer any more."""
        self.advance(now_s)
        self._is_open[local] = False
        self._settle()

    def take(self, local: int, row: int, now_s: float) -> float:
        """Take a batch; return 0, or how long it will take until there is one."""
        self.advance(now_s)
        self._is_host_busy[local] = self.level[local] >= _ENOUGH
        if self._is_host_busy[local]:
            self.level[local] = max(self.level[local] - 1.0, 0.0)
            self._factor[local] = float(self._cost[local, row])
            self._settle()
            return 0.0
        self._settle()
        return (1.0 - self.level[local]) / max(self._rate[local], 1e-9)

    def _settle(self) -> None:
        """Divide cores, disk and network anew among those whose buffers have room.

        A process works for each batch that is missing, as long as there are processes.
        """
        feed = self._feed
        alone_s = feed.core_s + feed.disk_s + feed.net_s
        active = [
            min(feed.processes, math.ceil(self._capacity - level - 1e-9)) if is_open else 0
            for is_open, level in zip(self._is_open, self.level, strict=True)
        ]
        wanted = [n / (alone_s * factor) for n, factor in zip(active, self._factor, strict=True)]
        total = sum(n / alone_s for n in active)
        n_active = sum(active)
        runnable = n_active * feed.core_s / alone_s
        waste = 1 + min(_WASTE * max(runnable / self._cores - 1, 0), _MOST_WASTE)
        free_cores = max(self._cores - _HOST_LOAD * sum(self._is_host_busy), 0.35 * self._cores)
        by_cores = _limit(free_cores, total * feed.core_s * waste)
        by_disk, by_net = _limit(1.0, total * feed.disk_s), _limit(1.0, total * feed.net_s)
        slowed = min(1.0, by_cores, by_disk, by_net)
        self._rate = [rate * slowed for rate in wanted]
        cores = total * slowed * feed.core_s * waste
        is_core_bound = slowed == by_cores < 1
        self._runnable = n_active if is_core_bound else min(runnable, max(cores, 0.0))
        is_disk_bound = slowed == by_disk < 1
        asleep = n_active - cores if is_disk_bound else total * slowed * feed.disk_s
        bytes_per_s = total * slowed * feed.batch_bytes
        read, received = (bytes_per_s, 0.0) if feed.disk_s >= feed.net_s else (0.0, bytes_per_s)
        self._traces.append((self._now_s, cores, max(asleep, 0.0), read, received))


def _limit(there: float, wanted: float) -> float:
    """Return by what rates must be multiplied so that no more is used than there is."""
    return there / wanted if wanted > there else 1.0


class _Job:
    """The coroutines of all workers and what they share."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now_s = 0.0
        machine = plan.machine
        n, n_workers = plan.n_steps, machine.n_workers
        self.traces = Traces(
            feeding=[[] for _ in range(machine.nodes)],
            host=[[] for _ in range(n_workers)],
            gpu=[[] for _ in range(n_workers)],
        )
        self.times = np.zeros((8, n_workers, n))
        self.is_train = np.concatenate(
            [np.repeat([True, False], [train, check]) for train, check in plan.passes]
        )
        self.epoch = np.concatenate(
            [np.full(sum(both), at) for at, both in enumerate(plan.passes)]
        ).astype(np.int64)
        self.number = (
            np.where(self.is_train, np.cumsum(self.is_train), np.cumsum(~self.is_train)) - 1
        )
        self.part = 2 * self.epoch + ~self.is_train
        self._draw()
        per_node = machine.workers_per_node
        self.nodes = [
            _Buffers(plan, self.cost[node * per_node : (node + 1) * per_node], self.traces, node)
            for node in range(machine.nodes)
        ]

    def _draw(self) -> None:
        """Draw all random lengths before the run, whatever faults there are."""
        plan, n, n_workers = self.plan, self.plan.n_steps, self.plan.machine.n_workers
        rng = [np.random.default_rng([plan.seed, 77, tag]) for tag in range(8)]
        scale = np.where(self.is_train, 1.0, plan.pace.validation_ratio)
        walk = np.cumsum(rng[0].normal(0, 1, (n_workers, n)), axis=1) / np.sqrt(max(n, 1))
        slow = 1 + plan.feed.wobble * np.tanh(walk)
        self.cost = slow * rng[1].gamma(
            1 / plan.feed.jitter**2, plan.feed.jitter**2, (n_workers, n)
        )
        self.cost = np.maximum(self.cost, 0.05) * scale
        self.cost /= (self.cost / scale).mean()
        sizes = rng[2].normal(1, plan.pace.buckets, n)
        bucket = max(8, min(50, n // 10))
        for first in range(0, n, bucket):
            sizes[first : first + bucket] = np.sort(sizes[first : first + bucket])
        jitter = 1 + plan.pace.jitter * rng[3].laplace(0, 0.7, (n_workers, n))
        self.length = np.clip(sizes * jitter, 0.4, 3.0) * scale
        self.hiccup_at = rng[4].random(n)
        self.hiccup_size = rng[5].pareto(3.0, n) * 1.2 + 0.4
        self.hiccup_worker = rng[5].integers(0, n_workers, n)
        self.logging = rng[6].lognormal(-0.02, 0.2, (n_workers, n))
        shocks = rng[7].random((n_workers, n))
        self.shock = np.where(shocks < 0.02, rng[7].exponential(1.0, (n_workers, n)), 0.0)
        self.rollout = rng[4].gamma(3, 1 / 3, n)

    def extra_inside(self, rank: int, row: int) -> float:
        """Return what a step of a worker takes longer."""
        plan, trouble, number = self.plan, self.plan.trouble, int(self.number[row])
        shock_s = plan.pace.shock_s * float(self.shock[rank, row])
        if not self.is_train[row]:
            return shock_s
        extra_s = shock_s + (plan.warm_up_s if row == 0 else 0.0)
        is_hit = row > 1 and self.hiccup_worker[row] == rank
        if is_hit and self.hiccup_at[row] * trouble.hiccup_every < bool(trouble.hiccup_every):
            extra_s += trouble.hiccup_s * float(self.hiccup_size[row])
        if trouble.beat and trouble.is_beat_inside and number % trouble.beat == trouble.beat - 1:
            extra_s += trouble.beat_s
        if trouble.creep_s and trouble.is_creep_inside:
            extra_s += self._creep(row)
        return extra_s

    def extra_after(self, row: int) -> float:
        """Return for how long all workers do something else after a step."""
        trouble, number = self.plan.trouble, int(self.number[row])
        if not self.is_train[row]:
            return 0.0
        extra_s = 0.0
        if (
            trouble.beat
            and not trouble.is_beat_inside
            and number % trouble.beat == trouble.beat - 1
        ):
            extra_s += trouble.beat_s
        if trouble.creep_s and not trouble.is_creep_inside:
            extra_s += self._creep(row)
        if trouble.rollout_every and number % trouble.rollout_every == trouble.rollout_every - 1:
            extra_s += trouble.rollout_s * float(self.rollout[row])
        return extra_s

    def stall(self, row: int) -> float:
        """Return for how long the job stands still after a step."""
        n = self.plan.n_steps
        return sum(length_s for at, length_s in self.plan.trouble.stalls if row == round(at * n))

    def save(self, row: int) -> float:
        """Return for how long a checkpoint is written after a step."""
        every = self.plan.save_every
        is_due = every and self.is_train[row] and self.number[row] % every == every - 1
        return self.plan.save_s if is_due else 0.0

    def course(self) -> Course:
        """Return what ran."""
        asked, there, start, forward, own, end, optimized, kept = self.times[:8]
        steps = StepLog(
            is_train=self.is_train,
            number=self.number.astype(np.int64),
            epoch=self.epoch,
            asked_s=asked,
            there_s=there,
            start_s=start,
            forward_s=forward,
            own_s=own,
            end_s=end,
            optimized_s=optimized,
            kept_s=kept,
        )
        total_s = float(kept.max()) + self.plan.teardown_s
        return Course(steps=steps, traces=self.traces, total_s=total_s)

    def _creep(self, row: int) -> float:
        trouble = self.plan.trouble
        return float(trouble.creep_s * (row / max(self.plan.n_steps - 1, 1)) ** trouble.creep_power)


class _Worker:
    """One training process: its coroutine, and what it is recorded to have done."""

    def __init__(self, job: _Job, rank: int) -> None:
        self._job, self._plan, self._rank = job, job.plan, rank
        node, self._local = divmod(rank, job.plan.machine.workers_per_node)
        self._buffers = job.nodes[node]
        self._times = job.times[:, rank]
        self._host, self._gpu = job.traces.host[rank], job.traces.gpu[rank]
        trouble = job.plan.trouble
        self._slower = 1 + (trouble.lag_ratio if rank in trouble.laggards else 0.0)

    def run(self) -> Iterator[_Wish]:
        """Go through all steps; what is yielded has been granted when it goes on."""
        for row in range(self._plan.n_steps):
            yield from self._begin_pass(row)
            self._times[0, row] = self._job.now_s
            yield from self._load(row)
            self._times[1, row] = self._job.now_s
            yield from self._copy(row)
            self._times[2, row] = self._job.now_s
            own_s = yield from self._step(row)
            yield from self._update(row, own_s)
            self._times[6, row] = self._job.now_s
            busy = _HOST_LOAD if self._plan.machine.gpus else 1.0
            self._host.append((float(self._times[2, row]), self._job.now_s, busy))
            yield from self._rest(row)
            self._times[7, row] = self._job.now_s
        self._buffers.close(self._local, self._job.now_s)

    def _begin_pass(self, row: int) -> Iterator[_Wish]:
        """Set up the loader of an epoch, or of a validation."""
        job, feed = self._job, self._plan.feed
        is_same = row > 0 and job.part[row] == job.part[row - 1]
        if is_same or not feed.processes:
            return
        is_fresh = row == 0 or not feed.keeps_processes
        if is_fresh:
            yield _Sleep(job.now_s + _FORK_S * feed.processes**0.5)
        self._buffers.begin(self._local, row, job.now_s, is_fresh=is_fresh)

    def _load(self, row: int) -> Iterator[_Wish]:
        job, feed = self._job, self._plan.feed
        if feed.processes:
            yield _Batch(row)
            yield _Sleep(job.now_s + _HANDING_S)
            return
        factor = float(job.cost[self._rank, row])
        yield _Sleep(job.now_s + (feed.disk_s + feed.net_s) * factor)
        began_s = job.now_s
        yield _Sleep(began_s + feed.core_s * factor)
        self._host.append((began_s, job.now_s, 0.98))

    def _copy(self, row: int) -> Iterator[_Wish]:
        job, copy_s = self._job, self._plan.pace.copy_s
        if copy_s:
            began_s = job.now_s
            yield _Sleep(began_s + copy_s * float(job.length[self._rank, row]))
            self._host.append((began_s, job.now_s, 0.95))

    def _step(self, row: int) -> Generator[_Wish, None, float]:
        """Run the passes; return when the worker's own kernels are done."""
        job, pace = self._job, self._plan.pace
        start_s, train = job.now_s, bool(job.is_train[row])
        self._buffers.advance(start_s)
        scale = float(job.length[self._rank, row]) * self._slower
        launch_s = pace.launch_s * scale * self._buffers.crowding()
        kernels_s = pace.kernels_s * scale
        length_s = max(launch_s, kernels_s)
        seen_s = launch_s if pace.is_behind and train else length_s
        yield _Sleep(start_s + seen_s * (pace.forward_ratio if train else 0.97))
        self._times[3, row] = job.now_s
        extra_s = job.extra_inside(self._rank, row)
        yield _Sleep(start_s + seen_s + extra_s)
        self._times[4, row] = job.now_s
        own_s = max(job.now_s, start_s + length_s)
        self._gpu.append((start_s, own_s, min(kernels_s / (own_s - start_s), 1.0)))
        return own_s

    def _update(self, row: int, own_s: float) -> Iterator[_Wish]:
        """Wait for the kernels and for the others, and run the optimizer."""
        job, pace, n_workers = self._job, self._plan.pace, self._plan.machine.n_workers
        train = bool(job.is_train[row])
        is_behind = pace.is_behind and train
        self._times[5, row] = job.now_s
        if is_behind:
            yield _Sleep(own_s)
        if not train or job.number[row] % pace.reduce_every != pace.reduce_every - 1:
            return
        if n_workers > 1:
            yield _Meet(row)
            self._gpu.append((own_s, job.now_s, 1.0 if self._plan.devices.spins else 0.02))
            yield _Sleep(job.now_s + pace.reduce_s)
        if not is_behind:
            self._times[5, row] = job.now_s
        began_s = job.now_s
        yield _Sleep(began_s + pace.update_s)
        self._gpu.append((began_s, job.now_s, 0.97))

    def _rest(self, row: int) -> Iterator[_Wish]:
        """Do what else the host does before the next batch."""
        job, plan = self._job, self._plan
        logging_s = plan.pace.logging_s * float(job.logging[self._rank, row])
        began_s = job.now_s
        yield _Sleep(began_s + job.extra_after(row) + logging_s * bool(job.is_train[row]) + 2e-4)
        self._host.append((began_s, job.now_s, 0.93))
        stall_s, save_s = job.stall(row), job.save(row)
        if stall_s or save_s:
            yield _Meet(-row - 1)
            began_s = job.now_s
            yield _Sleep(began_s + stall_s + save_s)
            if save_s and self._rank == 0:
                job.traces.saving.append((began_s, began_s + save_s))


def run(plan: Plan) -> Course:
    """Run a job from its first sample to its end."""
    job = _Job(plan)
    workers = [_Worker(job, rank).run() for rank in range(plan.machine.n_workers)]
    queue = [(plan.setup_s, rank, rank) for rank in range(len(workers))]
    asking: dict[int, int] = {}
    met: dict[int, list[int]] = {}
    count = len(workers)
    patience_s = plan.cycle_s / 25
    while queue:
        job.now_s, _, rank = heapq.heappop(queue)
        if rank in asking:
            node, local = divmod(rank, plan.machine.workers_per_node)
            left_s = job.nodes[node].take(local, asking[rank], job.now_s)
            if left_s:
                count += 1
                heapq.heappush(queue, (job.now_s + min(left_s, patience_s) + 1e-6, count, rank))
                continue
            del asking[rank]
        wish = next(workers[rank], None)
        if wish is None:
            continue
        wakes = [(job.now_s, rank)]
        if isinstance(wish, _Sleep):
            wakes = [(max(wish.until_s, job.now_s), rank)]
        elif isinstance(wish, _Batch):
            asking[rank] = wish.row
        else:
            group = met.setdefault(wish.row, [])
            group.append(rank)
            all_there = len(group) == len(workers)
            wakes = [(job.now_s, other) for other in group] if all_there else []
        for at_s, other in wakes:
            count += 1
            heapq.heappush(queue, (at_s, count, other))
    return job.course()
