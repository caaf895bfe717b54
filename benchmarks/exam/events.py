"""What a framework's hooks record of a simulated run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Timeline
from benchmarks.exam.training import Run, Step
from sample_data.operators import operator_events
from sample_data.timelines import Event, Worker

INITIALIZED = "DataLoaderIterInitialize"
_FIRST_LOADER_PID = 90
_PROFILED = (0.1, 0.5, 0.9)


def timelines_of(run: Run) -> tuple[Timeline, ...]:
    """Return the timelines of all workers, of the windows that were recorded."""
    setup = run.setup
    if setup.input is Input.SYSTEM:
        return ()
    makers = (
        (_pytorch_steps, _pytorch_loader)
        if setup.input is Input.PYTORCH
        else (_keras_steps, _tensorflow_model)
    )
    return tuple(
        Timeline(worker=worker, suffix=suffix, events=_recorded(run, worker, maker(run, worker)))
        for worker in setup.machine.workers()
        for suffix, maker in zip(("pythontimeline", "model_timeline"), makers, strict=True)
    )


def windows_of(run: Run) -> list[tuple[float, float]]:
    """Return when framework events are recorded, seconds after the first sample."""
    first_s, last_s = run.loop_s
    if not run.setup.recorded.windows:
        return [(0.0, run.total_s)]
    length_s = last_s - first_s
    return [
        (first_s + begin * length_s, first_s + end * length_s)
        for begin, end in run.setup.recorded.windows
    ]


def _recorded(run: Run, worker: Worker, events: Iterator[Event]) -> list[Event]:
    """Return what begins and ends while the hooks record, sorted by end."""
    windows = [(worker.at_us(begin), worker.at_us(end)) for begin, end in windows_of(run)]
    kept = [
        event
        for event in events
        if any(begin <= event.start_us and event.end_us <= end + 10**7 for begin, end in windows)
        and any(begin <= event.end_us <= end for begin, end in windows)
    ]
    return sorted(kept, key=itemgetter(1, 0))


def _phase(step: Step) -> str:
    return "Step:ModeKeys.TRAIN" if step.is_train else "Step:ModeKeys.EVAL"


def _pytorch_steps(run: Run, worker: Worker) -> Iterator[Event]:
    steps, us = run.steps[worker.rank], worker.at_us
    for step in steps:
        args = f'{{"pid": {worker.pid}, "step_num": "{step.number}"}}'
        start_us, forward_us, end_us = us(step.start_s), us(step.forward_s), us(step.end_s)
        yield Event(start_us + 40, max(forward_us, start_us + 50), "Forward", "Net", args)
        if step.is_train:
            begin_us = forward_us + 20
            end_us = max(end_us, begin_us + 60)
            yield Event(begin_us, end_us - 30, "Backward(post-forward)", "Net", args)
        yield Event(start_us, max(end_us, forward_us + 60), _phase(step), _phase(step), args)
    if run.setup.recorded.has_operators:
        yield from _operators(run, worker)


def _operators(run: Run, worker: Worker) -> Iterator[Event]:
    trained = [step for step in run.steps[worker.rank] if step.is_train]
    for share in _PROFILED:
        step = trained[int(len(trained) * share)]
        for fields in operator_events(
            wait_us=worker.at_us(step.asked_s),
            start_us=worker.at_us(step.start_s),
            compute_us=round((step.end_s - step.start_s) * 1e6),
            step=step.number,
            device=worker.local_rank if run.setup.has_gpus else None,
            is_single_process=run.setup.loading.num_workers == 0,
        ):
            event = Event(*fields)
            if event.name.endswith("__next__"):
                event = event._replace(end_us=worker.at_us(step.there_s))
            yield event


def _pytorch_loader(run: Run, worker: Worker) -> Iterator[Event]:
    """Yield the waits, and a loader's begin and processes for each pass over the data."""
    n_loaders = run.setup.loading.num_workers
    kind = "_MultiProcessingDataLoaderIter" if n_loaders else "_SingleProcessDataLoaderIter"
    steps = run.steps[worker.rank]
    is_kept = run.setup.loading.is_persistent and n_loaders > 0
    passes = [list(each) for _, each in groupby(steps, lambda step: (step.epoch, step.is_train))]
    begun_s = steps[0].asked_s
    for number, rows in enumerate(passes):
        turn = int(rows[0].is_train) if is_kept else number
        first_pid = _FIRST_LOADER_PID + (turn * 40 + worker.local_rank) * max(n_loaders, 1)
        for at, step in enumerate(rows):
            pid = first_pid + at % n_loaders if n_loaders else worker.pid
            args = f'{{"pid": {pid}, "worker_id": {at % n_loaders if n_loaders else 0}}}'
            asked_us, there_us = worker.at_us(step.asked_s), worker.at_us(step.there_s)
            yield Event(asked_us, there_us, "DataLoaderIter", f"{kind}::GetNext", args)
        if not (is_kept and rows[0].epoch):
            end_s = steps[-1].kept_s if is_kept else rows[-1].kept_s
            yield from _loader_lives(run, worker, kind, first_pid, begun_s, end_s)
        begun_s = rows[-1].kept_s


def _loader_lives(
    run: Run, worker: Worker, kind: str, first_pid: int, begin_s: float, end_s: float
) -> Iterator[Event]:
    loading, begin_us = run.setup.loading, worker.at_us(begin_s)
    pin = str(loading.is_pinned).lower()
    args = f'{{"pid": {worker.pid}, "num_workers": {loading.num_workers}, "pin_memory": {pin}}}'
    yield Event(begin_us - 400, begin_us - 20, INITIALIZED, f"{kind}.__init__", args)
    for index in range(loading.num_workers):
        args = f'{{"pid": {first_pid + index}, "worker_id": {index}}}'
        start_us, end_us = begin_us - 380 + 10 * index, worker.at_us(end_s) + 2_000 + 500 * index
        yield Event(start_us, end_us, "DataLoaderWorker", "DataLoaderWorker", args)


def _keras_steps(run: Run, worker: Worker) -> Iterator[Event]:
    """Yield Keras's steps: the request for the batch lies within the step."""
    for step in run.steps[worker.rank]:
        args = f'{{"pid": {worker.pid}, "step_num": "{step.number}"}}'
        start_us, end_us = worker.at_us(step.asked_s), worker.at_us(step.optimized_s)
        yield Event(start_us, end_us, _phase(step), _phase(step), args)


def _tensorflow_model(run: Run, worker: Worker) -> Iterator[Event]:
    is_typed = run.setup.seed % 2 == 0
    for step in run.steps[worker.rank]:
        start_us, end_us = worker.at_us(step.asked_s) + 60, worker.at_us(step.there_s) + 100
        yield Event(start_us, end_us, "DataIterator", "IteratorGetNextOp::DoCompute", "{}")
        yield Event(start_us + 15, end_us - 8, "DataIterator", "dataset::GetNext", "{}")
        if is_typed:
            name = "Iterator::Model::Prefetch::ParallelMapIterator::GetNext"
            yield Event(start_us + 25, end_us - 15, "DataIterator", name, "{}")
        if step.is_train and run.setup.machine.n_workers > 1:
            own_us, all_us = worker.at_us(step.own_s), worker.at_us(step.end_s)
            yield Event(own_us, all_us + 20, "NcclManager", "kAllReduce", "{}")
