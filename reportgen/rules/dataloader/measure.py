"""Measurement of Dataloader on a node: waits, loaders, batches, and how busy the host was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import merging
from reportgen.arrays import Instants, Integers
from reportgen.facts import loader as loading
from reportgen.facts import usage
from reportgen.facts.between_steps import between_steps_of, idle_in_copies_of
from reportgen.facts.input_load import InputLoad, crowded_loss_ns, input_load_of
from reportgen.facts.intervals import NOTHING, Union, covered_each
from reportgen.facts.loader import Waiting, loader_rows, waits_of
from reportgen.facts.loading_work import LEAST_WAITS, LoadingWork, loading_work_of
from reportgen.facts.samples import is_window, training_loop_ns
from reportgen.facts.slow_steps import pauses_of
from reportgen.facts.steps import unrecorded_of
from reportgen.profile import NodeProfile, SeriesKind, SpanTable
from reportgen.rules.base import param
from reportgen.rules.dataloader.tables import Loader
from reportgen.rules.kit import AWS_DEFAULTS, CHEAP_RATIO, percentage, row

UNKNOWN = -1
LEAST_ALIKE = 5
"""As many waits that are alike show how long the loop waits, as a few recorded steps have them."""
ALONE_RATIO = 0.25
"""One process whose loading is slow waits four times as long as any other, or longer (chosen): with
the same loaders and data, all processes wait alike."""
HAND_OVER_NS = 2_000_000
"""A loader process hands over a finished batch in one or two milliseconds, which more processes do
not save: 1.8 ms in the recorded script ``workers`` (benchmarks/exam/real), whose processes rest. A
loop that makes its batches in less, as ``sweep`` does in 0.8 ms, gains nothing by processes."""
STALLS_RATIO, MOST_STALLS_RATIO, READY_RATIO = 0.8, 0.05, 0.05
"""Stalls make four fifths of all waiting, and are no more than one wait of twenty; the usual wait
takes less than a twentieth of a turn of the loop (chosen)."""
MOST_HAND_OVER_NS = 4 * HAND_OVER_NS
"""Beside other programs a loader process hands over more slowly, by a few turns on a core of some
milliseconds each. A longer wait is a wait for data, however slow the rest of the loop is."""
LONGEST_RATIO, LEAST_LONGEST, HABIT_RATIO = 0.02, 3, 0.5
"""Waits for first batches that make up more than half of all waiting are a start: other loaders
would not shorten them. Where the start of an epoch is unknown, the waits of one step in fifty, or
of three, represent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order, then ours."""

    min_threshold: float = param(
        70,
        unit="% of the cores",
        meaning="fewer loader processes than this are too few",
        source=AWS_DEFAULTS,
        minimum=0,
    )
    max_threshold: float = param(
        200,
        unit="% of the cores",
        meaning="more loader processes than this are too many",
        source=AWS_DEFAULTS,
        minimum=0,
    )
    wait_pct: float = percentage(
        100 * CHEAP_RATIO,
        "waiting for data matters if it takes at least this share",
        unit="% of the loop",
        source="well above the 1 to 2 % that loops with plenty of loaders wait, by jitter alone",
        is_printed=False,
    )

    def limits(self, n_cores: int) -> tuple[float, float]:
        """Return the range of loaders that fits a number of cores."""
        return self.min_threshold / 100 * n_cores, self.max_threshold / 100 * n_cores


def _added(ratios: Sequence[float | None]) -> float | None:
    """Return the sum of some shares, at most 1, ``None`` where one is unknown."""
    known = [ratio for ratio in ratios if ratio is not None]
    return min(sum(known), 1.0) if len(known) == len(ratios) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """The long ones of all waits: how many, their share of the waiting, the longest."""

    n_long: int
    n_waits: int
    share_pct: float
    longest_ns: int


@row
class NodeLoaders:
    """One node, or all nodes of a job.

    Attributes:
        n_spans, n_events: framework events, and loader events among them.
        cores: names of the cores; those of several nodes are not added up.
        has_processes: whether batches are loaded by processes; TensorFlow loads in threads.
        n_processes: training processes of a node that load data.
        waiting: per training process, how its loop waited.
        load: the work of each node while its loop waited, where known.
        loop_load: the same in its whole loop.
        work: of each node, what those who load did meanwhile, where the recorder measured it.
        step_wait_ns: of each step, the longest wait of all workers.
        steps_ns: from the first to the last begin of a step, of the worker with the longest time.
        least_cycle_ns: from step to step without waits for data, of the worker with the least.
        opens_epoch: of each step, 1 where it got the first batch of an epoch.
        configured_loaders: the loader processes that the workers of a node were to start.
        paused_ns: how much of the waits of each worker lies in its single pauses.
        crowded_ns: how much longer the steps take together while the cores are used up.
        hand_over_ns: of each worker, the time from getting a batch to the step that uses it, as far
            as GPUs are known to wait meanwhile; ``hand_over_most_ns`` as far as they may.
        unused_ratio, most_unused_ratio: how much of their time GPUs leave unused: a mean, 0 where
            it is unknown, and added up, as they may wait by turns. No wait of the host costs more.
        is_window: whether only a part of a longer loop was recorded.
    """

    n_spans: int = merging.merged(sum)
    n_events: int = merging.merged(sum)
    cores: frozenset[str] = merging.merged(lambda parts: frozenset().union(*parts))
    has_gpu: bool = merging.merged(any)
    has_processes: bool = merging.merged(any)
    n_processes: int = merging.merged(max)
    is_tensorflow: bool = merging.merged(any)
    is_pipeline_known: bool = merging.merged(any)
    has_prefetch: bool = merging.merged(any)
    seconds: Mapping[int, int] = merging.merged(merging.max_by_key)
    wait_ns: Instants = merging.merged(lambda parts: np.sort(np.concatenate(parts)))
    waiting: tuple[Waiting, ...] = merging.merged(merging.concat)
    load: tuple[InputLoad, ...] = merging.merged(merging.concat)
    loop_load: tuple[InputLoad, ...] = merging.merged(merging.concat)
    work: tuple[LoadingWork, ...] = merging.merged(merging.concat)
    step_wait_ns: Instants = merging.merged(loading.greater_of)
    steps_ns: int = merging.merged(max)
    least_cycle_ns: Instants = merging.merged(loading.least_of)
    opens_epoch: Instants = merging.merged(loading.greater_of)
    configured_loaders: int | None = merging.merged(merging.greatest)
    paused_ns: Mapping[str, int] = merging.merged(merging.max_by_key)
    crowded_ns: int = merging.merged(max)
    hand_over_ns: Mapping[str, int] = merging.merged(merging.max_by_key)
    hand_over_most_ns: Mapping[str, int] = merging.merged(merging.max_by_key)
    unused_ratio: float = merging.merged(max, default=0.0)
    most_unused_ratio: float | None = merging.merged(_added)
    is_window: bool = merging.merged(any, default=False)
    loaders: tuple[Loader, ...] = merging.merged(merging.concat)

    @property
    def n_counted(self) -> int:
        """Return the median of the loaders at work, rounded down, as SageMaker counts them."""
        return int(np.median(list(self.seconds.values()))) if self.seconds else 0

    @property
    def n_loaders(self) -> int:
        """Return how many loader processes a node has: as configured, else as they were counted."""
        return self.n_counted if self.configured_loaders is None else self.configured_loaders

    @property
    def longest_work(self) -> LoadingWork | None:
        """Return the work of the node that was waited for longest, ``None`` where unknown."""
        return max(self.work, key=lambda work: work.wall_ns, default=None)

    @property
    def worst(self) -> Waiting | None:
        """Return the loop that waited for the largest share, ``None`` without waits."""
        return max(self.waiting, key=lambda item: (item.ratio, item.worker), default=None)

    @property
    def ratio(self) -> float:
        """Return the share of the loop that training waits for data, 0-1, single pauses left out.

        In each step all workers wait for the one that waits longest. Where they meet only in every
        few steps, no more is lost than what steps take longer than those of the last worker.
        """
        if self.worst is None:
            return 0.0
        longer_ns = self.steps_ns - int(self.least_cycle_ns.sum())
        together_ns = min(int(self.step_wait_ns.sum()), longer_ns)
        longest_ns = max(item.loop_ns for item in self.waiting)
        waited = max(self.worst.ratio, min(together_ns / longest_ns, 1.0) if longest_ns else 0.0)
        return max(waited - self.paused_ratio, 0.0)

    @property
    def paused_ratio(self) -> float:
        """Return the share of its loop that single pauses of the worst one take of its waits."""
        loop_ns = self.worst.loop_ns if self.worst else 0
        return self.worst_paused_ns / loop_ns if loop_ns else 0.0

    @property
    def worst_paused_ns(self) -> int:
        """Return how much of the waits of the loop that waited most lies in single pauses."""
        return self.paused_ns.get(self.worst.worker, 0) if self.worst else 0

    @property
    def shows_loading(self) -> bool:
        """Return whether more was seen than a few steps, which may live on batches read ahead."""
        return self.worst is None or self.step_wait_ns.size >= LEAST_WAITS

    @property
    def gpus_wait_as_well(self) -> bool:
        """Return whether a few waits are alike, and GPUs lack as much work in the whole job.

        Then they show that training waits; that it does not, only more waits show.
        """
        n, mean_ns = self.wait_ns.size, float(self.wait_ns.mean()) if self.wait_ns.size else 0.0
        is_alike = n >= LEAST_ALIKE and 2 * self.wait_p50_ns >= mean_ns
        return is_alike and 2 * self.unused_ratio >= self.ratio > 0

    @property
    def is_habit(self) -> bool:
        """Return whether training waits in many steps, and not just for the first batches.

        Without those for first batches at least half of the waiting remains, if steps are known:
        a few recorded ones do not say where epochs begin.
        """
        wait_ns, is_first = self.step_wait_ns, self.opens_epoch[: self.step_wait_ns.size] > 0
        n_longest = max(LEAST_LONGEST, round(LONGEST_RATIO * wait_ns.size))
        if wait_ns.size < max(LEAST_WAITS, 2 * n_longest + 1):
            return True
        usual_ns = wait_ns[~is_first] if is_first[1:].any() else np.sort(wait_ns)[:-n_longest]
        lasting_ns = int(usual_ns.sum()) - self.worst_paused_ns
        return lasting_ns >= HABIT_RATIO * (int(wait_ns.sum()) - self.worst_paused_ns)

    @property
    def wait_p50_ns(self) -> float:
        """Return the median of the waits, 0 without any."""
        return float(np.median(self.wait_ns)) if self.wait_ns.size else 0.0

    @property
    def stalls(self) -> Stalls | None:
        """Return the few waits that make most of the waiting, ``None`` where many do.

        Of several workers the longest wait for each step counts: the others wait for it. Where
        loader processes take turns and all are too slow, one wait in as many is long.
        """
        is_shared = len(self.waiting) > 1 and self.step_wait_ns.size > 0
        wait_ns = self.step_wait_ns if is_shared else self.wait_ns
        every_ns, worst = int(wait_ns.sum()), self.worst
        if not every_ns or worst is None:
            return None
        turn_ns = (worst.loop_ns - worst.waited_ns) / max(worst.n_waits, 1)
        if float(np.median(wait_ns)) > max(HAND_OVER_NS, READY_RATIO * turn_ns):
            return None
        long_ns = wait_ns[wait_ns >= max(turn_ns, HAND_OVER_NS)]
        n_first = int((self.opens_epoch > 0).sum())
        few = wait_ns.size / (2 * max(self.num_workers or 1, 1))
        if not n_first < long_ns.size < min(few, MOST_STALLS_RATIO * wait_ns.size):
            return None
        found = Stalls(
            n_long=int(long_ns.size),
            n_waits=int(wait_ns.size),
            share_pct=100 * float(long_ns.sum()) / every_ns,
            longest_ns=int(long_ns.max()),
        )
        return found if found.share_pct >= 100 * STALLS_RATIO else None

    @property
    def slow_ratio(self) -> float:
        """Return the share of the loop that training waits longer than for handing over batches.

        Beside other programs that takes loader processes longer, as everything else in a turn of
        the loop; a training process that makes its batches itself hands over nothing, so there
        only batches made more quickly than that are left out.
        """
        every_ns, work, worst = int(self.wait_ns.sum()), self.longest_work, self.worst
        if not self.has_processes or not every_ns or worst is None:
            return self.ratio
        ready_ns = float(HAND_OVER_NS)
        if work and work.has_processes and work.is_beside_others and work.turn_ns:
            turn_ns = (worst.loop_ns - worst.waited_ns) / max(worst.n_waits, 1)
            ready_ns = min(ready_ns * max(turn_ns / work.turn_ns, 1.0), MOST_HAND_OVER_NS)
        return self.ratio * float(np.maximum(self.wait_ns - ready_ns, 0).sum()) / every_ns

    @property
    def crowded_ratio(self) -> float:
        """Return the share of the loop by which steps are longer while the cores are used up."""
        longest_ns = max((item.loop_ns for item in self.waiting), default=0)
        return min(self.crowded_ns / longest_ns, 1.0) if longest_ns else 0.0

    def ratio_of(self, time_ns: Mapping[str, int]) -> float:
        """Return the largest share that some time of each worker takes of its loop."""
        loops = {item.worker: item.loop_ns for item in self.waiting}
        return max(
            (ns / loops[worker] for worker, ns in time_ns.items() if loops.get(worker)),
            default=0.0,
        )

    @property
    def num_workers(self) -> int | None:
        """Return how many processes the loader starts that training waits for longest, if known."""
        waited_ns = merging.sum_by_key({item.num_workers: item.waited_ns} for item in self._set_up)
        return max(waited_ns, key=lambda number: (waited_ns[number], number or 0), default=None)

    @property
    def setup(self) -> Loader | None:
        """Return a loader with the set-up that was active longest over all workers."""
        active = merging.sum_by_key(
            {(item.num_workers, item.pin_memory): item.active_ns} for item in self._set_up
        )
        usual = max(active, key=lambda setup: (active[setup], str(setup)), default=None)
        found = (item for item in self._set_up if (item.num_workers, item.pin_memory) == usual)
        return next(found, None)

    @property
    def _set_up(self) -> list[Loader]:
        return [item for item in self.loaders if item.n_initialized]


def measure(part: NodeProfile, _params: Params) -> NodeLoaders:
    """Measure the loaders of one node."""
    spans, system = part.spans, part.system
    rows, waits, loop_ns = loader_rows(spans), waits_of(spans), training_loop_ns(spans)
    steps = spans.steps()
    lasts_ns = (int(np.ptp(steps.start_ns[rows])) for _, rows in merging.rows_by_code(steps.worker))
    waiting = loading.waiting_of(spans, unrecorded=unrecorded_of(system, spans))
    hand_over_ns, pauses = _hand_over_ns(part), pauses_of(spans)
    # A pause of all of them lies in the pauses of each.
    shared = min(pauses.values(), key=lambda some: some.length_ns, default=NOTHING)
    return NodeLoaders(
        n_spans=spans.n_spans,
        n_events=int((rows.fetch | rows.process).sum()),
        cores=frozenset(system.names(SeriesKind.CPU_UTILIZATION)),
        has_gpu=bool(system.names(SeriesKind.GPU_UTILIZATION)),
        has_processes=rows.is_pytorch or not rows.is_tensorflow,
        n_processes=len(waiting),
        is_tensorflow=rows.is_tensorflow,
        is_pipeline_known=rows.is_pipeline_known,
        has_prefetch=rows.has_prefetch,
        seconds=loading.busy_seconds(spans),
        wait_ns=np.sort(waits.duration_ns),
        waiting=waiting,
        load=input_load_of(
            system,
            (waits.start_ns, waits.end_ns),
            loop_ns,
            is_alone=others_pct_of(waiting) is not None,
        ),
        work=() if (work := loading_work_of(part)) is None else (work,),
        step_wait_ns=loading.step_waits_ns(spans),
        steps_ns=max(lasts_ns, default=0),
        least_cycle_ns=loading.least_of(loading.cycles_without_waits_ns(spans)),
        opens_epoch=loading.opens_epoch(spans),
        configured_loaders=_configured_loaders(spans),
        paused_ns=_paused_ns(waits, pauses),
        crowded_ns=crowded_loss_ns(system, spans),
        hand_over_ns=hand_over_ns[0],
        hand_over_most_ns=hand_over_ns[1],
        unused_ratio=usage.unused_ratio(part.system) or 0.0,
        most_unused_ratio=usage.most_unused_ratio(part.system, outside=shared),
        is_window=is_window(loop_ns, usage.working_ns(part.system)),
        loop_load=input_load_of(system, tuple(np.array([loop_ns]).T), loop_ns) if loop_ns else (),
        loaders=tuple(_loaders(spans)),
    )


def _paused_ns(waits: SpanTable, pauses: Mapping[str, Union]) -> dict[str, int]:
    """Return how much of the waits of each worker lies in its pauses."""
    found = {}
    for worker, rows in merging.rows_by_code(waits.worker):
        paused = pauses.get(name := waits.workers[worker], NOTHING)
        covered = covered_each(paused, waits.start_ns[rows], waits.end_ns[rows])
        found[name] = int(covered.sum())
    return found


def others_pct_of(waiting: Sequence[Waiting]) -> float | None:
    """Return how long other processes wait at most if one alone waits long, in %; else ``None``."""
    ratios = sorted(item.ratio for item in waiting if item.n_waits)
    is_alone = len(ratios) > 1 and ratios[-2] < ALONE_RATIO * ratios[-1]
    return 100 * ratios[-2] if is_alone else None


def _hand_over_ns(part: NodeProfile) -> tuple[dict[str, int], dict[str, int]]:
    """Return the time from getting batches to their steps for which GPUs wait, and may wait.

    Forward and backward passes may lie there too, if only a part of the step was recorded.
    """
    between = between_steps_of(part)
    copied_ns = {item.worker: round(item.copied_ns) for item in between}
    if not any(True for _ in usage.in_use(part.system)):
        return copied_ns, copied_ns
    idle = idle_in_copies_of(part)
    ratio, most_ratio = (idle.ratio, idle.undiluted_ratio) if idle else (0.0, 1.0)
    if idle and idle.is_sure:
        ratio = idle.at_most_ratio
    sure, most = dict[str, int](), dict[str, int]()
    for item in between:
        known = usage.unused_ratio(part.system, outside=item.stops)
        unused_ns = item.loop_ns * (1.0 if known is None else known)
        most_ns = min(item.regular_ns + item.grown_ns, unused_ns)
        sure[item.worker] = round(min(ratio * item.copied_ns, most_ns))
        most[item.worker] = round(min(most_ratio * item.copied_ns, most_ns))
    return sure, most


def _configured_loaders(spans: SpanTable) -> int | None:
    """Return how many loader processes the workers of a node were configured to start, where known.

    Of several loaders of a worker, as for training and for validation, the larger counts. Where
    their start was not recorded, the numbers of the processes that made batches show it. None are
    known, but the training processes alone read, and no loader with processes: there are none.
    """
    rows = loader_rows(spans)
    set_up = spans.where(rows.initialize)
    known = set_up.where(set_up.num_workers != UNKNOWN)
    most = [int(known.num_workers[rows].max()) for _, rows in merging.rows_by_code(known.worker)]
    if most:
        return sum(most)
    reads = spans.where(rows.fetch | rows.process)
    has_processes = reads.named(lambda name: "MultiProcess" in name)
    made = reads.where(has_processes & (reads.worker_id != UNKNOWN))
    if made.n_spans:
        by_worker = merging.rows_by_code(made.worker)
        return sum(1 + int(made.worker_id[rows].max()) for _, rows in by_worker)
    is_alone = np.isin(reads.os_pid, spans.steps().os_pid) & ~has_processes & (reads.os_pid >= 0)
    return 0 if rows.is_pytorch and is_alone.all() else None


def _loaders(spans: SpanTable) -> Iterator[Loader]:
    """Yield the loaders of one node, by worker.

    A batch belongs to the loader whose process made it, where that is known: persistent ones of
    training and of validation live side by side. Else it belongs to the loader that its worker set
    up last; before that only a name is known.
    """
    rows, waits = loader_rows(spans), waits_of(spans)
    set_up, processes = spans.where(rows.initialize), spans.where(rows.process)
    busy = spans.where(rows.fetch | rows.next_call | rows.process | rows.initialize)
    for worker, rows_of_worker in merging.rows_by_code(busy.worker):
        made, asked, lives = (
            table.where(table.worker == worker) for table in (set_up, waits, processes)
        )
        made = made.where(np.argsort(made.start_ns, kind="stable"))
        place = np.searchsorted(made.start_ns, asked.start_ns, side="right") - 1
        life = loading.lives_of((asked.os_pid, asked.start_ns), (lives.os_pid, lives.start_ns))
        begun = np.searchsorted(made.start_ns, lives.start_ns, side="right") - 1
        place = np.where(life >= 0, np.append(begun, -1)[life], place)
        active_ns = _active_ns(made, asked, place, end_ns=int(busy.end_ns[rows_of_worker].max()))
        before = asked.where(place < 0)
        for _, members in merging.rows_by_code(before.name):
            yield _loader(before, members, waits=before.where(members))
        for _, members in merging.rows_by_code(
            merging.joint_codes(made.name, made.num_workers, made.pin_memory)
        ):
            yield _loader(
                made,
                members,
                waits=asked.where(np.isin(place, members)),
                active_ns=int(active_ns[members].sum()),
            )


def _active_ns(set_up: SpanTable, waits: SpanTable, place: Integers, *, end_ns: int) -> Integers:
    """Return (n,) how long each of n set-ups is the one that was set up, or asked, last."""
    start_ns = np.concatenate([set_up.start_ns, waits.start_ns])
    of = np.concatenate([np.arange(set_up.n_spans), place])
    order = np.argsort(start_ns, kind="stable")
    lasted_ns = np.diff(start_ns[order], append=end_ns)
    is_known = of[order] >= 0
    return merging.sums_by_code(of[order][is_known], lasted_ns[is_known], set_up.n_spans)


def _loader(
    spans: SpanTable, members: Integers, *, waits: SpanTable, active_ns: int | None = None
) -> Loader:
    """Return a loader by the events in which it was set up, or by its waits without such events."""
    first, wait_ns, is_set_up = int(members[0]), waits.duration_ns, active_ns is not None
    num_workers, pinned = int(spans.num_workers[first]), int(spans.pin_memory[first])
    name = spans.names[spans.name[first]].rpartition("#")[2]
    for ending in (".__init__", ".__next__", "::GetNext"):
        name = name.removesuffix(ending)
    if active_ns is None:
        active_ns = int(waits.end_ns.max() - waits.start_ns.min())
    return Loader(
        worker=spans.workers[spans.worker[first]],
        iterator=name,
        num_workers=num_workers if is_set_up and num_workers != UNKNOWN else None,
        pin_memory=bool(pinned) if is_set_up and pinned != UNKNOWN else None,
        n_initialized=int(members.size) if is_set_up else 0,
        active_ns=active_ns,
        n_waits=waits.n_spans,
        waited_ns=int(wait_ns.sum()),
        median_wait_ns=float(np.median(wait_ns)) if wait_ns.size else None,
        longest_wait_ns=int(wait_ns.max()) if wait_ns.size else None,
    )
