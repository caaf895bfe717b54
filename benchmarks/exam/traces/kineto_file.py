"""Write a simulated job as PyTorch's profiler would, one file for each rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.exam.traces.clock import AUTOGRAD, MAIN
from benchmarks.exam.traces.plan import Family, Job
from benchmarks.exam.traces.simulate import simulate

BASE_NS = 1_782_967_788_000_000_000
"""A multiple of 7,889,238 s, as the profiler has it; in July 2026."""
START_US = 104_412_345.0
"""What the profiler's clock shows at the beginning of the simulation."""


def at_unix_s(time_us: float) -> float:
    """Return the time of day of a moment of the simulation."""
    return BASE_NS / 1e9 + (START_US + time_us) / 1e6


def write_job(job: Job, folder: Path) -> None:
    """Write the traces of all ranks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    events: list[list[str]] = [[] for _ in range(job.plan.n_ranks)]
    recorders = [_recorder(rank, lines) for rank, lines in enumerate(events)]
    simulate(job, recorders)
    for rank, lines in enumerate(events):
        head = json.dumps(_header(job, rank))[:-1]
        text = f'{head}, "traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"
        name = f"rank-{rank}.pt.trace.json"
        if job.plan.family is Family.SERVING:
            name = f"server-0_{4100 + rank}.1782967788123.pt.trace.json"
        (folder / name).write_text(text, encoding="utf-8")


def _recorder(rank: int, lines: list[str]) -> Any:
    """Return what keeps events as text; a negative place is a thread of the host."""
    host = 4100 + rank

    def record(
        category: str, name: str, start_us: float, lasts_us: float, place: int, args: dict[str, Any]
    ) -> None:
        thread = {-1 - MAIN: host, -1 - AUTOGRAD: host + 77}.get(place, place)
        lines.append(
            json.dumps(
                {
                    "ph": "X", "cat": category, "name": name,
                    "pid": host if place < 0 else rank, "tid": thread,
                    "ts": round(START_US + start_us, 3), "dur": round(lasts_us, 3), "args": args,
                }
            )
        )  # fmt: skip

    return record


def _header(job: Job, rank: int) -> dict[str, Any]:
    name = "NVIDIA A100-SXM4-80GB" if job.plan.family is Family.EAGER else "NVIDIA H100 80GB HBM3"
    n_ranks = job.plan.n_ranks
    head: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": number, "name": name, "totalGlobalMem": 84_987_740_160, "numSms": 108}
            for number in range(n_ranks)
        ],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
    }
    if n_ranks > 1:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": n_ranks}
    return head
