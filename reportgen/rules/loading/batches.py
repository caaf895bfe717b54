"""From batch to batch: how long each took, which were slow, which waits were long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code
from reportgen.facts.loader import LoaderRows, waits_of
from reportgen.profile import SpanTable, SystemTable
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.loading.contents import (
    KINDS,
    BatchContents,
    Use,
    content_exhibits,
    contents_of,
    use_between,
)
from reportgen.units import NS_PER_S

SLOW_FACTOR = 2.0
"""A batch or a wait is slow from so many medians on. Source: features 003, as smdebug compares."""
UNRECORDED_FACTOR = 3
"""With more steps in a batch than so many medians, waits were not recorded. Source: ours."""
MOST_TOLD = 50
BATCHES, SLOW_BATCHES, SLOW_WAITS = "batch_times", "slow_batches", "slow_waits"

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowOnes:
    """The slowest of something: (k,) start and end in ns, loader worker; ``n_slow`` in all."""

    start_ns: Integers
    end_ns: Integers
    loader: Integers
    n_slow: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBatches:
    """One training process and its loader processes.

    Attributes:
        n_batches: times from one wait's start to the next of the same process, gaps between
            epochs left out.
        n_gaps: such gaps: an iterator was set up in between.
        n_unrecorded: times left out because many steps began in between: waits of some steps
            only were recorded.
        p50_ns, p95_ns, max_ns: of the batch times; 0 without any.
        wait_p50_ns: median of the waits.
        slow_use: of each of ``slow_batches``.
        contents: what was in slow batches and in the others; ``None`` without a slow one.
    """

    worker: str
    n_batches: int
    n_gaps: int
    n_unrecorded: int
    p50_ns: float
    p95_ns: float
    max_ns: int
    wait_p50_ns: float
    slow_batches: SlowOnes
    slow_waits: SlowOnes
    slow_use: Use
    contents: BatchContents | None


def batches_of(
    spans: SpanTable, rows: LoaderRows, system: SystemTable
) -> tuple[WorkerBatches, ...]:
    """Return the batch times of each training process of one node."""
    waits, set_up = waits_of(spans, rows), spans.where(rows.initialize)
    return tuple(
        _worker_batches(
            spans.workers[worker],
            waits.where(its),
            np.sort(set_up.start_ns[set_up.worker == worker]),
            spans,
            system,
        )
        for worker, its in rows_by_code(waits.worker)
    )


def batch_exhibits(workers: Sequence[WorkerBatches]) -> tuple[Exhibit, ...]:
    """Return the table of batch times, and those of slow batches and slow waits if there are."""
    timed = [item for item in workers if item.n_batches]
    if not timed:
        return ()
    return (
        _batch_table(timed),
        *_slow_table(
            SLOW_BATCHES,
            "Slow batches",
            "batch_s",
            [(item.worker, item.slow_batches, item.p50_ns) for item in timed],
            "From the start of one wait to the start of the next of the same process; gaps "
            "between epochs left out.",
            [item.slow_use for item in timed],
        ),
        *content_exhibits([item.contents for item in timed if item.contents]),
        *_slow_table(
            SLOW_WAITS,
            "Long waits for a batch",
            "wait_s",
            [(item.worker, item.slow_waits, item.wait_p50_ns) for item in timed],
            "Single calls in which the loop waited.",
        ),
    )


def _worker_batches(
    worker: str, waits: SpanTable, set_up_ns: Integers, spans: SpanTable, system: SystemTable
) -> WorkerBatches:
    order = np.lexsort((waits.end_ns, waits.start_ns, waits.os_pid))
    start_ns, end_ns, loader, pid = (
        column[order] for column in (waits.start_ns, waits.end_ns, waits.worker_id, waits.os_pid)
    )
    before = np.searchsorted(set_up_ns, start_ns[:-1], side="right")
    until = np.searchsorted(set_up_ns, start_ns[1:], side="right")
    is_same = pid[1:] == pid[:-1]
    is_gap = is_same & (until > before)
    steps = spans.steps()
    step_ns = np.sort(steps.start_ns[steps.worker == waits.worker[0]])
    n_steps = np.diff(np.searchsorted(step_ns, start_ns))
    is_unrecorded = is_same & ~is_gap & too_many_steps(n_steps, is_same & ~is_gap)
    is_batch = is_same & ~is_gap & ~is_unrecorded
    begin_ns, next_ns = start_ns[:-1][is_batch], start_ns[1:][is_batch]
    batch_ns = next_ns - begin_ns
    p50_ns, p95_ns = np.percentile(batch_ns, (50, 95)).tolist() if batch_ns.size else (0.0, 0.0)
    wait_p50_ns = float(np.median(end_ns - start_ns))
    slow = _slowest(begin_ns, next_ns, loader[1:][is_batch], p50_ns)
    return WorkerBatches(
        worker=worker,
        n_batches=int(batch_ns.size),
        n_gaps=int(is_gap.sum()),
        n_unrecorded=int(is_unrecorded.sum()),
        p50_ns=p50_ns,
        p95_ns=p95_ns,
        max_ns=int(batch_ns.max(initial=0)),
        wait_p50_ns=wait_p50_ns,
        slow_batches=slow,
        slow_waits=_slowest(start_ns, end_ns, loader, wait_p50_ns),
        slow_use=use_between(system, slow.start_ns, slow.end_ns),
        contents=contents_of(
            spans.where(spans.worker == waits.worker[0]) if slow.n_slow else spans,
            system,
            begin_ns,
            next_ns,
            _is_slow(batch_ns, p50_ns),
        ),
    )


def _slowest(start_ns: Integers, end_ns: Integers, loader: Integers, median_ns: float) -> SlowOnes:
    lasted_ns = end_ns - start_ns
    slow = np.flatnonzero(_is_slow(lasted_ns, median_ns))
    order = np.lexsort((start_ns[slow], -lasted_ns[slow]))[:MOST_TOLD]
    told = slow[order]
    return SlowOnes(
        start_ns=start_ns[told], end_ns=end_ns[told], loader=loader[told], n_slow=int(slow.size)
    )


def too_many_steps(n_steps: Integers, is_usual: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where so many steps began between two waits that others were not recorded.

    Args:
        n_steps: (n,) steps that began in between.
        is_usual: (n,) which of them the median is of.
    """
    if not is_usual.any():
        return np.zeros(n_steps.shape, dtype=np.bool_)
    usual = max(float(np.median(n_steps[is_usual])), 1.0)
    return np.asarray(n_steps > UNRECORDED_FACTOR * usual)


