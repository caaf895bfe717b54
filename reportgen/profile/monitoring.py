"""How another program monitored a node, and the progress that its training program logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reportgen.arrays import Floats, Instants
from reportgen.recorded_job import RecordedGpu

STEP_COUNTERS = (
    "train/global_step", "trainer/global_step", "global_step", "train/step", "iteration",
    "iter", "step",
)  # fmt: skip
"""Names by which training programs count steps, the surest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a training program logged of its progress: instants at which a step was reached.

    These are logging intervals, not steps: a step between two of them left no trace.

    Attributes:
        counter: the name by which it counts steps.
        time_ns: (n,) int64, ns UTC, ascending.
        step: (n,) float64, the number that it had reached.
        logged: by name, (time_ns, values) of numbers of the program about its own speed, such as
            tokens a second; (m,) each.
    """

    counter: str
    time_ns: Instants
    step: Floats
    logged: Mapping[str, tuple[Instants, Floats]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """How the samples of a node came about, and how its program ended.

    Attributes:
        source: the program that sampled, for people.
        gpus: names and memory of its GPUs, where the source has them.
        exit_code: of the training program; ``None`` where it is not known.
        is_ended: whether the source says that the program ended; ``None`` where it cannot.
        progress: each series of progress, the most detailed first.
    """

    source: str
    gpus: tuple[RecordedGpu, ...] = ()
    exit_code: int | None = None
    is_ended: bool | None = None
    progress: tuple[Progress, ...] = ()

    @property
    def extent_ns(self) -> tuple[int, int] | None:
        """Return the first and the last instant of its progress, ``None`` without any."""
        ends = [int(log.time_ns[end]) for log in self.progress if log.step.size for end in (0, -1)]
        return (min(ends), max(ends)) if ends else None

    @property
    def n_reached(self) -> int:
        """Return at how many instants the program said which step it had reached."""
        return sum(int(one.step.size) for one in self.progress)
