"""The causes that can be planted, and what each kind of input can tell about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reportgen.results.causes import Cause


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
            "All cores are busy while the GPU idles; the work of the cores is not recorded.",
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
        (
            _SURE,
            "The GPUs, or without any the cores, are first used long after the first sample.",
        ),
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
        (
            _SURE,
            "All GPUs idle for one long stretch, or all but busy ones; without any, all cores.",
        ),
        (_SURE, "No step runs for one long stretch."),
        (_SURE, "No step runs for one long stretch."),
    ),
    Cause.MUCH_VALIDATION: (
        (_NOTHING, "Nothing tells validation from training."),
        (_SURE, "Steps of validation are recorded as such."),
        (_SURE, "Steps of validation are recorded as such."),
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
        (_SURE, "The GPU was in use first, and idles later until the end."),
        (_SURE, "The GPU was in use first, and idles later until the end."),
        (_SURE, "The GPU was in use first, and idles later until the end."),
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
PLANTABLE = tuple(_TABLE)
"""The causes that an exam plants."""
