"""Data loaders in framework events: which events load, how long the loop waited, how many loaders.

PyTorch and TensorFlow write different events (docs/formats.md, PyTorch events; docs/formats.md,
TensorFlow events). A *wait* is the time in which the training process asks for the next batch; the
life time of a loader process is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Instants, Integers, Mask
from reportgen.facts.intervals import (
    NOTHING,
    Union,
    clip,
    covered_each,
    join,
    minus,
    parents_of,
    union_of,
)
from reportgen.merging import joint_codes, rows_by_code, sums_by_code
from reportgen.profile import NodeProfile, SpanTable
from reportgen.profile.memo import fact
from reportgen.profile.spans import FETCH, LOADER_PROCESS, TENSORFLOW_FETCH
from reportgen.units import NS_PER_S

INITIALIZE = "DataLoaderIterInitialize"
OPERATORS = "cpu_functions"
_ENDS = frozenset({"dataset::GetNext", "IteratorGetNextOp::DoCompute"})
"""The end of every TensorFlow pipeline, whatever is in it (docs/formats.md, TensorFlow events)."""
RECORDED_RATIO = 0.9
"""Where waits were recorded for fewer of the steps than this, the others are estimated from their
mean; a few are missing at the ends of every recording."""
EARLY_RATIO = 0.75
"""Where three quarters of the waiting lie in the first quarter of the loop, it wears off."""
LEAST_SECONDS = 10
"""SageMaker judges after more than ten busy seconds (docs/rules.md, Dataloader)."""
SECONDS_PER_MINUTE = 60
FEW_WAITS = 3
"""As many long waits may be pauses; more are loading that does not keep up."""
LONG_RATIO, MOSTLY_RATIO = 0.1, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRows:
    """Rows of one node's events, each an (n,) mask; which frameworks have loader events.

    Attributes:
        fetch: the loop asked for a batch (PyTorch's ``GetNext``, TensorFlow's outermost one).
        process: life time of a loader process.
        next_call: operators named ``…__next__``: the same waits, seen by the autograd profiler.
        is_pipeline_known, has_prefetch: whether TensorFlow's events name the steps of the
            pipeline, and whether one of them prefetches.
    """

    initialize: Mask
    fetch: Mask
    process: Mask
    next_call: Mask
    is_tensorflow: bool
    is_pytorch: bool
    is_pipeline_known: bool
    has_prefetch: bool


@fact
def loader_rows(spans: SpanTable) -> LoaderRows:
    """Find the loader events of one node."""
    in_tensorflow = spans.in_phases((TENSORFLOW_FETCH,))
    return LoaderRows(
        initialize=spans.in_phases((INITIALIZE,)),
        fetch=spans.in_phases((FETCH,)) | _outermost(spans, in_tensorflow),
        process=spans.in_phases((LOADER_PROCESS,)),
        next_call=spans.in_phases((OPERATORS,)) & spans.named(lambda name: "__next__" in name),
        is_tensorflow=bool(in_tensorflow.any()),
        is_pytorch=bool(spans.in_phases((INITIALIZE, FETCH, LOADER_PROCESS)).any()),
        is_pipeline_known=bool((in_tensorflow & ~spans.named(_ENDS.__contains__)).any()),
        has_prefetch=bool((in_tensorflow & spans.named(lambda name: "Prefetch" in name)).any()),
    )


@fact
def waits_of(spans: SpanTable) -> SpanTable:
    """Return the events that are counted as waits: fetches, else ``__next__`` operators."""
    return spans.where(_are_waits(spans))


def _are_waits(spans: SpanTable) -> Mask:
    rows = loader_rows(spans)
    return rows.fetch if rows.fetch.any() else rows.next_call


@fact
def loading_of(spans: SpanTable) -> SpanTable:
    """Return the events in which loops wait for batches or set up their iterators.

    To set up an iterator starts its loader processes: that takes longer the more there are.
    """
    rows = loader_rows(spans)
    return spans.where(rows.fetch | rows.next_call | rows.initialize)


def worker_waits(spans: SpanTable, worker: str) -> Union:
    """Return when the loop of one worker waited for a batch, or set up an iterator."""
    loading = loading_of(spans)
    of_worker = loading.where(loading.worker == spans.workers.index(worker))
    return union_of(of_worker.start_ns, of_worker.end_ns)


def are_waits_known(spans: SpanTable, worker: str) -> bool:
    """Return whether waits were recorded for nearly all steps of a worker."""
    steps = spans.steps()
    n_steps = int((steps.worker == steps.workers.index(worker)).sum())
    return worker_waits(spans, worker).start_ns.size >= RECORDED_RATIO * n_steps


def num_workers_of(spans: SpanTable, worker: str) -> int | None:
    """Return how many loader processes a worker was last told to start, ``None`` if unknown."""
    is_of_worker = spans.worker == spans.workers.index(worker)
    asked_for = spans.num_workers[loader_rows(spans).initialize & is_of_worker]
    known = asked_for[asked_for >= 0]
    return int(known[-1]) if known.size else None


def _outermost(spans: SpanTable, in_tensorflow: Mask) -> Mask:
    """Return which of TensorFlow's requests lie in no other one of their worker and thread.

    Where the op that hands batches to the loop was recorded (``IteratorGetNextOp``), only that
    one waits; the others then run ahead of it.
    """
    requests = in_tensorflow & spans.named(lambda name: "GetNext" in name)
    handing_over = requests & spans.named(lambda name: "IteratorGetNextOp" in name)
    chosen = np.flatnonzero(handing_over if handing_over.any() else requests)
    mask = np.zeros(requests.shape, dtype=bool)
    if chosen.size:
        requested = spans.where(chosen)
        parents = parents_of(
            requested.start_ns, requested.end_ns, joint_codes(requested.worker, requested.tid)
        )
        mask[chosen[parents < 0]] = True
    return mask


def lives_of(calls: tuple[Integers, Instants], lives: tuple[Integers, Instants]) -> Integers:
    """Return (n,) the place of the loader process that made the batch of each wait, -1 if unknown.

    ``calls`` and ``lives`` are process ids and starts; a process id may be used again later.
    """
    pid, started = lives
    found = np.full(calls[0].shape, -1, dtype=np.int64)
    for code, places in rows_by_code(pid):
        in_order = places[np.argsort(started[places], kind="stable")]
        asked = np.flatnonzero(calls[0] == code)
        last = np.searchsorted(started[in_order], calls[1][asked], side="right") - 1
        found[asked] = np.where(last >= 0, in_order[np.maximum(last, 0)], -1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How one worker's loop waited; without steps, the loop is the time that its waits cover.

    Attributes:
        waited_ns: union of the recorded waits within the loop, and of set-ups of iterators;
            ``early_ns`` of it lies in the first quarter.
        expected_ns: the same for all steps, where only some waits were recorded.
        n_waits, n_steps: recorded waits within the loop, and its steps.
        unrecorded_ns: of the loop, of which nothing was recorded.
    """

    worker: str
    first_ns: int
    last_ns: int
    waited_ns: int
    early_ns: int
    expected_ns: int
    n_waits: int
    n_steps: int
    unrecorded_ns: int

    @property
    def loop_ns(self) -> int:
        """Return the length of the loop, as far as anything was recorded."""
        return self.last_ns - self.first_ns - self.unrecorded_ns

    @property
    def ratio(self) -> float:
        """Return the expected share of the loop that is waiting, in 0-1."""
        return self.expected_ns / self.loop_ns if self.loop_ns else 0.0

    @property
    def is_estimated(self) -> bool:
        """Return whether more was waited than was recorded."""
        return self.expected_ns > self.waited_ns

    @property
    def early_pct(self) -> float:
        """Return how much of the waiting lies in the first quarter of the loop."""
        return 100 * self.early_ns / self.waited_ns

    @property
    def is_early(self) -> bool:
        """Return whether most of it lies in the first quarter of the loop; not where estimated."""
        return not self.is_estimated and self.early_ns >= EARLY_RATIO * self.waited_ns > 0


