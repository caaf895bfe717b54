"""Cut a job to a range of time: samples inside it, events that overlap it, launched work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reportgen.arrays import Integers, select
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.intake.ticks import Rows
from reportgen.profile import JobProfile, RankTrace, SpanTable, SystemTable, TimeRange
from reportgen.profile.trace_tables import NONE, Codes
from reportgen.units import NS_PER_S, NS_PER_US

_ALWAYS_NS = 1 << 62


def cut_rows(rows: Rows, kept: TimeRange | None) -> Rows:
    """Return the samples in a range, both ends included; without a range all of them."""
    if kept is None:
        return rows
    time_ns = rows.time_us * NS_PER_US
    inside = kept.meets(time_ns, time_ns)
    return rows if inside.all() else rows.where(inside)


def cut_spans(spans: SpanTable, kept: TimeRange | None) -> SpanTable:
    """Return the events that overlap a range, in full length; without a range all of them."""
    if kept is None:
        return spans
    inside = kept.meets(spans.start_ns, spans.end_ns)
    return spans if inside.all() else spans.where(inside)


def uncut_extent(system: SystemTable, files: Sequence[SystemFile]) -> SystemTable:
    """Return a table that says when its node ran, from the names of all its files.

    Which events can belong to a job depends on the whole job, not on what is cut out of it.
    """
    if not files:
        return system
    first_s = min(file.minute_s for file in files)
    end_s = max(file.minute_s + file.length_s for file in files)
    return replace(system, first_ns=first_s * NS_PER_S, last_ns=end_s * NS_PER_S - 1)


def cut_job(job: JobProfile, kept: TimeRange) -> JobProfile:
    """Return a job of which only a range will be read."""
    return replace(job, parts=tuple(replace(part, kept=kept) for part in job.parts))


def cut_trace(trace: RankTrace, kept: TimeRange) -> RankTrace:
    """Return a trace of a range, both ends included.

    Calls, steps and moments begin in it, ranges of the host overlap it. GPU operations were
    launched before its end and end after its start: those launched before it are orphans.
    """
    low_ns = -_ALWAYS_NS if kept.from_ns is None else kept.from_ns - trace.origin_ns
    high_ns = _ALWAYS_NS if kept.to_ns is None else kept.to_ns - trace.origin_ns
    ops, calls, slices, steps = trace.gpu_ops, trace.calls, trace.slices, trace.steps

    def inside(start_ns: Integers) -> Integers:
        return np.flatnonzero((start_ns >= low_ns) & (start_ns <= high_ns))

    launched_ns = np.where(ops.launch == NONE, ops.start_ns, calls.start_ns[ops.launch])
    of_gpu = np.flatnonzero((ops.end_ns > low_ns) & (launched_ns <= high_ns))
    of_calls = inside(calls.start_ns)
    of_slices = np.flatnonzero((slices.end_ns >= low_ns) & (slices.start_ns <= high_ns))
    shadows = trace.shadows
    of_shadows = np.flatnonzero((shadows.end_ns >= low_ns) & (shadows.start_ns <= high_ns))
    collectives = trace.collectives
    gpu_op = _renumbered(collectives.gpu_op, of_gpu, ops.start_ns.size)
    host_slice = _renumbered(collectives.host_slice, of_slices, slices.start_ns.size)
    of_told = np.flatnonzero((gpu_op != NONE) | (host_slice != NONE))
    ops = select(ops, of_gpu)
    ends_ns = [*ops.end_ns.tolist(), *np.minimum(slices.end_ns[of_slices], high_ns).tolist()]
    return replace(
        trace,
        gpu_ops=replace(
            ops,
            launch=_renumbered(ops.launch, of_calls, calls.start_ns.size),
            collective=_renumbered(ops.collective, of_told, collectives.gpu_op.size),
        ),
        calls=select(calls, of_calls),
        slices=select(slices, of_slices),
        shadows=select(shadows, of_shadows),
        steps=select(steps, np.flatnonzero((steps.start_ns >= low_ns) & (steps.end_ns <= high_ns))),
        memory=select(trace.memory, inside(trace.memory.time_ns)),
        syncs=select(trace.syncs, inside(trace.syncs.start_ns)),
        counters=select(trace.counters, inside(trace.counters.time_ns)),
        flows=select(trace.flows, inside(trace.flows.start_ns)),
        collectives=replace(
            select(collectives, of_told), gpu_op=gpu_op[of_told], host_slice=host_slice[of_told]
        ),
        first_ns=None if trace.first_ns is None else max(trace.first_ns, low_ns),
        last_ns=max(ends_ns) if ends_ns else None,
    )


def _renumbered(rows: Codes, kept: Integers, n_rows: int) -> Codes:
    place = np.full(n_rows + 1, NONE, dtype=np.int32)  # the last is ``NONE`` itself
    place[kept] = np.arange(kept.size)
    return place[rows]
