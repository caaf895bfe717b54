"""What the framework's two timelines of a worker say about a schedule.

Source: docs/formats.md, Steps; docs/formats.md, PyTorch events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from sample_data.operators import operator_events
from sample_data.schedule import FORWARD_SHARE, Schedule, callback_s
from sample_data.spec import Fault, JobSpec

MODULE = "ResNet"
CHILDREN = ("conv1", "layer1", "layer2", "fc")
FIRST_PID = 27  # of the training process in SageMaker's container
_WORKER_PID = 60
_EVAL_FORWARD_SHARE = 0.96
_PINNED = Fault.INPUT_BOUND  # the loader that is set up badly does not pin its memory either


class Event(NamedTuple):
    """A complete event; µs UTC, ``args`` is JSON text. A tuple, for there may be millions."""

    start_us: int
    end_us: int
    phase: str
    name: str
    args: str


class _StepTimes(NamedTuple):
    """One step of one worker, µs UTC."""

    is_train: bool
    number: int
    start_us: int
    forward_end_us: int
    backward_end_us: int
    end_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One training process: its number in the job, on its node, and its clock's zero."""

    rank: int
    node: int
    local_rank: int
    zero_us: int

    @property
    def pid(self) -> int:
        """Return its OS process id, the same on each node."""
        return FIRST_PID + self.local_rank

    def at_us(self, seconds: float) -> int:
        """Return the absolute time of an instant of the schedule."""
        return self.zero_us + round(seconds * 1e6)


def workers(spec: JobSpec) -> tuple[Worker, ...]:
    """Return all training processes of a job in order of rank."""
    return tuple(
        Worker(
            rank=rank,
            node=rank // spec.workers_per_node,
            local_rank=rank % spec.workers_per_node,
            zero_us=round(spec.start_s * 1e6) + 600 * rank,
        )
        for rank in range(spec.nodes * spec.workers_per_node)
    )


def profiled_steps(schedule: Schedule) -> frozenset[int]:
    """Return the rows of the training steps whose operators were recorded: three pairs."""
    trained = np.flatnonzero(schedule.is_train)
    wanted = [int(trained.size * share) for share in (0.05, 0.45, 0.85)]
    rows = [trained[min(at + more, trained.size - 1)] for at in wanted for more in (0, 1)]
    return frozenset(int(row) for row in rows)


def python_timeline(spec: JobSpec, schedule: Schedule, worker: Worker) -> list[Event]:
    """Return steps, passes and operators of one worker in the order they were written: by end."""
    events = [
        event
        for step in _step_times(schedule, worker)
        for event in _step_events(spec, worker, step)
    ]
    if Fault.CHECKPOINT in spec.faults:
        events += _checkpoints(spec, schedule, worker)
    for row in sorted(profiled_steps(schedule)):
        events += [
            Event(*fields)
            for fields in operator_events(
                wait_us=worker.at_us(schedule.wait_s[row]),
                start_us=worker.at_us(schedule.start_s[row]),
                compute_us=round(schedule.compute_s[worker.rank, row] * 1e6),
                step=int(schedule.number[row]),
                device=worker.local_rank if spec.gpus else None,
                is_single_process=spec.loader_workers == 0,
            )
        ]
    events.sort(key=itemgetter(1, 0))  # by end, then start
    return events


def _checkpoints(spec: JobSpec, schedule: Schedule, worker: Worker) -> Iterator[Event]:
    """Yield what is saved behind slow steps, until just before the next batch is asked for."""
    for row in np.flatnonzero(schedule.is_slow).tolist():
        start_us = worker.at_us(schedule.end_s[row]) + 40
        end_us = start_us + round(callback_s(spec) * 1e6)
        if row + 1 < schedule.n_steps:
            end_us = min(end_us, worker.at_us(schedule.wait_s[row + 1]) - 40)
        args = f'{{"pid": {worker.pid}, "step_num": "{schedule.number[row]}"}}'
        yield Event(start_us, end_us, "Checkpoint", "save_checkpoint", args)


def _step_times(schedule: Schedule, worker: Worker) -> Iterator[_StepTimes]:
    """Return all steps of one worker; its backward pass waits for the slowest worker."""
    share = np.where(schedule.is_train, FORWARD_SHARE, _EVAL_FORWARD_SHARE)
    forward_s = schedule.compute_s[worker.rank] * share
    edges_s = (
        schedule.start_s,
        schedule.start_s + forward_s,
        schedule.start_s + schedule.compute_s.max(axis=0) - 90e-6,
        schedule.end_s,
    )
    edges_us = [
        (worker.zero_us + np.rint(edge * 1e6).astype(np.int64)).tolist() for edge in edges_s
    ]
    rows = zip(schedule.is_train.tolist(), schedule.number.tolist(), *edges_us, strict=True)
    return map(_StepTimes._make, rows)


