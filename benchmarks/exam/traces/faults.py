"""Planted faults: what is wrong, where, how much, and which causes a report may name for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is planted; one cause may come in several shapes."""

    SLOW_RANK = "slow_rank"
    UNEVEN_WORK = "uneven_work"
    SLOW_LINK = "slow_link"
    SLOW_LINK_ALWAYS = "slow_link_always"
    SMALL_KERNELS = "small_kernels"
    UNFUSED_TAIL = "unfused_tail"
    PAGEABLE_COPIES = "pageable_copies"
    SYNCHRONIZATION = "synchronization"
    EXPOSED_COMMUNICATION = "exposed_communication"
    SLOW_HOST = "slow_host"
    HOST_BETWEEN_STEPS = "host_between_steps"
    FIRST_USE = "first_use"
    LONG_GAP = "long_gap"
    LOADER = "loader"
    LOADER_SOME_STEPS = "loader_some_steps"


_INPUT = frozenset(
    {"too_few_loaders", "cpu_preprocessing", "io_wait", "network_input", "slow_input"}
)
ACCEPTED: dict[Kind, frozenset[str]] = {
    Kind.SLOW_RANK: frozenset({"slow_rank"}),
    Kind.UNEVEN_WORK: frozenset({"slow_rank"}),
    Kind.SLOW_LINK: frozenset({"slow_link"}),
    Kind.SLOW_LINK_ALWAYS: frozenset({"slow_link", "exposed_communication"}),
    Kind.SMALL_KERNELS: frozenset({"small_kernels"}),
    Kind.UNFUSED_TAIL: frozenset({"small_kernels"}),
    Kind.PAGEABLE_COPIES: frozenset({"pageable_copies"}),
    Kind.SYNCHRONIZATION: frozenset({"synchronization"}),
    Kind.EXPOSED_COMMUNICATION: frozenset({"exposed_communication"}),
    Kind.SLOW_HOST: frozenset({"slow_host"}),
    Kind.HOST_BETWEEN_STEPS: frozenset({"slow_host", "work_between_steps"}),
    Kind.FIRST_USE: frozenset({"first_use"}),
    Kind.LONG_GAP: frozenset({"long_gap", "long_pause"}),
    Kind.LOADER: _INPUT,
    Kind.LOADER_SOME_STEPS: _INPUT,
}
"""A trace shows that the loader is late, not why: any cause of slow input is right. A link that is
slow all the time looks like communication that is too much for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One planted fault.

    Attributes:
        size: how much of it; the unit depends on the kind (a factor, µs or a number).
        rank: where it is, ``None`` on all ranks.
        steps: first and last step, both inside; ``None`` in all.
        variant: which of several looks, a small number.
        is_mended: the same job without the fault: what it works on stays, its cost goes.
    """

    kind: Kind
    size: float
    rank: int | None = None
    steps: tuple[int, int] | None = None
    variant: int = 0
    is_mended: bool = False

    def is_at(self, rank: int, step: int) -> bool:
        """Return whether it is planted there."""
        if self.rank is not None and self.rank != rank:
            return False
        return self.steps is None or self.steps[0] <= step <= self.steps[1]


def fault_at(faults: Sequence[Fault], kind: Kind, rank: int, step: int) -> Fault | None:
    """Return the fault of a kind that is planted at a rank and step."""
    return next((item for item in faults if item.kind is kind and item.is_at(rank, step)), None)


def size_at(faults: Sequence[Fault], kind: Kind, rank: int, step: int) -> float:
    """Return how much of a fault there is at a rank and step, 0 where it was mended."""
    fault = fault_at(faults, kind, rank, step)
    return 0.0 if fault is None or fault.is_mended else fault.size
