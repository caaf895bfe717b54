"""Causes of findings: one word for each cause, the same in all rules.

Rules declare the word with their messages; ``reportgen.diagnosis`` knows which of them explains
which. Words of plugins may be others.
"""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Why time is lost, or which loss is seen; ``docs/diagnosis.md`` describes each of them."""

    OBSERVATION = "observation"
    """A reading that accuses nothing."""
    NOT_RECORDED = "not_recorded"
    """Data are missing, so that other findings are unknown or wrong: told before them."""

    # Reasons for which the training loop waits for data
    TOO_FEW_LOADERS = "too_few_loaders"
    TOO_MANY_LOADERS = "too_many_loaders"
    CPU_PREPROCESSING = "cpu_preprocessing"
    IO_WAIT = "io_wait"
    NETWORK_INPUT = "network_input"
    OTHER_PROGRAMS = "other_programs"
    """Other programs have the cores that loading lacks."""
    LOADER_START = "loader_start"
    """Loading starts again for each epoch, and the loop waits for its first batches."""
    SLOW_INPUT = "slow_input"
    """The loop waits for data, and nothing recorded says why."""
    HOST_BOUND = "host_bound"
    """GPUs idle while cores are busy; the work of the cores is another finding, or unknown."""
    NO_PREFETCH = "no_prefetch"
    UNPINNED_MEMORY = "unpinned_memory"

    # Between and around steps
    WORK_BETWEEN_STEPS = "work_between_steps"
    LONG_START = "long_start"
    RANDOM_SLOW_STEPS = "random_slow_steps"
    PERIODIC_SLOW_STEPS = "periodic_slow_steps"
    SLOWING_DOWN = "slowing_down"
    LONG_PAUSE = "long_pause"
    PROFILER_OVERHEAD = "profiler_overhead"
    MUCH_VALIDATION = "much_validation"

    # Who is slower than the others
    SLOW_WORKER = "slow_worker"
    GPU_IMBALANCE = "gpu_imbalance"

    # Use of GPUs
    GPU_UNDERUSED = "gpu_underused"
    GPU_SWINGS = "gpu_swings"
    GPU_IDLE = "gpu_idle"
    GPU_STOPPED = "gpu_stopped"
    HEADROOM = "headroom"
    """GPUs or CPUs could do more; why they do not is another finding, or nothing."""
    LOST_GPU_TIME = "lost_gpu_time"
    MEMORY_GROWTH = "memory_growth"
    MEMORY_LIMIT = "memory_limit"
    THROTTLING = "throttling"
    OTHER_JOB = "other_job"

    # From kernel traces
    SLOW_HOST = "slow_host"
    FIRST_USE = "first_use"
    LONG_GAP = "long_gap"
    SMALL_KERNELS = "small_kernels"
    PAGEABLE_COPIES = "pageable_copies"
    EXPOSED_COPIES = "exposed_copies"
    BLOCKING_COPIES = "blocking_copies"
    GPU_ALLOCATION = "gpu_allocation"
    FULL_LAUNCH_QUEUE = "full_launch_queue"
    STREAM_DEPENDENCY = "stream_dependency"
    SYNCHRONIZATION = "synchronization"
    EXPOSED_COMMUNICATION = "exposed_communication"
    SLOW_RANK = "slow_rank"
    SLOW_LINK = "slow_link"
    LOW_EFFICIENCY = "low_efficiency"
    UNFUSED_WORK = "unfused_work"
    FULL_PRECISION = "full_precision"
