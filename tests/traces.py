"""Small kernel traces as the profiler writes them, and ways to damage them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reportgen.formats.kineto.trace_file import TraceFile, read_trace

BASE_NS = 1_782_967_788_000_000_000
START_US = 104_412_345.0
PID = 4100

Event = dict[str, Any]


def span(
    category: str,
    name: str,
    start_us: float,
    duration_us: float,
    *,
    pid: int | str = PID,
    tid: int | str = PID,
    **args: Any,
) -> Event:
    """An event with a duration; arguments by their names in the file, ``_`` for a space."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": START_US + start_us,
        "dur": duration_us,
        "args": {key.replace("_", " "): value for key, value in args.items()},
    }


def launch(start_us: float, correlation: int, *, duration_us: float = 5.0) -> Event:
    return span("cuda_runtime", "cudaLaunchKernel", start_us, duration_us, correlation=correlation)


def kernel(start_us: float, duration_us: float, correlation: int, **more: Any) -> Event:
    args = {"device": 0, "stream": 7, "correlation": correlation} | more
    name = str(args.pop("name", "gemm"))
    return span("kernel", name, start_us, duration_us, pid=0, tid=args["stream"], **args)


def step(number: int, start_us: float, duration_us: float) -> Event:
    return span("user_annotation", f"ProfilerStep#{number}", start_us, duration_us)


def small_events() -> list[Event]:
    """Two steps of two kernels: 100 µs each, of which the GPU works 60."""
    events = []
    for number in range(2):
        start_us = 100.0 * number
        events += [
            step(number, start_us, 100.0),
            span("cpu_op", "aten::mm", start_us + 2, 10, **{"External id": number}),
            launch(start_us + 5, 2 * number),
            launch(start_us + 10, 2 * number + 1),
            kernel(start_us + 20, 30.0, 2 * number),
            kernel(start_us + 50, 30.0, 2 * number + 1, name="relu"),
        ]
    return events


def header(**more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42297524224}],
        "baseTimeNanoseconds": BASE_NS,
    } | more


def trace_text(
    events: Sequence[Event] | None = None, *, head: Mapping[str, Any] | None = None
) -> str:
    """A trace laid out as the profiler does it: one event on several lines."""
    opening = json.dumps(header() if head is None else dict(head), indent=2)[:-2]
    shown = small_events() if events is None else events
    body = ",\n".join("  " + json.dumps(event, indent=1) for event in shown)
    comma = ",\n" if opening.strip() != "" and len(opening) > 2 else ""
    return f'{opening}{comma}  "traceEvents": [\n{body}\n  ],\n  "traceName": "trace.json"\n}}\n'


def read_text(text: str | bytes, *, block_bytes: int = 1 << 20) -> TraceFile:
    """Read a trace from memory."""
    content = text.encode() if isinstance(text, str) else text
    starts = range(0, len(content), block_bytes)
    return read_trace(content[start : start + block_bytes] for start in starts)


def write_trace(path: Path, text: str | bytes) -> Path:
    """Write a trace, packed where the name says so."""
    content = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


def ranked(rank: int, *, world_size: int = 2, events: Sequence[Event] | None = None) -> str:
    """The trace of a rank."""
    group = {"backend": "nccl", "rank": rank, "world_size": world_size}
    return trace_text(events, head=header(distributedInfo=group))
