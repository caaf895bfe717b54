"""The whole files that are mutated: a small job, its saved report, results of SageMaker."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.builders import START_S, Row, system_line, timeline_lines
from tests.fuzz.damage import minute_bytes, timeline_bytes

N_TICKS = 80
N_STEPS = 60
TRAIN = "Step:ModeKeys.TRAIN"
SETTINGS = "".join(
    f"[{rule}]\npatience = 5\n"
    + ("window = 10\n" if rule in {"BatchSize", "LowGPUUtilization", "GPUMemoryIncrease"} else "")
    for rule in (
        "BatchSize", "CPUBottleneck", "GPUMemoryIncrease", "IOBottleneck", "LoadBalancing",
        "LowGPUUtilization", "NetworkBottleneck",
    )
)  # fmt: skip
"""Rules look at short jobs too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The lines of a job's files, by the files' place below the job's folder."""

    minutes: dict[str, list[str]]
    timelines: dict[str, list[str]]


@cache
def job() -> Job:
    """Return a job of two minute files and two timelines that makes most rules speak."""
    minutes: dict[str, list[str]] = {}
    for tick in range(N_TICKS):
        time_s = START_S + 40 + tick / 2 + 0.001
        is_busy = tick % 10 < 3
        values = {
            "gpu0": 90.0 if is_busy else 2.25,
            "gpu0_memory": 10.0 + tick / 4,
            "cpu0": 10.0 if is_busy else 97.5,
            "cpu0_iowait": 0.0 if tick < 40 else 55.0,
            "cpu1": round(40 + 30 * math.sin(tick), 2),
            "memory": 5.0 + tick / 8,
            "receive": 1e6 * (tick % 7),
            "write": 4096.0 * tick,
        }
        minute_s = time_s // 60 * 60
        path = f"profiler-output/system/incremental/2026070309/{minute_s:.0f}.algo-1.json"
        lines = minutes.setdefault(path, [])
        lines += [system_line(name, value, time_s) for name, value in values.items()]
    folder = "profiler-output/framework/pevents/2026070309"
    end_us = int((START_S + 80) * 1_000_000)
    return Job(
        minutes=minutes,
        timelines={
            f"{folder}/{end_us}_27-algo-1_pythontimeline.json": timeline_lines(_python_rows()),
            f"{folder}/{end_us}_27-algo-1_model_timeline.json": timeline_lines(_model_rows()),
        },
    )


def _python_rows() -> list[Row]:
    rows: list[Row] = []
    for step in range(N_STEPS):
        begin = START_S + 45 + step / 2
        length = 0.45 if step % 20 == 7 else 0.25
        args: dict[str, object] = {"step": step, "os_pid": 27}
        rows.append((TRAIN, TRAIN, begin, begin + length, args))
        rows.append(("Forward", "Net", begin, begin + length / 2, args))
        rows.append(("Backward(post-forward)", "Net", begin + length / 2, begin + length, args))
        rows.append(("DataLoaderIter", "_It::GetNext", begin - 0.05, begin, {"worker_id": 1}))
    init = {"num_workers": 2, "pin_memory": True}
    rows.append(("DataLoaderIterInitialize", "_It.__init__", START_S + 41, START_S + 42, init))
    return rows


def _model_rows() -> list[Row]:
    return [
        ("DataIterator", "dataset::GetNext", START_S + 45 + n / 4, START_S + 45.1 + n / 4)
        for n in range(40)
    ]


def write_job(
    folder: Path, changed: Mapping[str, bytes] | None = None, *, without: str = ""
) -> Path:
    """Write the job into a folder, some of its files with other bytes.

    Without the files below the folder ``without``, where it is given.
    """
    for path, content in {**_job_bytes(), **(changed or {})}.items():
        if without and path.startswith(without):
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    (folder.parent / "rules.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


@cache
def _job_bytes() -> dict[str, bytes]:
    whole = job()
    files = {path: minute_bytes(lines) for path, lines in whole.minutes.items()}
    files |= {path: timeline_bytes(lines) for path, lines in whole.timelines.items()}
    return files | {"profiler-output/system/training_job_end.ts": b""}


def aws_results(report_dir: Path, folder: Path) -> Path:
    """Write what SageMaker would have written: the five keys of a report's files, no others."""
    folder.mkdir(parents=True)
    for path in sorted(report_dir.glob("*.json")):
        tree: dict[str, Any] = json.loads(path.read_bytes())
        if path.name != "report.json":
            tree.pop("reportgen")
            (folder / path.name).write_text(json.dumps(tree), encoding="utf-8")
    return folder


def copy_report(report_dir: Path, folder: Path) -> Path:
    """Copy a saved report."""
    return Path(shutil.copytree(report_dir, folder / "profiler-report"))
