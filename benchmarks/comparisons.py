"""How often a comparison is right: ``python -m benchmarks.comparisons --jobs 200``.

Jobs of the exam (docs/diagnosis.md) are run with one fault of about three percent and without it,
and both are compared; halves of healthy jobs are compared with each other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.exam.analyse import report_of
from benchmarks.exam.job import Order, UnsuitableError
from benchmarks.exam.making import Seen
from benchmarks.exam.plan import FAMILIES
from benchmarks.exam.recording import write_recording
from reportgen.comparison import Verdict, compare
from reportgen.comparison.compare import verdict_of
from reportgen.comparison.runs import run_of
from reportgen.comparison.steps import difference_of
from reportgen.report import Report
from reportgen.results.causes import Cause

PARTS = {
    Cause.WORK_BETWEEN_STEPS: {"between_steps"},
    Cause.UNPINNED_MEMORY: {"between_steps", "busy"},
    Cause.TOO_FEW_LOADERS: {"input_wait", "cpu_input"},
    Cause.IO_WAIT: {"input_wait", "io_wait", "cpu_input"},
    Cause.NETWORK_INPUT: {"input_wait", "network", "cpu_input"},
    Cause.SLOW_WORKER: {"straggler", "busy", "inside_steps"},
}
"""Faults that every step suffers from, and the parts of the waterfall that name them."""
LEAST, MOST = 0.025, 0.04
"""The share of the loop that a fault must cost: about three percent."""
_TRIES = 100
_GROWTH = 1.02
_LEAST_STEPS, _MOST_SPREAD = 500, 0.1
_FOUND = "found and named"
_SAME = Verdict.NO_DIFFERENCE.value
"""How a comparison should end: of a fault, and of halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one comparison ended: ``kind`` is the cause or the halves, ``share_ratio`` its cost."""

    order: Order
    kind: str
    end: str
    share_ratio: float = 0.0


def examine(order: Order) -> Ended | None:
    """Compare a job with its fault and without it, or the halves of a healthy job.

    What cannot be had, has too few steps or varies too much is drawn again. The job without the
    fault has random lengths of its own, as a second run of a real job.
    """
    for attempt in range(_TRIES):
        seeds = np.random.SeedSequence([order.seed, order.number, attempt]).generate_state(2)
        wanted = replace(order, share_ratio=order.share_ratio * _GROWTH**attempt)
        try:
            ended = _examine(wanted, int(seeds[0]), int(seeds[1]))
        except UnsuitableError:
            continue
        if ended is not None:
            return ended
    return None


def _examine(order: Order, seed: int, other: int) -> Ended | None:
    drafts = [
        FAMILIES[order.family](order, np.random.default_rng(seed), lengths)
        for lengths in (seed, other)
    ]
    good, bad = drafts[0].run([]), drafts[0].run(list(order.causes))
    share = 1 - good.steps.loop_length_s / bad.steps.loop_length_s
    is_of_size = not order.causes or LEAST <= share <= MOST
    n_steps = int(good.steps.is_train.sum())
    if drafts[0].input == "system" or n_steps < _LEAST_STEPS + 10 or not is_of_size:
        return None
    after = _report(order, bad)
    times = _steady_times(after)
    if times is None:
        return None
    if not order.causes:
        half = times.size // 2
        verdict = verdict_of(difference_of(times[:half], times[half:]))
        return Ended(order=order, kind="halves", end=verdict.value)
    comparison = compare(_report(order, drafts[1].run([])), after)
    (cause,) = order.causes
    end = comparison.verdict.value
    if comparison.verdict is Verdict.SLOWER:
        part = comparison.waterfall[0].key
        end = _FOUND if part in PARTS[cause] else f"named {part}"
    return Ended(order=order, kind=cause, end=end, share_ratio=share)


def _report(order: Order, seen: Seen) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "job" / "profiler-output"
        write_recording(seen.record(), seed=order.seed, root=root)
        return report_of(Path(folder) / "job")


def _steady_times(report: Report) -> np.ndarray | None:
    """Return the times of the steps after the warm-up, if there are enough and they vary little."""
    steps = run_of(report, label="job").steps
    if steps is None or steps.cycle_ns.size < _LEAST_STEPS:
        return None
    times = steps.cycle_ns[10:]
    middle = float(np.median(times))
    spread = float(np.median(np.abs(times - middle))) * 1.4826
    return times if spread <= _MOST_SPREAD * middle else None


def orders(seed: int, n_jobs: int) -> list[Order]:
    """Return as many jobs with faults as healthy ones, and some for those that cannot be had."""
    causes, families = list(PARTS), list(FAMILIES)
    faulty = [
        Order(
            number=number,
            seed=seed,
            family=families[number // len(causes) % len(families)],
            causes=(causes[number % len(causes)],),
            share_ratio=0.03,
        )
        for number in range(n_jobs)
    ]
    healthy = [
        Order(
            number=n_jobs + number,
            seed=seed,
            family=families[number % len(families)],
            healthy_kind="plain",
        )
        for number in range(n_jobs)
    ]
    return [*faulty, *healthy]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how the comparisons ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = pool.map(examine, orders(options.seed, options.jobs), chunksize=4)
        ended = [item for item in jobs if item is not None]
    sys.stdout.write(table_of(ended))
    for item in ended:
        if item.end not in {_FOUND, _SAME}:
            sys.stderr.write(f"{item.order.number} {item.order.name} {item.share_ratio:.3f}: ")
            sys.stderr.write(f"{item.end}\n")


def table_of(ended: Sequence[Ended]) -> str:
    """Return how the comparisons ended, as a table in Markdown: a row per kind."""
    kinds = sorted({item.kind for item in ended} - {"halves"})
    rows = [("halves of healthy jobs", [item for item in ended if item.kind == "halves"])]
    rows += [(kind.replace("_", " "), [it for it in ended if it.kind == kind]) for kind in kinds]
    rows.append(("all faults", [item for item in ended if item.kind != "halves"]))
    lines = [
        "| | jobs | no difference | slower | slower, and the cause named |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, its in rows:
        counts = Counter(item.end for item in its)
        n_slower = len(its) - counts[_SAME] - counts[Verdict.FASTER.value]
        n_slower -= counts[Verdict.NOT_COMPARABLE.value]
        named = "" if its and its[0].kind == "halves" else counts[_FOUND]
        lines.append(f"| {name} | {len(its)} | {counts[_SAME]} | {n_slower} | {named} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
