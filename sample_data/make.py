"""Make sample jobs: ``python -m sample_data.make [JOB] [options]``.

Without arguments the four named jobs are made into ``sample_data/jobs/``; a job that is there
already, made by the same version from the same settings, is left alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sample_data.damage import damage_files
from sample_data.event_files import write_event_files
from sample_data.schedule import make_schedule
from sample_data.spec import (
    ALLOWED_INTERVALS_MS,
    GENERATOR_VERSION,
    NAMED_JOBS,
    Fault,
    JobSpec,
)
from sample_data.system_files import write_system_files
from sample_data.truth import describe, truth_of

JOBS_FOLDER = Path(__file__).parent / "jobs"
TRUTH_NAME = "truth.json"


def make_job(spec: JobSpec, *, output: Path) -> Path:
    """Write a job into ``output/<name>`` and return that folder; one that is there is replaced.

    The truth comes last: a folder without it was not finished.
    """
    folder = output / spec.name
    root = folder / "profiler-output"
    (folder / TRUTH_NAME).unlink(missing_ok=True)
    if root.exists():
        shutil.rmtree(root)
    schedule = make_schedule(spec)
    n_lines = write_system_files(spec, schedule, root=root)
    n_events = write_event_files(spec, schedule, root=root)
    damage = damage_files(spec, root=root)
    truth = truth_of(
        spec,
        schedule,
        n_lines=n_lines - damage.n_lost,
        n_events=n_events,
        n_broken=damage.n_broken,
    )
    text = json.dumps(truth, indent=1, ensure_ascii=False) + "\n"
    (folder / TRUTH_NAME).write_text(text, encoding="utf-8")
    return folder


def is_made(spec: JobSpec, *, output: Path) -> bool:
    """Return whether this very job is in ``output`` already."""
    try:
        truth = json.loads((output / spec.name / TRUTH_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(
        truth.get("generator") == GENERATOR_VERSION and truth.get("made_from") == describe(spec)
    )


def parse_specs(argv: Sequence[str]) -> tuple[list[JobSpec], Path]:
    """Return the jobs asked for and where they go; exits with a message when they cannot be."""
    parser = _parser()
    options = parser.parse_args(argv)
    settings = {
        name: value
        for name, value in vars(options).items()
        if value is not None and name not in {"job", "output", "fault", "hours"}
    }
    if options.hours is not None:
        settings["duration_s"] = options.hours * 3600.0
    if options.fault:
        settings["faults"] = frozenset(options.fault)
    if options.job is None and not settings:
        return list(NAMED_JOBS.values()), options.output
    base = NAMED_JOBS[options.job] if options.job else JobSpec(name="custom")
    spec = replace(base, **settings)
    problem = _problem(spec)
    if problem:
        parser.error(problem)
    return [spec], options.output


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sample_data.make", description=__doc__)
    parser.add_argument("job", nargs="?", metavar="JOB", choices=sorted(NAMED_JOBS))
    parser.add_argument("--name", help="folder of the job")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--gpus", type=int, help="per node")
    parser.add_argument("--cores", type=int, help="per node")
    parser.add_argument("--hours", type=float)
    parser.add_argument("--start", type=float, dest="start_s", metavar="S", help="seconds UTC")
    parser.add_argument("--interval", type=int, dest="interval_ms", metavar="MS")
    parser.add_argument("--steps-per-second", type=float, help="0: no framework events")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument(
        "--fault", action="append", type=Fault, choices=list(Fault), metavar="NAME",
        help=", ".join(Fault),
    )  # fmt: skip
    parser.add_argument("--output", type=Path, default=JOBS_FOLDER, metavar="DIR")
    return parser


def _problem(spec: JobSpec) -> str | None:
    """Return why a job cannot be made, or ``None``."""
    if spec.interval_ms not in ALLOWED_INTERVALS_MS:
        return f"--interval {spec.interval_ms}: expected one of {ALLOWED_INTERVALS_MS}"
    if spec.nodes < 1 or spec.cores < 1 or spec.gpus < 0 or spec.epochs < 1:
        return "expected at least one node, one core, one epoch, and no negative number of GPUs"
    if spec.steps_per_second < 0 or spec.seed < 0:
        return "expected --steps-per-second and --seed of at least 0"
    if spec.duration_s < 2 * spec.init_s:
        return f"--hours: expected at least {2 * spec.init_s / 3600:.4f}, the start-up takes half"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Make the jobs asked for; one line each on stderr."""
    specs, output = parse_specs(sys.argv[1:] if argv is None else argv)
    for spec in specs:
        folder = output / spec.name
        if is_made(spec, output=output):
            print(f"{folder}: already there", file=sys.stderr)
            continue
        began = time.perf_counter()
        make_job(spec, output=output)
        seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(
            f"{folder}: {size / 1e6:.1f} MB in {seconds:.2f} s ({size / 1e6 / seconds:.0f} MB/s)",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
