"""Command line of the exam: ``python -m benchmarks.exam --seed 3 --only io_wait --keep DIR``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.exam.analyse import Answer, analyse
from benchmarks.exam.job import Order
from benchmarks.exam.marks import Result, mark
from benchmarks.exam.plan import (
    DEFAULT_JOBS,
    FAMILIES,
    is_held_back,
    make,
    odd_orders_of,
    orders_of,
)
from benchmarks.exam.recording import write_recording
from benchmarks.exam.tables import misses, put_between, report_of, sight_table

_PROCESSES = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an exam and print its tables."""
    options = _parser().parse_args(arguments)
    for seed in options.seed:
        if is_held_back(seed) and not options.held_back:
            print(f"Seed {seed} is held back (seed % 3 == 2): pass --held-back to use it.")
            return 2
    orders = [
        order
        for seed in options.seed
        for order in (odd_orders_of if options.odd else orders_of)(seed, options.jobs)
        if _is_wanted(order, options)
    ]
    results = run(orders, keep=options.keep, processes=options.processes)
    tables = report_of(results)
    print(tables)
    if not options.held_back and (options.misses or options.only or options.number is not None):
        print(misses(results))
    if options.write:
        _write(options.write, tables, options)
    return 0


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
        answer: Answer = analyse(folder)
    return Result(
        truth=job.truth,
        answer=answer,
        marks=mark(job.truth, answer),
        seconds=time.perf_counter() - began_s,
    )


def _is_wanted(order: Order, options: argparse.Namespace) -> bool:
    if options.number is not None and order.number not in options.number:
        return False
    if options.family and order.family != options.family:
        return False
    return not options.only or any(re.search(word, order.kind) for word in options.only.split(","))


def _write(path: Path, tables: str, options: argparse.Namespace) -> None:
    """Put the tables between the markers of a page."""
    seeds = ", ".join(str(seed) for seed in options.seed)
    text = path.read_text(encoding="utf-8")
    text = put_between(text, "exam", f"Seeds {seeds}, {options.jobs} jobs each.\n\n{tables}")
    path.write_text(put_between(text, "sight", f"{sight_table()}\n"), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exam", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="seeds of the exams")
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS, help="jobs per seed")
    parser.add_argument("--only", help="kinds to run, comma-separated patterns: io_wait,healthy")
    parser.add_argument("--number", type=int, nargs="+", help="numbers of the jobs to run")
    parser.add_argument("--family", choices=list(FAMILIES), help="run the jobs of one model only")
    parser.add_argument("--keep", type=Path, help="keep the generated folders here")
    parser.add_argument("--odd", action="store_true", help="jobs of unusual shapes")
    parser.add_argument("--misses", action="store_true", help="print each miss")
    parser.add_argument("--held-back", action="store_true", help="allow seeds that are held back")
    parser.add_argument("--write", type=Path, help="write the tables into this page")
    parser.add_argument("--processes", type=int, default=min(_PROCESSES, os.cpu_count() or 1))
    return parser


if __name__ == "__main__":
    sys.exit(main())
