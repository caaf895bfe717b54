"""What a sample job is: its size, its pace and the faults planted in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

GENERATOR_VERSION = 3
"""Raise it when the bytes or the truth of a job change: jobs of another version are made again."""

ALLOWED_INTERVALS_MS = (100, 200, 500, 1000, 5000, 60_000)  # the profiler's own choices
DEFAULT_SEED = 20260704
START_S = 1_774_257_098  # 2026-03-23 09:11:38 UTC: a first minute that is not full


class Fault(StrEnum):
    """What can be wrong with a job, or with its files."""

    INPUT_BOUND = "input_bound"
    CALLBACK = "callback"
    CHECKPOINT = "checkpoint"
    STRAGGLER = "straggler"
    IMBALANCE = "imbalance"
    MEMORY_LEAK = "memory_leak"
    IO_BOUND = "io_bound"
    LATE_GROUPS = "late_groups"
    TRUNCATED_LAST_LINE = "truncated_last_line"
    GARBAGE_LINE = "garbage_line"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One job to make.

    Attributes:
        name: The job's folder.
        gpus, cores: Per node; a job without GPUs trains on the CPU.
        duration_s: From the first to just after the last sampling instant.
        interval_ms: One of ``ALLOWED_INTERVALS_MS``.
        start_s: First sampling instant, seconds UTC.
        steps_per_second: Pace of the bare computation; 0 makes a job without framework events.
        init_s: From the first sample to the first batch asked for.
        epochs: Each is training, then validation.
        callback_period: Every n-th training step ends in a callback, or is followed by a
            checkpoint, when the job has one.
        detailed_steps: So many training steps of each worker also name the model's parts.
    """

    name: str
    seed: int = DEFAULT_SEED
    nodes: int = 1
    gpus: int = 1
    cores: int = 4
    duration_s: float = 660.0
    interval_ms: int = 500
    start_s: float = START_S
    steps_per_second: float = 2.0
    init_s: float = 30.0
    epochs: int = 5
    callback_period: int = 50
    detailed_steps: int = 120
    faults: frozenset[Fault] = frozenset()

    @property
    def n_ticks(self) -> int:
        """Return the sampling instants of a node, pauses included."""
        return round(self.duration_s * 1000) // self.interval_ms

    @property
    def interval_s(self) -> float:
        """Return the sampling interval in seconds."""
        return self.interval_ms / 1000

    @property
    def workers_per_node(self) -> int:
        """Return the training processes of a node: one per GPU, one when it drives them all."""
        return 1 if Fault.IMBALANCE in self.faults else max(1, self.gpus)

    @property
    def has_slow_input(self) -> bool:
        """Return whether each step waits for its batch."""
        return bool(self.faults & {Fault.INPUT_BOUND, Fault.IO_BOUND})

    @property
    def loader_workers(self) -> int:
        """Return ``num_workers`` of each process: none when the input is slow, else its cores."""
        return 0 if self.has_slow_input else max(1, self.cores // self.workers_per_node)


def node_name(node: int) -> str:
    """Return the name of the node with a number from 0: ``algo-1``."""
    return f"algo-{node + 1}"


NAMED_JOBS = {
    spec.name: spec
    for spec in (
        JobSpec(name="healthy", steps_per_second=3.2),
        JobSpec(name="callback", faults=frozenset({Fault.CALLBACK})),
        JobSpec(
            name="input_bound",
            duration_s=720.0,
            start_s=START_S + 40 * 60 + 4.5,  # runs over a full hour: two folders
            steps_per_second=1.4,
            init_s=40.0,
            detailed_steps=400,
            faults=frozenset({Fault.INPUT_BOUND}),
        ),
        JobSpec(
            name="straggler",
            nodes=2,
            gpus=2,
            duration_s=540.0,
            steps_per_second=1.4,
            detailed_steps=0,
            epochs=4,
            faults=frozenset({Fault.STRAGGLER}),
        ),
    )
}
