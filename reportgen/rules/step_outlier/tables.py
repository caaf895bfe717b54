"""The evidence about steps: statistics, histogram, durations and pace over time, slow steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reportgen.arrays import Floats, Instants
from reportgen.facts.distributions import bin_together
from reportgen.facts.resample import coarsen, join_lines, lay_over, power_of_two
from reportgen.facts.trend import MEDIAN_FACTOR
from reportgen.profile.spans import TRAINING_PHASES
from reportgen.results import ColumnType, Exhibit, ExhibitKind, Role, column, exhibit
from reportgen.rules import kit
from reportgen.rules.aws.breakdown import exhibits_of_breakdown
from reportgen.rules.functions import compared_functions
from reportgen.rules.step_outlier.measure import SlowStep, StepSeries
from reportgen.rules.step_outlier.use import UseInSteps, exhibits_of_use
from reportgen.text import format_ns, plural, write
from reportgen.units import NS_PER_S

MOST_STEP_LINES = 8
"""More lines than this cannot be distinguished in one chart; then they become one."""
SECONDS_DIGITS = 6
PACE_DIGITS = 4
TIME_DIGITS = 3
LEAST_STEPS_PER_BIN = 10
"""Fewer, and one step more or less in a bin would look like a change of pace."""
MOST_PACE_BINS = 120
LEAST_BINS = 3
_PREFIX = "outlier_"
_DURING = " during outlier steps"


def preferred(series: Sequence[StepSeries]) -> StepSeries:
    """Return the series that stands for the others: TRAIN, GLOBAL, or most steps."""
    named = (item for word in TRAINING_PHASES for item in series if item.word == word)
    return next(named, max(series, key=lambda item: (item.n_steps, item.phase)))


def main_series(series: Sequence[StepSeries]) -> list[StepSeries]:
    """Return the series of the phase that stands for the training."""
    phase = preferred(series).phase
    return [item for item in series if item.phase == phase]


def exhibits_of_series(
    series: Sequence[StepSeries], use: UseInSteps, *, batch_size: int | None
) -> Iterator[Exhibit]:
    """Yield all evidence; nothing without steps."""
    if not series:
        return
    main, is_few = main_series(series), len(series) <= kit.MOST_SHOWN

    def is_other(item: StepSeries) -> bool:
        return item.phase != main[0].phase

    yield _statistics(series, batch_size)
    yield _percentiles(sorted(series, key=is_other) if is_few else main)
    yield _histogram(series)
    yield _over_time(series)
    yield from _pace_over_time(main, batch_size)
    yield _numbers(preferred(series))
    yield kit.table(
        "outliers",
        kit.concat(item.outliers for item in series),
        SlowStep,
        title="Outlier steps",
        caption="Steps longer than the threshold of their training process and phase.",
    )
    yield _above_median(series)
    yield from exhibits_of_use(use)
    during = kit.merge([item.during_outliers for item in series])
    yield from exhibits_of_breakdown(during, with_others=False, prefix=_PREFIX, during=_DURING)
    yield from compared_functions(
        f"{_PREFIX}functions",
        kit.merge([item.functions for item in series]),
        kit.merge([item.other_functions for item in series]),
        title="Functions in outlier steps and in the others",
        caption="""Only training processes and phases with too many outliers. count, mean_s and
            share_pct are of outlier steps; the columns “other …” are of the other steps.""",
    )


@kit.row
class StepPercentiles:
    """Columns of a series in the card "At a glance"."""

    worker: str = kit.derived(lambda item: item.worker, name="training process")
    phase: str = kit.derived(lambda item: item.word)
    steps: int = kit.derived(lambda item: item.n_steps)
    p50_s: float = kit.derived(lambda item: item.p50_s, "s")
    p95_s: float = kit.derived(lambda item: item.p95_s, "s")
    p99_s: float = kit.derived(lambda item: item.p99_s, "s")
    slow: int = kit.derived(lambda item: item.slow_steps, name="slow steps")


def _percentiles(series: Sequence[StepSeries]) -> Exhibit:
    """Return few series; of many the slowest, the middle and the fastest."""
    caption = write(
        "{slow:n} slow of {all:count step} (at least 1.5 times as long as those around them).",
        slow=sum(item.slow_steps for item in series),
        all=sum(item.n_steps for item in series),
    )
    if n_outliers := sum(len(item.outliers) for item in series):
        words = " {n:count outlier} (SageMaker's: above the mean plus a few standard deviations)."
        caption += write(words, n=n_outliers)
    if len(series) > kit.MOST_SHOWN:
        caption += f""" Of {len(series):,} training processes those with the slowest, the middle and
            the fastest median."""
    shown = kit.low_middle_high(series, lambda item: item.p50_s)
    return kit.table(
        "step_percentiles", shown, StepPercentiles, title="Percentiles", caption=caption
    )


def _statistics(series: Sequence[StepSeries], batch_size: int | None) -> Exhibit:
    columns = kit.columns_of(series, StepSeries)
    if batch_size is not None:
        rates = [item.per_second(batch_size, digits=2) for item in series]
        columns[4:4] = kit.floats(("samples_per_s", "/s", rates))
    return exhibit(
        "steps",
        ExhibitKind.TABLE,
        title="Step durations by training process and phase",
        caption="""Statistics include the outliers. Steps per second include the pauses between
            steps. If a training process has too few steps of a phase, these are not checked and
            have no threshold.""",
        columns=columns,
    )


def _histogram(series: Sequence[StepSeries]) -> Exhibit:
    edge_ns, in_bins = bin_together([item.normal for item in series])
    edges_s, counts = edge_ns / NS_PER_S, in_bins.tolist()
    slow = [item for item in series if item.outliers]
    caption = "All steps of each training process and phase."
    if slow:
        edges_s = np.append(edges_s, edges_s[-1] + (edges_s[-1] - edges_s[-2]))
        for line, item in zip(counts, series, strict=True):
            line.append(len(item.outliers))
        caption = write(
            "The last bin is open: it holds {n:count outlier}; the longest takes {longest:s}.",
            n=sum(len(item.outliers) for item in slow),
            longest=max(item.max_s for item in slow),
        )
    made = kit.histogram(
        "step_histogram",
        edges_s,
        list(zip(_line_names(series), counts, strict=True)),
        title="How long steps take",
        caption=caption,
        unit="s",
        counted="steps",
        role=Role.STEP,
    )
    return _phases_apart(made, series)


def _over_time(series: Sequence[StepSeries]) -> Exhibit:
    """Return the curve of durations; a last row without values ends it where the steps end."""
    lines, names = [item.buckets for item in series], _line_names(series)
    begin_ns = min(item.start_ns for item in series)
    end_ns = max(item.start_ns + item.reach_ns for item in series)
    caption = ""
    if len(lines) > MOST_STEP_LINES:
        caption = f"Minimum, mean and maximum over {len(lines)} training processes and phases. "
        lines, names = [join_lines(lines)], ["all workers"]
    found = lay_over(lines)
    marks = {"min": found.low, "mean": found.mean, "max": found.high}
    caption += write(
        """{n:count step} in {n_intervals:count interval} of time; each shows
        its shortest, mean and longest step.""",
        n=sum(item.n_steps for item in series),
        n_intervals=found.time_ns.size,
    )
    made = exhibit(
        "step_series",
        ExhibitKind.BAND,
        title="Step durations over time",
        caption=caption,
        columns=kit.floats(
            ("time_s", "s", np.append(np.maximum(found.time_ns, begin_ns), end_ns) / NS_PER_S),
            *(
                (f"{name}_{mark}", "s", np.append(np.round(values[line], SECONDS_DIGITS), np.nan))
                for line, name in enumerate(names)
                for mark, values in marks.items()
            ),
        ),
        role=Role.STEP,
    )
    return _phases_apart(made, series)


def _phases_apart(made: Exhibit, series: Sequence[StepSeries]) -> Exhibit:
    """Give lines of training their own colour where there are other phases."""
    named = list(zip(_line_names(series), series, strict=True))
    trained = {name for name, item in named if item.word in TRAINING_PHASES}
    if len(trained) == len(named):
        return made
    columns = (
        replace(item, role=Role.GPU)
        if trained & {item.name, item.name.rpartition("_")[0]}
        else item
        for item in made.columns
    )
    return replace(made, columns=tuple(columns))


def _numbers(shown: StepSeries) -> Exhibit:
    """Return at what time which step began: of one worker, as all count the same steps.

    From there to ``end_s`` steps of the phase follow each other without other work between them.
    """
    marks = shown.marks
    is_thinned = marks.n_steps < shown.n_steps
    thinned = f" {marks.n_steps:,} of {shown.n_steps:,} steps." if is_thinned else ""
    return exhibit(
        "step_numbers",
        ExhibitKind.SERIES,
        title="Step numbers over time",
        caption=f"When the steps of {shown.worker} ({shown.word}) began.{thinned}",
        columns=[
            *kit.floats(("time_s", "s", marks.start_ns / NS_PER_S)),
            column("step", "", marks.step, type=ColumnType.INT),
            *kit.floats(("end_s", "s", marks.next_ns / NS_PER_S)),
        ],
        role=Role.STEP,
    )


def _above_median(series: Sequence[StepSeries]) -> Exhibit:
    n_all = sum(item.above_twice_median for item in series)
    shown = kit.concat(item.slowest for item in series)
    rest = f" The {len(shown):,} longest of {n_all:,} are listed." if len(shown) < n_all else ""
    return kit.table(
        "median_outliers",
        shown,
        SlowStep,
        title=f"Steps of more than {MEDIAN_FACTOR} times the median",
        caption=f"This is another definition than that of an outlier.{rest}",
    )


def _line_names(series: Sequence[StepSeries]) -> list[str]:
    """Name lines by what differs; phases in full where two of them end in the same word."""
    words = {item.phase: item.word for item in series}
    if len(words) == 1:
        return [item.worker for item in series]
    is_clear = len(set(words.values())) == len(words)
    names = [item.word if is_clear else item.phase for item in series]
    if len({item.worker for item in series}) == 1:
        return names
    return [f"{item.worker} {name}" for item, name in zip(series, names, strict=True)]


def _pace_over_time(main: Sequence[StepSeries], batch_size: int | None) -> Iterator[Exhibit]:
    """Yield the steps a second in each stretch of time; nothing for a short loop.

    A stretch without a step has 0; one of which less than half lies between a worker's first and
    last step has no value for that worker.
    """
    start_ns = min(item.start_ns for item in main)
    end_ns = max(item.start_ns + item.reach_ns for item in main)
    width_ns = power_of_two(
        max(
            LEAST_STEPS_PER_BIN * max(item.reach_ns // item.n_steps for item in main),
            (end_ns - start_ns) // MOST_PACE_BINS,
            *(item.buckets.width_ns for item in main),
        )
    )
    edge_ns = np.arange(start_ns // width_ns, end_ns // width_ns + 2, dtype=np.int64) * width_ns
    if edge_ns.size <= LEAST_BINS:
        return
    names, rates = [item.worker for item in main], [_rates(item, edge_ns) for item in main]
    remark = ""
    if len(main) > MOST_STEP_LINES:
        mean = np.ma.masked_invalid(rates).mean(axis=0).filled(np.nan)
        names, rates = ["mean of the workers"], [np.round(mean, PACE_DIGITS)]
        remark = f" Mean of {plural(len(main), 'training process', 'training processes')}."
    if batch_size is not None:
        remark += f" A step of a training process has {plural(batch_size, 'sample')}."
    yield exhibit(
        "step_pace",
        ExhibitKind.SERIES,
        title="Steps per second over time",
        caption=f"""Number of {main[0].word} steps that began in each interval of
            {format_ns(width_ns)}, divided by its length; pauses between steps are
            included.{remark}""",
        columns=kit.floats(
            ("time_s", "s", np.round((edge_ns[:-1] + width_ns // 2) / NS_PER_S, TIME_DIGITS)),
            *((name, "steps/s", rate) for name, rate in zip(names, rates, strict=True)),
        ),
        role=Role.STEP,
    )


def _rates(item: StepSeries, edge_ns: Instants) -> Floats:
    """Return (n_bins,) steps per second, NaN where the worker was there for less than half."""
    width_ns = int(edge_ns[1] - edge_ns[0])
    steps = coarsen(item.buckets, width_ns)
    count = np.zeros(edge_ns.size - 1)
    count[steps.index - edge_ns[0] // width_ns] = steps.count
    length_ns = np.minimum(edge_ns[1:], item.start_ns + item.reach_ns)
    length_ns = np.maximum(length_ns - np.maximum(edge_ns[:-1], item.start_ns), 0)
    is_there = 2 * length_ns >= width_ns
    rate = np.full(count.shape, np.nan)
    rate[is_there] = count[is_there] * NS_PER_S / length_ns[is_there]
    return np.round(rate, PACE_DIGITS)
