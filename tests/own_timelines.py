"""Timelines as Horovod and TensorFlow's profiler write them, from a few readable numbers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CLOCK_US = 77_567_277_433
"""Where a machine's clock stands when a Horovod timeline begins: about 21 hours."""

PROFILE_START_US = 1_783_071_010_000_000
STEP_FOLDER = "framework/tensorflow/detailed_profiling/2026070309/000000005"

Ready = tuple[str, Mapping[int, int]]
"""A tensor, and by rank when it was ready for it, in µs after the clock's start."""


def negotiation_lines(
    negotiations: Sequence[Ready], *, clock_us: int = CLOCK_US, tick_dur_us: int = 0
) -> list[str]:
    """Return a timeline's lines: each negotiation, and 100 µs of ALLREDUCE behind it."""
    tensors = list(dict.fromkeys(tensor for tensor, _ in negotiations))
    events: list[dict[str, Any]] = [{"ph": "i", "name": "CYCLE_START", "ts": clock_us, "s": "g"}]
    for number, tensor in enumerate(tensors, start=1):
        args = {"name": tensor}
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": args})
    for tensor, ready in negotiations:
        pid = tensors.index(tensor) + 1
        times_us = [clock_us + at_us for at_us in ready.values()]
        begin_us, end_us = min(times_us), max(times_us) + 2
        events.append({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": begin_us, "pid": pid})
        for rank, at_us in sorted(ready.items(), key=lambda item: item[1]):
            tick = {"ph": "X", "name": str(rank), "ts": clock_us + at_us, "pid": pid}
            events.append(tick | {"dur": tick_dur_us})
        events.append({"ph": "E", "ts": end_us, "pid": pid})
        events.append({"ph": "B", "name": "ALLREDUCE", "ts": end_us, "pid": pid})
        events.append({"ph": "E", "ts": end_us + 100, "pid": pid})
    return [json.dumps(event) for event in events]


def horovod_bytes(lines: Sequence[str]) -> bytes:
    """Return the file as Horovod leaves it: an array that is never closed."""
    return ("[\n" + "".join(f"{line},\n" for line in lines)).encode()


def late_rank(
    n_negotiations: int, *, late: int = 2, n_ranks: int = 4, late_us: int = 4_000
) -> list[Ready]:
    """Return negotiations, one each 10 ms, in which one rank is always last."""
    return [
        (
            f"grad_{number % 5}",
            {
                rank: number * 10_000 + (late_us if rank == late else 10 * rank)
                for rank in range(n_ranks)
            },
        )
        for number in range(n_negotiations)
    ]


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
