"""What a job of this model is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Source(StrEnum):
    """Where batches are read from."""

    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Steps in a row that use the same loader."""

    is_train: bool
    epoch: int
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What samples look like, whatever runs.

    Attributes:
        fill_s: Gaps between kernels that are shorter do not show in the use of a GPU.
        window_s: Of the time that a sample of the GPU looks back on; 0 for the interval.
        spins: Share of a core with which a process waits for its GPU.
        memory_pct: Use of GPU memory when it computes.
        saw_pct, saw_s: Height and period of its sawtooth.
        growth_pct: What the use of GPU memory grows by.
        noise_pct: Of the cores' background.
        background_bytes: Of the network, per second.
        gap: First and last share of the job without samples.
        has_backward, has_mode, has_horovod: What the framework's hooks record.
        core_noise: How unevenly threads are spread over the cores.
    """

    fill_s: float = 0.0
    window_s: float = 0.0
    spins: float = 1.0
    memory_pct: float = 40.0
    saw_pct: float = 0.0
    saw_s: float = 60.0
    growth_pct: float = 0.0
    noise_pct: float = 2.0
    background_bytes: float = 2e4
    gap: tuple[float, float] | None = None
    has_backward: bool = True
    has_mode: bool = True
    has_horovod: bool = False
    core_noise: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """A job.

    Attributes:
        gpu_s, launch_s: Kernels of a training step, and the CPU time to launch them.
        exchange_s, exchange_bytes: Of the gradients, once all workers are there.
        host_s, is_host_busy: What the host does between steps, and whether it computes.
        noise, spread: How lengths of steps vary.
        read_bytes, decode_s, load_spread: Of a batch.
        loaders: Processes of each worker; 0 loads within the worker.
        boot_s: Until a loader process is up.
        step_extra_s, gap_extra_s: More time in and after each training step.
        growth: Factors of each training step.
        slow, slow_since: Factors of the workers' computing, and after which share of the steps.
        weights: Share of a step in which each GPU of a process computes.
        stop: A rank whose GPU stops, and after which share of the loop.
        cpu_threads: That compute a step where there is no GPU.
    """

    seed: int
    input: Input
    machine: Machine
    phases: tuple[Phase, ...]
    gpu_s: float
    launch_s: float
    copy_s: float
    exchange_s: float
    exchange_bytes: float
    optimizer_s: float
    host_s: float
    is_host_busy: bool
    noise: str
    spread: float
    source: Source
    read_bytes: float
    decode_s: float
    load_spread: float
    loaders: int
    is_persistent: bool
    is_pinned: bool
    boot_s: float
    disk_bytes: float
    network_bytes: float
    thrash: float
    step_extra_s: Floats
    gap_extra_s: Floats
    is_extra_busy: bool
    growth: Floats
    slow: tuple[float, ...]
    slow_since: float = 0.0
    weights: tuple[float, ...]
    stop: tuple[int, float] | None
    cpu_threads: int
    start_s: float
    start_kind: str
    tail_s: float
    is_synced: bool
    looks: Looks

    @property
    def n_train(self) -> int:
        """Return the number of training steps."""
        return sum(phase.steps for phase in self.phases if phase.is_train)

    @property
    def cycle_s(self) -> float:
        """Return how long a training step and what follows take about."""
        step_s = max(self.gpu_s, self.launch_s)
        exchange_s = self.exchange_s if self.machine.n_workers > 1 else 0.0
        return step_s + self.copy_s + exchange_s + self.optimizer_s + self.host_s

    def looking(self, **changes: object) -> Params:
        """Return the job with other looks."""
        return replace(self, looks=replace(self.looks, **changes))  # type: ignore[arg-type]
