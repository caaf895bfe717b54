"""A fault of a job: how it is put in, and what a report must say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.exam.making import Plant
from benchmarks.exam.threads_model.params import Params

Twist = Callable[[Params], Params]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a job.

    Attributes:
        base: The job as it would be without the fault.
        twist: Puts the fault in.
    """

    base: Params
    twist: Twist
    plant: Plant


Maker = Callable[[Params, float, np.random.Generator], Fault]


def longer(share: float) -> float:
    """Return the time that a fault adds to each second of the job without it."""
    return share / (1 - share)
