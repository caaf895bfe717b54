"""What a framework's hooks record of a simulated job."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import numpy as np

from benchmarks.exam.causes import Input
from benchmarks.exam.log import Floats, Hooks, StepLog
from benchmarks.exam.recording import Timeline
from sample_data.operators import operator_events
from sample_data.timelines import Event, Worker

_FIRST_LOADER_PID = 90
_N_PROFILED = (0.1, 0.5, 0.9)


def timelines_of(hooks: Hooks, steps: StepLog) -> tuple[Timeline, ...]:
    """Return the timelines of all workers; none without a framework's hook."""
    if hooks.input is Input.SYSTEM:
        return ()
    python, model = (
        (_pytorch_steps, _pytorch_loader)
        if hooks.input is Input.PYTORCH
        else (_keras_steps, _tensorflow_model)
    )
    return tuple(
        Timeline(worker=worker, suffix=suffix, events=_sorted(events))
        for worker in hooks.machine.workers()
        for suffix, events in (
            ("pythontimeline", python(hooks, steps, worker)),
            ("model_timeline", model(hooks, steps, worker)),
        )
    )


def _sorted(events: Iterator[Event]) -> list[Event]:
    return sorted(events, key=itemgetter(1, 0))


def _us(worker: Worker, seconds: Floats) -> list[int]:
    return list((worker.zero_us + np.rint(seconds * 1e6)).astype(np.int64).tolist())


def _pytorch_steps(hooks: Hooks, steps: StepLog, worker: Worker) -> Iterator[Event]:
    rank = worker.rank
    rows = zip(
        steps.is_train.tolist(),
        steps.number.tolist(),
        _us(worker, steps.start_s[rank]),
        _us(worker, steps.forward_s[rank]),
        _us(worker, steps.end_s[rank]),
        strict=True,
    )
    for is_train, number, start_us, forward_us, end_us in rows:
        args = f'{{"pid": {worker.pid}, "step_num": "{number}"}}'
        yield Event(start_us + 40, forward_us, "Forward", "Net", args)
        phase = "Step:ModeKeys.EVAL"
        if is_train and not hooks.has_backward:
            phase = "Step:ModeKeys.PREDICT"
        elif is_train:
            phase = "Step:ModeKeys.TRAIN"
            yield Event(forward_us + 20, end_us - 30, "Backward(post-forward)", "Net", args)
        yield Event(start_us, max(end_us, forward_us + 10), phase, phase, args)
    if hooks.has_operators:
        yield from _operators(hooks, steps, worker)


def _operators(hooks: Hooks, steps: StepLog, worker: Worker) -> Iterator[Event]:
    trained = np.flatnonzero(steps.is_train)
    for share in _N_PROFILED:
        row = int(trained[int(trained.size * share)])
        rank = worker.rank
        for fields in operator_events(
            wait_us=_us(worker, steps.asked_s[rank, row : row + 1])[0],
            start_us=_us(worker, steps.start_s[rank, row : row + 1])[0],
            compute_us=round(float(steps.own_s[rank, row] - steps.start_s[rank, row]) * 1e6),
            step=int(steps.number[row]),
            device=worker.local_rank if hooks.machine.gpus else None,
            is_single_process=hooks.num_workers == 0,
        ):
            event = Event(*fields)
            if event.name.endswith("__next__"):
                event = event._replace(end_us=_us(worker, steps.there_s[rank, row : row + 1])[0])
            yield event


def _pytorch_loader(hooks: Hooks, steps: StepLog, worker: Worker) -> Iterator[Event]:
    """Yield the waits, and a loader's begin and processes for each pass over the data."""
    rank, n_loaders = worker.rank, hooks.num_workers
    kind = "_MultiProcessingDataLoaderIter" if n_loaders else "_SingleProcessDataLoaderIter"
    part = 2 * steps.epoch + ~steps.is_train
    firsts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist()]
    pin = str(hooks.is_pinned).lower()
    asked_us, there_us = _us(worker, steps.asked_s[rank]), _us(worker, steps.there_s[rank])
    ends_us = _us(worker, steps.kept_s[rank])
    kept = hooks.is_persistent and n_loaders > 0
    set_up: set[int] = set()
    for turn, (first, stop) in enumerate(
        zip(firsts, [*firsts[1:], steps.number.size], strict=True)
    ):
        phase = int(steps.is_train[first]) if kept else turn
        first_pid = _FIRST_LOADER_PID + (phase * 40 + worker.local_rank) * max(n_loaders, 1)
        is_new = phase not in set_up
        set_up.add(phase)
        begin_us = ends_us[first - 1] if first else asked_us[first] - 9_000
        if is_new:
            args = f'{{"pid": {worker.pid}, "num_workers": {n_loaders}, "pin_memory": {pin}}}'
            yield Event(
                begin_us + 20,
                max(asked_us[first] - 20, begin_us + 30),
                "DataLoaderIterInitialize",
                f"{kind}.__init__",
                args,
            )
        for at, row in enumerate(range(first, stop)):
            pid, turn_of = (
                (first_pid + at % n_loaders, at % n_loaders) if n_loaders else (worker.pid, 0)
            )
            args = f'{{"pid": {pid}, "worker_id": {turn_of}}}'
            yield Event(asked_us[row], there_us[row], "DataLoaderIter", f"{kind}::GetNext", args)
        if is_new:
            end_us = ends_us[-1] if kept else ends_us[stop - 1]
            for index in range(n_loaders):
                args = f'{{"pid": {first_pid + index}, "worker_id": {index}}}'
                yield Event(
                    begin_us + 40 + 30 * index,
                    end_us + 2_000 + 500 * index,
                    "DataLoaderWorker",
                    "DataLoaderWorker",
                    args,
                )


def _keras_steps(_hooks: Hooks, steps: StepLog, worker: Worker) -> Iterator[Event]:
    """Yield Keras's steps: the request for the batch lies within the step."""
    rank = worker.rank
    rows = zip(
        steps.is_train.tolist(),
        steps.number.tolist(),
        _us(worker, steps.asked_s[rank]),
        _us(worker, steps.optimized_s[rank]),
        strict=True,
    )
    for is_train, number, start_us, end_us in rows:
        phase = "Step:ModeKeys.TRAIN" if is_train else "Step:ModeKeys.EVAL"
        args = f'{{"pid": {worker.pid}, "step_num": "{number}"}}'
        yield Event(start_us, end_us, phase, phase, args)


def _tensorflow_model(hooks: Hooks, steps: StepLog, worker: Worker) -> Iterator[Event]:
    rank = worker.rank
    is_typed = np.random.default_rng([hooks.seed, 31]).random() < 0.5
    asked_us, there_us = _us(worker, steps.asked_s[rank]), _us(worker, steps.there_s[rank])
    for start_us, end_us in zip(asked_us, there_us, strict=True):
        yield Event(start_us + 60, end_us, "DataIterator", "IteratorGetNextOp::DoCompute", "{}")
        yield Event(start_us + 75, end_us - 8, "DataIterator", "dataset::GetNext", "{}")
        if is_typed:
            name = "Iterator::Model::Prefetch::ParallelMapIterator::GetNext"
            yield Event(start_us + 85, end_us - 15, "DataIterator", name, "{}")
    if hooks.machine.n_workers > 1:
        own_us, end_us_of = _us(worker, steps.own_s[rank]), _us(worker, steps.end_s[rank])
        for is_train, start_us, end_us in zip(
            steps.is_train.tolist(), own_us, end_us_of, strict=True
        ):
            if is_train:
                yield Event(start_us, end_us + 20, "NcclManager", "kAllReduce", "{}")
