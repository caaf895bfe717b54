"""How often a comparison is right: ``python -m benchmarks.comparisons --jobs 200``.

Jobs of the exam (docs/diagnosis.md) are run without a fault and with one that makes steps about
three percent longer, and both are compared; so are the halves of a healthy job, and two runs of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.exam.analyse import report_of
from benchmarks.exam.making import Order, changed, drafted, recording_of
from benchmarks.exam.recording import write_recording
from benchmarks.exam.tables import put_between
from benchmarks.exam.training import Run
from reportgen.comparison import Comparison, Verdict, compare
from reportgen.comparison.compare import verdict_of
from reportgen.comparison.model import StepDifference
from reportgen.comparison.runs import RunSteps, run_of
from reportgen.comparison.steps import Chosen, difference_of_steps
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
LEAST, MOST = 0.025, 0.035
"""By how much a fault must lengthen the mean training step after the warm-up: three percent."""
_RULES = {"StepOutlier", "GPUTimeBudget"}
"""They keep all steps and the GPU time of each; a verdict needs no other rule."""
_TRIES = 100
_GROWTH = 1.02
_LEAST_STEPS, _MOST_SPREAD = 500, 0.1
_WARM_UP = 10
_FOUND = "found and named"
_SAME = Verdict.NO_DIFFERENCE.value
"""How a comparison should end: of a fault, and of a healthy job."""
_HALVES, _RUNS = "halves of a healthy job", "two runs of a healthy job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one comparison ended.

    Attributes:
        kind: the cause, or ``_HALVES`` or ``_RUNS`` of a healthy job.
        share_ratio: by how much the fault lengthens the steps.
        variation_ratio: standard deviation of the healthy job's steps, by their mean.
        note: the numbers behind the verdict.
    """

    order: Order
    kind: str
    end: str
    share_ratio: float
    variation_ratio: float
    note: str


def examine(order: Order) -> tuple[Ended, ...]:
    """Compare a job with its fault and without it, or the halves and two runs of a healthy job.

    What cannot be had, has too few steps or varies too much is drawn again. The job without the
    fault has random lengths of its own, as a second run of a real job.
    """
    for attempt in range(_TRIES):
        seed = int(np.random.SeedSequence([order.seed, attempt]).generate_state(1)[0])
        share = order.share_ratio * _GROWTH**attempt
        if ended := _examine(replace(order, seed=seed, share_ratio=share)):
            return ended
    return ()


def _examine(order: Order) -> tuple[Ended, ...]:
    base, drawn = drafted(order)
    if base.input == "system" or base.n_train < _LEAST_STEPS + 10:
        return ()
    good, bad = Run(base), Run(changed(base, drawn.values()))
    share = _step_s(bad) / _step_s(good) - 1
    if order.causes and not LEAST <= share <= MOST:
        return ()
    after = _report(order, bad)
    times = _steady_times(after)
    if times is None:
        return ()
    before = _report(order, Run(replace(base, seed=base.seed + 1)))
    steps = run_of(before, label="before").steps
    assert steps is not None
    times = steps.cycle_ns[_WARM_UP:]
    variation = float(times.std() / times.mean())
    comparison = compare(before, after)
    assert comparison.step is not None
    found = [(order.causes[0] if order.causes else _RUNS, _end(order, comparison), comparison.step)]
    if not order.causes:
        halves = difference_of_steps(steps, steps, _halves(steps))
        found.append((_HALVES, verdict_of(halves).value, halves))
    return tuple(
        Ended(
            order=order,
            kind=kind,
            end=end,
            share_ratio=share,
            variation_ratio=variation,
            note=_note(step),
        )
        for kind, end, step in found
    )


def _step_s(run: Run) -> float:
    """Return the mean time from the start of a training step after the warm-up to the next one.

    A loader that fills its queue hides a slow disk in the first steps, and what a validation loses
    is no time of a training step.
    """
    train = np.array([step.is_train for step in run.steps[0]])
    cycle_s = np.diff([[step.start_s for step in each] for each in run.steps]).mean(axis=0)
    return float(cycle_s[train[:-1]][_WARM_UP:].mean())


def _end(order: Order, comparison: Comparison) -> str:
    if not order.causes or comparison.verdict is not Verdict.SLOWER:
        return comparison.verdict.value
    part = comparison.waterfall[0].key
    return _FOUND if part in PARTS[order.causes[0]] else f"named {part}"


