"""The threads of a job: training processes and their loaders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.exam.log import StepLog
from benchmarks.exam.threads_model.jitter import jitter
from benchmarks.exam.threads_model.kernel import Clock, Program, Shared, Thread
from benchmarks.exam.threads_model.params import Floats, Integers, Params, Phase, Source

_FORWARD = 0.34
_PREFETCH = 2
_EVAL_RATIO = 0.4
_HANDING_OVER_S = 2e-4
_TIMES = ("asked", "there", "start", "forward", "own", "end", "optimized", "kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What ran.

    Attributes:
        kernels_s: (workers, n) the kernels of each step.
        cores, disks, links: Of each node.
    """

    params: Params
    steps: StepLog
    kernels_s: Floats
    cores: tuple[Shared, ...]
    disks: tuple[Shared, ...]
    links: tuple[Shared, ...]
    total_s: float


class Loader:
    """The loader of one worker for one phase: batches are there in their order."""

    def __init__(self, run: Run, node: int, sizes: Floats, *, boot_s: float) -> None:
        self._run = run
        self._node = node
        self._sizes = sizes.tolist()
        self._window = _PREFETCH * run.params.loaders
        self._ready = bytearray(len(self._sizes))
        self._taken = 0
        self._wanted = -1
        self._taker: Thread | None = None
        self._full: dict[int, Thread] = {}
        for index in range(min(run.params.loaders, len(self._sizes))):
            run.clock.start(self._process(index, boot_s))

    def get(self, batch: int) -> Program:
        """Wait for a batch, or load it."""
        if not self._window:
            yield from self._load(batch)
            return
        if not self._ready[batch]:
            self._wanted, self._taker = batch, self._run.clock.current
            yield None
        yield None, _HANDING_OVER_S
        self._taken = batch + 1
        thread = self._full.pop(batch + self._window, None)
        if thread is not None:
            self._run.clock.wake(thread)

    def _process(self, index: int, boot_s: float) -> Program:
        clock = self._run.clock
        yield None, boot_s
        for batch in range(index, len(self._sizes), self._run.params.loaders):
            if batch >= self._taken + self._window and clock.current is not None:
                self._full[batch] = clock.current
                yield None
            yield from self._load(batch)
            self._ready[batch] = 1
            if self._wanted == batch and self._taker is not None:
                clock.wake(self._taker)
                self._wanted = -1

    def _load(self, batch: int) -> Program:
        run, params = self._run, self._run.params
        size = self._sizes[batch]
        if params.source is Source.DISK:
            yield run.disks[self._node], params.read_bytes * size
        elif params.source is Source.NETWORK:
            yield run.links[self._node], params.read_bytes * size
        yield run.cores[self._node], params.decode_s * size


