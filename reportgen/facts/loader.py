"""Which framework events load data, and how long the training loop waited for them.

PyTorch and TensorFlow write different events (source: formats §4.2, §4.3). A *wait* is the time
in which the training process asks for the next batch; the life time of a loader process is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import joint_codes, rows_by_code
from reportgen.facts.intervals import covered_ns, union_length_ns
from reportgen.facts.nesting import parents_of
from reportgen.profile import SpanTable

INITIALIZE = "DataLoaderIterInitialize"
FETCH = "DataLoaderIter"
PROCESS = "DataLoaderWorker"
TENSORFLOW = "DataIterator"
OPERATORS = "cpu_functions"
_ENDS = frozenset({"dataset::GetNext", "IteratorGetNextOp::DoCompute"})
"""The end of every TensorFlow pipeline, whatever is in it. Source: formats §4.3."""
RECORDED_RATIO = 0.9
"""With waits for fewer of the steps than this, the others are estimated from their mean. Ours."""

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRows:
    """Rows of one node's events, each an (n,) mask.

    Attributes:
        initialize: a loader was set up.
        fetch: the loop asked for a batch (PyTorch's ``GetNext``, TensorFlow's outermost one).
        process: life time of a loader process.
        next_call: operators named ``…__next__``: the same waits, seen by the autograd profiler.
        is_tensorflow, is_pytorch: whether there are loader events of the two.
        is_pipeline_known: whether TensorFlow's events name the steps of the pipeline.
        has_prefetch: whether one of them prefetches.
    """

    initialize: Mask
    fetch: Mask
    process: Mask
    next_call: Mask
    is_tensorflow: bool
    is_pytorch: bool
    is_pipeline_known: bool
    has_prefetch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How one worker's loop waited.

    Attributes:
        first_ns, last_ns: its loop; without steps, the time that its waits cover.
        waited_ns: union of the recorded waits within the loop; ``early_ns`` of it lies in the first
            quarter of the loop.
        expected_ns: the same for all steps, where only some waits were recorded.
        n_waits, n_steps: recorded waits within the loop, and its steps.
        unrecorded_ns: of the loop, in which there are neither samples nor events of the node.
    """

    worker: str
    first_ns: int
    last_ns: int
    waited_ns: int
    early_ns: int
    expected_ns: int
    n_waits: int
    n_steps: int
    unrecorded_ns: int = 0

    @property
    def loop_ns(self) -> int:
        """Return the length of the loop, as far as anything was recorded."""
        return self.last_ns - self.first_ns - self.unrecorded_ns

    @property
    def ratio(self) -> float:
        """Return the expected share of the loop that is waiting, in 0-1."""
        return self.expected_ns / self.loop_ns if self.loop_ns else 0.0


def loader_rows(spans: SpanTable) -> LoaderRows:
    """Find the loader events of one node."""
    names_with = _names_with(spans, "GetNext")
    in_tensorflow = spans.in_phases((TENSORFLOW,))
    operators = spans.in_phases((OPERATORS,))
    return LoaderRows(
        initialize=spans.in_phases((INITIALIZE,)),
        fetch=spans.in_phases((FETCH,)) | _outermost(spans, in_tensorflow & names_with),
        process=spans.in_phases((PROCESS,)),
        next_call=operators & _names_with(spans, "__next__"),
        is_tensorflow=bool(in_tensorflow.any()),
        is_pytorch=bool(spans.in_phases((INITIALIZE, FETCH, PROCESS)).any()),
        is_pipeline_known=bool((in_tensorflow & ~_has_name(spans, _ENDS)).any()),
        has_prefetch=bool((in_tensorflow & _names_with(spans, "Prefetch")).any()),
    )


def waits_of(spans: SpanTable, rows: LoaderRows) -> SpanTable:
    """Return the events that are counted as waits: fetches, else ``__next__`` operators."""
    return spans.where(rows.fetch if rows.fetch.any() else rows.next_call)


