"""What a made-up job is, before anything goes wrong in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.exam.traces.clock import Clock, Noise
from benchmarks.exam.traces.faults import Fault


class Family(StrEnum):
    """Structurally different kinds of jobs."""

    EAGER = "eager"
    SHARDED = "sharded"
    SERVING = "serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job.

    Attributes:
        n_layers: layers of the model.
        unit_us: a matrix product of a layer on the GPU; all kernels follow from it.
        host_us: what an operator costs the host besides its launches.
        transfer_ratio: time of all collectives by the time of all compute.
        batch_bytes: what is copied to the device for each step.
        ends_with_item: the loss is read after each step.
        clips: the norm of the gradients is read before the optimizer.
        n_micro: forward and backward passes for each step.
        has_stack: Python functions are recorded.
        n_hidden: tiny kernels per layer that cost nothing, because the host is far ahead.
        offset_us: by how much later the recording of each rank begins.
        speeds: of each rank's GPU, small natural differences.
    """

    name: str
    family: Family
    noise: Noise
    n_ranks: int
    n_steps: int
    n_layers: int
    unit_us: float
    host_us: float
    transfer_ratio: float = 0.15
    batch_bytes: float = 2e6
    ends_with_item: bool = True
    clips: bool = False
    n_micro: int = 1
    has_stack: bool = False
    n_hidden: int = 0
    offsets_us: tuple[float, ...] = ()
    speeds: tuple[float, ...] = ()
    healthy_kind: str = ""

    @property
    def compute_us(self) -> float:
        """Return about how long the GPU computes in a step of training."""
        return self.n_micro * self.n_layers * 7.2 * self.unit_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A plan and what goes wrong."""

    plan: Plan
    faults: Sequence[Fault] = ()


START_US = 1_000.0
"""When the first rank begins its first step."""


def clocks_of(plan: Plan) -> list[Clock]:
    """Return the ranks of a job before they begin."""
    return [
        Clock(
            rank=rank,
            noise=plan.noise,
            now_us=START_US + (plan.offsets_us[rank] if plan.offsets_us else 0.0),
            speed=plan.speeds[rank] if plan.speeds else 1.0,
        )
        for rank in range(plan.n_ranks)
    ]
