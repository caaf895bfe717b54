"""A large kernel trace, all panels, against HolisticTraceAnalysis."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incumbent import HERE, incumbent_python
from process import Run, measure
from tables import peak_bytes, seconds_inside, table, verdict
from workloads import ROOT

N_STEPS = 2_950
FASTER, MOST_S, MOST_MIB = 6.0, 5.0, 400
"""The promises of docs/performance.md."""

THEIR_ROUNDS = 1
"""Runs of theirs, which take minutes; ours are repeated as asked for."""

_MAKE = """
import sys
from sample_data.kernel_trace import trace_chunks
with open(sys.argv[1], "wb") as file:
    file.writelines(trace_chunks(0, n_steps=int(sys.argv[2])))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Both sides' runs over the same trace."""

    size_bytes: int
    ours: Sequence[Run]
    theirs: Sequence[Run]

    @property
    def faster(self) -> float:
        """Return how many times longer theirs takes, start and imports left out."""
        return seconds_inside(self.theirs) / seconds_inside(self.ours)

    @property
    def lighter(self) -> float:
        """Return how many times more memory theirs takes."""
        return peak_bytes(self.theirs) / peak_bytes(self.ours)

    @property
    def is_met(self) -> bool:
        """Return whether the promises hold."""
        return self.faster >= FASTER and self.is_quick and self.is_small

    @property
    def is_quick(self) -> bool:
        """Return whether ours takes no longer than promised."""
        return seconds_inside(self.ours) <= MOST_S

    @property
    def is_small(self) -> bool:
        """Return whether ours takes no more memory than promised."""
        return peak_bytes(self.ours) <= MOST_MIB * 2**20


def compare_traces(folder: Path, *, n_rounds: int) -> Traces:
    """Make a trace and return both sides' runs over it, ours ``n_rounds`` times."""
    trace = folder / "rank-0.pt.trace.json"
    make = [sys.executable, "-c", _MAKE, str(trace), str(N_STEPS)]
    subprocess.run(make, check=True, cwd=ROOT)
    ours = [sys.executable, str(HERE / "read_trace.py"), str(trace)]
    commands = {
        "ours": ours,
        "theirs": [str(incumbent_python("hta")), str(HERE / "read_hta.py"), str(trace)],
    }
    runs: dict[str, list[Run]] = {side: [] for side in commands}
    for turn in range(n_rounds):
        for side in commands if turn < THEIR_ROUNDS else ("ours",):
            run = measure(commands[side], PYTHONPATH="" if side == "theirs" else str(ROOT))
            runs[side].append(run)
            print(f"trace: {side} {run.wall_s:.2f} s", file=sys.stderr, flush=True)
    _check_events(runs)
    return Traces(size_bytes=trace.stat().st_size, **runs)


def _check_events(runs: dict[str, list[Run]]) -> None:
    """Make sure that both sides looked at the same events, but for the step that HTA leaves out."""
    ours, theirs = (int(runs[side][0].answer["gpu_events"]) for side in ("ours", "theirs"))
    if not ours * (1 - 2 / N_STEPS) <= theirs <= ours:
        raise SystemExit(f"trace: the two sides read different GPU events: {ours} and {theirs}")


def trace_table(traces: Traces) -> str:
    """Return the comparison as Markdown."""
    seconds = [seconds_inside(side) for side in (traces.ours, traces.theirs)]
    quick = f"≤ {MOST_S:.0f} s, {verdict(traces.is_quick)}"
    mib = [peak_bytes(side) / 2**20 for side in (traces.ours, traces.theirs)]
    return table(
        [
            *("kernel trace", "time, ours (promise) / HTA 0.5.0", "ratio (promise)"),
            *("peak memory, ours (promise) / HTA 0.5.0", "ratio"),
        ],
        [
            [
                f"{traces.size_bytes / 1e6:,.0f} MB, one rank: read, all panels; HTA runs once",
                f"{seconds[0]:.2f} s ({quick}) / {seconds[1]:.2f} s",
                f"{traces.faster:.1f}× (≥ {FASTER:.0f}×, {verdict(traces.faster >= FASTER)})",
                f"{mib[0]:,.0f} (≤ {MOST_MIB}, {verdict(traces.is_small)}) / {mib[1]:,.0f} MiB",
                f"{traces.lighter:.1f}×",
            ]
        ],
    )
