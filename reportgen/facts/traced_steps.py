"""A rank's training steps: as the profiler numbered them, or as its annotations repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts.device_busy import launch_start_ns, rows_named, unions_of
from reportgen.facts.intervals import Union, covered_each, union_by_code_ns, union_of
from reportgen.merging import rows_between
from reportgen.profile.memo import fact
from reportgen.profile.trace import RankTrace
from reportgen.profile.trace_tables import NONE, NUMBERED_STEP, PROFILER_STEP, SliceKind, Times

LEAST_REPEATS = 3
"""An annotation that comes once or twice repeats by chance."""
_OPTIMIZER_STEP = re.compile(r"^Optimizer\.step#")
_LOADER_ANNOTATION = re.compile(r"^enumerate\(DataLoader\)#.*__next__")
_LOADER_FRAME = re.compile(r"torch/utils/data/dataloader\.py\(\d+\): __next__")
_NUMBER = re.compile(r"\d+")
_INTERNAL = re.compile(
    r"^(?i:nccl|c10d|gloo|fsdp|cublas|cudnn|cusparse|cufft|cccl)[:_]|^Optimizer\.|"
    r"^enumerate\(DataLoader\)|^PyTorch Prof"
)
"""Ranges of libraries, whose domains of NVTX precede their names: no steps of a program."""


class StepSource(StrEnum):
    """The marks that give the steps."""

    PROFILER = "ProfilerStep"
    ANNOTATION = "numbered annotations"
    OPTIMIZER = "Optimizer.step"
    REPEATED = "an annotation that repeats"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRows:
    """Steps of a rank in order, (n,) each.

    Attributes:
        period_ns: to the start of the next step; that of the last step, or before a gap in the
            numbers, to its own end.
        pace_ns: from when the GPUs were done with the step before to when they are done with this
            one; of the first one, and after a gap in the numbers, from its start; that of the host
            where a step launched nothing. The host may run ahead of the GPUs, so that its periods
            swing while the GPUs keep their pace.
        gpu_busy_ns: union of the GPU operations launched in it, added up over devices.
        gpu_span_ns: from the start of the first of them to the end of the last, 0 without any.
        loader_ns: how long in its period the host waited for a batch.
        busy_ratio: share of all periods in which a GPU operation ran, wherever it was launched;
            the mean of the devices.
    """

    source: StepSource
    number: Integers
    start_ns: Times
    period_ns: Times
    pace_ns: Times
    gpu_busy_ns: Times
    gpu_span_ns: Times
    loader_ns: Times
    n_ops: Integers
    busy_ratio: float

    @property
    def on_gpu_ns(self) -> Times:
        """Return ``gpu_span_ns`` of the steps that launched GPU operations."""
        return self.gpu_span_ns[self.n_ops > 0]


@fact
def step_rows(trace: RankTrace) -> StepRows | None:
    """Return the steps of a rank (docs/definitions.md), ``None`` where the trace has no marks."""
    steps = trace.steps
    if steps.start_ns.size:
        is_numbered = any(map(NUMBERED_STEP.fullmatch, trace.names))
        is_numbered &= not any(map(PROFILER_STEP.fullmatch, trace.names))
        source = StepSource.ANNOTATION if is_numbered else StepSource.PROFILER
        return _rows(trace, source, steps.number, steps.start_ns, steps.duration_ns)
    return _by_optimizer(trace) or _repeated(trace)


def waiting_for_batches(trace: RankTrace) -> Union:
    """Return when any thread waited for a batch: by annotations, else by frames of the loader."""
    rows = rows_named(trace, trace.slices.name, _LOADER_ANNOTATION.search)
    if not rows.any():
        rows = rows_named(trace, trace.slices.name, _LOADER_FRAME.search)
    return union_of(trace.slices.start_ns[rows], trace.slices.end_ns[rows])


def _by_optimizer(trace: RankTrace) -> StepRows | None:
    """Return the periods between calls of the optimizer; after the last one is no step."""
    codes = [code for code, name in enumerate(trace.names) if _OPTIMIZER_STEP.match(name)]
    rows = _annotations(trace, codes[:1])
    if rows.size < LEAST_REPEATS:
        return None
    start = trace.slices.start_ns[rows]
    number = np.arange(rows.size - 1, dtype=np.int64)
    return _rows(trace, StepSource.OPTIMIZER, number, start[:-1], np.diff(start))


def _repeated(trace: RankTrace) -> StepRows | None:
    best: Integers = np.empty(0, dtype=np.int64)
    best_ns = 0
    groups: dict[str, list[int]] = {}
    for code, name in enumerate(trace.names):
        if not _INTERNAL.match(name):
            groups.setdefault(_NUMBER.sub("*", name), []).append(code)
    for codes in groups.values():
        rows = _annotations(trace, codes)
        spent_ns = int(trace.slices.duration_ns[rows].sum())
        # Nested ones are no steps.
        is_apart = (trace.slices.start_ns[rows][1:] >= trace.slices.end_ns[rows][:-1]).all()
        if rows.size >= LEAST_REPEATS and spent_ns > best_ns and is_apart:
            best, best_ns = rows, spent_ns
    if not best.size:
        return None
    number = np.arange(best.size, dtype=np.int64)
    start_ns, duration_ns = trace.slices.start_ns[best], trace.slices.duration_ns[best]
    return _rows(trace, StepSource.REPEATED, number, start_ns, duration_ns)


def _annotations(trace: RankTrace, codes: list[int]) -> Integers:
    is_annotation = trace.slices.kind == SliceKind.ANNOTATION
    return np.flatnonzero(is_annotation & np.isin(trace.slices.name, codes))


def _rows(
    trace: RankTrace, source: StepSource, number: Integers, start_ns: Times, duration_ns: Times
) -> StepRows:
    period = duration_ns.copy()
    follows = np.diff(number) == 1
    period[:-1] = np.where(follows, np.diff(start_ns), period[:-1])
    busy_ns, n_ops, begun_ns, ended_ns = _on_gpu(trace, start_ns, start_ns + duration_ns)
    done_ns = np.where(n_ops > 0, ended_ns, start_ns + duration_ns)
    pace = done_ns - start_ns
    pace[1:] = np.where(follows, np.diff(done_ns), pace[1:])
    each_busy_ns = [
        covered_each(item.busy, start_ns, start_ns + period) for item in unions_of(trace, None)
    ]
    return StepRows(
        source=source,
        number=number,
        start_ns=start_ns,
        period_ns=period,
        pace_ns=np.where((n_ops > 0) & (pace > 0), pace, period),
        gpu_busy_ns=busy_ns,
        gpu_span_ns=np.where(n_ops > 0, ended_ns - begun_ns, 0),
        loader_ns=covered_each(waiting_for_batches(trace), start_ns, start_ns + period),
        n_ops=n_ops,
        busy_ratio=float(np.sum(each_busy_ns) / max(len(each_busy_ns) * period.sum(), 1)),
    )


def _on_gpu(
    trace: RankTrace, start_ns: Times, end_ns: Times
) -> tuple[Times, Integers, Times, Times]:
    """Return how long what each step launched ran, how many operations, their begin and end."""
    ops, launched = trace.gpu_ops, launch_start_ns(trace)
    here = np.flatnonzero(launched != NONE)
    order = here[np.argsort(launched[here], kind="stable")]
    first = np.searchsorted(launched[order], start_ns, side="left")
    after = np.searchsorted(launched[order], end_ns, side="left")
    step, places = rows_between(first, after)
    rows = order[places]
    done, begun = np.zeros_like(start_ns), np.full_like(start_ns, np.iinfo(np.int64).max)
    np.minimum.at(begun, step, ops.start_ns[rows])
    np.maximum.at(done, step, ops.end_ns[rows])
    devices, device = np.unique(ops.device[rows], return_inverse=True)
    of_step = devices.size * step + device
    n_codes = devices.size * start_ns.size
    busy = union_by_code_ns(of_step, ops.start_ns[rows], ops.end_ns[rows], n_codes)
    return busy.reshape(start_ns.size, -1).sum(axis=1), after - first, begun, done
