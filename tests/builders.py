"""Small jobs from a few readable rows: tables in memory, and raw files in a folder."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from reportgen import intake
from reportgen.arrays import Floats
from reportgen.profile import (
    NO_STEP,
    JobInfo,
    JobProfile,
    NodeId,
    NodeProfile,
    PythonTable,
    Quality,
    Series,
    SourceNote,
    SpanArguments,
    SpanSource,
    SpanTable,
    SystemTable,
)
from reportgen.profile.python import empty_python
from reportgen.profile.spans import code_type, empty_spans
from reportgen.profile.system import device_order, empty_system

START_S = 1_783_071_000.0
"""A full minute in July 2026: where built jobs start."""

T = TypeVar("T")

Row = tuple[str, str, float, float] | tuple[str, str, float, float, Mapping[str, object]]

_NAMED_SERIES = {
    "memory": Series("memory", "MemoryUsedPercent", ""),
    "memory_bytes": Series("memory", "MemoryUsedBytes", ""),
    "job_cores": Series("job", "JobCPUCores", ""),
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
    ("gpu", "_used"): "GPUMemoryUsedBytes",
    ("gpu", "_total"): "GPUMemoryTotalBytes",
    ("gpu", "_watts"): "GPUPowerWatts",
    ("gpu", "_joules"): "GPUEnergyJoules",
    ("gpu", "_mhz"): "GPUSMClockMHz",
    ("gpu", "_celsius"): "GPUTemperatureCelsius",
    ("gpu", "_throttle"): "GPUThrottleReasons",
    ("gpu", "_others"): "GPUOtherProcesses",
}


class Quiet:
    """Watches the steps of a run and says nothing."""

    def step(self, name: str) -> None: ...

    def progress(self, text: str) -> None: ...


def known(value: T | None) -> T:
    """Return what must be there."""
    assert value is not None
    return value


def ns(time_s: float) -> int:
    """Return whole nanoseconds, exact to the microsecond."""
    return round(time_s * 1_000_000) * 1000


def series(short_name: str) -> Series:
    """Return the series behind ``gpu0``, ``gpu0_memory``, ``cpu3_iowait``, ``memory``, ``read``."""
    if short_name in _NAMED_SERIES:
        return _NAMED_SERIES[short_name]
    match = re.fullmatch(r"((gpu|cpu)\d+)(_[a-z]+|)", short_name)
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
        columns=tuple(values.T),
        first_ns=int(tick_ns[0]) if n_ticks else None,
        last_ns=int(tick_ns[-1]) if n_ticks else None,
        interval_ns=ns(interval_s) if n_ticks > 1 else None,
        n_samples=int(np.isfinite(values).sum()),
    )


def values_of(system: SystemTable) -> Floats:
    """Return the (n_ticks, n_series) matrix of all samples of a table."""
    return np.array([*system.columns]).reshape(len(system.columns), system.n_ticks).T


_DEFAULTS: Mapping[str, object] = {
    "step": NO_STEP,
    "os_pid": -1,
    "tid": -1,
    "worker_id": -1,
    "num_workers": -1,
    "pin_memory": -1,
    "bytes_fetched": -1,
    "label": -1,
}


def span_table(
    rows: Sequence[Row], *, worker: str = "algo-1-27", source: str = SpanSource.PYTHON
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
        key: np.array([known.index(str(row[key])) for row in full], dtype=code_type(len(known)))
        for key, known in words.items()
    }
    for key in ("start_ns", "end_ns"):
        columns[key] = np.array([row[key] for row in full], dtype=np.int64)
    numbers = {key: np.array([row[key] for row in full], dtype=np.int64) for key in _DEFAULTS}
    return SpanTable(
        **columns,
        argument=np.arange(len(full), dtype=np.int32),
        arguments=SpanArguments(**numbers, labels=()),
        names=words["name"],
        phases=words["phase"],
        workers=words["worker"],
        sources=words["source"],
    )


def job_info(name: str = "built-job", *, is_finished: bool = True) -> JobInfo:
    """Return what is known of a built job."""
    return JobInfo(name=name, source=name, is_finished=is_finished)


def node_profile(
    columns: Mapping[str, Sequence[float | None]] | None = None,
    rows: Sequence[Any] = (),
    *,
    interval_s: float = 0.5,
    start_s: float = START_S,
    worker: str = "algo-1-27",
    system: SystemTable | None = None,
    spans: SpanTable | None = None,
    python: PythonTable | None = None,
    node: str = "algo-1",
    job: JobInfo | None = None,
    notes: tuple[SourceNote, ...] = (),
) -> NodeProfile:
    """Return one node; what is not given is empty.

    ``columns``, ``interval_s`` and ``start_s`` are those of ``system_table``; ``rows`` and
    ``worker`` those of ``span_table``.
    """
    made = system_table(columns or {}, start_s=start_s, interval_s=interval_s)
    return NodeProfile(
        node=NodeId(node),
        job=job or job_info(),
        system=system if system is not None else made,
        spans=spans if spans is not None else span_table(rows, worker=worker),
        python=python if python is not None else empty_python(),
        notes=notes,
    )


def read_job(path: Path | str) -> NodeProfile:
    """Read a job of one node."""
    (part,) = intake.discover(str(path)).parts
    return intake.read_node(part)


def counted(profile: NodeProfile, quality: Quality) -> int:
    """Return how often the notes of a node count something."""
    return sum(note.counts.get(quality, 0) for note in profile.notes)


def note_texts(found: NodeProfile | JobProfile) -> list[str]:
    """Return what the notes of a node or a job say."""
    return [note.text for note in found.notes]


def system_line(short_name: str, value: object, time_s: float, *, node: str = "algo-1") -> str:
    """Return one line as SageMaker writes it; ``value`` may be any text that stands there."""
    item = series(short_name)
    number = f"{value:.2f}" if isinstance(value, int | float) else str(value)
    return (
        f'{{"Type":"{item.type}","Name":"{item.name}","Dimension":"{item.dimension}",'
        f'"Value":{number},"NodeId":"{node}","Timestamp":{time_s:.6f}}}'
    )


def write_minute(
    job: Path,
    content: Sequence[str] | bytes,
    *,
    minute_s: float = START_S,
    node: str = "algo-1",
    has_hour_folder: bool = True,
) -> Path:
    """Write one minute file below ``job/profiler-output``; lines are ended by newlines."""
    hour = datetime.fromtimestamp(minute_s, UTC).strftime("%Y%m%d%H")
    folder = job / "profiler-output" / "system" / "incremental"
    path = (folder / hour if has_hour_folder else folder) / f"{minute_s:.0f}.{node}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, bytes):
        content = "".join(f"{line}\n" for line in content).encode()
    path.write_bytes(content)
    return path


def pack_hour(hour: Path) -> Path:
    """Pack the minute files of an hour into one file, each as a gzip member, as our recorder does.

    Where an older recorder has packed an hour, all of it is one member.
    """
    minutes = sorted(hour.glob("*.json"))
    packed = hour / f"{minutes[0].name}.gz"
    packed.write_bytes(b"".join(gzip.compress(minute.read_bytes()) for minute in minutes))
    for minute in minutes:
        minute.unlink()
    return packed


def write_system(
    job: Path,
    columns: Mapping[str, Sequence[float | None]],
    *,
    start_s: float = START_S,
    interval_s: float = 0.5,
    node: str = "algo-1",
) -> None:
    """Write the minute files of what ``system_table`` builds from the same arguments."""
    minutes: dict[float, list[str]] = {}
    for tick in range(max(len(values) for values in columns.values())):
        time_s = start_s + tick * interval_s
        lines = minutes.setdefault(time_s // 60 * 60, [])
        for short_name, values in columns.items():
            value = values[tick] if tick < len(values) else None
            if value is not None:
                lines.append(system_line(short_name, value, time_s, node=node))
    for minute_s, lines in minutes.items():
        write_minute(job, lines, minute_s=minute_s, node=node)


def timeline_lines(rows: Sequence[Row], *, base_s: float | None = START_S) -> list[str]:
    """Return the lines of a timeline, header first, without brackets and commas.

    ``rows`` are those of ``span_table``; of ``more`` the arguments of the event are used.
    """
    lines = []
    if base_s is not None:
        base = {"start_time_since_epoch_in_micros": ns(base_s) // 1000}
        lines.append(json.dumps({"name": "process_name", "ph": "M", "pid": 0, "args": base}))
    phases = list(dict.fromkeys(row[0] for row in rows))
    for pid, phase in enumerate(phases, start=1):
        named = {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": phase}}
        lines.append(json.dumps(named))
    for row in rows:
        more = dict(row[4] if len(row) == 5 else {})
        args = {_ARGUMENTS.get(key, key): value for key, value in more.items()}
        start_us, end_us = (ns(time_s - (base_s or 0.0)) // 1000 for time_s in row[2:4])
        event = {"name": row[1], "pid": phases.index(row[0]) + 1, "ph": "X", "ts": start_us}
        event |= {"dur": end_us - start_us} | ({"args": args} if args else {})
        lines.append(json.dumps(event))
    return lines


_ARGUMENTS = {"step": "step_num", "os_pid": "pid"}


def write_timeline(
    job: Path,
    content: Sequence[str] | bytes,
    *,
    end_s: float = START_S + 60,
    node_id: str = "27-algo-1",
    suffix: str = "pythontimeline",
) -> Path:
    """Write one timeline below ``job/profiler-output``; lines become a closed array."""
    hour = datetime.fromtimestamp(end_s, UTC).strftime("%Y%m%d%H")
    folder = job / "profiler-output" / "framework" / "pevents" / hour
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{ns(end_s) // 1000}_{node_id}_{suffix}.json"
    if not isinstance(content, bytes):
        content = ("[\n" + ",\n".join(content) + "\n]\n").encode()
    path.write_bytes(content)
    return path


def write_end_marker(job: Path, *, room: str = "system") -> None:
    """Mark a job as finished."""
    marker = job / "profiler-output" / room / "training_job_end.ts"
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
