"""Memory of reports of ever longer jobs: six hours, a day and a week; run by hand.

``python benchmarks/long_jobs.py --folder DIR [large-node] [many-nodes]`` makes the jobs
below DIR, measures one after the other, and removes them. The week of the large node (96 cores, 8
GPUs, every 500 ms) is its day, shifted six times and packed as the recorder packs: DIR takes 7 GB
at most, and TMPDIR 2 GB. An hour that is packed is parsed at once, so packed jobs are compared with
packed ones.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from tables import table
from workloads import P4D_DAY, ROOT, make_workload

DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60
FIRST_S = 1_774_224_000
"""Midnight, so that a day is 24 folders of an hour."""
MOST_RATIO = 1.3
"""Peak memory of each job against the one before."""
LENGTHS_H = {"6 hours": 6, "a day": 24, "a week": 168}
PACKED = ", packed"
N_NODES = 50
_STAMP = re.compile(rb'"Timestamp":(\d{10})')
_SECONDS = (0, 20, 40)


def large_node(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the jobs of one large node: minute files, then the same and more as packed hours."""
    day = make_workload(P4D_DAY, output=folder, start_s=str(FIRST_S))
    hours = sorted(_incremental(day).iterdir())
    yield "6 hours", _linked(hours[: LENGTHS_H["6 hours"]], folder / "6_hours")
    yield "a day", day
    week = folder / "week"
    for number, hour in enumerate(hours):
        _pack_shifted(hour, _incremental(week), FIRST_S + number * HOUR_S)
        shutil.rmtree(hour)
    packed = sorted(_incremental(week).iterdir())
    for name, n_hours in LENGTHS_H.items():
        yield f"{name}{PACKED}", _linked(packed[:n_hours], folder / f"packed_{n_hours}")


def _linked(hours: Sequence[Path], job: Path) -> Path:
    """Return a job of some hours of another one, whose files it shares."""
    for hour in hours:
        shutil.copytree(hour, _incremental(job) / hour.name, copy_function=os.link)
    return job


def _incremental(job: Path) -> Path:
    return job / "profiler-output" / "system" / "incremental"


def _pack_shifted(hour: Path, folder: Path, hour_s: int) -> None:
    """Pack an hour's minute files as the same hour of seven days."""
    paths = sorted(hour.iterdir())
    node = paths[0].name.split(".")[1]
    text = bytearray(b"".join(path.read_bytes() for path in paths))
    first = np.array([found.start(1) for found in _STAMP.finditer(text)], dtype=np.int64)
    digits = first[:, np.newaxis] + np.arange(10)
    weights = 10 ** np.arange(9, -1, -1)
    buffer = np.frombuffer(text, dtype=np.uint8)
    stamps_s = (buffer[digits] - ord("0")) @ weights
    for day in range(LENGTHS_H["a week"] // 24):
        buffer[digits] = (stamps_s + day * DAY_S)[:, np.newaxis] // weights % 10 + ord("0")
        start_s = hour_s + day * DAY_S
        packer = zlib.compressobj(1, wbits=31)
        packed = packer.compress(text) + packer.flush()
        _place(folder, start_s).joinpath(f"{start_s}.{node}.json.gz").write_bytes(packed)


def _place(folder: Path, start_s: int) -> Path:
    place = folder / datetime.fromtimestamp(start_s, UTC).strftime("%Y%m%d%H")
    place.mkdir(parents=True, exist_ok=True)
    return place


def many_nodes(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the jobs of many nodes with minute files of three lines; a week has 504,000 of them."""
    job = folder / "nodes"
    done = 0
    for name, hours in LENGTHS_H.items():
        for minute in range(done, hours * 60):
            _write_minute(_incremental(job), FIRST_S + minute * MINUTE_S)
        done = hours * 60
        yield name, job


def _write_minute(folder: Path, start_s: int) -> None:
    place = _place(folder, start_s)
    for node in range(1, N_NODES + 1):
        lines = [
            '{"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization",'
            f'"Value":{(node + start_s // MINUTE_S + second) % 100},"NodeId":"algo-{node}",'
            f'"Timestamp":{start_s + second}.0}}\n'
            for second in _SECONDS
        ]
        (place / f"{start_s}.algo-{node}.json").write_text("".join(lines))


JOBS = {"large-node": large_node, "many-nodes": many_nodes}


def peak_of_report(job: Path, *options: str) -> tuple[float, float]:
    """Return peak memory in MiB of the largest process of a report, and its processor time in s."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "reportgen", str(job), "--format", "json", "-o", out]
        child = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"reporting {job} failed with exit code {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 2**20, usage.ru_utime + usage.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the jobs asked for and print a table; 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", nargs="*", metavar="JOB", help=" or ".join(JOBS))
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args(arguments)
    rows: list[list[str]] = []
    is_met = True
    for name in options.job or JOBS:
        before_mib, was_packed = 0.0, False
        with tempfile.TemporaryDirectory(dir=options.folder) as place:
            for length, job in JOBS[name](Path(place)):
                peak_mib, cpu_s = peak_of_report(job)
                is_packed = length.endswith(PACKED)
                is_like = bool(before_mib) and is_packed == was_packed
                ratio = f"{peak_mib / before_mib:.2f}×" if is_like else ""
                is_met &= not is_like or peak_mib <= MOST_RATIO * before_mib
                rows.append([name, length, f"{peak_mib:.0f} MiB", ratio, f"{cpu_s:.1f} s"])
                before_mib, was_packed = peak_mib, is_packed
    header = ["job", "length", "peak memory", "against the row before", "processor time"]
    sys.stdout.write(table(header, rows) + "\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
