"""Files of the timeline (docs/timeline-format.md) made by hand, for tests and benchmarks."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Strip = tuple[int, int, int, int, int, int]
"""Start and duration in ns, row, name, detail, flow; in runs the last two are count and busy ns."""


RESOLUTION_NS = 500_000
"""Of runs."""


@dataclass(kw_only=True)
class LaneFile:
    """A file in the making: blocks are appended, the header names them."""

    start_ns: int = 0
    is_unix: bool = False
    length_ns: int = 1_000_000
    names: list[str] = field(default_factory=lambda: [""])
    families: dict[str, str] = field(default_factory=dict)
    details: list[str] = field(default_factory=lambda: [""])
    lanes: list[dict[str, Any]] = field(default_factory=list)
    windows: list[dict[str, Any]] = field(default_factory=list)
    arrows: list[dict[str, Any]] = field(default_factory=list)
    _blocks: bytearray = field(default_factory=bytearray)

    def name(self, text: str, family: str = "operators") -> int:
        """Return the number of a name."""
        self.families.setdefault(text, family)
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def lane(self, kind: str, label: str, parent: int | None = None, **more: Any) -> int:
        """Add a lane below another and return its id."""
        known = {"n_events": 0, "rows": 0, "node": "", "blocks": []}
        made = {"id": len(self.lanes), "parent": parent, "kind": kind, "label": label}
        self.lanes.append({**made, **known, **more})
        return len(self.lanes) - 1

    def strips(
        self, lane: int, strips: Sequence[Strip] | np.ndarray, *, level: int = 0, **span: int
    ) -> None:
        """Add a block of strips to a lane; ``start`` and ``end`` say what it covers."""
        table = np.asarray(strips, dtype=np.int64).reshape(-1, 6)
        table = table[np.lexsort((table[:, 2], table[:, 0]))]
        start, end = span.get("start", 0), span.get("end", self.length_ns)
        steps = np.diff(table[:, 0], prepend=start)
        at = self._add(_packed([steps, *table.T[1:]]))
        entry = self.lanes[lane]
        entry["blocks"].append(
            {"level": level, "from": start, "to": end, "n": len(table), "at": at}
        )
        entry["n_events"] += len(table) if level == 0 else int(table[:, 4].sum())
        entry["rows"] = max(entry["rows"], int(table[:, 2].max(initial=-1)) + 1)

    def counter(self, lane: int, times_ns: Sequence[int], values: Sequence[float]) -> None:
        """Add the values of a counter."""
        times = np.diff(np.asarray(times_ns, dtype=np.int64), prepend=0)
        scaled = np.rint(np.multiply(values, 1000.0)).astype(np.int64)
        block = {"level": 0, "from": 0, "to": self.length_ns, "n": len(times)}
        self.lanes[lane]["blocks"].append({**block, "at": self._add(_packed([times, scaled]))})
        self.lanes[lane] |= {
            "n_events": len(times),
            "least": min(*values, 0),
            "most": max(values),
            "rows": 1,
        }

    def arrow(self, lane: int, rows: Sequence[tuple[int, int, int, int, int]]) -> None:
        """Add arrows of a rank: flow, lane and start of the call, lane and start of the run."""
        table = np.asarray(sorted(rows, key=lambda row: row[2]), dtype=np.int64).reshape(-1, 5)
        flow, from_lane, from_start, to_lane, to_start = table.T
        columns = [flow, from_lane, np.diff(from_start, prepend=0), to_lane, to_start - from_start]
        at = self._add(_packed(columns))
        span = {"from": 0, "to": self.length_ns}
        self.arrows.append({"lane": lane, "n": len(table), **span, "at": at})

    def window(self, start: int, end: int, why: str) -> None:
        """Say that everything in a range is kept."""
        self.windows.append({"start": start, "end": end, "why": why})

    def packed(self) -> bytes:
        """Return the bytes of the file."""
        families = [self.families.get(name, "operators") for name in self.names]
        header = {
            "start_ns": str(self.start_ns),
            "is_unix": self.is_unix,
            "length_ns": self.length_ns,
            "n_counters": sum(lane["kind"] == "counter" for lane in self.lanes),
            "names": self._add(gzip.compress(json.dumps(self.names).encode(), mtime=0)),
            "families": self._add(gzip.compress(json.dumps(families).encode(), mtime=0)),
            "details": self._add(gzip.compress(json.dumps(self.details).encode(), mtime=0)),
            "lanes": self.lanes,
            "windows": self.windows,
            "arrows": self.arrows,
        }
        text = json.dumps(header).encode()
        return b"RGTL0003" + struct.pack("<I", len(text)) + text + bytes(self._blocks)

    def _add(self, block: bytes) -> list[int]:
        self._blocks += block
        return [len(self._blocks) - len(block), len(block)]


def planes(values: np.ndarray) -> bytes:
    """Return the lowest byte of all numbers, then the second of all, and so on."""
    return np.asarray(values, dtype="<i8").reshape(-1, 1).view(np.uint8).T.tobytes()


def _packed(columns: Sequence[np.ndarray]) -> bytes:
    return gzip.compress(b"".join(map(planes, columns)), mtime=0)


def training_file(*, n_ranks: int = 2, n_steps: int = 6, late_rank: int | None = None) -> LaneFile:
    """Return steps of 1 ms on some ranks: operators, launches, kernels, a collective, a graph.

    The second half is kept as runs of half a step. Step 2 of each rank launches a graph of three
    kernels.
    """
    made = LaneFile(start_ns=1_694_128_201_541_000_000, is_unix=True, length_ns=n_steps * 1_000_000)
    made.details += ["grid 80 × 1 × 1, block 256 × 1 × 1", "all_reduce of 1,024 Float in group 0"]
    half = max(1, n_steps // 2) * 1_000_000
    made.window(0, half, "first steps")
    node = made.lane("node", "algo-1", node="algo-1")
    for rank in range(n_ranks):
        _add_rank(made, node, rank, n_steps, half, late_ns=150_000 if rank == late_rank else 0)
    return made


def _add_rank(
    made: LaneFile, node: int, rank: int, n_steps: int, half: int, *, late_ns: int
) -> None:
    label = f"rank {rank}"
    top = made.lane("rank", label, node, node=label)
    steps = made.lane("steps", "steps", top, node=label)
    notes = made.lane("annotations", "annotations", top, node=label)
    host = made.lane("host", "host", top, node=label)
    thread = made.lane("thread", "thread 71 (main)", host, node=label)
    gpu = made.lane("gpu", f"GPU {rank}", top, node=label)
    compute, network = (made.lane("stream", f"stream {at}", gpu, node=label) for at in (7, 20))
    memory = made.lane("counter", "memory in use", top, node=label, unit="GB")
    rows: dict[int, list[Strip]] = {lane: [] for lane in (steps, notes, thread, compute, network)}
    arrows = []
    for step in range(n_steps):
        t0 = step * 1_000_000
        rows[steps].append((t0, 990_000, 0, made.name(f"ProfilerStep#{step}", "annotations"), 0, 0))
        rows[notes].append((t0 + 20_000, 400_000, 0, made.name("forward", "annotations"), 0, 0))
        rows[notes].append((t0 + 440_000, 300_000, 0, made.name("backward", "annotations"), 0, 0))
        for at in range(8):
            begin, flow = t0 + 20_000 + at * 90_000, step * 10 + at + 1
            operator = made.name(f"aten::{('mm', 'add_', 'relu', 'sum')[at % 4]}")
            rows[thread].append((begin, 60_000, 0, operator, 0, 0))
            rows[thread].append((begin + 5_000, 40_000, 1, made.name("aten::inner"), 0, 0))
            is_graph = step == 2 and at == 3
            launch = made.name("cudaGraphLaunch" if is_graph else "cudaLaunchKernel", "runtime")
            rows[thread].append((begin + 10_000, 9_000, 2, launch, 0, flow))
            for part in range(3 if is_graph else 1):
                start = begin + 30_000 + part * 25_000 + late_ns
                duration = 20_000 if is_graph else 70_000
                kernel = made.name(f"void gemm_{at % 3}<float, 4>(float*)", "compute")
                rows[compute].append((start, duration, 0, kernel, 1, flow))
                arrows.append((flow, thread, begin + 10_000, compute, start))
        begin, flow = t0 + 760_000, step * 10 + 9
        rows[thread].append(
            (begin, 30_000, 0, made.name("c10d::allreduce_", "communication"), 0, 0)
        )
        rows[thread].append(
            (begin + 8_000, 9_000, 1, made.name("cudaLaunchKernel", "runtime"), 0, flow)
        )
        start = begin + 20_000 + late_ns
        duration = t0 + 985_000 - start
        nccl = made.name("ncclDevKernel_AllReduce_Sum_f32", "communication")
        rows[network].append((start, duration, 0, nccl, 2, flow))
        arrows.append((flow, thread, begin + 8_000, network, start))
    for lane, strips in rows.items():
        kept = [strip for strip in strips if strip[0] < half]
        made.strips(lane, kept, start=0, end=half)
        made.strips(lane, _runs(strips), level=1)
        made.lanes[lane]["n_events"] = len(strips)
    made.arrow(top, [row for row in arrows if row[2] < half])
    times = list(range(0, made.length_ns, 100_000))
    made.counter(memory, times, [4 + 3 * ((at % 10) / 10) for at in range(len(times))])


def _runs(strips: Sequence[Strip]) -> list[Strip]:
    """Return runs as the writer does: shorter events that begin in the same interval are one."""
    made: list[list[int]] = []
    open_runs: dict[tuple[int, int], list[int]] = {}
    for start, duration, row, name, *_ in sorted(strips, key=lambda it: (it[0], it[2])):
        key = (row, start // RESOLUTION_NS)
        if duration < RESOLUTION_NS and key in open_runs:
            run = open_runs[key]
            run[1] = max(run[1], start + duration - run[0])
            run[4], run[5] = run[4] + 1, run[5] + duration
        else:
            made.append([start, duration, row, name, 1, duration])
            if duration < RESOLUTION_NS:
                open_runs[key] = made[-1]
    return [tuple(run) for run in made]  # type: ignore[misc]  # six numbers