def _is_slow(lasted_ns: Integers, median_ns: float) -> NDArray[np.bool_]:
    """Return which are slow; of a median of 0 nothing is a multiple."""
    return (lasted_ns >= SLOW_FACTOR * median_ns) & (median_ns > 0)


def _batch_table(workers: Sequence[WorkerBatches]) -> Exhibit:
    return exhibit(
        BATCHES,
        ExhibitKind.TABLE,
        title="Time from batch to batch",
        caption=(
            "From the start of one wait to the start of the next of the same process. A gap in "
            "which an iterator was set up spans validation or the end of an epoch: it is "
            "counted apart, and so is a time in which many steps began without a recorded wait. "
            f"Slow is from {SLOW_FACTOR:g} medians on."
        ),
        columns=[
            ("worker", "", [item.worker for item in workers]),
            ("batches", "", [item.n_batches for item in workers]),
            ("p50_s", "s", [item.p50_ns / NS_PER_S for item in workers]),
            ("p95_s", "s", [item.p95_ns / NS_PER_S for item in workers]),
            ("max_s", "s", [item.max_ns / NS_PER_S for item in workers]),
            ("slow_batches", "", [item.slow_batches.n_slow for item in workers]),
            ("slow_waits", "", [item.slow_waits.n_slow for item in workers]),
            ("epoch_gaps", "", [item.n_gaps for item in workers]),
            ("unrecorded", "", [item.n_unrecorded for item in workers]),
        ],
    )


def _slow_table(
    exhibit_id: str,
    title: str,
    lasted: str,
    found: Sequence[tuple[str, SlowOnes, float]],
    caption: str,
    uses: Sequence[Use] = (),
) -> tuple[Exhibit, ...]:
    n_slow = sum(slow.n_slow for _, slow, _ in found)
    rows = [
        (worker, start, end, loader, (end - start) / median_ns)
        for worker, slow, median_ns in found
        for start, end, loader in zip(
            slow.start_ns.tolist(), slow.end_ns.tolist(), slow.loader.tolist(), strict=True
        )
    ]
    means = [row for use in uses for row in use.means()]
    if not rows:
        return ()
    order = sorted(
        range(len(rows)), key=lambda at: (rows[at][1] - rows[at][2], rows[at][1], rows[at][0])
    )[:MOST_TOLD]
    rows = [rows[at] for at in order]
    if n_slow > len(rows):
        caption += f" The {len(rows)} longest of {n_slow:,}."
    return (
        exhibit(
            exhibit_id,
            ExhibitKind.TABLE,
            title=title,
            caption=caption,
            columns=[
                ("worker", "", [row[0] for row in rows]),
                ("start_s", "s", [row[1] / NS_PER_S for row in rows]),
                ("end_s", "s", [row[2] / NS_PER_S for row in rows]),
                (lasted, "s", [(row[2] - row[1]) / NS_PER_S for row in rows]),
                ("factor_of_median", "", [row[4] for row in rows]),
                ("loader_worker", "", [row[3] if row[3] >= 0 else None for row in rows]),
                *(
                    (name, "%", [means[place][at] for place in order])
                    for at, name in enumerate(KINDS if uses else ())
                ),
            ],
        ),
    )
