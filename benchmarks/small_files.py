"""Many small things: objects of a bucket against boto3, files of a disk against the clock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from incumbent import HERE, incumbent_python
from process import Run, measure
from tables import seconds_inside, table, verdict
from workloads import ROOT

N_OBJECTS = 2_000
OBJECT_BYTES = 4_000
N_FILES = 100_000
N_NODES = 50
LESS_CPU = 8.0
"""Our client's CPU time for the objects, against boto3's: the promise of docs/performance.md."""

READING_BUDGET_S = 10.0
_FIRST_MINUTE_S = 1_774_260_000
_BOTO3_THREADS = (1, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """Both sides' runs over the same objects; ``theirs`` by the number of boto3's threads."""

    ours: Sequence[Run]
    theirs: dict[int, Sequence[Run]]

    @property
    def is_met(self) -> bool:
        """Return whether the promise holds against boto3 at its cheapest."""
        return all(self._ratio(runs) >= LESS_CPU for runs in self.theirs.values())

    def rows(self) -> list[list[str]]:
        """Return the lines of the table."""
        return [self._row(n_threads, runs) for n_threads, runs in self.theirs.items()]

    def _row(self, n_threads: int, runs: Sequence[Run]) -> list[str]:
        how = "one after another" if n_threads == 1 else f"in {n_threads} threads"
        ratio = self._ratio(runs)
        return [
            f"list and get {N_OBJECTS:,} objects of {OBJECT_BYTES // 1000} kB; boto3 {how}",
            f"{cpu_s(self.ours):.2f} / {cpu_s(runs):.2f} s",
            f"{ratio:.1f}× (≥ {LESS_CPU:.0f}×, {verdict(ratio >= LESS_CPU)})",
            f"{seconds_inside(self.ours):.2f} / {seconds_inside(runs):.2f} s",
        ]

    def _ratio(self, runs: Sequence[Run]) -> float:
        return cpu_s(runs) / cpu_s(self.ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Our runs over a job of many small files."""

    runs: Sequence[Run]

    @property
    def is_met(self) -> bool:
        """Return whether reading stays within its budget."""
        return cpu_s(self.runs) <= READING_BUDGET_S

    def row(self) -> list[str]:
        """Return its line in the table."""
        promise = f"≤ {READING_BUDGET_S:.0f} s, {verdict(self.is_met)}"
        return [
            f"read {N_FILES:,} minute files of {N_NODES} nodes",
            f"{cpu_s(self.runs):.2f} s ({promise})",
            f"{seconds_inside(self.runs):.2f} s",
        ]


def cpu_s(runs: Sequence[Run]) -> float:
    """Return the median CPU time, user and system, without start and imports."""
    return median(run.answer["cpu_seconds"] for run in runs)


def part_of_page(objects: Objects, files: Files) -> str:
    """Return the measured part of the page as Markdown."""
    tables = (
        table(
            [
                *("objects of a bucket", "client CPU, ours / boto3", "ratio (promise)"),
                "wall time, ours / boto3",
            ],
            objects.rows(),
        ),
        table(["files of a disk", "CPU time (promise)", "wall time"], [files.row()]),
    )
    return "\n\n".join(tables)


def compare_objects(folder: Path, *, n_rounds: int) -> Objects:
    """Return our runs and boto3's over the same objects of one server, in turns."""
    _make_objects(folder / "job")
    boto3 = [str(incumbent_python("boto3")), str(HERE / "get_boto3.py"), "s3://bucket/job"]
    ours = [sys.executable, str(HERE / "get_ours.py"), "s3://bucket/job"]
    commands = {n_threads: [*boto3, str(n_threads)] for n_threads in _BOTO3_THREADS}
    runs: dict[int, list[Run]] = {number: [] for number in (0, *commands)}
    with running_server(folder) as address:
        env = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "benchmark",
            "AWS_SECRET_ACCESS_KEY": "benchmark",
            "AWS_REGION": "us-east-1",
        }
        for turn in range(n_rounds):
            sides = [0, *commands] if turn % 2 == 0 else [*commands, 0]
            for side in sides:
                if side == 0:
                    runs[side].append(measure(ours, PYTHONPATH=str(ROOT), **env))
                else:
                    runs[side].append(measure(commands[side], PYTHONPATH="", **env))
    counts = {
        (run.answer["objects"], run.answer["bytes"]) for side in runs.values() for run in side
    }
    if counts != {(N_OBJECTS, N_OBJECTS * OBJECT_BYTES)}:
        raise SystemExit(f"objects: the two sides read different bytes: {sorted(counts)}")
    return Objects(ours=runs.pop(0), theirs={side: runs[side] for side in commands})


def time_files(folder: Path, *, n_rounds: int) -> Files:
    """Return our runs over a job of many small files, which were read once before."""
    make_files(folder)
    command = [sys.executable, str(HERE / "read_ours.py"), str(folder), "duckdb"]
    measure(command, PYTHONPATH=str(ROOT))
    runs = [measure(command, PYTHONPATH=str(ROOT)) for _ in range(n_rounds)]
    if {run.answer["samples"] for run in runs} != {N_FILES * len(_SECONDS)}:
        raise SystemExit("files: not every sample was read")
    return Files(runs=runs)


_SECONDS = (0, 20, 40)


def _make_objects(folder: Path) -> None:
    folder.mkdir(parents=True)
    line = b'{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":12.5}\n'
    content = (line * (OBJECT_BYTES // len(line) + 1))[:OBJECT_BYTES]
    for number in range(N_OBJECTS):
        (folder / f"{number:05}.json").write_bytes(content)


def make_files(folder: Path) -> None:
    system = folder / "profiler-output" / "system" / "incremental"
    for minute in range(N_FILES // N_NODES):
        start_s = _FIRST_MINUTE_S + 60 * minute
        hour = system / datetime.fromtimestamp(start_s, UTC).strftime("%Y%m%d%H")
        hour.mkdir(parents=True, exist_ok=True)
        for node in range(1, N_NODES + 1):
            lines = [
                '{"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization",'
                f'"Value":{(node + minute + second) % 100},"NodeId":"algo-{node}",'
                f'"Timestamp":{start_s + second}.0}}\n'
                for second in _SECONDS
            ]
            (hour / f"{start_s}.algo-{node}.json").write_text("".join(lines))


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Start the plain object store over a folder and yield its address."""
    command = [sys.executable, str(HERE / "object_server.py"), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
