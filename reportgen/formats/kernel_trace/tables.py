"""The raw columns of a kernel trace to its tables: screened, on one origin, sorted and joined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Table
from reportgen.formats.columns import ABSENT, Columns
from reportgen.formats.diagnostics import printable
from reportgen.formats.kernel_trace import validate
from reportgen.formats.kernel_trace.columns import (
    LONGEST_KERNEL_NAME,
    TraceColumns,
    dims_text,
    first_floating,
    id_text,
    recode,
    tracks_of,
    values_text,
)
from reportgen.formats.kernel_trace.joins import bytes_of_calls, launches, pair_flows
from reportgen.formats.private_names import masked
from reportgen.profile import Thread, trace_tables
from reportgen.units import NS_PER_US

_ANNOTATION = re.compile(r"ProfilerStep|enumerate\(DataLoader\)|Optimizer\.")
"""Annotations that traces of 2021 file under operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTables:
    """The tables and vocabularies of one trace; see ``RankTrace``.

    ``origin_ns`` is their zero in the file's own clock, a whole number of microseconds. Left out
    were events that last less than nothing or more than a week, or lie more than a week from the
    others, or are of a GPU beyond the 1,024 lowest. ``bad_numbers`` ids and sizes were too large to
    be some; ``beyond_names`` events have names or threads beyond the number that is kept apart.
    """

    origin_ns: int
    bad_durations: int
    bad_times: int
    beyond_devices: int
    bad_numbers: int
    beyond_names: int
    gpu_ops: trace_tables.GpuOps
    calls: trace_tables.HostCalls
    slices: trace_tables.HostSlices
    steps: trace_tables.TraceSteps
    memory: trace_tables.MemoryEvents
    collectives: trace_tables.CollectiveArgs
    syncs: trace_tables.SyncEvents
    flows: trace_tables.Flows
    counters: trace_tables.TraceCounters
    names: tuple[str, ...]
    input_types: tuple[str, ...]
    labels: tuple[str, ...]
    shapes: tuple[str, ...]
    input_dims: tuple[str, ...]
    input_values: tuple[str, ...]
    threads: tuple[Thread, ...]
    tracks: tuple[str, ...]
    written_in: Mapping[str, str] = field(default_factory=dict)
    shadows: trace_tables.Shadows = field(
        default_factory=lambda: trace_tables.empty_table(trace_tables.Shadows)
    )


def build_tables(columns: TraceColumns) -> TraceTables:
    """Return the tables of what was read; ``columns`` is empty afterwards."""
    raw = {name: table.take() for name, table in columns.tables.items()}
    collectives, counters = raw.pop("collectives"), raw.pop("counters")
    bad_durations, bad_times = validate.drop_impossible(raw)
    beyond_devices = validate.drop_further_devices(raw)
    base_us = validate.whole_base_us(raw)
    for name, table in raw.items():
        validate.to_origin(table, base_us)
        validate.sort_rows(table, is_outer_first=name == "slices")
    _place_counters(counters, base_us)
    names, threads, input_types, input_dims = _recode(raw, columns)
    _join(raw, collectives)
    slices = _table(trace_tables.HostSlices, raw["slices"])
    known = columns.vocabularies
    return TraceTables(
        origin_ns=(base_us + (columns.zero_us or 0)) * NS_PER_US,
        bad_durations=bad_durations,
        bad_times=bad_times,
        beyond_devices=beyond_devices,
        bad_numbers=columns.numbers.n_dropped,
        beyond_names=known.names.n_beyond + known.threads.n_beyond,
        gpu_ops=_table(trace_tables.GpuOps, raw["gpu_ops"]),
        calls=_table(trace_tables.HostCalls, raw["calls"]),
        slices=slices,
        shadows=_table(trace_tables.Shadows, raw["shadows"]),
        steps=_steps(slices, names),
        memory=_memory(raw["memory"]),
        collectives=_table(trace_tables.CollectiveArgs, collectives),
        syncs=_table(trace_tables.SyncEvents, raw["syncs"]),
        flows=_table(trace_tables.Flows, pair_flows(raw["flow_ends"])),
        counters=_table(trace_tables.TraceCounters, counters),
        tracks=tracks_of(known),
        written_in={
            masked(printable(name)): masked(printable(it))
            for name, it in columns.written_in.items()
        },
        names=names,
        input_types=input_types,
        labels=tuple(masked(printable(label)) for label in known.labels),
        shapes=tuple(shape.decode("utf-8", "replace") for shape in known.shapes),
        input_dims=input_dims,
        input_values=tuple(values_text(item) for item in known.input_values),
        threads=threads,
    )


def _place_counters(raw: Columns, base_us: int) -> None:
    """Move counters to the origin of the events, in place: they neither set it nor are counted."""
    if raw:
        validate.take_rows(raw, np.abs(raw["start_us"] - base_us) <= validate.MAX_DISTANCE_US)
        validate.to_origin(raw, base_us)
        validate.sort_rows(raw)
        raw["time_ns"] = raw.pop("start_ns")


