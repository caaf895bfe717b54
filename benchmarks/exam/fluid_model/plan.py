"""All numbers that decide how a job of the fluid model runs."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """How batches are made.

    Attributes:
        processes: Loader processes of each worker; 0 makes batches in the loop.
        depth: Batches that wait in the buffer at most, per process.
        core_s, disk_s, net_s: A batch needs so much of a core, and of the node's disk and network.
        batch_bytes: Read or received for a batch.
        wobble: Relative spread of the slow changes of the cost, and ``jitter`` of each batch's.
        keeps_processes: Whether the processes live on through the epochs.
        is_pinned: Whether batches lie in pinned memory.
    """

    processes: int
    depth: int
    core_s: float
    disk_s: float
    net_s: float
    batch_bytes: float
    wobble: float
    jitter: float
    keeps_processes: bool
    is_pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a step consists of, in seconds.

    Attributes:
        kernels_s: Work of the GPU (or of the cores, without one).
        launch_s: Work of the host to start it.
        is_behind: Whether the host runs ahead: the step's events end when all is started, and the
            host then waits for the GPU between the steps.
        forward_ratio: Of the training step.
        buckets: Relative spread of the lengths of batches, which come sorted within each bucket.
        jitter: Relative spread of each step.
        shock_rate_hz, shock_s: Small disturbances at random instants.
        reduce_s: Exchange of gradients, at the end of each ``reduce_every``-th step.
        update_s: The optimizer's kernels after it.
        logging_s: The host's work between two steps.
        copy_s: The host waits for the copy of a batch.
        validation_ratio: Length of a validation step relative to a training step.
    """

    kernels_s: float
    launch_s: float
    is_behind: bool
    forward_ratio: float
    buckets: float
    jitter: float
    shock_rate_hz: float
    shock_s: float
    reduce_s: float
    reduce_every: int
    update_s: float
    logging_s: float
    copy_s: float
    validation_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Faults; zero is none. Lengths are in seconds.

    Attributes:
        hiccup_every: Mean number of steps between two slow ones; ``hiccup_s`` is their mean extra.
        beat, beat_s, is_beat_inside: Each so many steps one, or the pause after it, is longer.
        creep_s: Extra of the last step, ``creep_power`` how it grows; between the steps or inside.
        stalls: Share of the steps after which the job stands still, and for how long.
        laggards, lag_ratio: Workers that compute longer by this ratio.
        rollout_s, rollout_every: After so many steps on average the host works alone for so long.
    """

    hiccup_every: float = 0.0
    hiccup_s: float = 0.0
    beat: int = 0
    beat_s: float = 0.0
    is_beat_inside: bool = True
    creep_s: float = 0.0
    creep_power: float = 1.0
    is_creep_inside: bool = True
    stalls: tuple[tuple[float, float], ...] = ()
    laggards: tuple[int, ...] = ()
    lag_ratio: float = 0.0
    rollout_every: int = 0
    rollout_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """How the GPUs look in the samples.

    Attributes:
        occupied: Share of a kernel's time that counts as used.
        spins: Whether a GPU that waits for others counts as used.
        window_s: Use is measured over the last so many seconds of the interval; 0 is all of it.
        memory_ratio: Activity of the memory per use; ``growth_pct`` points are gained by the end,
            in ``growth_stairs`` stairs (0: steadily).
        weights: Use of each GPU of a node relative to its worker's.
        unused: GPUs ``(node, index)`` without work.
        dead: A GPU ``(node, index)`` that stops, ``dead_from`` at this share of the loop.
    """

    occupied: float = 0.95
    spins: bool = True
    window_s: float = 0.0
    memory_ratio: float = 0.3
    growth_pct: float = 0.0
    growth_stairs: int = 0
    weights: tuple[float, ...] = ()
    unused: tuple[tuple[int, int], ...] = ()
    dead: tuple[int, int] | None = None
    dead_from: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job.

    Attributes:
        passes: Training and validation steps of each epoch.
        setup_s, teardown_s: Before and after the loop.
        save_every, save_s: A checkpoint after so many steps.
        warm_up_s: What the first step takes longer.
    """

    machine: Machine
    input: Input
    seed: int
    passes: tuple[tuple[int, int], ...]
    feed: Feed
    pace: Pace
    trouble: Trouble
    devices: Devices
    setup_s: float
    teardown_s: float
    save_every: int = 0
    save_s: float = 0.0
    warm_up_s: float = 0.0

    @property
    def n_steps(self) -> int:
        """Return all steps of a worker."""
        return sum(train + validation for train, validation in self.passes)

    @property
    def cycle_s(self) -> float:
        """Return the time from training step to training step when nothing waits."""
        pace = self.pace
        update_s = (pace.reduce_s + pace.update_s) / pace.reduce_every
        return max(pace.kernels_s, pace.launch_s) + update_s + pace.logging_s
