"""What those who load batches do while training waits: compute, stand in line for a core, or rest.

``reportgen record`` measures it (docs/definitions.md, Work while training waits for data); of other
jobs it is unknown. It is the job's own time, whatever other programs do on the same cores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.facts import usage
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.loader import waits_of
from reportgen.facts.samples import sum_of, training_loop_ns
from reportgen.profile import NodeProfile, SeriesKind

LEAST_WAITS = 20
"""The mean of fewer waits, or of the processor time of fewer batches, says little."""
RESTS_RATIO = 0.5
"""Who does not compute for half of the time in which a core is free for it, or more, is held up by
something else."""
_SUMS = ("n", "wall_ns", "cpu_ns", "queued_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingWork:
    """Shares of the time of those who load, while a node's loops wait; 0-1.

    Attributes:
        has_processes: whether loader processes load, and not the training process itself.
        computing_ratio: on a core.
        queued_ratio: ready to run while others had the cores; 0 where that is not counted.
        batch_ns: processor time for a batch, a mean.
        wall_ns: how long this was measured: the waits together, or the time of the processes.
        own_cores, other_cores: cores that the job and that other programs kept busy meanwhile,
            means; ``None`` where the job's own processor time was not sampled.
        turn_ns: processor time of the job for all that it does with a batch but loading it, a mean;
            it is the same whatever other programs do.
    """

    has_processes: bool
    computing_ratio: float
    queued_ratio: float
    wall_ns: int
    batch_ns: float
    own_cores: float | None = None
    other_cores: float | None = None
    turn_ns: float | None = None

    @property
    def resting_ratio(self) -> float:
        """Return the share in which they slept or read: neither computed nor wanted to."""
        return max(1 - self.computing_ratio - self.queued_ratio, 0.0)

    @property
    def rests(self) -> bool:
        """Return whether they mostly sleep or read."""
        return self.resting_ratio >= RESTS_RATIO * (1 - self.queued_ratio)

    @property
    def is_queued(self) -> bool:
        """Return whether they mostly want a core, and more often than not have none."""
        return not self.rests and self.queued_ratio >= self.computing_ratio

    @property
    def is_beside_others(self) -> bool:
        """Return whether other programs had more cores than the job."""
        job_cores, others = self.own_cores, self.other_cores
        return job_cores is not None and others is not None and others > job_cores

    @property
    def is_crowded_out(self) -> bool:
        """Return whether they lack a core, and other programs have more of them than the job."""
        return self.is_queued and self.is_beside_others

    def alone_ratio(self, n_readers: float) -> float:
        """Return for which share of its time the loop would wait if it had the cores for itself.

        A loop without loader processes loads and trains in turn; else so many ``n_readers`` load
        beside it, and it waits for what they take longer than a turn. Edge case: 0 if unknown.
        """
        if self.turn_ns is None:
            return 0.0
        if not self.has_processes:
            return self.batch_ns / max(self.batch_ns + self.turn_ns, 1.0)
        return max(1 - self.turn_ns * max(n_readers, 1.0) / max(self.batch_ns, 1.0), 0.0)


def loading_work_of(part: NodeProfile) -> LoadingWork | None:
    """Return what those who load on a node do while its loops wait; ``None`` where unknown.

    Where a node has loaders of both kinds, that counts which was waited for longer.
    """
    every = () if part.recorded is None else part.recorded.work
    kinds = [[work for work in every if work.has_processes is kind] for kind in (False, True)]
    usual = max(kinds, key=lambda works: sum(work.wall_ns for work in works))
    n, wall_ns, cpu_ns, queued_ns = (sum(getattr(work, name) for work in usual) for name in _SUMS)
    if n < LEAST_WAITS or not wall_ns:
        return None
    return LoadingWork(
        has_processes=usual[0].has_processes,
        computing_ratio=cpu_ns / wall_ns,
        queued_ratio=queued_ns / wall_ns,
        wall_ns=wall_ns,
        batch_ns=cpu_ns / n,
        **_cores_of(part, batch_ns=cpu_ns / n),
    )


def _cores_of(part: NodeProfile, *, batch_ns: float) -> dict[str, float]:
    """Return what the job and others had of the cores while the loops waited, if sampled then."""
    system, waits = part.system, waits_of(part.spans)
    is_within = overlaps_any(system.tick_ns, system.tick_ns, waits.start_ns, waits.end_ns)
    job_cores, others = sum_of(system, SeriesKind.JOB_CORES), usage.other_cores(system)
    is_known = is_within & np.isfinite(others)
    if not is_known.any():
        return {}
    first_ns, last_ns = training_loop_ns(part.spans) or (0, 0)
    in_loop = (system.tick_ns >= first_ns) & (system.tick_ns <= last_ns) & np.isfinite(job_cores)
    n_batches = int(((waits.end_ns > first_ns) & (waits.start_ns < last_ns)).sum())
    every_ns = float(job_cores[in_loop].mean()) * (last_ns - first_ns) if in_loop.any() else 0.0
    return {
        "own_cores": float(job_cores[is_known].mean()),
        "other_cores": max(float(others[is_known].mean()), 0.0),
        "turn_ns": max(every_ns / max(n_batches, 1) - batch_ns, 0.0),
    }
