"""What is known of a generated job: its faults, and what a report must say of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from benchmarks.exam.causes import Input, Sight
from reportgen.results.causes import Cause

EVERYWHERE = "all"
SMALL = "below 3 %"
SIZES = ((0.03, SMALL), (0.05, "3-5 %"), (0.12, "5-12 %"), (1.01, ">12 %"))
"""Upper bounds of the shares in each size, and its name."""
UNSIZED = "no share"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One planted fault.

    Attributes:
        cause: What was planted.
        share_ratio: The share of the loop (of the whole job for a long start) that the same job
            takes less without it. Where the fault does not lengthen the job, the share of the
            GPUs' time that it wastes. ``None`` for a fault that costs nothing yet.
        share_of: In words, what the share is of.
        places: Names of the places that are right: a worker, a node, a GPU as ``algo-1/gpu0``;
            ``all`` where no place is worse than another.
        start_s, end_s: When it acts, seconds after the first sample on the clock of node 1.
        seen_s: The part of this time in which framework events were recorded.
        sight: What the input can tell about it.
        also_right: Causes that are as right as ``cause`` in this job.
        is_estimated: Whether the share can be compared with an estimate of it.
    """

    cause: Cause
    share_ratio: float | None
    share_of: str
    places: tuple[str, ...] = (EVERYWHERE,)
    start_s: float
    end_s: float
    seen_s: tuple[float, float]
    sight: Sight
    also_right: tuple[Cause, ...] = ()
    is_estimated: bool = True

    @property
    def size(self) -> str:
        """Return the name of the size of its share."""
        if self.share_ratio is None:
            return UNSIZED
        return next(name for below, name in SIZES if self.share_ratio < below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One job: what it is, and its faults; a healthy job has none.

    Attributes:
        name: Its folder.
        kind: The planted causes joined by ``+``, or ``healthy-`` and what it might be mistaken for.
        start_unix_s: The first sample of node 1.
        is_healthy: Whether nothing was planted, and nothing costs 3 % by accident.
        loop_s: First start and last end of the training loop, seconds after the first sample.
        facts: Numbers for whoever looks for a mistake of ours.
    """

    name: str
    kind: str
    input: Input
    start_unix_s: float
    duration_s: float
    loop_s: tuple[float, float]
    planted: tuple[Planted, ...] = ()
    is_healthy: bool = False
    facts: dict[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return it as plain JSON values."""
        return asdict(self)