def _halves(steps: RunSteps) -> Chosen:
    rows = np.arange(steps.cycle_ns.size)
    middle = (rows.size + _WARM_UP) // 2
    first = (rows >= _WARM_UP) & (rows < middle)
    return Chosen(before=first, after=rows >= middle, how="halves")


def _note(step: StepDifference) -> str:
    bounds = [
        f"{100 * difference / step.before_mean_s:+.2f} % "
        f"({' to '.join(f'{100 * bound / step.before_mean_s:+.2f}' for bound in interval)})"
        for difference, interval in (
            (step.difference_s, step.certain_s),
            (step.step_mean_difference_s, step.mean_interval_s),
        )
    ]
    return f"medians {bounds[0]}, means {bounds[1]}"


def _report(order: Order, run: Run) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "job" / "profiler-output"
        write_recording(recording_of(run), seed=order.seed, root=root)
        return report_of(Path(folder) / "job", only=_RULES)


def _steady_times(report: Report) -> np.ndarray | None:
    """Return the times of the steps after the warm-up, if there are enough and they vary little."""
    steps = run_of(report, label="job").steps
    if steps is None or steps.cycle_ns.size < _LEAST_STEPS:
        return None
    times = steps.cycle_ns[_WARM_UP:]
    middle = float(np.median(times))
    spread = float(np.median(np.abs(times - middle))) * 1.4826
    return times if spread <= _MOST_SPREAD * middle else None


def orders(seed: int, n_jobs: int) -> list[Order]:
    """Return as many jobs with faults as healthy ones, and some for those that cannot be had."""
    causes = list(PARTS)
    faulty = [
        Order(
            number=number,
            seed=seed,
            causes=(causes[number % len(causes)],),
            share_ratio=0.03 / 1.03,
        )
        for number in range(n_jobs)
    ]
    healthy = [
        Order(
            number=n_jobs + number,
            seed=seed,
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
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = pool.map(examine, orders(options.seed, options.jobs), chunksize=4)
        ended = list(chain.from_iterable(jobs))
    table = table_of(ended)
    sys.stdout.write(table)
    for item in ended:
        if item.end != (_FOUND if item.kind in PARTS else _SAME):
            sys.stderr.write(f"{item.order.name}, {item.kind}, costs {item.share_ratio:.3f}, ")
            sys.stderr.write(f"varies by {item.variation_ratio:.3f}: {item.end}; {item.note}\n")
    if options.write is not None:
        text = options.write.read_text(encoding="utf-8")
        ordered = f"{options.jobs} healthy and {options.jobs} faulty jobs were ordered"
        said = f"Seed {options.seed}: {ordered}; those that could be had are counted.\n\n"
        options.write.write_text(put_between(text, "comparisons", said + table), encoding="utf-8")


def table_of(ended: Sequence[Ended]) -> str:
    """Return how the comparisons ended, as a table in Markdown: a row per kind.

    Those of jobs whose steps vary little by their standard deviation too, outliers included, are
    counted once more.
    """
    kinds = [_HALVES, _RUNS, *PARTS]
    rows = [(kind.replace("_", " "), [it for it in ended if it.kind == kind]) for kind in kinds]
    rows.append(("all faults", [it for it in ended if it.kind in PARTS]))
    lines = [
        "| | jobs | right | named | standard deviation ≤ 10 %: jobs | right | named |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, group in rows:
        steady = [it for it in group if it.variation_ratio <= _MOST_SPREAD]
        lines.append(f"| {' | '.join([name, *_counts(group), *_counts(steady)])} |")
    return "\n".join(lines) + "\n"


def _counts(ended: Sequence[Ended]) -> list[str]:
    """Return how many comparisons there are, how many are right, and how many name the cause."""
    if not ended:
        return ["0", "", ""]
    if ended[0].kind not in PARTS:
        return [str(len(ended)), _share(sum(it.end == _SAME for it in ended), len(ended)), ""]
    slower = sum(it.end == _FOUND or it.end.startswith("named") for it in ended)
    named = sum(it.end == _FOUND for it in ended)
    return [str(len(ended)), _share(slower, len(ended)), _share(named, len(ended))]


def _share(n: int, of: int) -> str:
    return f"{n} ({100 * n / of:.1f} %)"


if __name__ == "__main__":
    main()
