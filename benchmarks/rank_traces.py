"""Kernel traces of a job of many ranks, with a planted fault, and what their report costs.

``python benchmarks/rank_traces.py FOLDER --ranks 256 --fault slow-rank`` writes traces;
``python benchmarks/rank_traces.py --measure 8 64 256`` prints the cost of reports as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BASE_NS = 1_782_967_788_000_000_000
START_US = 104_412_345.0
STAMP_NS = 1_783_072_200_000_000_000
RANKS_PER_NODE = 8
NODES_PER_GROUP = 4
"""Gradients are reduced among as many nodes, by the ranks of the same place in each."""

LAYERS = 4
LAYER_US, GATHER_US, REDUCE_US = 900.0, 300.0, 1_500.0
GATHER_ELEMENTS, REDUCE_ELEMENTS = 4_000_000, 16_000_000
NORM_US = 50.0
"""At the end of a step all ranks add up the norm of the gradients, which is one number."""
MOST_WRITTEN = 30
"""PyTorch writes the first ranks and the last one of larger groups."""
SLOW_COMPUTE, SLOW_TRANSFER = 1.4, 3.0
SKEW_US = 17_000_000.0
"""The clock of each node is ahead of that of the node before by so much, if clocks are skewed."""


class Fault(Enum):
    """What is wrong with the job; the rank, link or node is ``culprit`` of its size."""

    NONE = "none"
    SLOW_RANK = "slow-rank"
    SLOW_LINK = "slow-link"
    SLOW_NODE = "slow-node"


@dataclass(slots=True, kw_only=True)
class Writer:
    """One rank while its trace is made: when its stream is free, and its events."""

    rank: int
    noise: random.Random
    free_us: float
    events: list[dict[str, Any]]
    n_ids: int = 0

    @property
    def node(self) -> int:
        """Return the number of its node."""
        return self.rank // RANKS_PER_NODE

    def run(self, name: str, start_us: float, duration_us: float, **args: Any) -> None:
        """Write a launch, and the kernel that it starts."""
        self.n_ids += 1
        link = {"correlation": self.n_ids, "External id": self.n_ids}
        launch = {"ts": round(start_us - 2, 3), "dur": 1.0, "pid": 4100, "tid": 4100, "args": link}
        self.events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **launch})
        device = self.rank % RANKS_PER_NODE
        place = {"device": device, "stream": 7, **link, **args}
        times = {"ts": round(start_us, 3), "dur": round(duration_us, 3), "pid": device, "tid": 7}
        self.events.append({"ph": "X", "cat": "kernel", "name": name, **times, "args": place})
        self.free_us = start_us + duration_us


def culprit(n_ranks: int, fault: Fault) -> int:
    """Return the rank that is slow, or the node that is or whose link is."""
    n_nodes = -(-n_ranks // RANKS_PER_NODE)
    return (n_ranks * 5) // 8 if fault is Fault.SLOW_RANK else (n_nodes * 5) // 8


def write_job(
    folder: Path,
    n_ranks: int,
    *,
    n_steps: int = 8,
    fault: Fault = Fault.NONE,
    seed: int = 1,
    skew_us: float = 0.0,
) -> None:
    """Write the traces of all ranks, named as TensorBoard's handler names them.

    The clock of each node is ``skew_us`` ahead of that of the node before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    job = [
        Writer(rank=rank, noise=random.Random(f"{seed}.{rank}"), free_us=START_US, events=[])
        for rank in range(n_ranks)
    ]
    for step in range(n_steps):
        _write_step(job, step, fault)
    for writer in job:
        name = f"node{writer.node:03d}_{4100 + writer.rank}.{STAMP_NS + writer.rank}.pt.trace.json"
        for event in writer.events:
            event["ts"] = round(event["ts"] + skew_us * writer.node, 3)
        events = sorted(writer.events, key=lambda event: event["ts"])
        body = ",\n".join(map(json.dumps, events))
        head = json.dumps(_header(writer.rank, n_ranks))[:-1]
        (folder / name).write_text(f'{head}, "traceEvents": [\n{body}\n]}}\n')


def _header(rank: int, n_ranks: int) -> dict[str, Any]:
    gpu = {"id": rank % RANKS_PER_NODE, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}
    group = {"backend": "nccl", "rank": rank, "world_size": n_ranks}
    return {
        "schemaVersion": 1,
        "deviceProperties": [gpu],
        "distributedInfo": group,
        "baseTimeNanoseconds": BASE_NS,
    }


