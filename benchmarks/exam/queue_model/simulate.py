"""Run a job of the queue model: workers, loaders and what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.log import StepLog
from benchmarks.exam.noise import factors
from benchmarks.exam.queue_model.params import Params

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SWITCHING_RATIO = 0.12
"""What each further runnable process per core costs in switching."""
_MOST_SWITCHING = 0.8
_PRESSURE_RATIO = 0.1
"""What each further loader process per core costs all others even while it sleeps half of the time:
they share caches and the memory's bandwidth."""
_QUEUE_S = 0.0004
_START_LOADER_S = 0.03
"""Starting one loader process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Batches that loader processes or the loop itself made; (n,) arrays, seconds.

    ``process`` numbers the loader within its worker, -1 is the training process.
    """

    rank: Integers
    process: Integers
    epoch: Integers
    begin_s: Floats
    read_s: Floats
    received_s: Floats
    end_s: Floats
    read_from_s: Floats
    receive_from_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A simulated job.

    Attributes:
        steps: What the hooks see.
        gpu_ratio: (workers, n) part of a worker's own step in which kernels run.
        worked_s: (workers, n) when the host's own work after the step is done.
        is_saving: (n,) whether a checkpoint is written after that.
        loads: The batches.
        total_s: From the first sample to the last.
    """

    steps: StepLog
    gpu_ratio: Floats
    worked_s: Floats
    is_saving: Flags
    loads: Loads
    total_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draws:
    """Random lengths, drawn before the run: a change of the job does not change them."""

    load: Floats
    step: Floats
    random: Floats
    random_rank: Integers
    random_size: Floats
    between: Floats


def _draw(params: Params) -> _Draws:
    def stream(tag: int) -> np.random.Generator:
        return np.random.default_rng([params.seed, 10, tag])

    n, n_workers = params.n_steps, params.machine.n_workers
    shape = (n_workers, n)
    trains = np.repeat([1.0, params.eval_ratio], [params.train_steps, params.eval_steps])
    batch = np.tile(trains, params.n_epochs)
    step = factors(stream(1), params.step_noise, params.step_spread, shape)
    length = factors(stream(2), params.step_noise, params.length_spread, (n,))
    return _Draws(
        load=factors(stream(3), params.load_noise, params.load_spread, shape) * batch,
        step=step * length,
        random=stream(4).random(n),
        random_rank=stream(5).integers(0, n_workers, n),
        random_size=stream(6).gamma(4.0, 0.25, n),
        between=stream(7).gamma(25.0, 0.04, shape),
    )


ParamsOf = Callable[[int], Params]
"""The numbers that hold for a row: a fault may act in a stretch of the job only."""


class _Node:
    """The loaders of all workers, and what they share: cores, disk and network of their node."""

    def __init__(self, params: Params, draws: _Draws, params_of: ParamsOf) -> None:
        machine = params.machine
        self._p, self._draws, self._of = params, draws, params_of
        self._shape = (machine.nodes, machine.workers_per_node)
        self._free_s = np.zeros((machine.n_workers, max(params.num_workers, 1)))
        self._disk_s, self._net_s = np.zeros(machine.nodes), np.zeros(machine.nodes)
        needs_s = params.load_cpu_s + params.load_read_s + params.load_receive_s
        self._cpu_ratio = params.load_cpu_s / needs_s if needs_s else 0.0
        n_loaders = machine.workers_per_node * params.num_workers
        self._pressure = 1.0 + _PRESSURE_RATIO * max(n_loaders / machine.cores - 1.0, 0.0)
        self.rows: list[tuple[Floats, ...]] = []
        self.tags: list[tuple[int, int]] = []

    def restart(self, at_s: Floats) -> None:
        """Begin an epoch: the loaders have nothing to do."""
        self._free_s[:] = at_s[:, None]

    def stretch(self, at_s: Floats) -> Floats:
        """Return (workers,) how much longer work on a core takes at an instant."""
        active = np.zeros(self._shape[0])
        if self._p.num_workers:
            busy = (self._free_s > at_s[:, None]).sum(axis=1)
            active = busy.reshape(self._shape).sum(axis=1) * self._cpu_ratio
        load = (active + self._shape[1]) / self._p.machine.cores
        over = np.maximum(load, 1.0)
        switching = np.minimum(_SWITCHING_RATIO * (over - 1.0), _MOST_SWITCHING)
        return np.repeat(over * (1.0 + switching) * self._pressure, self._shape[1])

    def load(self, at_s: Floats, row: int, *, process: int, epoch: int) -> Floats:
        """Make the batch of a row for all workers; return when it is there."""
        factor, params = self._draws.load[:, row], self._of(row)
        begin_s = at_s if process < 0 else np.maximum(at_s, self._free_s[:, process])
        read_from_s, read_s = self._served(begin_s, params.load_read_s * factor, self._disk_s)
        receive_from_s, received_s = self._served(
            read_s, params.load_receive_s * factor, self._net_s
        )
        stretch = np.ones(begin_s.shape) if process < 0 else self.stretch(begin_s)
        end_s = received_s + params.load_cpu_s * factor * stretch
        if process >= 0:
            self._free_s[:, process] = end_s
        self.rows.append((begin_s, read_s, received_s, end_s, read_from_s, receive_from_s))
        self.tags.append((process, epoch))
        return end_s

    def _served(self, at_s: Floats, need_s: Floats, free_s: Floats) -> tuple[Floats, Floats]:
        """Let one server per node serve all workers, one after the other."""
        if not need_s.any():
            return at_s, at_s
        from_s, until_s = np.empty(at_s.shape), np.empty(at_s.shape)
        order = np.argsort(at_s.reshape(self._shape), axis=1, kind="stable")
        nodes = np.arange(self._shape[0])
        for turn in range(self._shape[1]):
            ranks = nodes * self._shape[1] + order[:, turn]
            from_s[ranks] = np.maximum(at_s[ranks], free_s)
            until_s[ranks] = from_s[ranks] + need_s[ranks]
            free_s[:] = until_s[ranks]
        return from_s, until_s

    def loads(self) -> Loads:
        """Return all batches made."""
        n_workers = self._p.machine.n_workers
        columns = [np.concatenate(of) for of in zip(*self.rows, strict=True)]
        tags = np.repeat(np.asarray(self.tags, dtype=np.int64), n_workers, axis=0)
        rank = np.tile(np.arange(n_workers), len(self.rows))
        names = ("begin_s", "read_s", "received_s", "end_s")
        more = ("read_from_s", "receive_from_s")
        return Loads(
            rank=rank,
            process=tags[:, 0],
            epoch=tags[:, 1],
            **dict(zip((*names, *more), columns, strict=True)),
        )


def simulate(params: Params, usual: Params | None = None) -> Run:
    """Run a job from its first sample to its end; outside its stretch the usual numbers hold."""
    draws, n, n_workers = _draw(params), params.n_steps, params.machine.n_workers
    rows = range(*(round(edge * n) for edge in params.stretch))

    def params_of(row: int) -> Params:
        return params if usual is None or row in rows else usual

    node = _Node(params, draws, params_of)
    is_train = np.tile(
        np.repeat([True, False], [params.train_steps, params.eval_steps]), params.n_epochs
    )
    epoch = np.repeat(np.arange(params.n_epochs), params.train_steps + params.eval_steps)
    number = np.where(is_train, np.cumsum(is_train), np.cumsum(~is_train)) - 1
    extra_in, extra_after = _extras(params, draws, is_train, number, rows)
    is_saving = _saves(params, is_train, number)
    columns = [np.empty((n_workers, n)) for _ in range(10)]
    asked, there, start, forward, own, end, optimized, worked, saved, gpu_ratio = columns
    n_parts = 0
    now = np.full(n_workers, params.init_s)
    part, in_part = -1, 0
    waiting: dict[int, Floats] = {}
    for row in range(n):
        train, now_params = bool(is_train[row]), params_of(row)
        if 2 * epoch[row] + (not train) != part:
            part, in_part, waiting = int(2 * epoch[row] + (not train)), 0, {}
            if params.num_workers and not (params.is_persistent and epoch[row]):
                now = now + _START_LOADER_S * np.sqrt(params.num_workers)
            n_parts += 1
            node.restart(now)
            size = params.train_steps if train else params.eval_steps
            for ahead in range(min(params.num_workers * params.prefetch, size)):
                waiting[ahead] = node.load(
                    now, row + ahead, process=ahead % params.num_workers, epoch=n_parts - 1
                )
        asked[:, row] = now
        if params.num_workers:
            ready = np.maximum(now, waiting.pop(in_part)) + _QUEUE_S
            ahead = in_part + params.num_workers * params.prefetch
            if ahead < size:
                waiting[ahead] = node.load(
                    ready,
                    row - in_part + ahead,
                    process=in_part % params.num_workers,
                    epoch=n_parts - 1,
                )
        else:
            ready = node.load(now, row, process=-1, epoch=n_parts - 1)
        in_part += 1
        there[:, row] = ready
        begin = ready + now_params.copy_s * (1.0 if train else params.eval_ratio)
        scale = draws.step[:, row] * (1.0 if train else params.eval_ratio)
        host = params.host_s * node.stretch(begin) * scale
        gpu = params.gpu_s * scale
        gpu[params.slow_rank] *= 1.0 + now_params.slow_ratio
        host[params.slow_rank] *= 1.0 + now_params.slow_ratio
        length = np.maximum(host, gpu)
        forward_ratio = params.forward_ratio if train else 0.97
        start[:, row], forward[:, row] = begin, begin + length * forward_ratio
        extra = extra_in[:, row] + (params.first_step_s if row == 0 else 0.0)
        done = begin + length + extra
        own[:, row] = done
        gpu_ratio[:, row] = gpu / (length + extra)
        if train and number[row] % params.accumulate == params.accumulate - 1:
            done = np.full(n_workers, done.max()) + params.exchange_s
            optimized[:, row] = done + params.optimizer_s
        else:
            optimized[:, row] = done
        end[:, row] = done
        worked[:, row] = optimized[:, row] + (
            (now_params.between_s * draws.between[:, row] if train else 0.0)
            + extra_after[row]
            + 3e-4
        )
        saved[:, row] = worked[:, row]
        if is_saving[row]:
            saved[:, row] = worked[:, row].max() + params.save_s
        now = saved[:, row].copy()
    steps = StepLog(
        is_train=is_train,
        number=number.astype(np.int64),
        epoch=epoch,
        asked_s=asked,
        there_s=there,
        start_s=start,
        forward_s=forward,
        own_s=own,
        end_s=end,
        optimized_s=optimized,
        kept_s=saved,
    )
    return Run(
        steps=steps,
        gpu_ratio=gpu_ratio,
        worked_s=worked,
        is_saving=is_saving,
        loads=node.loads(),
        total_s=float(now.max()) + params.finish_s,
    )


def _saves(params: Params, is_train: Flags, number: Integers) -> Flags:
    if not params.save_every:
        return np.zeros(is_train.shape, dtype=np.bool_)
    return np.asarray(is_train & (number % params.save_every == params.save_every - 1))


def _extras(
    params: Params, draws: _Draws, is_train: Flags, number: Integers, rows_of_fault: range
) -> tuple[Floats, Floats]:
    """Return (workers, n) what is added within the steps, and (n,) after them."""
    n_workers, n = params.machine.n_workers, is_train.shape[0]
    within, after = np.zeros((n_workers, n)), np.zeros(n)
    is_due = is_train & np.isin(np.arange(n), rows_of_fault)
    is_random = is_due & (draws.random < params.random_ratio)
    is_random[:2] = False
    rows = np.flatnonzero(is_random)
    within[draws.random_rank[rows], rows] += params.random_extra_s * draws.random_size[rows]
    if params.period:
        due = np.flatnonzero(is_due & (number % params.period == params.period - 1))
        size = params.period_extra_s * (0.9 + 0.2 * draws.random_size[due] / 2)
        if params.is_period_between:
            after[due] += size
        else:
            within[:, due] += size
    if params.drift_ratio:
        grown = params.drift_ratio * params.compute_s * np.arange(n) / max(n - 1, 1) * is_train
        if params.is_drift_between:
            after += grown
        else:
            within += grown
    for at_ratio, length_s in params.pauses:
        after[min(round(at_ratio * n), n - 2)] += length_s
    return within, after
