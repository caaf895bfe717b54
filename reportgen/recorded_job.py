"""How a job was recorded, by ``reportgen record`` or another monitor: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedGpu:
    """A GPU of a node; ``is_used`` is ``None`` where no rank said which GPUs it uses."""

    index: int
    name: str = ""
    memory_bytes: int | None = None
    is_used: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWork:
    """What those who load the batches of a rank did while its loop waited for them.

    Attributes:
        has_processes: whether loader processes load, and not the training process itself.
        n: waits that were measured, or batches that loader processes made meanwhile.
        wall_ns: how long they lasted together.
        cpu_ns: of it, on a core.
        queued_ns: of it, ready to run while others had the cores; 0 where the system does not
            count that.
    """

    has_processes: bool
    n: int
    wall_ns: int
    cpu_ns: int
    queued_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNode:
    """How a node was recorded, and what the job may use of it; ``None`` is what is not known.

    Attributes:
        n_cores: cores that the job may run on.
        quota_cores: how many cores' time it may use, where a cgroup limits it.
        memory_limit_bytes: the limit of its cgroup.
        interval_s: time between samples.
        missing: what could not be sampled, and why.
        lost_ticks: ticks that could not be written.
        core_pct, memory_bytes: use of one core, and peak memory, of the sampler.
        ahead_ns: how far its clock is ahead of the first node's; its times are moved by that.
        profiled: when a trace was taken on any rank, from the start of the profiler to the end of
            the export, on the clock of this node: the others wait for that rank.
        clock_bound_ns: how well the clocks of all nodes are known; ``None`` where they are not.
        work: what those who load batches did while the loops of its ranks waited.
        alone: names of the training processes that train a model by themselves, as each training
            of a script that runs several does.
        runs_ahead: whether its steps return before their work is done, also on cores, as those of
            Keras on JAX do.
        may_use_closures: whether the optimizer may run the passes itself, as Lightning lets it.
    """

    node: str
    n_cores: int | None = None
    quota_cores: float | None = None
    memory_limit_bytes: int | None = None
    gpus: tuple[RecordedGpu, ...] = ()
    interval_s: float | None = None
    missing: tuple[str, ...] = ()
    lost_ticks: int = 0
    core_pct: float | None = None
    memory_bytes: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    ahead_ns: int = 0
    clock_bound_ns: int | None = 0
    profiled: tuple[tuple[int, int], ...] = ()
    work: tuple[RecordedWork, ...] = ()
    alone: tuple[str, ...] = ()
    runs_ahead: bool = False
    may_use_closures: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """How a job was recorded, by ``reportgen record`` unless ``monitored_by`` says otherwise.

    Attributes:
        nodes: in numeric order.
        step_sources: where its steps come from, ``optimizer`` for example.
        frameworks: framework to the version that its ranks name.
        exit_codes: of the commands that have ended.
        batch_size: samples that each rank takes in a step; ``None`` where no loader says it, or
            where the ranks differ.
        monitored_by: the program that sampled the job where it was not ``reportgen record``.
    """

    nodes: tuple[RecordedNode, ...]
    step_sources: tuple[str, ...] = ()
    frameworks: Mapping[str, str] = field(default_factory=dict)
    exit_codes: tuple[int, ...] = ()
    batch_size: int | None = None
    monitored_by: str = ""

    def node(self, name: str) -> RecordedNode | None:
        """Return how a node was recorded; ``None`` for one that has no card."""
        return next((node for node in self.nodes if node.node == name), None)
