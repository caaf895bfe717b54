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
from kernel_traces import compare_traces, trace_table
from page_opening import open_page
from process import Run, measure
from recording import measure_recording
from saved_reports import measure_saved_reports
from small_files import compare_objects, part_of_page, time_files
from tables import Reading, Report, big_jobs, measured_on, write_page
from workloads import (
    EVENT_HOUR,
    P4D_DAY,
    P4D_HOUR,
    P4D_HOUR_WITH_STEPS,
    ROOT,
    SMALL_HOUR,
    Workload,
    make_workload,
)

PAGE = ROOT / "docs" / "performance.md"
READINGS = (
    (P4D_HOUR, "events", None, None),
    (P4D_HOUR, "frame", 40.0, 6.0),
    (EVENT_HOUR, "events", None, None),
    (EVENT_HOUR, "frame", None, None),
)
RESULTS = {"events": "a list of events", "frame": "pandas frames"}
REPORTS = (
    (SMALL_HOUR, 2.0, None, False),
    (P4D_HOUR, 2.5, None, False),
    (P4D_HOUR_WITH_STEPS, None, None, False),
    (P4D_DAY, 20.0, 1 << 30, False),
    (P4D_DAY, 2.0, None, True),
)
"""What is reported, in which time and memory, and whether it was reported before."""


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


def time_report(
    workload: Workload, job: Path, *, n_rounds: int, output: Path, is_again: bool
) -> list[Run]:
    """Return runs of the whole command over one job; ``is_again`` leaves out the first one."""
    command = [sys.executable, "-m", "reportgen", str(job), "--output", str(output)]
    command += [] if is_again else ["--force"]
    runs = []
    for _ in range(n_rounds + is_again):
        runs.append(measure(command, reads_answer=False, PYTHONPATH=str(ROOT)))
        say(f"{workload.name}: report {runs[-1].wall_s:.2f} s")
    return runs[is_again:]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_big_jobs(only: str | None, *, n_rounds: int) -> tuple[str, bool]:
    """Return the tables of reading and reporting whole jobs, and whether all promises hold."""
    readings: list[Reading] = []
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        for workload, result, faster, lighter in READINGS if only != "report" else ():
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
        for workload, budget_s, budget_bytes, is_again in REPORTS if only != "reading" else ():
            job = Path(folder) / workload.name
            job = job if is_again else make_workload(workload, output=Path(folder))
            output = Path(folder) / f"report-{workload.name}"
            runs = time_report(workload, job, n_rounds=n_rounds, output=output, is_again=is_again)
            reports.append(
                Report(
                    about=workload.about + (", again with the same input" if is_again else ""),
                    runs=runs,
                    budget_s=budget_s,
                    budget_bytes=budget_bytes,
                )
            )
    return big_jobs(readings, reports), all(one.is_met for one in (*readings, *reports))


def measure_small_files(*, n_rounds: int) -> tuple[str, bool]:
    """Return the tables of many small objects and files, and whether all promises hold."""
    with tempfile.TemporaryDirectory() as folder:
        objects = compare_objects(Path(folder) / "objects", n_rounds=n_rounds)
        say(f"objects: {objects.rows()}")
        files = time_files(Path(folder) / "files", n_rounds=n_rounds)
    return part_of_page(objects, files), objects.is_met and files.is_met


def measure_traces(*, n_rounds: int) -> tuple[str, bool]:
    """Return the table of a large kernel trace, and whether its promises hold."""
    with tempfile.TemporaryDirectory() as folder:
        traces = compare_traces(Path(folder), n_rounds=n_rounds)
    return trace_table(traces), traces.is_met


def measure_page(*, n_rounds: int) -> tuple[str, bool]:
    """Return the table of opening a page in a browser, and whether its promises hold."""
    with tempfile.TemporaryDirectory() as folder:
        opened = open_page(Path(folder), n_rounds=n_rounds)
    return opened.tables(), opened.is_met


def measure_saved(*, n_rounds: int) -> tuple[str, bool]:
    """Return the table of comparison and index, and whether their promises hold."""
    with tempfile.TemporaryDirectory() as folder:
        saved = measure_saved_reports(Path(folder), n_rounds=n_rounds)
    return saved.tables(), saved.is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side (default: 5)")
    parser.add_argument("--quick", action="store_true", help="one run of each side")
    parts_by_name = [
        "reading", "report", "small", "traces", "page", "recording", "saved",
    ]  # fmt: skip
    parser.add_argument("--only", choices=parts_by_name)
    parser.add_argument("--no-page", action="store_true", help="leave docs/performance.md alone")
    options = parser.parse_args()
    n_rounds = 1 if options.quick else options.rounds
    parts: dict[str, tuple[str, bool]] = {}
    if options.only in {None, "reading", "report"}:
        parts["whole jobs"] = measure_big_jobs(options.only, n_rounds=n_rounds)
    if options.only in {None, "small"}:
        parts["small files"] = measure_small_files(n_rounds=n_rounds)
    if options.only in {None, "traces"}:
        parts["kernel traces"] = measure_traces(n_rounds=n_rounds)
    if options.only in {None, "page"}:
        parts["page"] = measure_page(n_rounds=n_rounds)
    if options.only in {None, "recording"}:
        parts["recording"] = measure_recording()
    if options.only in {None, "saved"}:
        parts["saved reports"] = measure_saved(n_rounds=n_rounds)
    for part, (tables, _) in parts.items():
        measured = f"{measured_on(n_rounds=n_rounds)}\n\n{tables}"
        print(measured)
        if not options.no_page and options.only not in {"reading", "report"}:
            write_page(PAGE, measured, part=part)
    return 0 if all(is_met for _, is_met in parts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