def _recode(
    raw: dict[str, Columns], columns: TraceColumns
) -> tuple[tuple[str, ...], tuple[Thread, ...], tuple[str, ...], tuple[str, ...]]:
    known = columns.vocabularies
    names = recode(masked(printable(name, most=LONGEST_KERNEL_NAME)) for name in known.names)
    threads = recode(Thread(pid=id_text(pid), tid=id_text(tid)) for pid, tid in known.threads)
    input_types = recode(map(first_floating, known.input_lists))
    input_dims = recode(map(dims_text, known.input_dims))
    for table in raw.values():
        if "name" in table:
            table["name"][:] = names.of(table["name"])
        if "thread" in table:
            table["thread"][:] = threads.of(table["thread"])
    slices = raw["slices"]
    if slices:
        slices["input_type"] = input_types.of(slices.pop("input_list"))
        slices["input_dims"][:] = input_dims.of(slices["input_dims"])
        _tell_annotations(slices, names.values)
    return names.values, threads.values, input_types.values, input_dims.values


def _tell_annotations(slices: Columns, names: tuple[str, ...]) -> None:
    """Mark annotations that are filed under operators."""
    is_annotation = np.array([bool(_ANNOTATION.match(name)) for name in names], dtype=np.bool_)
    is_operator = slices["kind"] == trace_tables.SliceKind.OPERATOR
    slices["kind"][is_operator & is_annotation[slices["name"]]] = trace_tables.SliceKind.ANNOTATION


def _join(raw: dict[str, Columns], collectives: Columns) -> None:
    gpu, calls = raw["gpu_ops"], raw["calls"]
    if gpu:
        gpu["launch"] = launches(gpu, calls, raw["launch_ends"])
        gpu["bytes"][:] = bytes_of_calls(gpu, calls)
        validate.clip_overruns(gpu)
        gpu["collective"] = np.full(len(gpu["launch"]), ABSENT, dtype=np.int32)
    if not collectives:
        return
    for column, owner in (("gpu_op", gpu), ("host_slice", raw["slices"])):
        collectives[column] = _followed(collectives[column], owner)
    is_told = (collectives["gpu_op"] != ABSENT) | (collectives["host_slice"] != ABSENT)
    validate.take_rows(collectives, is_told)
    by_kernel = np.flatnonzero(collectives["gpu_op"] != ABSENT)
    if by_kernel.size:
        gpu["collective"][collectives["gpu_op"][by_kernel]] = by_kernel


def _followed(rows: NDArray[np.int64], table: Columns) -> NDArray[np.int32]:
    """Return where rows of the file ended up, ``ABSENT`` for dropped ones."""
    if not table:
        return np.full(len(rows), ABSENT, dtype=np.int32)
    place = np.full(
        max(int(rows.max()), int(table[validate.ROW].max())) + 2, ABSENT, dtype=np.int32
    )
    place[table[validate.ROW]] = np.arange(len(table[validate.ROW]))
    return place[rows]


def _steps(slices: trace_tables.HostSlices, names: tuple[str, ...]) -> trace_tables.TraceSteps:
    """Return the steps as the host saw them, each once: the profiler's, else numbered ranges.

    A single range with a number is no step.
    """
    kinds = trace_tables.SliceKind
    for pattern, is_mark, least in (
        (trace_tables.PROFILER_STEP, slices.kind != kinds.PYTHON, 1),
        (trace_tables.NUMBERED_STEP, slices.kind == kinds.ANNOTATION, 2),
    ):
        found = [pattern.fullmatch(name) for name in names]
        numbers = np.array([int(match[1]) if match else ABSENT for match in found], dtype=np.int64)
        rows = np.flatnonzero(is_mark & (numbers[slices.name] != ABSENT))
        if rows.size >= least:
            return trace_tables.TraceSteps(
                start_ns=slices.start_ns[rows],
                end_ns=slices.end_ns[rows],
                duration_ns=slices.duration_ns[rows],
                number=numbers[slices.name[rows]],
                thread=slices.thread[rows],
            )
    return trace_tables.empty_table(trace_tables.TraceSteps)


def _memory(raw: Columns) -> trace_tables.MemoryEvents:
    if not raw:
        return trace_tables.empty_table(trace_tables.MemoryEvents)
    raw["time_ns"] = raw.pop("start_ns")
    raw["device"] = np.where(raw["device_type"] == trace_tables.HOST_MEMORY, ABSENT, raw["device"])
    raw["device_type"] = np.clip(raw["device_type"], ABSENT, 127)
    return _table(trace_tables.MemoryEvents, raw)


def _table(kind: type[Table], raw: Columns) -> Table:
    """Return columns as a table; those that nothing needs are dropped."""
    if not raw:
        return trace_tables.empty_table(kind)
    types = trace_tables.column_types(kind)
    columns = {name: raw.pop(name) for name in types}
    raw.clear()
    return kind(
        **{name: column.astype(types[name], copy=False) for name, column in columns.items()}
    )
