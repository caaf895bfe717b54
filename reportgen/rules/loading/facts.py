"""The numbers by which Dataloader decides what to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.loader import Waiting
from reportgen.results import Details

EARLY_RATIO = 0.75
"""Where so much of the waiting lies in the first quarter of the loop it wears off. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The parameters: loaders in percent of the cores, waiting in percent of the loop."""

    min_pct: float
    max_pct: float
    wait_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers that decide; ``worst`` is ``None`` when no waits are known.

    ``has_processes``: whether batches are loaded by processes; TensorFlow loads in threads.
    """

    n_loaders: int
    n_cores: int
    num_workers: int | None
    pin_memory: bool | None
    processes: int
    worst: Waiting | None
    limits: Limits
    has_processes: bool = True

    @property
    def is_few(self) -> bool:
        """Return whether there are too few loaders for the cores."""
        return self.n_loaders < self.limits.min_pct / 100 * self.n_cores

    @property
    def is_many(self) -> bool:
        """Return whether there are too many loaders for the cores."""
        return self.n_loaders > self.limits.max_pct / 100 * self.n_cores

    @property
    def ratio(self) -> float:
        """Return the share of its loop that the worst worker waited, in 0-1."""
        return self.worst.ratio if self.worst else 0.0

    @property
    def is_early(self) -> bool:
        """Return whether nearly all waiting lies in the first quarter of the loop."""
        worst = self.worst
        if worst is None or worst.expected_ns > worst.waited_ns:
            return False
        return worst.early_ns >= EARLY_RATIO * worst.waited_ns > 0

    @property
    def matters(self) -> bool:
        """Return whether that share matters."""
        return self.worst is not None and 100 * self.ratio >= self.limits.wait_pct


def worst_waiting(waiting: Sequence[Waiting]) -> Waiting | None:
    """Return the worker whose loop waited for the largest share, ``None`` without waits."""
    return max(waiting, key=lambda item: (item.ratio, item.worker), default=None)


def facts_of(
    details: Details,
    waiting: Sequence[Waiting],
    limits: Limits,
    *,
    processes: int,
    has_processes: bool = True,
) -> Facts | None:
    """Return the numbers that decide, or ``None`` when loaders were not counted.

    Args:
        details: AWS's details.
        waiting: how the loops of all workers waited; empty when unknown.
        limits: the parameters.
        processes: training processes of a node that load data.
        has_processes: whether any of them has loader processes to count.
    """
    n_loaders, n_cores = details.get("dataloaders"), details.get("cores")
    num_workers, pin_memory = details.get("num_workers"), details.get("pin_memory")
    if not isinstance(n_loaders, int) or not isinstance(n_cores, int):
        return None
    return Facts(
        n_loaders=n_loaders,
        n_cores=n_cores,
        num_workers=num_workers if isinstance(num_workers, int) else None,
        pin_memory=pin_memory if isinstance(pin_memory, bool) else None,
        processes=max(processes, 1),
        worst=worst_waiting(waiting),
        limits=limits,
        has_processes=has_processes,
    )
