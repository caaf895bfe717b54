"""The jobs that are measured; all of them made up by ``sample_data.make``."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FULL_HOUR_S = "1774260000"  # files of whole minutes only


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A job to make: its folder's name, its description and the generator's options.

    Attributes:
        engines: modules that we need for reading it, beside those of every job.
    """

    name: str
    about: str
    options: tuple[str, ...]
    engines: tuple[str, ...] = ()


P4D_HOUR = Workload(
    name="p4d_hour",
    about="p4d hour: 96 cores, 8 GPUs, every 500 ms",
    options=("--gpus", "8", "--cores", "96", "--hours", "1", "--steps-per-second", "0"),
    engines=("duckdb",),
)
P4D_HOURS = Workload(
    name="p4d_hours",
    about="6 p4d hours: 96 cores, 8 GPUs, every 500 ms",
    options=("--gpus", "8", "--cores", "96", "--hours", "6", "--steps-per-second", "0"),
)
P4D_DAY = Workload(
    name="p4d_day",
    about="p4d day: 37 M samples of 96 cores and 8 GPUs in 4.6 GB",
    options=("--gpus", "8", "--cores", "96", "--hours", "24", "--steps-per-second", "0"),
)
P4D_HOUR_WITH_STEPS = Workload(
    name="p4d_hour_with_steps",
    about="the same with framework events of 8 processes",
    options=("--gpus", "8", "--cores", "96", "--hours", "1", "--steps-per-second", "1"),
)
SMALL_HOUR = Workload(
    name="small_hour",
    about="small hour: 4 cores, 1 GPU, every 500 ms, framework events",
    options=("--gpus", "1", "--cores", "4", "--hours", "1", "--steps-per-second", "2"),
)
EVENT_HOUR = Workload(
    name="event_hour",
    about="1 M framework events of 8 processes in an hour",
    options=(
        *("--gpus", "8", "--cores", "8", "--hours", "1", "--interval", "60000"),
        *("--steps-per-second", "8.4"),
    ),
)


def make_workload(workload: Workload, *, output: Path, start_s: str = FULL_HOUR_S) -> Path:
    """Make a job in its own process, so that this one stays small, and read it once.

    The files then lie in the page cache for everybody.
    """
    command = [sys.executable, "-m", "sample_data.make", "--name", workload.name]
    command += ["--start", start_s, *workload.options, "--output", str(output)]
    subprocess.run(command, check=True, cwd=ROOT)
    folder = output / workload.name
    for path in folder.rglob("*.json"):
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
    return folder