def waiting_of(spans: SpanTable, *, unrecorded: Union) -> tuple[Waiting, ...]:
    """Return how the loop of each worker of one node waited; workers without waits are left out.

    ``unrecorded`` are the stretches of which nothing is known but these waits.
    """
    every, waits, steps = loading_of(spans), waits_of(spans), spans.steps()
    return tuple(
        _waiting(
            waits.where(rows),
            every.where(every.worker == worker),
            steps.where(steps.worker == worker),
            unrecorded,
        )
        for worker, rows in rows_by_code(waits.worker)
    )


def _waiting(waits: SpanTable, every: SpanTable, steps: SpanTable, unrecorded: Union) -> Waiting:
    timed = steps if steps.n_spans else every
    first_ns, last_ns = int(timed.start_ns.min()), int(timed.end_ns.max())
    in_loop = (waits.end_ns > first_ns) & (waits.start_ns < last_ns)
    n_waits, n_steps = int(in_loop.sum()), steps.n_spans
    waited = clip(union_of(every.start_ns, every.end_ns), first_ns, last_ns)
    lost_ns = clip(minus(unrecorded, waited), first_ns, last_ns).length_ns
    expected_ns = waited.length_ns
    if 0 < n_waits < RECORDED_RATIO * n_steps:
        # Waits that were not recorded can only lie where no step ran and something was recorded.
        busy = join((union_of(steps.start_ns, steps.end_ns), waited))
        free_ns = last_ns - first_ns - lost_ns - busy.length_ns + waited.length_ns
        mean_ns = int(waits.duration_ns[in_loop].sum()) / n_waits
        expected_ns = max(expected_ns, min(round(mean_ns * n_steps), free_ns))
    return Waiting(
        worker=waits.workers[waits.worker[0]],
        first_ns=first_ns,
        last_ns=last_ns,
        waited_ns=waited.length_ns,
        early_ns=clip(waited, first_ns, first_ns + (last_ns - first_ns) // 4).length_ns,
        expected_ns=expected_ns,
        n_waits=n_waits,
        n_steps=n_steps,
        unrecorded_ns=lost_ns,
    )


def step_waits_ns(spans: SpanTable) -> Integers:
    """Return (n,) ns that the steps of one node waited for data: of all workers the longest wait.

    Workers that train together wait for the last of them; steps count from the first one. To set up
    an iterator is part of the wait for its first batch.
    """
    waits, steps = spans.where(_are_waits(spans) | loader_rows(spans).initialize), spans.steps()
    longest = np.zeros(0, dtype=np.int64)
    for worker, rows in rows_by_code(waits.worker):
        of_worker, start_ns = waits.where(rows), _starts_of(steps, worker)
        if not start_ns.size:
            continue
        # A wait belongs to the step that it ends before; TensorFlow waits within the step.
        place = np.searchsorted(start_ns, of_worker.end_ns, side="left")
        is_inside = place < start_ns.size
        waited = sums_by_code(place[is_inside], of_worker.duration_ns[is_inside], start_ns.size)
        longest = greater_of([longest, waited[1:]])
    return longest


def cycles_without_waits_ns(spans: SpanTable) -> list[Integers]:
    """Return for each worker (n,) ns from step to step, without its waits for data.

    Waiting for other workers is part of them: in the step, or behind it where the host runs ahead.
    """
    waits, found = loading_of(spans), []
    for worker, rows in rows_by_code(waits.worker):
        waited = union_of(waits.start_ns[rows], waits.end_ns[rows])
        start_ns = _starts_of(spans.steps(), worker)
        found.append(np.diff(start_ns) - covered_each(waited, start_ns[:-1], start_ns[1:]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWaits:
    """When workers of a node wait for data, and when the (n,) steps of one of them begin."""

    node: str
    start_ns: Instants
    waits: Union


@fact
def long_waits_of(part: NodeProfile) -> NodeWaits:
    """Return when workers of a node wait for data, waits below a tenth of a step left out."""
    waits, steps = loading_of(part.spans), part.spans.steps()
    least_ns = LONG_RATIO * float(np.median(steps.duration_ns)) if steps.n_spans else 0.0
    long = waits.where(waits.duration_ns >= least_ns)
    return NodeWaits(
        node=part.node,
        start_ns=np.sort(steps.start_ns[steps.worker == steps.worker[:1]]),
        waits=union_of(long.start_ns, long.end_ns),
    )


def waits_seen_from(begins_ns: Instants, every: Sequence[NodeWaits]) -> Union:
    """Return the waits of all nodes by the clock of the one whose (n,) steps start at these times.

    Where steps of nodes never get a cycle apart for long, they go together.
    """
    found = [NOTHING]
    for item in every:
        late_ns = 0
        if item.start_ns.size == begins_ns.size > 1:
            apart_ns = item.start_ns - begins_ns
            middle_ns = int(np.median(apart_ns))
            drift_ns = float(np.median(np.abs(apart_ns - middle_ns)))
            late_ns = middle_ns if drift_ns < np.median(np.diff(begins_ns)) / 2 else 0
        waits = item.waits
        found.append(Union(start_ns=waits.start_ns - late_ns, end_ns=waits.end_ns - late_ns))
    return join(found)


def opens_epoch(spans: SpanTable) -> Integers:
    """Return (n,) 1 for each wait of ``step_waits_ns`` that is for the first batch of an epoch.

    That is the batch of the first step of a phase, or of the first one after an iterator was set
    up; 0 for the others.
    """
    rows, steps, found = loader_rows(spans), spans.steps(), []
    set_up = spans.where(rows.initialize)
    for worker, rows_of_worker in rows_by_code(steps.worker):
        order = rows_of_worker[np.argsort(steps.start_ns[rows_of_worker], kind="stable")]
        start_ns, phase = steps.start_ns[order], steps.phase[order]
        first = np.append(True, phase[1:] != phase[:-1])
        at = np.searchsorted(start_ns, set_up.start_ns[set_up.worker == worker])
        first[at[at < start_ns.size]] = True
        # PyTorch waits before a step, and the wait before the first one is not counted; TensorFlow
        # within it.
        found.append((first[:-1] if rows.is_tensorflow else first[1:]).astype(np.int64))
    return greater_of(found)


def loads_as_usual(spans: SpanTable, start_ns: Instants, end_ns: Instants) -> Mask:
    """Return in which of (n,) stretches one worker mostly waits, but no longer than at other times.

    As long as for a first batch loading takes when nothing was read ahead. Where more than a few
    waits are half as long or longer, it takes that long again and again.
    """
    waits, wait_ns = loading_of(spans), step_waits_ns(spans)
    is_first = opens_epoch(spans)[: wait_ns.size] > 0
    waited_ns = covered_each(union_of(waits.start_ns, waits.end_ns), start_ns, end_ns)
    is_usual = waited_ns <= wait_ns[: is_first.size][is_first].max(initial=0)
    n_shorter = np.searchsorted(np.sort(wait_ns), waited_ns / 2)
    is_usual |= wait_ns.size - n_shorter > FEW_WAITS
    return np.asarray(is_usual & (2 * waited_ns > end_ns - start_ns))


def _starts_of(steps: SpanTable, worker: int) -> Integers:
    return np.sort(steps.start_ns[steps.worker == worker])


def greater_of(parts: Sequence[Integers]) -> Integers:
    """Return the greatest of several rows of numbers, place by place, as long as the longest."""
    greatest = np.full(max((part.size for part in parts), default=0), np.iinfo(np.int64).min)
    for part in parts:
        np.maximum(greatest[: part.size], part, out=greatest[: part.size])
    return greatest


def least_of(parts: Sequence[Integers]) -> Integers:
    """Return the least of several rows of numbers, place by place, as long as the longest."""
    return -greater_of([-part for part in parts])


def busy_seconds(spans: SpanTable) -> dict[int, int]:
    """Return how many loader processes of one node began something, by Unix second.

    SageMaker counts loaders in this way (docs/rules.md, Dataloader). An event without a process id
    stands for its worker's own process. Loaders of different nodes do not share cores: of several
    nodes the one with most loaders in a second counts.
    """
    rows = loader_rows(spans)
    loading = spans.where(rows.fetch | rows.process)
    pid = loading.os_pid
    loader = np.where(pid >= 0, pid, -1 - loading.worker.astype(np.int64))
    second = loading.start_ns // NS_PER_S
    _, first = np.unique(joint_codes(second, loader), return_index=True)
    found, n_loaders = np.unique(second[first], return_counts=True)
    return dict(zip(found.tolist(), n_loaders.tolist(), strict=True))