def waiting_of(
    spans: SpanTable, rows: LoaderRows, *, unrecorded: tuple[Integers, Integers]
) -> tuple[Waiting, ...]:
    """Return how the loop of each worker of one node waited; workers without waits are left out.

    ``unrecorded``: start and end of the stretches of which nothing is known.
    """
    waits, every = waits_of(spans, rows), spans.where(rows.fetch | rows.next_call)
    steps = spans.steps()
    found = []
    for worker, its in rows_by_code(waits.worker):
        own_steps = steps.where(steps.worker == worker)
        found.append(
            _waiting(
                spans.workers[worker],
                waits.where(its),
                every.where(every.worker == worker),
                own_steps,
                unrecorded,
            )
        )
    return tuple(found)


def _waiting(
    worker: str,
    waits: SpanTable,
    every: SpanTable,
    steps: SpanTable,
    unrecorded: tuple[Integers, Integers],
) -> Waiting:
    timed = steps if steps.n_spans else every
    first_ns, last_ns = int(timed.start_ns.min()), int(timed.end_ns.max())
    in_loop = (waits.end_ns > first_ns) & (waits.start_ns < last_ns)
    start_ns = np.clip(every.start_ns, first_ns, last_ns)
    end_ns = np.clip(every.end_ns, first_ns, last_ns)
    waited_ns = union_length_ns(start_ns, end_ns)
    quarter_ns = first_ns + (last_ns - first_ns) // 4
    early_ns = union_length_ns(np.minimum(start_ns, quarter_ns), np.minimum(end_ns, quarter_ns))
    n_waits = int(in_loop.sum())
    lost_ns = covered_ns(*unrecorded, first_ns, last_ns)
    expected_ns = waited_ns
    if 0 < n_waits < RECORDED_RATIO * steps.n_spans:
        mean_ns = int(waits.duration_ns[in_loop].sum()) / n_waits
        between_ns = _outside(steps, first_ns, last_ns) - lost_ns
        free_ns = between_ns + _inside(steps, start_ns, end_ns)
        expected_ns = max(waited_ns, min(round(mean_ns * steps.n_spans), free_ns))
    return Waiting(
        worker=worker,
        first_ns=first_ns,
        last_ns=last_ns,
        waited_ns=waited_ns,
        early_ns=early_ns,
        expected_ns=expected_ns,
        n_waits=n_waits,
        n_steps=steps.n_spans,
        unrecorded_ns=lost_ns,
    )


def _outside(steps: SpanTable, first_ns: int, last_ns: int) -> int:
    """Return the time between steps: what unrecorded waits can have taken at most."""
    return last_ns - first_ns - union_length_ns(steps.start_ns, steps.end_ns)


def _inside(steps: SpanTable, start_ns: Integers, end_ns: Integers) -> int:
    """Return the length of the recorded waits that lies within steps."""
    both = union_length_ns(
        np.concatenate((steps.start_ns, start_ns)), np.concatenate((steps.end_ns, end_ns))
    )
    return union_length_ns(steps.start_ns, steps.end_ns) + union_length_ns(start_ns, end_ns) - both


def _names_with(spans: SpanTable, word: str) -> Mask:
    codes = [code for code, name in enumerate(spans.names) if word in name]
    return np.isin(spans.name, codes)


def _has_name(spans: SpanTable, names: frozenset[str]) -> Mask:
    return np.isin(spans.name, [code for code, name in enumerate(spans.names) if name in names])


def _outermost(spans: SpanTable, rows: Mask) -> Mask:
    """Return which of the rows lie in no other row of their worker and thread.

    Where the op that hands batches to the loop was recorded (``IteratorGetNextOp``), only that
    one waits; the others then run ahead of it.
    """
    handing_over = rows & _names_with(spans, "IteratorGetNextOp")
    chosen = np.flatnonzero(handing_over if handing_over.any() else rows)
    mask = np.zeros(rows.shape, dtype=bool)
    if chosen.size:
        its = spans.where(chosen)
        parents = parents_of(its.start_ns, its.end_ns, joint_codes(its.worker, its.tid))
        mask[chosen[parents < 0]] = True
    return mask
