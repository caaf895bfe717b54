"""The steps of a simulated job, as a framework's hooks see them, whatever model made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.exam.causes import Input
from benchmarks.exam.recording import Machine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """All steps; (n,) arrays for all workers alike, (workers, n) where they differ; seconds.

    A worker asks for a batch, which is there, copies it, starts the step, ends its forward pass,
    is done with its own work, and ends the step with the others. Its optimizer then runs, and the
    host does what else it does until it asks again.

    Attributes:
        kept_s: When the worker is about to ask for the next batch.
    """

    is_train: Flags
    number: Integers
    epoch: Integers
    asked_s: Floats
    there_s: Floats
    start_s: Floats
    forward_s: Floats
    own_s: Floats
    end_s: Floats
    optimized_s: Floats
    kept_s: Floats

    @property
    def loop_s(self) -> tuple[float, float]:
        """Return the first start and the last end of a step."""
        return float(self.start_s.min()), float(self.end_s.max())

    @property
    def loop_length_s(self) -> float:
        """Return the length of the training loop."""
        first_s, last_s = self.loop_s
        return last_s - first_s

    @property
    def waited_ratio(self) -> float:
        """Return the share of the loop that the worker which waits most for batches waits."""
        return float((self.there_s - self.asked_s).sum(axis=1).max()) / self.loop_length_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What else a framework's hooks record, besides the steps.

    Attributes:
        num_workers, is_persistent, is_pinned: Of the loader of each process.
        has_operators: Whether operators of some steps were recorded.
        has_backward: Whether the job trains, and does not only predict.
    """

    input: Input
    machine: Machine
    seed: int
    num_workers: int
    is_persistent: bool
    is_pinned: bool
    has_operators: bool
    has_backward: bool = True
