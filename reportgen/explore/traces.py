"""The events of a kernel trace in the columns of framework events: the same frames for both.

Phases are those that SageMaker's hooks write: ``cpu_functions`` for operators and annotations
(waits of the data loader among them), ``gpu_functions-dev:N`` for what a GPU ran, and
``Step:ModeKeys.GLOBAL`` for steps, whose mode a trace does not say. Python functions, calls of
the GPU's runtime and the costs of the profiler itself have separate phases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.device_busy import launch_start_ns
from reportgen.facts.loader import OPERATORS
from reportgen.facts.traced_steps import StepRows, batch_waits, step_rows
from reportgen.formats import Diagnostics
from reportgen.intake import read, read_events
from reportgen.profile import NO_STEP, PartRef, RankTrace, SpanSource, SpanTable
from reportgen.profile.spans import NUMBER_COLUMNS, STEP_PREFIX, SpanArguments, code_type
from reportgen.profile.trace_tables import SliceKind, Times

STEP = f"{STEP_PREFIX}ModeKeys.GLOBAL"
_SLICES = {
    SliceKind.OPERATOR: OPERATORS,
    SliceKind.ANNOTATION: OPERATORS,
    SliceKind.PYTHON: "python_functions",
    SliceKind.OVERHEAD: "profiler_overhead",
    SliceKind.OTHER: "other",
}
_CALLS = "gpu_runtime"
_PROFILER_STEP = "ProfilerStep"

_Columns = dict[str, NDArray[Any]]


def events_of(part: PartRef, problems: Diagnostics | None = None) -> SpanTable:
    """Return all events of a node's timelines (with their ``problems``), or of a rank's trace."""
    if part.rank is None:
        return read_events(part, problems)
    trace = read(part)
    assert isinstance(trace, RankTrace)
    return trace_spans(trace)


def trace_spans(trace: RankTrace) -> SpanTable:
    """Return the events of a rank's host and GPUs, in the columns of framework events.

    The worker is the rank. Host events and what they launched on a GPU have the number of the
    step in which they began; times are rounded to whole nanoseconds.
    """
    phases = [*dict.fromkeys(_SLICES.values()), _CALLS, STEP]
    devices = np.unique(trace.gpu_ops.device).tolist()
    phases += [f"gpu_functions-dev:{device}" for device in devices]
    names, steps = (*trace.names, STEP), step_rows(trace)
    parts = [
        _host_slices(trace, steps, phases),
        _host_calls(trace, steps, phases.index(_CALLS)),
        _gpu_ops(trace, steps, len(phases) - len(devices)),
        *([] if steps is None else [_steps(trace, steps, phases.index(STEP))]),
    ]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((rows["name"], rows["phase"], rows["end_ns"], rows["start_ns"]))
    rows = {name: values[order] for name, values in rows.items()}
    n_rows = order.size
    nothing = np.broadcast_to(np.int8(-1), n_rows)
    numbers = {name: rows.get(name, nothing) for name in NUMBER_COLUMNS}
    none = np.zeros(n_rows, dtype=np.int16)
    return SpanTable(
        start_ns=rows["start_ns"],
        end_ns=rows["end_ns"],
        name=rows["name"].astype(code_type(len(names))),
        phase=rows["phase"].astype(code_type(len(phases))),
        worker=none,
        source=none,
        argument=np.arange(n_rows, dtype=np.int32),
        arguments=SpanArguments(**numbers, labels=()),
        names=names,
        phases=tuple(phases),
        workers=(str(trace.node),),
        sources=(SpanSource.OTHER,),
    )


def _host_slices(trace: RankTrace, steps: StepRows | None, phases: list[str]) -> _Columns:
    slices = trace.slices
    of_kind = np.array([phases.index(_SLICES[kind]) for kind in SliceKind])
    phase = of_kind[slices.kind]
    phase[batch_waits(trace)] = phases.index(OPERATORS)
    is_step = np.array([name.startswith(_PROFILER_STEP) for name in (*trace.names, "")])
    kept = np.flatnonzero(~is_step[slices.name])
    return {
        **_times(trace, slices.start_ns[kept], slices.end_ns[kept]),
        **_threads(trace, slices.thread[kept]),
        "name": slices.name[kept],
        "phase": phase[kept],
        "step": _step_at(steps, slices.start_ns[kept]),
    }


def _host_calls(trace: RankTrace, steps: StepRows | None, phase: int) -> _Columns:
    calls = trace.calls
    return {
        **_times(trace, calls.start_ns, calls.end_ns),
        **_threads(trace, calls.thread),
        "name": calls.name,
        "phase": np.full(calls.name.shape, phase),
        "step": _step_at(steps, calls.start_ns),
    }


def _gpu_ops(trace: RankTrace, steps: StepRows | None, first_phase: int) -> _Columns:
    ops = trace.gpu_ops
    absent = np.full(ops.name.shape, -1)
    return {
        **_times(trace, ops.start_ns, ops.end_ns),
        "os_pid": absent,
        "tid": ops.stream,
        "name": ops.name,
        "phase": first_phase + np.unique(ops.device, return_inverse=True)[1].reshape(-1),
        "step": _step_at(steps, launch_start_ns(trace)),
    }


def _steps(trace: RankTrace, steps: StepRows, phase: int) -> _Columns:
    absent = np.full(steps.number.shape, -1)
    return {
        **_times(trace, steps.start_ns, steps.start_ns + steps.period_ns),
        "os_pid": absent,
        "tid": absent,
        "name": np.full_like(absent, len(trace.names)),
        "phase": np.full_like(absent, phase),
        "step": steps.number,
    }


def _step_at(steps: StepRows | None, time_ns: Times) -> NDArray[np.int64]:
    if steps is None or not steps.number.size:
        return np.full(time_ns.shape, NO_STEP, dtype=np.int64)
    order = np.argsort(steps.start_ns, kind="stable")
    start_ns, number = steps.start_ns[order], steps.number[order]
    end_ns = start_ns + steps.period_ns[order]
    place = np.searchsorted(start_ns, time_ns, side="right") - 1
    is_inside = (place >= 0) & (time_ns <= end_ns[np.maximum(place, 0)])
    return np.where(is_inside, number[np.maximum(place, 0)], NO_STEP)


def _times(trace: RankTrace, start_ns: Times, end_ns: Times) -> _Columns:
    start_ns, end_ns = (trace.origin_ns + time_ns for time_ns in (start_ns, end_ns))
    return {"start_ns": start_ns, "end_ns": np.maximum(start_ns, end_ns)}


def _threads(trace: RankTrace, thread: NDArray[np.int32]) -> _Columns:
    ids = [(_whole(item.pid), _whole(item.tid)) for item in trace.threads]
    table = np.array([*ids, (-1, -1)], dtype=np.int64)
    return {"os_pid": table[thread, 0], "tid": table[thread, 1]}


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else -1
