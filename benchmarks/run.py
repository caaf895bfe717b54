"""Measure reading and reporting side by side with the incumbent: what ``make bench`` runs.

Both sides read the same files in a fresh process each, in alternating order; the median counts.
The tables go to stdout and into ``docs/performance.md``. Exit code 1: a promise is not kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from incumbent import HERE, incumbent_python
from process import Run, measure
from tables import Reading, Report, page, write_page
from workloads import (
    EVENT_HOUR,
    P4D_HOUR,
    P4D_HOUR_WITH_STEPS,
    ROOT,
    SMALL_HOUR,
    Workload,
    make_workload,
)

PAGE = ROOT / "docs" / "performance.md"
READINGS = (
    (P4D_HOUR, "events", 40.0, 6.0),
    (P4D_HOUR, "frame", 40.0, 6.0),
    (EVENT_HOUR, "events", 20.0, 15.0),
)
RESULTS = {"events": "a list of events", "frame": "pandas frames"}
REPORTS = ((SMALL_HOUR, 2.0), (P4D_HOUR, 2.5), (P4D_HOUR_WITH_STEPS, None))


def compare_reading(
    workload: Workload, job: Path, *, result: str, n_rounds: int
) -> tuple[list[Run], list[Run]]:
    """Return our runs and smdebug's over one job, alternating who begins."""
    smdebug = [str(incumbent_python("smdebug")), str(HERE / "read_smdebug.py")]
    commands = {
        "ours": [sys.executable, str(HERE / "read_ours.py"), str(job), *workload.engines],
        "theirs": [*smdebug, result, str(job)],
    }
    runs: dict[str, list[Run]] = {"ours": [], "theirs": []}
    for turn in range(n_rounds):
        for side in ("ours", "theirs") if turn % 2 == 0 else ("theirs", "ours"):
            run = measure(commands[side], PYTHONPATH=str(ROOT) if side == "ours" else "")
            runs[side].append(run)
            say(f"{workload.name}: {side} {run.wall_s:.2f} s, {run.peak_bytes / 2**20:.0f} MiB")
    counts = {
        tuple(int(run.answer[key]) for key in ("samples", "events"))
        for run in (*runs["ours"], *runs["theirs"])
    }
    if len(counts) > 1:
        raise SystemExit(f"{workload.name}: the two sides read different rows: {sorted(counts)}")
    return runs["ours"], runs["theirs"]


def time_report(workload: Workload, job: Path, *, n_rounds: int, output: Path) -> list[Run]:
    """Return runs of the whole command over one job."""
    command = [sys.executable, "-m", "reportgen", str(job), "--output", str(output), "--force"]
    runs = []
    for _ in range(n_rounds):
        runs.append(measure(command, reads_answer=False, PYTHONPATH=str(ROOT)))
        say(f"{workload.name}: report {runs[-1].wall_s:.2f} s")
    return runs


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side (default: 5)")
    parser.add_argument("--quick", action="store_true", help="one run of each side")
    parser.add_argument("--only", choices=["reading", "report"])
    parser.add_argument("--no-page", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    n_rounds = 1 if options.quick else options.rounds
    readings: list[Reading] = []
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        for workload, result, faster, lighter in READINGS if options.only != "report" else ():
            job = make_workload(workload, output=Path(folder))
            ours, theirs = compare_reading(workload, job, result=result, n_rounds=n_rounds)
            readings.append(
                Reading(
                    about=f"{workload.about}; smdebug returns {RESULTS[result]}",
                    ours=ours,
                    theirs=theirs,
                    faster=faster,
                    lighter=lighter,
                )
            )
        for workload, budget_s in REPORTS if options.only != "reading" else ():
            job = make_workload(workload, output=Path(folder))
            output = Path(folder) / f"report-{workload.name}"
            runs = time_report(workload, job, n_rounds=n_rounds, output=output)
            reports.append(Report(about=workload.about, runs=runs, budget_s=budget_s))
    measured = page(readings, reports, n_rounds=n_rounds)
    print(measured)
    if not options.no_page and options.only is None:
        write_page(PAGE, measured)
    return 0 if all(one.is_met for one in (*readings, *reports)) else 1


if __name__ == "__main__":
    sys.exit(main())