def _write_step(job: Sequence[Writer], step: int, fault: Fault) -> None:
    """Compute and gather layer by layer within nodes, reduce among groups of nodes, then meet."""
    who = culprit(len(job), fault)
    begins_us = [writer.free_us for writer in job]
    for _ in range(LAYERS):
        for writer in job:
            is_slow = (fault is Fault.SLOW_RANK and writer.rank == who) or (
                fault is Fault.SLOW_NODE and writer.node == who
            )
            layer_us = LAYER_US * writer.noise.gauss(1.0, 0.01)
            layer_us *= SLOW_COMPUTE if is_slow else 1.0
            writer.run("ampere_bf16_s16816gemm", writer.free_us + 5, layer_us)
        for members in groups(job, lambda writer: (writer.node,)):
            is_slow = fault is Fault.SLOW_LINK and members[0].node == who
            gather_us = GATHER_US * (SLOW_TRANSFER if is_slow else 1.0)
            _meet(members, "_allgather_base", gather_us, GATHER_ELEMENTS, "mesh_tp")
    pairs = NODES_PER_GROUP
    for members in groups(job, lambda writer: (writer.node // pairs, writer.rank % RANKS_PER_NODE)):
        if len(members) > 1:
            is_slow = fault is Fault.SLOW_LINK and any(item.node == who for item in members)
            reduce_us = REDUCE_US * (SLOW_TRANSFER if is_slow else 1.0)
            _meet(members, "allreduce", reduce_us, REDUCE_ELEMENTS, "mesh_dp")
    _meet(job, "allreduce", NORM_US, 1, "default_pg")
    for writer, begin_us in zip(job, begins_us, strict=True):
        times = {"ts": round(begin_us, 3), "dur": round(writer.free_us - begin_us - 1, 3)}
        mark = {**times, "pid": 4100, "tid": 4100}
        name = f"ProfilerStep#{step + 1}"
        writer.events.append({"ph": "X", "cat": "user_annotation", "name": name, **mark})


def groups(
    job: Sequence[Writer], key: Callable[[Writer], tuple[int, ...]]
) -> Iterator[list[Writer]]:
    """Yield the ranks of each process group, in the order of their first ranks."""
    found: dict[tuple[int, ...], list[Writer]] = {}
    for writer in job:
        found.setdefault(key(writer), []).append(writer)
    yield from found.values()


def _meet(
    members: Sequence[Writer], name: str, transfer_us: float, n_elements: int, group: str
) -> None:
    """Run a collective: it ends on all ranks when the last came and the transfer is done."""
    end_us = max(writer.free_us for writer in members) + 5 + transfer_us
    ranks = [writer.rank for writer in members]
    said = {
        "Collective name": name,
        "dtype": "BFloat16",
        "In msg nelems": n_elements,
        "Out msg nelems": n_elements,
        "Group size": len(members),
        "Process Group Name": f"{group}_{ranks[0]}",
        "Process Group Description": group,
        "Process Group Ranks": _written(ranks),
    }
    kernel = "ncclDevKernel_AllGather" if "gather" in name else "ncclDevKernel_AllReduce"
    for writer in members:
        start_us = writer.free_us + 5
        writer.run(f"{kernel}_RING_LL", start_us, end_us - start_us, **said)


def _written(ranks: Sequence[int]) -> str:
    shown = [*ranks[: MOST_WRITTEN - 1], "...", ranks[-1]] if len(ranks) > MOST_WRITTEN else ranks
    return f"[{', '.join(map(str, shown))}]"


def measure_report(folder: Path, out: Path, *options: str) -> dict[str, float]:
    """Make a report and return its seconds, its peak memory and the sizes of what it wrote."""
    command = [sys.executable, "-m", "reportgen", str(folder), "-o", str(out), "--quiet", "--force"]
    began = time.perf_counter()
    child = subprocess.Popen(
        [*command, *options], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - began
    if status:
        raise SystemExit(f"the report of {folder} failed ({os.waitstatus_to_exitcode(status)})")
    sizes = {path.suffix: 0 for path in out.rglob("*")}
    for path in out.rglob("*"):
        sizes[path.suffix] += path.stat().st_size if path.is_file() else 0
    return {
        "wall_s": wall_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
        "page_mb": sizes.get(".html", 0) / 1e6,
        "json_mb": sizes.get(".json", 0) / 1e6,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the traces of one job, or measure the reports of jobs of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--fault", type=Fault, default=Fault.NONE, choices=list(Fault))
    parser.add_argument("--skewed", action="store_true", help="clocks of nodes differ")
    parser.add_argument("--measure", type=int, nargs="+")
    chosen = parser.parse_args(arguments)
    if not chosen.measure:
        skew_us = SKEW_US if chosen.skewed else 0.0
        write_job(
            chosen.folder,
            chosen.ranks,
            n_steps=chosen.steps,
            fault=chosen.fault,
            skew_us=skew_us,
        )
        return 0
    peaks_mib = []
    for n_ranks in chosen.measure:
        with tempfile.TemporaryDirectory() as place:
            traces, out = Path(place) / "traces", Path(place) / "report"
            asked = ["--ranks", str(n_ranks), "--steps", str(chosen.steps)]
            # Elsewhere: no child of this process is measured as smaller than this one.
            subprocess.run(
                [sys.executable, __file__, traces, *asked, "--fault", chosen.fault.value],
                check=True,
            )
            found = measure_report(traces, out)
            print(n_ranks, *(f"{name} {value:.2f}" for name, value in found.items()), flush=True)
            peaks_mib.append(found["peak_mib"])
    if len(peaks_mib) > 1:
        print(f"the last takes {peaks_mib[-1] / peaks_mib[0]:.2f} times the memory of the first")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
