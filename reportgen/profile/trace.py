"""Kernel trace of one rank: operations of its GPUs, calls of its host, and its waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from reportgen.profile.job import Clock, JobInfo, NodeId, SourceNote
from reportgen.profile.memo import Memo
from reportgen.profile.trace_tables import (
    CollectiveArgs,
    Flows,
    GpuOps,
    HostCalls,
    HostSlices,
    MemoryEvents,
    Shadows,
    SyncEvents,
    TraceCounters,
    TraceSteps,
    empty_table,
    n_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A host thread; ids as the file writes them, names are private and not kept."""

    pid: str
    tid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU as the trace describes it; ``None`` is what it does not say."""

    id: int
    name: str
    compute_capability: str | None = None
    multiprocessors: int | None = None


_HOST = re.compile(
    r"(?:^|[/_.])(algo-\d+)(?=[/_.])|(?:^|/)([^/]+)_\d+\.\d{10,19}\.|(?:^|/)([^/]+?)[_.-]rank"
)


def hosts_of_ranks(hosts: Sequence[str]) -> list[str]:
    """Return the hosts of ranks, all empty where all names differ.

    A name for each rank is no name of a host: worker0_step_12, worker1_step_12.

    Example:
        >>> hosts_of_ranks(["a", "a", "b"]), hosts_of_ranks(["worker0", "worker1"])
        (['a', 'a', 'b'], ['', ''])
    """
    return list(hosts) if len(set(hosts)) < len(hosts) else [""] * len(hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTrace:
    """One trace file, which is one rank.

    Attributes:
        node: the name of this part in the report: ``rank 3``.
        job: the job it belongs to.
        rank: rank in the job; the file's place in order where the rank is unknown.
        is_rank_known: whether the file, its name or its folder gave the rank.
        world_size: ranks in the job, ``None`` where unknown.
        path: the file, relative to the job.
        base_ns: addend of the file's times (``baseTimeNanoseconds``), 0 where it has none.
        clock: whether ``origin_ns`` is a time of the world; if not, ranks cannot be aligned.
        origin_ns: zero of the times here, ns UTC: ranks are aligned by the difference of theirs.
        shadows: empty but for a timeline, which shows every event.
        names, input_types, input_dims, input_values, labels, shapes, tracks: vocabularies.
        written_in: file and compiler of generated kernels (Triton's), by their names.
        threads: what ``thread`` columns mean.
        devices: GPUs by id; may be empty, or hold GPUs that ran nothing.
        versions: ``cuda_runtime``, ``hip_driver``, ``nccl`` ... as text.
        first_ns, last_ns: first start and last end of all timed events, after the origin;
            ``None`` without any.
        notes: skipped, lost and recovered data.
    """

    node: NodeId
    job: JobInfo
    rank: int
    path: str
    origin_ns: int
    base_ns: int = 0
    clock: Clock = Clock.UNIX
    gpu_ops: GpuOps
    calls: HostCalls
    slices: HostSlices
    steps: TraceSteps
    memory: MemoryEvents
    collectives: CollectiveArgs
    syncs: SyncEvents
    flows: Flows
    counters: TraceCounters = field(default_factory=partial(empty_table, TraceCounters))
    names: tuple[str, ...] = ()
    input_types: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    input_dims: tuple[str, ...] = ()
    input_values: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    written_in: Mapping[str, str] = field(default_factory=dict)
    threads: tuple[Thread, ...] = ()
    devices: tuple[Device, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    is_rank_known: bool = False
    world_size: int | None = None
    shadows: Shadows = field(default_factory=lambda: empty_table(Shadows))
    first_ns: int | None = None
    last_ns: int | None = None
    notes: tuple[SourceNote, ...] = ()
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    @property
    def host(self) -> str:
        """Return the machine after which a file or folder is named, empty without one.

        SageMaker's machines are ``algo-1`` and so on; PyTorch writes ``<host>_<process>.<time>.``.
        """
        found = _HOST.search(self.path)
        return (found[1] or found[2] or found[3]) if found else ""

    @property
    def n_events(self) -> int:
        """Return how many events the tables hold."""
        n_events = n_rows(self.gpu_ops) + n_rows(self.calls) + n_rows(self.slices)
        return n_events + n_rows(self.syncs) + n_rows(self.memory)
