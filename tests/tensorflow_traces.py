"""Traces as TensorFlow's profiler writes them, from a few readable numbers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROFILE_START_US = 1_783_071_010_000_000
STEP_FOLDER = "profiler-output/framework/tensorflow/detailed_profiling/2026070309/000000005"


def tensorflow_events() -> list[dict[str, Any]]:
    """Return the events of a small trace: marked passes, operators on host and device."""
    host, device = "/host:CPU", "/device:GPU:0/stream:all"
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        for pid, name in ((49, host), (1, device))
    ]
    rows = [
        (49, "aws_marker-ForwardPass/dense", 0, 40),
        (49, "aws_marker-ComputeGradient/dense", 40, 60),
        (49, "MatMul:MatMul", 5, 20.5),
        (1, "volta_sgemm_128x64", 10, 30),
    ]
    events += [
        {"pid": pid, "tid": 7, "ts": ts, "dur": dur, "name": name, "ph": "X"}
        for pid, name, ts, dur in rows
    ]
    return [*events, {}]


def tensorflow_bytes(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a trace, packed, as TensorFlow's profiler writes it."""
    tree = {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": list(events),
    }
    return gzip.compress(json.dumps(tree).encode(), mtime=0)


def write_tensorflow(
    job: Path,
    *,
    host: str = "ip-10-0-0-1",
    node_ids: Sequence[str] = ("27-algo-1",),
    content: bytes | None = None,
) -> Path:
    """Write a trace of TensorFlow's profiler, and who made it when; return the trace."""
    folder = job / STEP_FOLDER / "plugins" / "profile" / "2026_07_03_09_30_10"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{host}.trace.json.gz"
    path.write_bytes(tensorflow_bytes(tensorflow_events()) if content is None else content)
    (folder / f"{host}.kernel_stats.pb").write_bytes(b"\x0a")
    for node_id in node_ids:
        times = f"{PROFILE_START_US}_{PROFILE_START_US + 1_000_000}"
        (job / STEP_FOLDER / f"{node_id}_{times}.metadata").touch()
    return path
