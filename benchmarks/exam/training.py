"""Run a simulated training: loader processes, the training processes, and their GPUs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.exam.engine import Gate, Process, Shared, Use, World
from benchmarks.exam.setup import Extra, Floats, How, Program, Setup, Sync, Where

_PREFETCH = 2
_AHEAD = 2
"""Steps that the host may launch before the first of them is done on the GPU."""
_VALID_RATIO = 0.33
_VALID_LOAD_RATIO = 0.3
"""Batches of validation are not augmented."""
_PINNED_RATIO = 0.2
_CROWDING = 0.03
_WRITE_RATE = 2e8
_FIRST_LOADER = 1000

Span = tuple[float, float, float]
"""Begin, end and mean weight."""


@dataclass(slots=True, kw_only=True)
class Step:
    """The times of one step of one rank, seconds; as a framework's hooks would see them.

    A rank asks for a batch, which is there, copies it, starts the step, ends its forward pass and
    the step; its optimizer then runs, and the host does what else it does until it asks again.
    """

    is_train: bool
    number: int
    epoch: int
    asked_s: float
    there_s: float = 0.0
    start_s: float = 0.0
    forward_s: float = 0.0
    own_s: float = 0.0
    end_s: float = 0.0
    optimized_s: float = 0.0
    kept_s: float = 0.0


class Node:
    """What the processes of one node share, and what they did with it."""

    def __init__(self, world: World, setup: Setup, number: int) -> None:
        limits = setup.limits
        is_slow = limits.slow_node in (None, number)
        ease = 1.0 if is_slow else 10.0
        self.cores = Shared(world, setup.machine.cores, most_each=1.0, crowding=_CROWDING)
        self.disk = Shared(world, limits.disk_rate * ease, most_each=limits.disk_each * ease)
        self.net = Shared(world, limits.net_rate, most_each=limits.net_each)
        self.spinning: list[tuple[int, float, float, float]] = []
        self.writing: list[Span] = []
        self.exchanging: list[Span] = []


class Exchange:
    """The exchange of gradients of one step: it ends for all when the last one has come."""

    def __init__(self, n_ranks: int) -> None:
        self.gate = Gate()
        self.left = n_ranks
        self.own_s = 0.0

    def come(self, world: World, own_s: float) -> None:
        """Say that a rank's own work ends at a time."""
        self.own_s = max(self.own_s, own_s)
        self.left -= 1
        if not self.left:
            world.open(self.gate)


