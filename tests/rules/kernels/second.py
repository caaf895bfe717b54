"""The figures of kernel traces computed a second time: plain numpy on the raw JSON.

Nothing of the package is used, so that reader and analyses are checked together.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Event = dict[str, Any]

GPU_KINDS = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
}
HOST_CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
COMMUNICATION = re.compile(
    r"nccl|rccl|hccl|oneccl|msccl|nvshmem|cross_device_reduce|multimem_.*(reduce|gather)"
    r"|allreduce_fusion|deep_ep::|hybrid_ep::|(internode|intranode)(_ll)?::",
    re.IGNORECASE,
)
LOADER = re.compile(r"^enumerate\(DataLoader\)#.*__next__")
SMALL_GAP_US = 30.0


@functools.lru_cache(maxsize=1)
def events_of(path: Path) -> list[Event]:
    """Return all trace events of a file; those of the last file are kept."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    events: list[Event] = json.loads(content, strict=False)["traceEvents"]
    return events


def union(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Return the union of intervals as sorted, disjoint intervals."""
    if not start.size:
        return start, end
    order = np.lexsort((end, start))
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.r_[True, start[1:] > reach[:-1]])
    return start[first], reach[np.r_[first[1:] - 1, start.size - 1]]


def length(start: Floats, end: Floats) -> float:
    """Return the length of the union of intervals."""
    first, last = union(start, end)
    return float(np.sum(last - first))


def covered(start: Floats, end: Floats, low: Floats, high: Floats) -> float:
    """Return how much of the disjoint [low, high] lies in the union of intervals."""
    apart = float(np.sum(high - low)) + length(start, end)
    return apart - length(np.r_[start, low], np.r_[end, high])


class RawTrace:
    """One file's events as arrays: GPU operations in the file's order, their launches."""

    def __init__(self, path: Path) -> None:
        timed = [event for event in events_of(path) if event.get("ph") == "X"]
        gpu = [event for event in timed if event.get("cat") in GPU_KINDS]
        self.base = min(int(float(event["ts"])) for event in timed)
        self.start = self.after_base([float(event["ts"]) for event in gpu])
        self.end = self.after_base([float(event["ts"]) + float(event["dur"]) for event in gpu])
        self.duration = np.array([float(event["dur"]) for event in gpu])
        self.names = np.array([event["name"] for event in gpu], dtype=object)
        self.kind = np.array([GPU_KINDS[event["cat"]] for event in gpu])
        self.bytes = np.array([int(event["args"].get("bytes", 0)) for event in gpu])
        self.is_communication = np.array(
            [
                kind == "kernel"
                and bool(COMMUNICATION.search(event["name"]) or "Collective name" in event["args"])
                for event, kind in zip(gpu, self.kind, strict=True)
            ],
            dtype=bool,
        )
        calls = {}
        for event in timed:
            if event.get("cat") in HOST_CALLS:
                correlation = event.get("args", {}).get("correlation")
                if correlation is not None:
                    calls[correlation] = event
        found = [calls.get(event["args"].get("correlation")) for event in gpu]
        self.launch_start = self.after_base(
            [np.nan if c is None else float(c["ts"]) for c in found]
        )
        self.launch_end = self.after_base(
            [np.nan if c is None else float(c["ts"]) + float(c["dur"]) for c in found]
        )

        loaders = [event for event in timed if LOADER.match(event["name"])]
        self.loader_start = self.after_base([float(event["ts"]) for event in loaders])
        self.loader_end = self.after_base([float(e["ts"]) + float(e["dur"]) for e in loaders])

    def after_base(self, times: list[float]) -> Floats:
        """Return times after a whole microsecond, rid of what float64 adds to their decimals."""
        return np.round(np.array(times, dtype=np.float64) - self.base, 3)


@functools.cache
def raw_trace(path: Path) -> RawTrace:
    """Read a file's raw JSON; only arrays are kept."""
    return RawTrace(path)


def basics(trace: RawTrace) -> dict[str, float]:
    """Return the unions over the window from the first to the end of the last GPU operation."""
    compute = (trace.kind == "kernel") & ~trace.is_communication
    comm = trace.is_communication
    memory = trace.kind != "kernel"

    def of(rows: NDArray[np.bool_]) -> float:
        return length(trace.start[rows], trace.end[rows])

    busy = length(trace.start, trace.end)
    span = float(trace.end.max() - trace.start.min())
    return {
        "span": span,
        "busy": busy,
        "idle": span - busy,
        "compute": of(compute),
        "non_compute": busy - of(compute),
        "communication": of(comm),
        "memory": of(memory),
        "overlap": of(comm) + of(compute) - of(comm | compute),
        "kernel_time_sum": float(trace.duration[trace.kind == "kernel"].sum()),
    }


def top_kernels(trace: RawTrace) -> dict[str, dict[str, float]]:
    """Return count, sum, min, max, mean and deviation (n - 1) by kernel name."""
    found = {}
    for name in set(trace.names[trace.kind == "kernel"]):
        values = trace.duration[(trace.kind == "kernel") & (trace.names == name)]
        found[name] = {
            "count": values.size,
            "sum": float(values.sum()),
            "min": float(values.min()),
            "max": float(values.max()),
            "mean": float(values.mean()),
            "std": float(values.std(ddof=1)) if values.size > 1 else 0.0,
        }
    return found


def memory_operations(trace: RawTrace) -> dict[str, dict[str, float]]:
    """Return count, sum and bytes by ``Memcpy <direction>`` and ``Memset``."""
    found: dict[str, dict[str, float]] = {}
    columns = zip(trace.names, trace.kind, trace.duration, trace.bytes, strict=True)
    for kernel, kind, duration, size in columns:
        if kind == "kernel":
            continue
        match = re.match(r"Memcpy (\w+)", kernel)
        name = "Memset" if kind == "memset" or match is None else f"Memcpy {match[1]}"
        entry = found.setdefault(name, {"count": 0, "sum": 0.0, "bytes": 0})
        entry["count"] += 1
        entry["sum"] += float(duration)
        entry["bytes"] += int(size)
    return found


def queue_delay(trace: RawTrace) -> dict[str, float]:
    """Return statistics of start on the GPU minus end of the launch call, per operation."""
    delay = (trace.start - trace.launch_end)[~np.isnan(trace.launch_end)]
    return {
        "matched": delay.size,
        "orphans": trace.start.size - delay.size,
        "negative": int(np.sum(delay < 0)),
        "p50": float(np.percentile(delay, 50)),
        "p95": float(np.percentile(delay, 95)),
        "max": float(delay.max()),
        "min": float(delay.min()),
    }


def idle_attribution(trace: RawTrace) -> dict[str, float]:
    """Return how the gaps between GPU operations split by the launch of the one that ends them."""
    # Of operations that start together the first in the file ends the gap.
    order = np.argsort(trace.start, kind="stable")
    start, end = trace.start[order], trace.end[order]
    reach = np.maximum.accumulate(end)
    ends_gap = np.flatnonzero(np.r_[False, start[1:] > reach[:-1]])
    low, high = reach[ends_gap - 1], start[ends_gap]
    h0, h1 = trace.launch_start[order][ends_gap], trace.launch_end[order][ends_gap]
    known = ~np.isnan(h0)
    until_call = np.clip(h0[known], low[known], high[known])
    until_end = np.clip(h1[known], until_call, high[known])
    rest = high[known] - until_end
    small = rest < SMALL_GAP_US
    return {
        "host_late": float((until_call - low[known]).sum()),
        "in_launch_call": float((until_end - until_call).sum()),
        "gap_small": float(rest[small].sum()),
        "gap_large": float(rest[~small].sum()),
        "launch_not_recorded": float((high - low)[~known].sum()),
        "host_late_inside_DataLoader_next": covered(
            trace.loader_start, trace.loader_end, low[known], until_call
        ),
    }


OPERATORS = ("cpu_op", "Operator")
MARKED = re.compile(r"^(ProfilerStep *#|Optimizer\.|enumerate\(DataLoader\)#|## )")


def gpu_time_during(path: Path, name: str) -> float:
    """Return the µs in which GPU operations ran that any thread launched inside ranges of a name.

    Added up over ranges.
    """
    raw = raw_trace(path)
    ranges = [e for e in events_of(path) if e.get("ph") == "X" and e["name"] == name]
    ranges = [e for e in ranges if e.get("cat") in OPERATORS or e["cat"] == "user_annotation"]
    total = 0.0
    for event in ranges:
        low = float(event["ts"]) - raw.base
        is_in = (raw.launch_start >= low) & (raw.launch_start <= low + float(event["dur"]))
        total += length(raw.start[is_in], raw.end[is_in])
    return total


def step_spans(path: Path) -> list[float]:
    """Return the µs from the first to the last GPU operation that each profiler step launched."""
    raw = raw_trace(path)
    spans = []
    steps = [e for e in events_of(path) if str(e.get("name")).startswith("ProfilerStep")]
    steps = [e for e in steps if e.get("ph") == "X" and e["cat"] in (*OPERATORS, "user_annotation")]
    for event in sorted(steps, key=lambda event: float(event["ts"])):
        low = round(float(event["ts"]) - raw.base, 3)
        is_in = (raw.launch_start >= low) & (raw.launch_start < low + float(event["dur"]))
        own = [*raw.start[is_in], *raw.end[is_in]]
        spans.append(max(own) - min(own) if own else 0.0)
    return spans


def operators(path: Path) -> dict[str, dict[str, float]]:
    """Return count, host time, self time and GPU time of each operator, by walking each thread."""
    timed = [event for event in events_of(path) if event.get("ph") == "X"]
    threads: dict[Any, list[Event]] = {}
    for event in timed:
        if event.get("cat") in OPERATORS and not MARKED.match(event["name"]):
            threads.setdefault(str(event["tid"]), []).append(event)
    gpu: dict[int, float] = {}
    for event in timed:
        if event.get("cat") in GPU_KINDS:
            correlation = event["args"].get("correlation")
            gpu[correlation] = gpu.get(correlation, 0.0) + float(event["dur"])
    calls: dict[str, list[tuple[float, float]]] = {}
    for event in timed:
        spent = gpu.get(event.get("args", {}).get("correlation"))
        if event.get("cat") in HOST_CALLS and spent is not None:
            calls.setdefault(str(event["tid"]), []).append((float(event["ts"]), spent))
    totals: dict[str, dict[str, float]] = {}
    for thread, events in threads.items():
        _walk(events, sorted(calls.get(thread, [])), totals)
    return totals


def _walk(
    events: list[Event], calls: list[tuple[float, float]], totals: dict[str, dict[str, float]]
) -> None:
    """Add up one thread with a stack of what is open."""
    events = sorted(events, key=lambda event: (float(event["ts"]), -float(event["dur"])))
    moments = [(float(event["ts"]), 0, place) for place, event in enumerate(events)]
    moments += [(at, 1, place) for place, (at, _) in enumerate(calls)]
    open_: list[tuple[float, dict[str, float]]] = []
    for at, is_call, place in sorted(moments):
        while open_ and open_[-1][0] <= at:
            open_.pop()
        if is_call:
            if open_:
                open_[-1][1]["gpu_us"] += calls[place][1]
            continue
        name, spent = events[place]["name"], float(events[place]["dur"])
        own = totals.setdefault(name, {"count": 0, "sum_us": 0.0, "self_us": 0.0, "gpu_us": 0.0})
        own["count"] += 1
        own["sum_us"] += spent
        own["self_us"] += spent
        if open_:
            open_[-1][1]["self_us"] -= spent
        open_.append((at + spent, own))
