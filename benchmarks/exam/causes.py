"""The causes that can be planted, and what each kind of input can tell about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reportgen.results import Finding


class Cause(StrEnum):
    """Why a job is slower than it could be; the words of ``cause`` in ``report.json``."""

    TOO_FEW_LOADERS = "too_few_loaders"
    TOO_MANY_LOADERS = "too_many_loaders"
    CPU_PREPROCESSING = "cpu_preprocessing"
    IO_WAIT = "io_wait"
    NETWORK_INPUT = "network_input"
    UNPINNED_MEMORY = "unpinned_memory"
    WORK_BETWEEN_STEPS = "work_between_steps"
    LONG_START = "long_start"
    RANDOM_SLOW_STEPS = "random_slow_steps"
    PERIODIC_SLOW_STEPS = "periodic_slow_steps"
    SLOWING_DOWN = "slowing_down"
    LONG_PAUSE = "long_pause"
    SLOW_WORKER = "slow_worker"
    GPU_UNDERUSED = "gpu_underused"
    GPU_SWINGS = "gpu_swings"
    GPU_IDLE = "gpu_idle"
    GPU_STOPPED = "gpu_stopped"
    GPU_IMBALANCE = "gpu_imbalance"
    MEMORY_GROWTH = "memory_growth"


class Input(StrEnum):
    """What was recorded of a job besides system metrics, which all jobs have."""

    SYSTEM = "system"
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"


class Sight(StrEnum):
    """How much an input shows of a cause."""

    IDENTIFIABLE = "identifiable"
    EFFECT_ONLY = "effect_only"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an input shows of a cause, and why."""

    sight: Sight
    because: str


_SURE, _EFFECT, _NOTHING = Sight.IDENTIFIABLE, Sight.EFFECT_ONLY, Sight.INVISIBLE
_ORDER = (Input.SYSTEM, Input.PYTORCH, Input.TENSORFLOW)
_TABLE: dict[Cause, tuple[tuple[Sight, str], tuple[Sight, str], tuple[Sight, str]]] = {
    Cause.TOO_FEW_LOADERS: (
        (
            _EFFECT,
            "The GPU idles while cores are free; samples do not name the process that loads.",
        ),
        (_SURE, "The waits, num_workers and the free cores are all recorded."),
        (_EFFECT, "The wait is recorded; threads of tf.data and their number are not."),
    ),
    Cause.TOO_MANY_LOADERS: (
        (_EFFECT, "All cores are busy; samples do not count processes."),
        (_SURE, "num_workers and the processes are recorded and can be compared with the cores."),
        (_EFFECT, "TensorFlow loads in threads, which no event counts."),
    ),
    Cause.CPU_PREPROCESSING: (
        (
            _EFFECT,
            "All cores are busy while the GPU idles; what the cores work on is not recorded.",
        ),
        (_SURE, "The loop waits for batches while the loaders keep all cores busy."),
        (_SURE, "The loop waits for batches while all cores are busy."),
    ),
    Cause.IO_WAIT: (
        (_SURE, "The cores' I/O wait rises while the GPU idles, and the disk reads."),
        (_SURE, "The loop waits for batches while cores wait for I/O."),
        (_SURE, "The loop waits for batches while cores wait for I/O."),
    ),
    Cause.NETWORK_INPUT: (
        (_SURE, "The rate of receiving is flat at its limit while the GPU idles in short gaps."),
        (_SURE, "The loop waits for batches while the rate of receiving is flat at its limit."),
        (_SURE, "The loop waits for batches while the rate of receiving is flat at its limit."),
    ),
    Cause.UNPINNED_MEMORY: (
        (_NOTHING, "Short idle gaps of the GPU have many causes; nothing names the copy."),
        (_SURE, "pin_memory is recorded, and so is the time between a batch and its step."),
        (_NOTHING, "Neither pinning nor the copy is recorded."),
    ),
    Cause.WORK_BETWEEN_STEPS: (
        (_EFFECT, "The GPU idles regularly; where in the loop is not recorded."),
        (_SURE, "The time between steps that is no wait for a batch is recorded."),
        (_SURE, "The time between two steps of Keras is recorded."),
    ),
    Cause.LONG_START: (
        (_SURE, "The GPUs are first used long after the first sample."),
        (_SURE, "The first step begins long after the first sample."),
        (_SURE, "The first step begins long after the first sample."),
    ),
    Cause.RANDOM_SLOW_STEPS: (
        (_EFFECT, "The GPU idles at times; steps are not recorded."),
        (_SURE, "Each step is recorded."),
        (_SURE, "Each step is recorded."),
    ),
    Cause.PERIODIC_SLOW_STEPS: (
        (_EFFECT, "The use of the GPU dips in a rhythm; whether steps or pauses is not recorded."),
        (_SURE, "Each step and the time between steps are recorded with their number."),
        (_SURE, "Each step and the time between steps are recorded with their number."),
    ),
    Cause.SLOWING_DOWN: (
        (_EFFECT, "The use of the GPU may sink; the length of steps is not recorded."),
        (_SURE, "Each step is recorded."),
        (_SURE, "Each step is recorded."),
    ),
    Cause.LONG_PAUSE: (
        (_SURE, "All GPUs idle for one long stretch."),
        (_SURE, "No step runs for one long stretch."),
        (_SURE, "No step runs for one long stretch."),
    ),
    Cause.SLOW_WORKER: (
        (_EFFECT, "Use differs between GPUs at most: one that waits in a collective looks busy."),
        (_SURE, "The passes of each worker are recorded; all but the slow one wait in them."),
        (_EFFECT, "Synchronised steps of Keras are equally long in all workers."),
    ),
    Cause.GPU_UNDERUSED: (
        (_SURE, "The use of the GPU is steadily low."),
        (_SURE, "The use of the GPU is steadily low although the loop does not wait."),
        (_SURE, "The use of the GPU is steadily low although the loop does not wait."),
    ),
    Cause.GPU_SWINGS: (
        (_SURE, "The use of the GPU alternates between high and none over seconds."),
        (_EFFECT, "The events name what runs meanwhile: then that is the cause."),
        (_EFFECT, "The events name what runs meanwhile: then that is the cause."),
    ),
    Cause.GPU_IDLE: (
        (_SURE, "The GPU is never used although others of the job are."),
        (_SURE, "The GPU is never used although others of the job are."),
        (_SURE, "The GPU is never used although others of the job are."),
    ),
    Cause.GPU_STOPPED: (
        (_SURE, "The GPU was in use and idles from an instant on until the end."),
        (_SURE, "The GPU was in use and idles from an instant on until the end."),
        (_SURE, "The GPU was in use and idles from an instant on until the end."),
    ),
    Cause.GPU_IMBALANCE: (
        (_SURE, "The use of the GPUs of a node differs steadily."),
        (_SURE, "The use of the GPUs of a node differs steadily."),
        (_SURE, "The use of the GPUs of a node differs steadily."),
    ),
    Cause.MEMORY_GROWTH: (
        (_SURE, "The metric of GPU memory rises from begin to end while the use stays level."),
        (_SURE, "The metric of GPU memory rises from begin to end while the use stays level."),
        (_SURE, "The metric of GPU memory rises from begin to end while the use stays level."),
    ),
}
VISIBILITY = {
    (cause, kind): Verdict(sight, because)
    for cause, cells in _TABLE.items()
    for kind, (sight, because) in zip(_ORDER, cells, strict=True)
}
"""What each kind of input can tell about each cause, argued cell by cell."""


