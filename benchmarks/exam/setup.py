"""Everything that decides how a simulated training runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine

Floats = NDArray[np.float64]


class Sync(StrEnum):
    """Where in an iteration the host waits until its GPU is done.

    ``nowhere`` it runs ahead until the launch queue is full; ``forward`` reads the loss behind the
    forward pass, ``after`` behind the optimizer, and ``both`` at both places.
    """

    NOWHERE = "nowhere"
    FORWARD = "forward"
    AFTER = "after"
    BOTH = "both"


class Where(StrEnum):
    """In which part of an iteration something additional happens."""

    FORWARD = "forward"
    BACKWARD = "backward"
    BETWEEN = "between"


class How(StrEnum):
    """What the process does meanwhile."""

    COMPUTE = "compute"
    SLEEP = "sleep"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Something additional that the training process does in some steps.

    Attributes:
        seconds: (training steps,) how long it takes on a free machine; 0 where it is not done.
        ranks: Who does it; nobody else if it is not empty.
    """

    where: Where
    how: How
    seconds: Floats
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How batches are made.

    Attributes:
        num_workers: Loader processes of each rank; none means in the training process.
        cpu_s: Work for one batch.
        disk_bytes, net_bytes: What one batch reads.
        spread: Relative standard deviation of these.
        begin_s: Work to start one process.
        is_persistent: Whether processes stay from epoch to epoch.
        is_pinned: Whether copies to the GPU run beside the kernels.
        copy_s: Time of the copy from pageable memory; from pinned memory a fifth.
        only_first_epoch: Whether the page cache spares later epochs the disk.
    """

    num_workers: int
    cpu_s: float
    disk_bytes: float = 0.0
    net_bytes: float = 0.0
    spread: float = 0.15
    begin_s: float = 0.05
    is_persistent: bool = False
    is_pinned: bool = True
    copy_s: float = 0.0
    only_first_epoch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a node can do: bytes per second in all and for one process.

    Attributes:
        slow_node: The only node with these limits for disks; the others have ten times as much.
        drop_at_ratio, drop_to: From this part of the expected loop on the network gives only
            ``drop_to`` of ``net_rate``, as instances do whose burst is used up.
    """

    disk_rate: float = 8e8
    disk_each: float = 3e8
    net_rate: float = 1.2e9
    net_each: float = 4e8
    slow_node: int | None = None
    drop_at_ratio: float | None = None
    drop_to: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What happens before the loop and behind it, seconds."""

    download_s: float
    import_s: float
    scan_s: float
    warm_up_s: float
    save_s: float
    upload_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Another program on a node: threads that compute for a part of each ten seconds."""

    node: int
    threads: int
    duty_ratio: float
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """How much of the job is recorded.

    Attributes:
        windows: Parts of the loop (0 to 1) in which framework events are recorded; all without.
        pauses: Parts of the job without samples.
        is_finished: Whether the end markers are there.
        has_operators: Whether operators of some steps are recorded.
    """

    windows: tuple[tuple[float, float], ...] = ()
    pauses: tuple[tuple[float, float], ...] = ()
    is_finished: bool = True
    has_operators: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A job.

    Attributes:
        is_synced: Whether ranks exchange gradients in each training step.
        train_steps, valid_steps: Of each epoch.
        gpu_s: Work of one training step for the GPU, or for the cores without GPUs.
        host_s: The host's work to launch it.
        forward_ratio: Part of it in the forward pass.
        optimizer_ratio: Work of the optimizer, relative to ``gpu_s``.
        between_s: What the host does between steps in any job.
        exchange_s: Time of the exchange of gradients.
        shape_spread, shape_memory: How step lengths vary with the batch, and how much a step is
            like the one before it.
        threads: Of one rank's computation without GPUs.
        gpu_factors: For some ranks (training steps,) how much longer their GPU takes.
        gpu_levels: Part of the work of each GPU of a node that one process drives.
        n_idle_gpus: GPUs at the end of the last node that nobody uses.
        stops: For some ranks the part of their steps after which they end.
        memory_ratio, memory_growth_pct: Of the GPU memory metric: while it is busy, and gained.
    """

    seed: int
    input: Input
    machine: Machine
    loading: Loading
    limits: Limits
    ends: Ends
    recorded: Recorded
    n_epochs: int
    train_steps: int
    valid_steps: int
    gpu_s: float
    host_s: float
    forward_ratio: float
    optimizer_ratio: float
    between_s: float
    exchange_s: float
    sync: Sync
    shape_spread: float
    shape_memory: float
    rank_spread: float
    is_synced: bool = True
    threads: int = 1
    accumulate: int = 1
    extras: tuple[Extra, ...] = ()
    gpu_factors: dict[int, Floats] = field(default_factory=dict)
    gpu_levels: tuple[float, ...] = ()
    n_idle_gpus: int = 0
    stops: dict[int, float] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    memory_ratio: float = 0.3
    memory_growth_pct: float = 0.0

    @property
    def n_train(self) -> int:
        """Return the training steps of the job."""
        return self.n_epochs * self.train_steps

    @property
    def has_gpus(self) -> bool:
        """Return whether the job computes on GPUs."""
        return self.machine.gpus > 0

    @property
    def cycle_s(self) -> float:
        """Return how long an iteration lasts when it waits for nothing."""
        host_s = self.host_s if self.has_gpus else 0.0
        update_s = (self.exchange_s + self.gpu_s * self.optimizer_ratio) / self.accumulate
        alone_s = self.between_s
        return max(self.gpu_s, host_s) + update_s + alone_s

    @property
    def loop_s(self) -> float:
        """Return how long the loop lasts when it waits for nothing."""
        return self.n_train * self.cycle_s + self.n_epochs * self.valid_steps * 0.4 * self.gpu_s

    @property
    def start_s(self) -> float:
        """Return the time before the first batch."""
        ends = self.ends
        return ends.download_s + ends.import_s + ends.scan_s
