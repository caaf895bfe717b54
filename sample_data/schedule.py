"""When each step of a job waits for its batch, computes and ends.

All workers take part in every step and leave it together, as data-parallel training does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sample_data.spec import Fault, JobSpec

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

STRAGGLER_FACTOR = 1.5
FORWARD_SHARE = 0.36
_EVAL_TIME_SHARE = 0.12
_EVAL_COMPUTE_RATIO = 0.4
_WAIT_RATIO = 0.02
_SLOW_WAIT_RATIO = 3.7
_GAP_RATIO = 0.012  # optimizer and logging between two steps
_FIRST_STEP_RATIO = 1.8  # the first step tunes its kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All steps of a job in order of time; seconds since the first sample.

    Attributes:
        is_train: (n,) whether a training step; the others validate.
        number: (n,) counted apart for training and validation.
        epoch: (n,) from 0.
        wait_s: (n,) when the batch was asked for.
        start_s: (n,) when it was there.
        end_s: (n,) when the step ended for all workers.
        compute_s: (n_workers, n) length of each worker's own computation.
        is_slow: (n,) whether a callback ran at its end, or a checkpoint behind it.
    """

    is_train: Flags
    number: Integers
    epoch: Integers
    wait_s: Floats
    start_s: Floats
    end_s: Floats
    compute_s: Floats
    is_slow: Flags

    @property
    def n_steps(self) -> int:
        """Return the number of steps."""
        return int(self.number.shape[0])

    @property
    def loop_s(self) -> tuple[float, float]:
        """Return the start of the first and the end of the last step."""
        return float(self.start_s[0]), float(self.end_s[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace:
    """Mean lengths in seconds."""

    step: float
    wait: float
    gap: float
    callback: float
    pause: float

    @property
    def train_cycle(self) -> float:
        return self.wait + self.step + self.gap + self.callback

    @property
    def eval_cycle(self) -> float:
        return self.wait + self.step * _EVAL_COMPUTE_RATIO + self.gap


def callback_s(spec: JobSpec) -> float:
    """Return how long a callback or a checkpoint takes: long enough for the sampler to see it."""
    if not spec.faults & {Fault.CALLBACK, Fault.CHECKPOINT}:
        return 0.0
    return max(7.0 / spec.steps_per_second, 7.0 * spec.interval_s)


def finish_s(spec: JobSpec) -> float:
    """Return the time after the loop: too short to look like an idle GPU."""
    return min(6.0, 12 * spec.interval_s, 0.05 * spec.duration_s)


def make_schedule(spec: JobSpec) -> Schedule:
    """Lay out the steps of a job so that the loop ends ``finish_s`` before the job.

    Edge cases: a job without framework events still computes, one step a second.
    """
    rng = np.random.default_rng([spec.seed, 1])
    pace = _pace(spec)
    is_train, epoch = _kinds(spec, pace)
    number = np.where(is_train, np.cumsum(is_train), np.cumsum(~is_train)) - 1
    is_slow = np.zeros(is_train.shape, dtype=np.bool_)
    if callback_s(spec):
        is_slow = is_train & (number % spec.callback_period == spec.callback_period - 1)
    compute = _compute(spec, rng, is_train) * pace.step
    wait = pace.wait * rng.uniform(0.92, 1.08, is_train.shape)
    extra = is_slow * callback_s(spec)
    length = compute.max(axis=0) + (extra if Fault.CALLBACK in spec.faults else 0.0)
    gap = pace.gap + (extra if Fault.CHECKPOINT in spec.faults else np.zeros(is_train.shape))
    gap[np.flatnonzero(np.diff(epoch))] += pace.pause
    end_s = np.cumsum(wait + length + gap) - gap
    schedule = Schedule(
        is_train=is_train,
        number=number.astype(np.int64),
        epoch=epoch,
        wait_s=end_s - length - wait,
        start_s=end_s - length,
        end_s=end_s,
        compute_s=compute,
        is_slow=is_slow,
    )
    return _stretch(schedule, spec)


def _pace(spec: JobSpec) -> _Pace:
    step = 1.0 / (spec.steps_per_second or 1.0)
    wait = step * _WAIT_RATIO
    if spec.has_slow_input:
        wait = max(step * _SLOW_WAIT_RATIO, 5 * spec.interval_s)
    return _Pace(
        step=step * (STRAGGLER_FACTOR if Fault.STRAGGLER in spec.faults else 1.0),
        wait=wait,
        gap=step * _GAP_RATIO,
        callback=callback_s(spec) / spec.callback_period,
        pause=0.3 * spec.interval_s,
    )


def _kinds(spec: JobSpec, pace: _Pace) -> tuple[Flags, Integers]:
    """Return whether each step trains, and its epoch: as many as fit."""
    epoch_s = (spec.duration_s - spec.init_s - finish_s(spec)) / spec.epochs - pace.pause
    n_eval = max(1, round(epoch_s * _EVAL_TIME_SHARE / pace.eval_cycle))
    n_train = max(1, round((epoch_s - n_eval * pace.eval_cycle) / pace.train_cycle))
    one = np.repeat([True, False], [n_train, n_eval])
    return np.tile(one, spec.epochs), np.repeat(np.arange(spec.epochs), one.shape[0])


def _compute(spec: JobSpec, rng: np.random.Generator, is_train: Flags) -> Floats:
    """Return (n_workers, n) lengths of the computation, 1.0 = a worker's mean training step."""
    n_workers = spec.nodes * spec.workers_per_node
    compute = rng.uniform(0.97, 1.03, (n_workers, is_train.shape[0]))
    compute = compute * np.where(is_train, 1.0, _EVAL_COMPUTE_RATIO)
    if Fault.STRAGGLER in spec.faults:
        compute[:-1] /= STRAGGLER_FACTOR  # the pace is the slow one's: the last worker
    compute[:, 0] *= _FIRST_STEP_RATIO
    return compute


def _stretch(schedule: Schedule, spec: JobSpec) -> Schedule:
    """Return the schedule moved behind the start-up, its loop as long as it has to be."""
    loop_s = spec.duration_s - spec.init_s - finish_s(spec)
    factor = loop_s / float(schedule.end_s[-1])
    return replace(
        schedule,
        wait_s=spec.init_s + schedule.wait_s * factor,
        start_s=spec.init_s + schedule.start_s * factor,
        end_s=spec.init_s + schedule.end_s * factor,
        compute_s=schedule.compute_s * factor,
    )