def _step_events(spec: JobSpec, worker: Worker, step: _StepTimes) -> Iterator[Event]:
    """Yield one step: forward, backward and, in detailed steps, their parts."""
    args = f'{{"pid": {worker.pid}, "step_num": "{step.number}"}}'
    is_detailed = step.is_train and step.number < spec.detailed_steps
    if is_detailed:
        parts = _split(step.start_us + 100, step.forward_end_us - 80)
        for name, (start_us, end_us) in zip(CHILDREN, parts, strict=True):
            yield Event(start_us, end_us, "Forward-SubModuleInternal", name, args)
    yield Event(step.start_us + 60, step.forward_end_us, "Forward", MODULE, args)
    if is_detailed:
        parts = _split(step.forward_end_us + 40, step.backward_end_us - 60)
        for name, (start_us, end_us) in zip(reversed(CHILDREN), parts, strict=True):
            yield Event(start_us, end_us, "Backward-SubModuleInternal", name, args)
    if step.is_train:
        start_us = step.forward_end_us + 20
        yield Event(start_us, step.backward_end_us, "Backward(post-forward)", MODULE, args)
    phase = "Step:ModeKeys.TRAIN" if step.is_train else "Step:ModeKeys.EVAL"
    yield Event(step.start_us, step.end_us, phase, phase, args)


def _split(start_us: int, end_us: int) -> list[tuple[int, int]]:
    """Return successive parts of a span: the middle of the model takes most of it."""
    shares = (0.12, 0.34, 0.46, 0.08)
    edges = [start_us + round((end_us - start_us) * share) for share in np.cumsum((0, *shares))]
    return list(pairwise(edges))


def model_timeline(spec: JobSpec, schedule: Schedule, worker: Worker) -> list[Event]:
    """Return the loader's events of one worker in the order of their ends.

    Each epoch has two loaders, for training and for validation; without loader processes the
    training process fetches the batches itself.
    """
    kind = (
        "_MultiProcessingDataLoaderIter" if spec.loader_workers else "_SingleProcessDataLoaderIter"
    )
    pin = str(spec.gpus > 0 and _PINNED not in spec.faults).lower()
    changes = np.flatnonzero(np.diff(2 * schedule.epoch + ~schedule.is_train)) + 1
    firsts = [0, *changes.tolist()]
    events: list[Event] = []
    for index, (first, stop) in enumerate(
        zip(firsts, [*firsts[1:], schedule.n_steps], strict=True)
    ):
        asked = worker.at_us(schedule.wait_s[first])
        events.append(
            Event(
                start_us=asked - 21_000,
                end_us=asked - 400,
                phase="DataLoaderIterInitialize",
                name=f"{kind}.__init__",
                args=f'{{"pid": {worker.pid}, "num_workers": {spec.loader_workers}, '
                f'"pin_memory": {pin}}}',
            )
        )
        pids = _loader_pids(spec, worker, index)
        events += _batches(schedule, worker, slice(first, stop), kind=kind, pids=pids)
        events += _loader_lives(
            asked - 15_000, worker.at_us(schedule.end_s[stop - 1]), pids[: spec.loader_workers]
        )
    events.sort(key=itemgetter(1, 0))  # by end, then start
    return events


def _loader_pids(spec: JobSpec, worker: Worker, index: int) -> list[int]:
    """Return the process ids of one loader's workers; each loader starts new ones."""
    if spec.loader_workers == 0:
        return [worker.pid]
    n_node = spec.workers_per_node * spec.loader_workers
    first = _WORKER_PID + index * n_node + worker.local_rank * spec.loader_workers
    return list(range(first, first + spec.loader_workers))


def _batches(
    schedule: Schedule, worker: Worker, rows: slice, *, kind: str, pids: list[int]
) -> Iterator[Event]:
    """Yield one loader's waits; its workers take turns."""
    name = f"{kind}::GetNext"
    args = [f'{{"pid": {pid}, "worker_id": {turn}}}' for turn, pid in enumerate(pids)]
    waits = zip(schedule.wait_s[rows].tolist(), schedule.start_s[rows].tolist(), strict=True)
    for at, (asked_s, there_s) in enumerate(waits):
        start_us, end_us = worker.at_us(asked_s), worker.at_us(there_s) - 30
        yield Event(start_us, end_us, "DataLoaderIter", name, args[at % len(args)])


def _loader_lives(start_us: int, end_us: int, pids: list[int]) -> Iterator[Event]:
    for index, pid in enumerate(pids):
        yield Event(
            start_us=start_us + 900 * index,
            end_us=end_us + 2_000 + 700 * index,
            phase="DataLoaderWorker",
            name="DataLoaderWorker",
            args=f'{{"pid": {pid}, "worker_id": {index}}}',
        )