class Run:
    """One run of a job."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.clock = Clock()
        machine = params.machine
        cores = max(1.0, machine.cores - _computing(params))
        self.cores = [Shared(self.clock, cores, thrash=params.thrash) for _ in range(machine.nodes)]
        self.disks = [_pipe(self.clock, params.disk_bytes) for _ in range(machine.nodes)]
        self.links = [_pipe(self.clock, params.network_bytes) for _ in range(machine.nodes)]
        self.n = sum(phase.steps for phase in params.phases)
        size = (machine.n_workers, self.n)
        self._times = {name: np.zeros(size) for name in _TIMES}
        self.kernels_s = np.zeros(size)
        self._arrived: list[Thread] = []
        self._step_s = params.gpu_s * jitter(params.seed, 1, params.noise, params.spread, size)
        self._sizes = jitter(params.seed, 2, "lognormal", params.load_spread, size)

    def run(self) -> Ran:
        """Run the job to its end."""
        for rank in range(self.params.machine.n_workers):
            self.clock.start(self._train(rank))
        self.clock.run()
        steps = self._log()
        return Ran(
            params=self.params,
            steps=steps,
            kernels_s=self.kernels_s,
            cores=tuple(self.cores),
            disks=tuple(self.disks),
            links=tuple(self.links),
            total_s=float(steps.kept_s.max()) + self.params.tail_s,
        )

    def _train(self, rank: int) -> Program:
        params = self.params
        node = rank // params.machine.workers_per_node
        yield None, params.start_s + 0.002 * rank
        row = train_row = 0
        known: set[bool] = set()
        for phase in params.phases:
            is_new = not (params.is_persistent and phase.is_train in known)
            known.add(phase.is_train)
            sizes = self._sizes[rank, row : row + phase.steps]
            loader = Loader(self, node, sizes, boot_s=params.boot_s if is_new else 0.001)
            for batch in range(phase.steps):
                self._times["asked"][rank, row] = self.clock.now_s
                yield from loader.get(batch)
                self._times["there"][rank, row] = self.clock.now_s
                yield from self._step(rank, row, train_row, phase)
                row += 1
                train_row += phase.is_train

    def _step(self, rank: int, row: int, train_row: int, phase: Phase) -> Program:
        params, clock, times = self.params, self.clock, self._times
        yield None, params.copy_s
        times["start"][rank, row] = clock.now_s
        yield from self._compute(rank, row, train_row, phase)
        times["own"][rank, row] = clock.now_s
        forward = _FORWARD if phase.is_train else 0.95
        times["forward"][rank, row] = times["start"][rank, row] + forward * (
            clock.now_s - times["start"][rank, row]
        )
        if phase.is_train and params.is_synced and params.machine.n_workers > 1:
            yield from self._meet()
            yield None, params.exchange_s
        times["end"][rank, row] = clock.now_s
        if phase.is_train:
            yield None, params.optimizer_s
        times["optimized"][rank, row] = clock.now_s
        if phase.is_train:
            yield from self._host(rank, train_row)
        times["kept"][rank, row] = clock.now_s

    def _compute(self, rank: int, row: int, train_row: int, phase: Phase) -> Program:
        params, clock = self.params, self.clock
        ratio = params.growth[train_row] if phase.is_train else _EVAL_RATIO
        began_s = clock.now_s
        is_slow = row >= params.slow_since * self.n
        kernels_s = self._step_s[rank, row] * ratio * (params.slow[rank] if is_slow else 1.0)
        yield self.cores[rank // params.machine.workers_per_node], params.launch_s * ratio
        left_s = kernels_s - (clock.now_s - began_s)
        if left_s > 0:
            yield None, left_s
        if phase.is_train and params.step_extra_s[rank, train_row] > 0:
            extra_s = params.step_extra_s[rank, train_row]
            yield None, extra_s
            kernels_s += extra_s if params.is_extra_busy else 0.0
        self.kernels_s[rank, row] = kernels_s

    def _meet(self) -> Program:
        """Wait for all other workers."""
        if len(self._arrived) == self.params.machine.n_workers - 1:
            for thread in self._arrived:
                self.clock.wake(thread)
            self._arrived.clear()
        elif self.clock.current is not None:
            self._arrived.append(self.clock.current)
            yield None

    def _host(self, rank: int, train_row: int) -> Program:
        params = self.params
        if params.is_host_busy:
            yield self.cores[rank // params.machine.workers_per_node], params.host_s
        else:
            yield None, params.host_s
        if params.gap_extra_s[train_row] > 0:
            yield None, params.gap_extra_s[train_row]

    def _log(self) -> StepLog:
        phases = self.params.phases
        lengths = [phase.steps for phase in phases]
        is_train = np.repeat([phase.is_train for phase in phases], lengths)
        number: Integers = np.arange(self.n, dtype=np.int64)
        return StepLog(
            is_train=is_train,
            number=number,
            epoch=np.repeat([phase.epoch for phase in phases], lengths),
            **{f"{name}_s": values for name, values in self._times.items()},
        )


def _computing(params: Params) -> float:
    """Return the cores that compute steps on a node without GPUs."""
    return 0.0 if params.machine.gpus else params.cpu_threads * params.machine.workers_per_node


def _pipe(clock: Clock, per_s: float) -> Shared:
    return Shared(clock, per_s, most_each=per_s)