_CAUSE_OF_ID = {
    "DL-1": Cause.TOO_FEW_LOADERS,
    "DL-2": Cause.TOO_MANY_LOADERS,
    "DL-3": Cause.UNPINNED_MEMORY,
    "DL-5": Cause.CPU_PREPROCESSING,
    "CPU-1": Cause.CPU_PREPROCESSING,
    "IO-1": Cause.IO_WAIT,
    "SYS-5": Cause.NETWORK_INPUT,
    "FW-1": Cause.WORK_BETWEEN_STEPS,
    "INIT-1": Cause.LONG_START,
    "STEP-1": Cause.RANDOM_SLOW_STEPS,
    "STEP-2": Cause.SLOWING_DOWN,
    "PERIOD-1": Cause.PERIODIC_SLOW_STEPS,
    "STRAG-1": Cause.SLOW_WORKER,
    "GPU-1": Cause.GPU_UNDERUSED,
    "GPU-2": Cause.GPU_SWINGS,
    "BATCH-1": Cause.GPU_UNDERUSED,
    "BAL-1": Cause.GPU_IMBALANCE,
    "MEM-1": Cause.MEMORY_GROWTH,
    "MEM-2": Cause.MEMORY_GROWTH,
}
_CAUSE_OF_TITLE = (
    ("GPU stopped", Cause.GPU_STOPPED),
    ("never used", Cause.GPU_IDLE),
    ("GPU begins late", Cause.LONG_START),
)


def cause_of_finding(finding: Finding) -> str | None:
    """Return the cause that a finding names.

    Findings without a field for it name it by their id and title: only until they have one.
    """
    missing = object()
    cause: str | object | None = getattr(finding, "cause", missing)
    if cause is not missing:
        return None if not cause else str(cause)
    for words, known in _CAUSE_OF_TITLE:
        if words in finding.title:
            return known
    return _CAUSE_OF_ID.get(finding.id)
