"""All numbers that decide how a job of the queue model runs."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.exam.causes import Input
from benchmarks.exam.noise import Noise
from benchmarks.exam.recording import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """One job; lengths are means in seconds, of one batch or step of one worker.

    Attributes:
        machine, input, seed: Where it runs, what is recorded, and its random draws.
        n_epochs, train_steps, eval_steps: Steps are per epoch.
        num_workers, prefetch, is_persistent: Of each process's loader.
        load_cpu_s, load_read_s, load_receive_s: A batch needs a core, the node's disk and the
            node's network for so long; disk and network serve one batch at a time.
        batch_bytes: Size of what is read or received for a batch.
        load_noise, load_spread: How batches vary.
        gpu_s, host_s: A step's kernels, and the host's work to launch them at the same time.
        step_noise, step_spread: How steps vary; ``length_spread`` varies all workers' alike.
        forward_ratio: Of a training step.
        eval_ratio: A step of validation lasts so much of a training step.
        first_step_s: What the first step takes longer.
        copy_s: The host waits for the copy of the batch before the step.
        is_pinned: ``pin_memory`` of the loader.
        accumulate: Workers wait for each other, and the optimizer runs, every so many steps.
        exchange_s: Exchange of gradients.
        optimizer_s: Kernels after the step, outside the step events.
        between_s: The host's own work between steps, while the GPU idles.
        save_every, save_s: A checkpoint after so many steps; 0 is never.
        init_s, finish_s: Before and after the loop.
        random_ratio, random_extra_s: So many steps are longer by so much.
        period, period_extra_s: Every so many steps one is longer by so much, ...
        is_period_between: ... or rather the pause after it.
        drift_ratio: The last step's extra length, relative to a usual step; it grows linearly.
        is_drift_between: Whether the pauses grow instead of the steps.
        pauses: Instants as shares of all steps, and lengths of pauses.
        slow_rank, slow_ratio: One worker that computes longer by this ratio.
        is_waiting_busy: Whether a GPU that waits for others looks busy (NCCL's kernels spin).
        gpu_level: Share of a kernel's time that is sampled as used.
        memory_ratio, memory_growth_pct: Memory activity per GPU use, and points gained by the end.
        gpu_shares: Of each GPU of a node, relative to its worker's work; empty is 1 for all.
        n_idle_gpus: GPUs, the last ones of node ``idle_node``, that no worker uses.
        stopped_gpu, stop_ratio: A GPU (counted over the job) that stops after this share of the
            loop; the others go on.
        loader_load: Part of a core that a loader keeps busy while it works.
        stretch: From which to which part of the steps the faults act.
        has_backward: Whether the job trains; one of inference has no backward pass.
    """

    machine: Machine
    input: Input
    seed: int
    n_epochs: int
    train_steps: int
    eval_steps: int
    num_workers: int
    prefetch: int = 2
    is_persistent: bool = True
    load_cpu_s: float
    load_read_s: float = 0.0
    load_receive_s: float = 0.0
    batch_bytes: float = 8e6
    load_noise: Noise = Noise.LOGNORMAL
    load_spread: float = 0.2
    gpu_s: float
    host_s: float
    step_noise: Noise = Noise.GAUSSIAN
    step_spread: float = 0.02
    length_spread: float = 0.0
    forward_ratio: float = 0.34
    eval_ratio: float = 0.4
    first_step_s: float = 0.0
    copy_s: float = 0.0
    is_pinned: bool = True
    accumulate: int = 1
    exchange_s: float = 0.0
    optimizer_s: float = 0.0
    between_s: float = 0.0
    save_every: int = 0
    save_s: float = 0.0
    init_s: float = 20.0
    finish_s: float = 3.0
    random_ratio: float = 0.0
    random_extra_s: float = 0.0
    period: int = 0
    period_extra_s: float = 0.0
    is_period_between: bool = False
    drift_ratio: float = 0.0
    is_drift_between: bool = False
    pauses: tuple[tuple[float, float], ...] = ()
    slow_rank: int = 0
    slow_ratio: float = 0.0
    is_waiting_busy: bool = True
    gpu_level: float = 0.96
    memory_ratio: float = 0.3
    memory_growth_pct: float = 0.0
    gpu_shares: tuple[float, ...] = ()
    n_idle_gpus: int = 0
    idle_node: int = 0
    stopped_gpu: int | None = None
    stop_ratio: float = 1.0
    loader_load: float = 0.97
    stretch: tuple[float, float] = (0.0, 1.0)
    has_backward: bool = True

    @property
    def n_steps(self) -> int:
        """Return all steps of a worker."""
        return self.n_epochs * (self.train_steps + self.eval_steps)

    @property
    def compute_s(self) -> float:
        """Return the length of a training step without any trouble."""
        return max(self.gpu_s, self.host_s)
