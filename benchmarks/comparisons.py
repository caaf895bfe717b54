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
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.exam.analyse import report_of
from benchmarks.exam.job import Order, UnsuitableError
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
LEAST, MOST = 0.02, 0.06
_TRIES = 40
_LEAST_STEPS, _MOST_SPREAD = 500, 0.1


def reports_of(order: Order) -> tuple[Report, Report, float] | None:
    """Return the reports of a job without and with its fault, and what that costs."""
    for attempt in range(_TRIES):
        seed = int(np.random.SeedSequence([order.seed, order.number, attempt]).generate_state(1)[0])
        wanted = replace(order, share_ratio=order.share_ratio * 1.03**attempt)
        try:
            draft = FAMILIES[order.family](wanted, np.random.default_rng(seed), seed)
            good, bad = draft.run([]), draft.run(list(order.causes))
        except UnsuitableError:
            continue
        share = 1 - good.steps.loop_length_s / bad.steps.loop_length_s
        if draft.input == "system" or (order.causes and not LEAST <= share <= MOST):
            continue
        made = []
        for seen in (good, bad) if order.causes else (good, good):
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder) / "job" / "profiler-output"
                write_recording(seen.record(), seed=order.seed, root=root)
                made.append(report_of(Path(folder) / "job"))
        return made[0], made[1], share
    return None


def examine(order: Order) -> tuple[str, str] | None:
    """Return a kind of comparison and how it ended."""
    made = reports_of(order)
    if made is None:
        return None
    before, after, _ = made
    if not order.causes:
        return _halves(before)
    if _steady_times(before) is None:
        return None
    comparison = compare(before, after)
    (cause,) = order.causes
    if comparison.verdict is not Verdict.SLOWER:
        return cause, comparison.verdict.value
    is_named = comparison.waterfall[0].key in PARTS[cause]
    return cause, "found and named" if is_named else f"named {comparison.waterfall[0].key}"


def _halves(report: Report) -> tuple[str, str] | None:
    times = _steady_times(report)
    if times is None:
        return None
    half = times.size // 2
    return "halves", verdict_of(difference_of(times[:half], times[half:])).value


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
    """Return as many jobs with faults as healthy ones."""
    causes, families = list(PARTS), list(FAMILIES)
    faulty = [
        Order(
            number=number,
            seed=seed,
            family=families[number % len(families)],
            causes=(causes[number % len(causes)],),
            share_ratio=0.03,
        )
        for number in range(n_jobs)
    ]
    healthy = [
        Order(number=n_jobs + number, seed=seed, family=families[number % len(families)],
              healthy_kind="plain")
        for number in range(n_jobs)
    ]  # fmt: skip
    return [*faulty, *healthy]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how the comparisons ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.processes) as pool:
        ended = pool.map(partial(examine), orders(options.seed, options.jobs), chunksize=4)
        counts = Counter(item for item in ended if item is not None)
    kinds = sorted({kind for kind, _ in counts})
    for kind in kinds:
        its = {end: n for (its_kind, end), n in counts.items() if its_kind == kind}
        text = ", ".join(f"{end}: {n}" for end, n in sorted(its.items()))
        sys.stdout.write(f"{kind} ({sum(its.values())}): {text}\n")


if __name__ == "__main__":
    main()
