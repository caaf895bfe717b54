"""What the profiler records of a simulated job, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from sample_data.curves import TickValues
from sample_data.event_files import write_timeline
from sample_data.schedule import Integers
from sample_data.spec import JobSpec, node_name
from sample_data.system_files import write_samples
from sample_data.timelines import Event, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a job runs on and how it is sampled.

    Attributes:
        nodes, gpus, cores: ``gpus`` and ``cores`` are per node.
        workers_per_node: Training processes of a node.
        interval_ms: Of the samples.
        start_unix_s: First sample of node 1.
        clock_offsets_s: How far the clock of each node is ahead.
    """

    nodes: int
    gpus: int
    cores: int
    workers_per_node: int
    interval_ms: int
    start_unix_s: float
    clock_offsets_s: tuple[float, ...]

    @property
    def n_workers(self) -> int:
        """Return the training processes of the job."""
        return self.nodes * self.workers_per_node

    def workers(self) -> tuple[Worker, ...]:
        """Return the training processes in order of rank."""
        return tuple(
            Worker(
                rank=rank,
                node=rank // self.workers_per_node,
                local_rank=rank % self.workers_per_node,
                zero_us=round((self.start_unix_s + self.clock_offsets_s[node]) * 1e6),
            )
            for rank in range(self.n_workers)
            for node in [rank // self.workers_per_node]
        )

    def worker_name(self, rank: int) -> str:
        """Return the name of a training process as reports have it: ``algo-1-27``."""
        worker = self.workers()[rank]
        return f"{node_name(worker.node)}-{worker.pid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The events of one writer of one worker."""

    worker: Worker
    suffix: str
    events: Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All that is recorded.

    Attributes:
        machine: Where it was recorded.
        samples: Per node, the values of the ticks ``ticks``.
        ticks: Numbers of the ticks with samples; others fall into a pause of the profiler.
        timelines: Events; empty without a framework's hook.
        is_finished: Whether the end markers are there.
    """

    machine: Machine
    samples: tuple[TickValues, ...]
    ticks: Integers
    timelines: tuple[Timeline, ...] = ()
    is_finished: bool = True


def write_recording(recording: Recording, *, seed: int, root: Path) -> None:
    """Write a job's files below ``root`` (``profiler-output``)."""
    machine = recording.machine
    for node, values in enumerate(recording.samples):
        _write_samples(recording, values, node=node, seed=seed, root=root)
    for line in recording.timelines:
        if line.events:
            base_us = min(event.start_us for event in line.events) - 40_000
            write_timeline(
                line.events, worker=line.worker, suffix=line.suffix, base_us=base_us, root=root
            )
    if recording.is_finished:
        (root / "system" / "training_job_end.ts").touch()
        if any(line.events for line in recording.timelines):
            (root / "framework" / "training_job_end.ts").touch()
    assert machine.nodes == len(recording.samples)


def _write_samples(
    recording: Recording, values: TickValues, *, node: int, seed: int, root: Path
) -> None:
    machine = recording.machine
    spec = JobSpec(
        name="exam",
        seed=seed,
        gpus=machine.gpus,
        cores=machine.cores,
        interval_ms=machine.interval_ms,
    )
    row_of_tick = np.full(int(recording.ticks[-1]) + 1, -1)
    row_of_tick[recording.ticks] = np.arange(recording.ticks.shape[0])

    def values_of(chunk: Integers, _rng: np.random.Generator) -> TickValues:
        rows = row_of_tick[chunk]
        return TickValues(
            **{item.name: getattr(values, item.name)[rows] for item in fields(values)}
        )

    offset_s = machine.clock_offsets_s[node]
    write_samples(
        spec,
        values_of,
        node=node,
        start_us=round((machine.start_unix_s + offset_s) * 1e6),
        ticks=recording.ticks,
        root=root,
    )
