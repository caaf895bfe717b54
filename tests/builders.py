"""Small jobs from a few readable rows: tables in memory, and raw files in a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reportgen.profile import (
    NO_STEP,
    JobInfo,
    NodeId,
    NodeProfile,
    Series,
    SourceNote,
    SpanSource,
    SpanTable,
    SystemTable,
)
from reportgen.profile.spans import empty_spans
from reportgen.profile.system import device_order, empty_system

START_S = 1_783_071_000.0
"""A full minute in July 2026: where built jobs start."""

Row = tuple[str, str, float, float] | tuple[str, str, float, float, Mapping[str, object]]

_NAMED_SERIES = {
    "memory": Series("memory", "MemoryUsedPercent", ""),
    "iops": Series("i/o", "IOPS", ""),
    "read": Series("i/o", "ReadThroughputInBytesPerSecond", ""),
    "write": Series("i/o", "WriteThroughputInBytesPerSecond", ""),
    "receive": Series("network", "ReceiveBytesPerSecond", "Algorithm"),
    "transmit": Series("network", "TransmitBytesPerSecond", "Algorithm"),
    "receive_platform": Series("network", "ReceiveBytesPerSecond", "Platform"),
    "transmit_platform": Series("network", "TransmitBytesPerSecond", "Platform"),
}
_DIMENSIONS = {
    ("gpu", ""): "GPUUtilization",
    ("gpu", "_memory"): "GPUMemoryUtilization",
    ("cpu", ""): "CPUUtilization",
    ("cpu", "_iowait"): "I/OWaitPercentage",
}


def ns(time_s: float) -> int:
    """Return whole nanoseconds, exact to the microsecond."""
    return round(time_s * 1_000_000) * 1000


def series(short_name: str) -> Series:
    """Return the series behind ``gpu0``, ``gpu0_memory``, ``cpu3_iowait``, ``memory``, ``read``."""
    if short_name in _NAMED_SERIES:
        return _NAMED_SERIES[short_name]
    match = re.fullmatch(r"((gpu|cpu)\d+)(_memory|_iowait|)", short_name)
    if match is None or (match[2], match[3]) not in _DIMENSIONS:
        raise ValueError(f"no series is called {short_name!r} here")
    return Series(match[2], match[1], _DIMENSIONS[match[2], match[3]])


def system_table(
    columns: Mapping[str, Sequence[float | None]],
    *,
    start_s: float = START_S,
    interval_s: float = 0.5,
) -> SystemTable:
    """Return a table of samples at regular ticks; ``None`` is a sample that is absent."""
    if not columns:
        return empty_system()
    by_series = {series(name): values for name, values in columns.items()}
    order = sorted(by_series, key=lambda item: (item.type, device_order(item.name), item.dimension))
    n_ticks = max(len(values) for values in columns.values())
    values = np.full((n_ticks, len(order)), np.nan, order="F")
    for index, item in enumerate(order):
        sampled = [np.nan if value is None else value for value in by_series[item]]
        values[: len(sampled), index] = sampled
    tick_ns = ns(start_s) + np.arange(n_ticks, dtype=np.int64) * ns(interval_s)
    return SystemTable(
        tick_ns=tick_ns,
        series=tuple(order),
        values=values,
        first_ns=int(tick_ns[0]) if n_ticks else None,
        last_ns=int(tick_ns[-1]) if n_ticks else None,
        interval_ns=ns(interval_s) if n_ticks > 1 else None,
        n_samples=int(np.isfinite(values).sum()),
    )


_DEFAULTS: Mapping[str, object] = {
    "step": NO_STEP,
    "os_pid": -1,
    "tid": -1,
    "worker_id": -1,
    "num_workers": -1,
    "pin_memory": -1,
    "bytes_fetched": -1,
}


def span_table(
    rows: Sequence[Row],
    *,
    worker: str = "algo-1-27",
    source: str = SpanSource.PYTHON,
) -> SpanTable:
    """Return events from rows of (phase, name, start_s, end_s[, more]), seconds since 1970.

    ``more`` may hold ``worker``, ``source``, ``step``, ``os_pid``, ``tid``, ``worker_id``,
    ``num_workers``, ``pin_memory`` (bool) and ``bytes_fetched``.
    """
    if not rows:
        return empty_spans()
    full = [
        {"worker": worker, "source": source, **_DEFAULTS, **dict(row[4] if len(row) == 5 else {})}
        | {"phase": row[0], "name": row[1], "start_ns": ns(row[2]), "end_ns": ns(row[3])}
        for row in rows
    ]
    keys = ("start_ns", "end_ns", "phase", "name", "worker", "step")
    full.sort(key=lambda row: tuple(row[key] for key in keys))
    words = {
        key: tuple(sorted({str(row[key]) for row in full}))
        for key in ("name", "phase", "worker", "source")
    }
    columns: dict[str, Any] = {
        key: np.array([known.index(str(row[key])) for row in full], dtype=np.int32)
        for key, known in words.items()
    }
    for key in ("start_ns", "end_ns", *_DEFAULTS):
        dtype = np.int8 if key == "pin_memory" else np.int64
        columns[key] = np.array([row[key] for row in full], dtype=dtype)
    return SpanTable(
        **columns,
        names=words["name"],
        phases=words["phase"],
        workers=words["worker"],
        sources=words["source"],
    )


def job_info(name: str = "built-job", *, is_finished: bool = True) -> JobInfo:
    """Return what is known of a built job."""
    return JobInfo(name=name, source=name, is_finished=is_finished)


def node_profile(
    *,
    system: SystemTable | None = None,
    spans: SpanTable | None = None,
    node: str = "algo-1",
    job: JobInfo | None = None,
    notes: tuple[SourceNote, ...] = (),
) -> NodeProfile:
    """Return one node; what is not given is empty."""
    return NodeProfile(
        node=NodeId(node),
        job=job or job_info(),
        system=system if system is not None else empty_system(),
        spans=spans if spans is not None else empty_spans(),
        notes=notes,
    )