class Run:
    """A job while it is simulated, and its log afterwards.

    Attributes:
        steps: The steps of each rank.
        gpu: When kernels ran on the GPU of each rank, and how densely.
        total_s: When the last process ended.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.world = World()
        machine = setup.machine
        self.nodes = [Node(self.world, setup, number) for number in range(machine.nodes)]
        self.steps: list[list[Step]] = [[] for _ in range(machine.n_workers)]
        self.gpu: list[list[Span]] = [[] for _ in range(machine.n_workers)]
        self.exchanges: dict[int, Exchange] = defaultdict(partial(Exchange, machine.n_workers))
        self._plan_drop()
        for program in setup.programs:
            self.world.start(_other_program(self, program))
        for rank in range(machine.n_workers):
            self.world.start(Trainer(self, rank).work())
        self.total_s = self.world.run()
        ends = setup.ends
        self.total_s = max(each[-1].kept_s for each in self.steps) + ends.save_s + ends.upload_s

    @property
    def loop_s(self) -> tuple[float, float]:
        """Return the first start and the last end of a step."""
        return (
            min(each[0].start_s for each in self.steps),
            max(step.end_s for each in self.steps for step in each[-2:]),
        )

    @property
    def loop_length_s(self) -> float:
        """Return the length of the training loop."""
        first_s, last_s = self.loop_s
        return last_s - first_s

    def _plan_drop(self) -> None:
        limits = self.setup.limits
        if limits.drop_at_ratio is not None:
            at_s = self.setup.start_s + limits.drop_at_ratio * self.setup.loop_s
            for node in self.nodes:
                capacity = limits.net_rate * limits.drop_to
                self.world.at(at_s, partial(node.net.set_capacity, capacity))


class Feed:
    """The batches of one epoch of one rank: processes prepare them in turn, in order."""

    def __init__(self, trainer: Trainer, *, epoch: int, draws: Floats) -> None:
        n = draws.size
        self.trainer, self.n, self.epoch, self.draws = trainer, n, epoch, draws
        self.loading = trainer.setup.loading
        self.n_workers = min(self.loading.num_workers, max(n, 1))
        self.ready = [False] * n
        self.taken = 0
        self.there = Gate()
        self.rooms = [Gate() for _ in range(self.n_workers)]
        for worker in range(self.n_workers):
            trainer.run.world.start(self._work(worker))

    def take(self, index: int) -> Process:
        """Wait for a batch, or make it."""
        if not self.loading.num_workers:
            yield from self._make(index, self.trainer.owner)
            return
        while not self.ready[index]:
            yield self.there
        self.taken = index + 1
        allowed = (index + _PREFETCH * self.n_workers) % self.n_workers
        self.trainer.run.world.open(self.rooms[allowed])

    def _work(self, worker: int) -> Process:
        owner = self.trainer.owner * 100 + _FIRST_LOADER + worker
        if self.loading.begin_s and not (self.loading.is_persistent and self.epoch):
            yield Use(self.trainer.node.cores, self.loading.begin_s, owner)
        for index in range(worker, self.n, self.n_workers):
            while index >= self.taken + _PREFETCH * self.n_workers:
                yield self.rooms[worker]
            yield from self._make(index, owner)
            self.ready[index] = True
            self.trainer.run.world.open(self.there)

    def _make(self, index: int, owner: int) -> Process:
        loading, node, size = self.loading, self.trainer.node, float(self.draws[index])
        if loading.net_bytes:
            yield Use(node.net, loading.net_bytes * size, owner)
        if loading.disk_bytes and not (loading.only_first_epoch and self.epoch):
            yield Use(node.disk, loading.disk_bytes * size, owner)
        yield Use(node.cores, loading.cpu_s * size, owner)


class Trainer:
    """One training process with its GPU."""

    def __init__(self, run: Run, rank: int) -> None:
        self.run, self.setup, self.rank = run, run.setup, rank
        setup = run.setup
        self.owner = rank
        self.node = run.nodes[rank // setup.machine.workers_per_node]
        self.gpu_free_s = 0.0
        self.ends_s: list[float] = []
        self.pending: Exchange | None = None
        n = setup.n_train + setup.n_epochs * setup.valid_steps
        self.shapes = _varying(
            np.random.default_rng([setup.seed, 1]), n, setup.shape_spread, setup.shape_memory
        )
        rng = np.random.default_rng([setup.seed, 2, rank])
        self.shapes = self.shapes * _varying(rng, n, setup.rank_spread, 0.0)
        self.draws = _varying(rng, n, setup.loading.spread, 0.0)
        self.extras = [each for each in setup.extras if not each.ranks or rank in each.ranks]
        self.factors = setup.gpu_factors.get(rank)

    def work(self) -> Process:
        """Do all that the process does."""
        yield from self._start()
        setup, row = self.setup, 0
        last = round(setup.n_train * setup.stops.get(self.rank, 1.0))
        for epoch in range(setup.n_epochs):
            for is_train, n in ((True, setup.train_steps), (False, setup.valid_steps)):
                feed = Feed(
                    self,
                    epoch=epoch,
                    draws=self.draws[row : row + n] * (1 if is_train else _VALID_LOAD_RATIO),
                )
                for index in range(n):
                    number = epoch * n + index
                    if is_train and number >= last:
                        return
                    step = Step(
                        is_train=is_train, number=number, epoch=epoch, asked_s=self.run.world.now_s
                    )
                    self.run.steps[self.rank].append(step)
                    yield from feed.take(index)
                    yield from self._step(step, float(self.shapes[row]))
                    row += 1
        yield from self._finish()

    def _start(self) -> Process:
        ends = self.setup.ends
        is_first = self.rank % self.setup.machine.workers_per_node == 0
        if is_first:
            world = self.run.world
            now_s = world.now_s
            self.node.net.done.append((-1, now_s, now_s + ends.download_s, 6e8 * ends.download_s))
            self.node.writing.append((now_s, now_s + ends.download_s, 2.5e8))
        yield ends.download_s
        yield from self._compute(ends.import_s)
        if is_first:
            self.node.disk.done.append(
                (self.owner, self.run.world.now_s, self.run.world.now_s + ends.scan_s, 4e7)
            )
        yield ends.scan_s

    def _finish(self) -> Process:
        ends, now_s = self.setup.ends, self.run.world.now_s
        if self.rank == 0:
            self.node.writing.append((now_s, now_s + ends.save_s, _WRITE_RATE))
            self.node.spinning.append((self.owner, now_s, now_s + ends.save_s, 0.6))
            self.node.exchanging.append((now_s + ends.save_s, now_s + ends.save_s + 1, 2e8))
        yield ends.save_s + ends.upload_s

    def _step(self, step: Step, shape: float) -> Process:
        world, setup = self.run.world, self.setup
        step.there_s = world.now_s
        yield from self._copy()
        step.start_s = world.now_s
        ratio = setup.forward_ratio if step.is_train else _VALID_RATIO
        if step.number == 0 and step.is_train:
            yield from self._compute(setup.ends.warm_up_s)
        yield from self._extras(step, Where.FORWARD)
        yield from self._settle()
        yield from self._run_kernels(step, shape, ratio)
        if setup.sync in (Sync.FORWARD, Sync.BOTH) or not step.is_train:
            yield from self._wait_for_gpu()
        step.forward_s = step.own_s = step.end_s = step.optimized_s = world.now_s
        if step.is_train:
            yield from self._backward(step, shape)
            yield from self._optimize(step)
        yield from self._compute(setup.between_s)
        if step.is_train:
            yield from self._extras(step, Where.BETWEEN)
        step.kept_s = world.now_s

    def _copy(self) -> Process:
        loading = self.setup.loading
        if not self.setup.has_gpus or not loading.copy_s:
            return
        if loading.is_pinned:
            self.gpu_free_s = max(self.gpu_free_s, self.run.world.now_s)
            self.gpu_free_s += loading.copy_s * _PINNED_RATIO
            return
        yield from self._wait_for_gpu()
        yield from self._compute(loading.copy_s)

    def _backward(self, step: Step, shape: float) -> Process:
        yield from self._extras(step, Where.BACKWARD)
        yield from self._run_kernels(step, shape, 1 - self.setup.forward_ratio)
        is_update = (step.number + 1) % self.setup.accumulate == 0
        n_ranks = self.setup.machine.n_workers
        step.own_s = self.gpu_free_s if self.setup.has_gpus else self.run.world.now_s
        if self.setup.is_synced and n_ranks > 1 and is_update:
            self.pending = self.run.exchanges[step.number]
            self.pending.come(self.run.world, step.own_s)
            if not self.setup.has_gpus:
                yield from self._settle()
        step.own_s = min(step.own_s, self.run.world.now_s)
        step.end_s = self.run.world.now_s

    def _optimize(self, step: Step) -> Process:
        setup = self.setup
        if (step.number + 1) % setup.accumulate == 0:
            yield from self._settle()
            yield from self._run_kernels(step, 1.0, setup.optimizer_ratio)
        if setup.sync in (Sync.AFTER, Sync.BOTH):
            yield from self._wait_for_gpu()
        self.ends_s.append(self.gpu_free_s)
        if len(self.ends_s) > _AHEAD:
            yield from self._spin_until(self.ends_s[-1 - _AHEAD])
        step.optimized_s = self.run.world.now_s

    def _run_kernels(self, step: Step, shape: float, ratio: float) -> Process:
        """Launch a part of a step's kernels, or compute it on the cores without a GPU."""
        if ratio <= 0:
            return
        setup, world = self.setup, self.run.world
        factor = shape * ratio
        if step.is_train and self.factors is not None:
            factor *= float(self.factors[step.number])
        if not setup.has_gpus:
            yield Use(self.node.cores, setup.gpu_s * factor, self.owner, setup.threads)
            return
        begun_s = max(self.gpu_free_s, world.now_s)
        yield from self._compute(setup.host_s * ratio)
        work_s = setup.gpu_s * factor
        self.gpu_free_s = max(begun_s + work_s, world.now_s)
        length_s = max(self.gpu_free_s - begun_s, 1e-6)
        self.run.gpu[self.rank].append((begun_s, self.gpu_free_s, work_s / length_s))

    def _settle(self) -> Process:
        """Wait until it is known when the exchange ends: until all ranks have launched it."""
        if self.pending is None:
            return
        exchange, self.pending = self.pending, None
        began_s = self.run.world.now_s
        if exchange.left:
            yield exchange.gate
        end_s = exchange.own_s + self.setup.exchange_s
        if self.setup.machine.nodes > 1:
            self.node.exchanging.append((end_s - self.setup.exchange_s, end_s, 2e8))
        if not self.setup.has_gpus:
            yield max(0.0, end_s - self.run.world.now_s)
            return
        self.node.spinning.append((self.owner, began_s, self.run.world.now_s, 0.6))
        self.run.gpu[self.rank].append((self.gpu_free_s, max(end_s, self.gpu_free_s), 1.0))
        self.gpu_free_s = max(self.gpu_free_s, end_s)

    def _wait_for_gpu(self) -> Process:
        yield from self._settle()
        yield from self._spin_until(self.gpu_free_s)

    def _spin_until(self, until_s: float) -> Process:
        now_s = self.run.world.now_s
        if until_s > now_s and self.setup.has_gpus:
            self.node.spinning.append((self.owner, now_s, until_s, 0.95))
            yield until_s - now_s

    def _compute(self, seconds: float) -> Process:
        if seconds > 0:
            yield Use(self.node.cores, seconds, self.owner)

    def _extras(self, step: Step, where: Where) -> Process:
        for extra in self.extras:
            if step.is_train and extra.where is where and extra.seconds[step.number] > 0:
                yield from self._do(extra, float(extra.seconds[step.number]))

    def _do(self, extra: Extra, seconds: float) -> Process:
        if extra.where is not Where.FORWARD:
            yield from self._wait_for_gpu()
        if extra.how is How.COMPUTE:
            yield from self._compute(seconds)
            return
        now_s = self.run.world.now_s
        if extra.how is How.WRITE:
            self.node.writing.append((now_s, now_s + seconds, _WRITE_RATE))
            self.node.spinning.append((self.owner, now_s, now_s + seconds, 0.3))
        yield seconds


def _other_program(run: Run, program: Program) -> Process:
    cores = run.nodes[program.node].cores
    yield program.start_s
    while run.world.now_s < program.end_s and not _is_over(run):
        busy_s = 10 * program.duty_ratio
        yield Use(cores, busy_s, -2, program.threads)
        yield 10 - busy_s


def _is_over(run: Run) -> bool:
    setup = run.setup
    return len(run.steps[0]) >= setup.n_train + setup.n_epochs * setup.valid_steps


def _varying(rng: np.random.Generator, n: int, spread: float, memory: float) -> Floats:
    """Return (n,) lognormal factors of mean 1; each is like the one before to a degree."""
    if spread <= 0:
        return np.ones(n)
    shocks = rng.standard_normal(n)
    if memory:
        for at in range(1, n):
            shocks[at] = memory * shocks[at - 1] + np.sqrt(1 - memory**2) * shocks[at]
    sigma = float(np.sqrt(np.log1p(spread**2)))
    return np.asarray(np.exp(sigma * shocks - sigma**2 / 2))
