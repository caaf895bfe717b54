"""Command line of the exam: ``python -m benchmarks.exam --seed 3 --only io_wait --keep DIR``."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.exam.analyse import analyse
from benchmarks.exam.making import Order, make, orders_of
from benchmarks.exam.marks import Result, mark
from benchmarks.exam.recording import write_recording
from benchmarks.exam.sensitivity import sensitivity
from benchmarks.exam.tables import misses, put_between, report_of, sight_table

DEFAULT_JOBS = 480
_JUDGING = ("reportgen/rules", "reportgen/facts", "reportgen/diagnosis")
_PROCESSES = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an exam and print its tables, the misses and the false warnings."""
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else seed_of_rules()
    orders = [order for order in orders_of(seed, options.jobs) if _is_wanted(order, options)]
    if options.sensitivity is not None:
        print(sensitivity(orders, only=options.sensitivity, processes=options.processes))
        return 0
    results = run(orders, keep=options.keep, processes=options.processes)
    tables = report_of(results)
    print(f"Seed {seed}, {len(orders)} jobs.\n\n{tables}")
    if not options.quiet:
        print(misses(results))
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        text = put_between(text, "exam", f"Seed {seed}, {len(orders)} jobs.\n\n{tables}")
        text = put_between(text, "sight", f"{sight_table()}\n")
        options.write.write_text(text, encoding="utf-8")
    return 0


def seed_of_rules() -> int:
    """Return the seed of the reported table: of the last commit that changed how jobs are judged.

    So nobody can choose it, and the first result after a change of the rules is reported. Outside
    of a repository, as in an unpacked source distribution, it is 1.
    """
    command = ["git", "log", "-1", "--format=%H", "--", *_JUDGING]
    folder = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return int(done.stdout[:8], 16) if done.stdout.strip() else 1


def run(orders: Sequence[Order], *, keep: Path | None = None, processes: int = 1) -> list[Result]:
    """Make, analyse and mark jobs, in the order given."""
    work = partial(examine, keep=keep)
    if processes == 1 or len(orders) == 1:
        return [work(order) for order in orders]
    with ProcessPoolExecutor(processes) as pool:
        results = []
        for done, result in enumerate(pool.map(work, orders), start=1):
            results.append(result)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(orders)} jobs", end="", file=sys.stderr)
        return results


def examine(order: Order, *, keep: Path | None = None) -> Result:
    """Make, analyse and mark one job; its folder is kept below ``keep`` with its ``truth.json``."""
    began_s = time.perf_counter()
    job = make(order)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (keep or Path(temporary)) / job.truth.name
        write_recording(job.recording, seed=order.seed, root=folder / "profiler-output")
        if keep:
            text = json.dumps(job.truth.as_json(), indent=2)
            (folder / "truth.json").write_text(text, encoding="utf-8")
        answer = analyse(folder)
    return Result(
        truth=job.truth,
        answer=answer,
        marks=mark(job.truth, answer),
        seconds=time.perf_counter() - began_s,
    )


def _is_wanted(order: Order, options: argparse.Namespace) -> bool:
    if options.number is not None and order.number not in options.number:
        return False
    return not options.only or any(re.search(word, order.kind) for word in options.only.split(","))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exam", description=__doc__)
    parser.add_argument("--seed", type=int, help="of the jobs; by default the last change of rules")
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS, help="how many jobs")
    parser.add_argument("--only", help="kinds to run, comma-separated patterns: io_wait,healthy")
    parser.add_argument("--number", type=int, nargs="+", help="numbers of the jobs to run")
    parser.add_argument("--keep", type=Path, help="keep the generated folders here")
    parser.add_argument("--quiet", action="store_true", help="tables only, no misses")
    parser.add_argument("--write", type=Path, help="write the tables into this page")
    parser.add_argument(
        "--sensitivity",
        nargs="*",
        metavar="PATTERN",
        help="move thresholds whose names match, one at a time, and print what changes",
    )
    parser.add_argument("--processes", type=int, default=min(_PROCESSES, os.cpu_count() or 1))
    return parser


if __name__ == "__main__":
    sys.exit(main())
