"""The rows that Dataloader measures, which are its tables, and its other exhibits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from reportgen.arrays import Floats, Instants, Integers
from reportgen.facts.breakdown import FunctionSums
from reportgen.facts.distributions import bin_together, tally_values
from reportgen.facts.loader import Waiting
from reportgen.facts.samples import means
from reportgen.facts.trend import MEDIAN_FACTOR
from reportgen.merging import merge, merged
from reportgen.profile import SeriesKind
from reportgen.results import Exhibit, ExhibitKind, Role, exhibit
from reportgen.rules import kit
from reportgen.rules.functions import compared_functions
from reportgen.text import write
from reportgen.units import NS_PER_S

DEVICES = {
    "gpu_pct": SeriesKind.GPU_UTILIZATION,
    "cpu_pct": SeriesKind.CPU_UTILIZATION,
    "io_wait_pct": SeriesKind.IO_WAIT,
}
"""Samples that are compared between slow and other batches, by the column that shows them."""
MOST_SLOW = 50
"""More slow batches or waits than this make a table too long to read; the slowest stay."""


@kit.row
class Loader:
    """One way in which a worker set up its loaders; ``None`` is what was not recorded.

    ``active_ns`` adds up the times from each set-up to the next one of the worker (or its last
    event); the waits are those for the batches asked for meanwhile.
    """

    worker: str = kit.col()
    iterator: str = kit.col()
    num_workers: int | None = kit.col()
    pin_memory: bool | None = kit.col()
    n_initialized: int = kit.col(name="initialized")
    active_ns: int = kit.col("s", name="active_s", per=NS_PER_S)
    n_waits: int = kit.col(name="waits")
    median_wait_ns: float | None = kit.col("s", name="median_wait_s", per=NS_PER_S)
    longest_wait_ns: int | None = kit.col("s", name="max_wait_s", per=NS_PER_S)


@kit.row
class LifeTimes:
    """Life times of the loader processes of one worker."""

    worker: str = kit.col()
    n_processes: int = kit.col(name="processes")
    median_ns: float = kit.col("s", name="median_life_s", per=NS_PER_S)
    longest_ns: int = kit.col("s", name="max_life_s", per=NS_PER_S)


@kit.row
class Slow:
    """One of the slowest batches or waits; NaN is the use of a device without samples in it."""

    worker: str = kit.col()
    start_ns: int = kit.col("s", name="start_s", per=NS_PER_S)
    end_ns: int = kit.col("s", name="end_s", per=NS_PER_S)
    lasted_s: float = kit.derived(lambda item: (item.end_ns - item.start_ns) / NS_PER_S, "s")
    factor_of_median: float = kit.col()
    functions: str | None = kit.col()
    loader_worker: int | None = kit.col()
    gpu_pct: float = kit.col("%")
    cpu_pct: float = kit.col("%")
    io_wait_pct: float = kit.col("%")


@kit.row
class BatchUse:
    """The mean use of devices in slow batches, or in the others; NaN without samples."""

    batches: str = kit.col()
    gpu_pct: float = kit.col("%")
    cpu_pct: float = kit.col("%")
    io_wait_pct: float = kit.col("%")
    n_samples: int = kit.col(name="samples")


@kit.row
class BatchContents:
    """Functions in the slow batches of a process and in its others.

    ``use`` and ``n_samples`` are (2, 3) sums and counts of the samples of ``DEVICES``.
    """

    use: Floats = merged(sum)
    n_samples: Integers = merged(sum)
    functions: FunctionSums = merged(merge)
    other_functions: FunctionSums = merged(merge)


@kit.row
class WorkerBatches:
    """One training process and its loader processes.

    Attributes:
        n_batches: times from one wait's start to the next of the same process.
        n_slow_batches, n_slow_waits: all; ``slow_batches`` and ``slow_waits`` are the slowest.
        n_gaps: times left out because an iterator was set up in between.
        n_unrecorded: and because many steps began in between, of which some waits are unknown.
        contents: ``None`` without a slow batch.
    """

    worker: str = kit.col()
    n_batches: int = kit.col(name="batches")
    p50_ns: float = kit.col("s", name="p50_s", per=NS_PER_S)
    p95_ns: float = kit.col("s", name="p95_s", per=NS_PER_S)
    max_ns: int = kit.col("s", name="max_s", per=NS_PER_S)
    n_slow_batches: int = kit.col(name="slow_batches")
    n_slow_waits: int = kit.col(name="slow_waits")
    n_gaps: int = kit.col(name="epoch_gaps")
    n_unrecorded: int = kit.col(name="unrecorded")
    slow_batches: tuple[Slow, ...]
    slow_waits: tuple[Slow, ...]
    contents: BatchContents | None


def loop_share(waiting: Sequence[Waiting]) -> Iterator[Exhibit]:
    """Yield how much of the loops was waiting; nothing without waits."""
    if not waiting:
        return
    loop_ns = sum(item.loop_ns for item in waiting)
    waited_ns = sum(item.expected_ns for item in waiting)
    recorded_ns = sum(item.waited_ns for item in waiting)
    lost_ns = sum(item.unrecorded_ns for item in waiting)
    parts = [("waiting for data", waited_ns), ("rest of this time", max(loop_ns - waited_ns, 0))]
    caption = """Of each training process, from its first to its last step, evaluation included:
        this may be longer than the training loop. Waits at the same time count once. The training
        processes are added up."""
    if lost_ns:
        caption += write(" {lost_ns:ns} without any record are left out.", lost_ns=lost_ns)
    if waited_ns > recorded_ns:
        caption += write(
            " Not every wait was recorded: {recorded_ns:ns} were. The rest is estimated from the "
            "mean wait.",
            recorded_ns=recorded_ns,
        )
    yield kit.ranking(
        "loop_share",
        parts,
        title="Waiting for data from the first to the last step",
        caption=caption,
        amount=("time_s", "s"),
        per=NS_PER_S,
        roles=(Role.IO, Role.IDLE),
    )


def wait_histogram(wait_ns: Instants) -> Iterator[Exhibit]:
    """Yield the histogram of all waits; nothing without waits."""
    bins = bin_together([tally_values(wait_ns)])
    if bins.edge_ns.size:
        title = "How long training waits for a batch"
        caption = """All recorded waits of all training processes, also before the first step and
            during evaluation."""
        yield _histogram(bins.edge_ns / NS_PER_S, "waits", bins.counts[0], title, caption)


def _histogram(
    edges: Sequence[Any] | Floats, counted: str, counts: Iterable[object], title: str, caption: str
) -> Exhibit:
    groups, role = [(counted, counts)], Role.IO
    return kit.histogram("waits", edges, groups, title=title, caption=caption, unit="s", role=role)


def batch_exhibits(workers: Sequence[WorkerBatches]) -> Iterator[Exhibit]:
    """Yield the table of batch times, and those of slow batches and slow waits if there are."""
    timed = [item for item in workers if item.n_batches]
    if not timed:
        return
    yield kit.table(
        "batch_times",
        timed,
        WorkerBatches,
        title="Time from batch to batch",
        caption=f"""Time from the start of one wait to the start of the next one of the same
            process. Gaps in which a data loader was set up (at the end of an epoch, or for an
            evaluation) are counted separately, and so are gaps with many steps but without a
            recorded wait. A batch is slow if it takes {MEDIAN_FACTOR} times the median or more.""",
    )
    yield from _slowest(
        "slow_batches",
        [slow for item in timed for slow in item.slow_batches],
        sum(item.n_slow_batches for item in timed),
        title="Slow batches",
        caption="""Time from the start of one wait to the start of the next one of the same process,
            without gaps between epochs.""",
    )
    contents = [item.contents for item in timed if item.contents]
    if contents:
        yield from _contents(merge(contents))
    yield from _slowest(
        "slow_waits",
        [slow for item in timed for slow in item.slow_waits],
        sum(item.n_slow_waits for item in timed),
        title="Long waits for a batch",
        caption="Single waits of a training process.",
    )


def _slowest(
    exhibit_id: str, rows: Sequence[Slow], n_all: int, *, title: str, caption: str
) -> Iterator[Exhibit]:
    """Yield the table of the slowest; the use of devices is known of batches alone."""
    order = sorted(rows, key=lambda item: (item.start_ns - item.end_ns, item.start_ns, item.worker))
    shown, are_batches = order[:MOST_SLOW], exhibit_id == "slow_batches"
    if not shown:
        return
    if n_all > len(shown):
        caption += f" The {len(shown)} longest of {n_all:,}."
    names = {"lasted_s": "batch_s" if are_batches else "wait_s"}
    columns = [
        replace(item, name=names.get(item.name, item.name))
        for item in kit.columns_of(shown, Slow)
        if are_batches or item.name not in DEVICES
    ]
    yield exhibit(exhibit_id, ExhibitKind.TABLE, title=title, caption=caption, columns=columns)


def _contents(contents: BatchContents) -> Iterator[Exhibit]:
    counts = contents.n_samples
    use_pct = means(contents.use, counts).tolist()
    sides = zip(("slow", "others"), use_pct, counts.sum(axis=1).tolist(), strict=True)
    rows = [
        BatchUse(batches=side, n_samples=n, **dict(zip(DEVICES, use, strict=True)))
        for side, use, n in sides
    ]
    title = "Use of devices in slow batches and in the others"
    caption = "Means over all devices of the node; short batches may hold no sample."
    yield kit.table("batch_use", rows, BatchUse, title=title, caption=caption)
    yield from compared_functions(
        "batch_functions",
        contents.functions,
        contents.other_functions,
        title="Functions in slow batches and in the others",
        caption="""count, mean_s and share_pct are of slow batches; the columns “other …” are of the
            other batches.""",
    )


def loader_exhibits(
    loaders: Sequence[Loader], life_times: Sequence[LifeTimes]
) -> Iterator[Exhibit]:
    """Yield the table of loaders, and that of their processes when there are any."""
    if loaders:
        caption = "A wait is the time in which the training process asks for the next batch."
        title = "Data loaders by training process and settings"
        yield kit.table("loaders", loaders, Loader, title=title, caption=caption)
    if life_times:
        caption = """From start to end of a process, whether it is idle or not. Without
            persistent_workers=True the processes are started again in every epoch."""
        title = "Lifetimes of loader processes"
        yield kit.table("workers", life_times, LifeTimes, title=title, caption=caption)
