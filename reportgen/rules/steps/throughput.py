"""How many steps, and samples, the job did a second: over the loop and over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.resample import coarsen, power_of_two
from reportgen.facts.steps import phase_word
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.rules.steps.series import StepSeries, preferred
from reportgen.units import NS_PER_S, say_duration

LEAST_STEPS_PER_BIN = 10
"""Fewer, and one step more or less in a bin would look like a change of pace. Source: ours."""
MOST_BINS = 120
LEAST_BINS = 3
MOST_LINES = 8
"""More lines than this cannot be told apart; then their mean is drawn."""
DIGITS = 4
TIME_DIGITS = 3

Floats = NDArray[np.float64]


def main_series(series: Sequence[StepSeries]) -> list[StepSeries]:
    """Return the series of the phase that stands for the training: TRAIN, GLOBAL, most steps."""
    phase = preferred(list(series)).phase
    return [item for item in series if item.phase == phase]


def steps_per_s(item: StepSeries) -> float | None:
    """Return how many steps there were a second, the time between them included."""
    return round(item.n_steps * NS_PER_S / item.reach_ns, DIGITS) if item.reach_ns > 0 else None


def samples_per_s(item: StepSeries, batch_size: int) -> float | None:
    """Return how many samples a worker took a second."""
    return round(item.n_steps * batch_size * NS_PER_S / item.reach_ns, 2) if item.reach_ns else None


def throughput_metrics(
    series: Sequence[StepSeries], batch_size: int | None
) -> dict[str, float | int | None]:
    """Return the median pace of the workers, and the samples of all of them together."""
    main = main_series(series)
    paces = [pace for item in main if (pace := steps_per_s(item)) is not None]
    found: dict[str, float | int | None] = {}
    if paces:
        found["steps_per_s"] = float(np.median(paces))
    if paces and batch_size is not None:
        rates = [samples_per_s(item, batch_size) or 0.0 for item in main]
        found["samples_per_s"] = round(sum(rates), 2)
    return found


def pace_over_time(series: Sequence[StepSeries], batch_size: int | None) -> Iterator[Exhibit]:
    """Yield the steps a second in each stretch of time; nothing for a short loop.

    A stretch without a step has 0; one of which less than half lies between a worker's first and
    last step has no value for that worker.
    """
    main = main_series(series)
    start_ns = min(_start_ns(item) for item in main)
    end_ns = max(_start_ns(item) + item.reach_ns for item in main)
    width_ns = _width_ns(main, end_ns - start_ns)
    edge_ns = np.arange(start_ns // width_ns, end_ns // width_ns + 2, dtype=np.int64) * width_ns
    if edge_ns.size <= LEAST_BINS:
        return
    names = [item.worker for item in main]
    rates = [_rates(item, edge_ns) for item in main]
    remark = ""
    if len(main) > MOST_LINES:
        names, rates = ["mean of the workers"], [_mean(rates)]
        remark = f" Mean of {say_times(len(main), 'worker')}."
    if batch_size is not None:
        remark += f" A step of a worker is {say_times(batch_size, 'sample')}."
    yield exhibit(
        "step_pace",
        ExhibitKind.SERIES,
        title="Steps per second over time",
        caption=(
            f"{phase_word(main[0].phase)} steps that began in each stretch of "
            f"{say_duration(width_ns / NS_PER_S)}, with the time between them.{remark}"
        ),
        columns=[
            ("time_s", "s", np.round((edge_ns[:-1] + width_ns // 2) / NS_PER_S, TIME_DIGITS)),
            *((name, "steps/s", rate) for name, rate in zip(names, rates, strict=True)),
        ],
    )


def _width_ns(main: Sequence[StepSeries], reach_ns: int) -> int:
    usual_ns = max(item.reach_ns // item.n_steps for item in main)
    finest_ns = max(item.buckets.width_ns for item in main)
    return power_of_two(max(LEAST_STEPS_PER_BIN * usual_ns, reach_ns // MOST_BINS, finest_ns))


def _start_ns(item: StepSeries) -> int:
    return int(item.marks.start_ns[0])


def _rates(item: StepSeries, edge_ns: NDArray[np.int64]) -> Floats:
    """Return (n_bins,) steps per second, NaN where the worker was there for less than half."""
    width_ns = int(edge_ns[1] - edge_ns[0])
    steps = coarsen(item.buckets, width_ns)
    count = np.zeros(edge_ns.size - 1)
    count[steps.index - edge_ns[0] // width_ns] = steps.count
    start_ns = _start_ns(item)
    begin_ns = np.maximum(edge_ns[:-1], start_ns)
    end_ns = np.minimum(edge_ns[1:], start_ns + item.reach_ns)
    length_ns = np.maximum(end_ns - begin_ns, 0)
    is_there = 2 * length_ns >= width_ns
    rate = np.full(count.shape, np.nan)
    rate[is_there] = count[is_there] * NS_PER_S / length_ns[is_there]
    return np.round(rate, DIGITS)


def _mean(rates: Sequence[Floats]) -> Floats:
    """Return the mean of the workers that were there, NaN where none was."""
    every = np.asarray(rates)
    n_there = (~np.isnan(every)).sum(axis=0)
    total = np.nansum(every, axis=0)
    mean: Floats = np.full(n_there.shape, np.nan)
    np.divide(total, n_there, out=mean, where=n_there > 0)
    return np.asarray(np.round(mean, DIGITS), dtype=np.float64)
