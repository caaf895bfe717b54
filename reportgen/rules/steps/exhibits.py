"""The evidence about steps: statistics, histogram, durations over time, tables of slow steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reportgen.facts.distributions import bin_together
from reportgen.facts.parts import merge
from reportgen.facts.resample import join_lines, lay_over
from reportgen.facts.slow import MEDIAN_FACTOR
from reportgen.facts.steps import phase_word
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.rules.aws.breakdown import exhibits_of_breakdown
from reportgen.rules.functions import compared_functions
from reportgen.rules.saying.intervals import Interval, intervals_exhibit
from reportgen.rules.saying.wording import say_times
from reportgen.rules.steps.series import SlowSteps, StepSeries, preferred
from reportgen.rules.steps.throughput import pace_over_time, samples_per_s, steps_per_s
from reportgen.units import NS_PER_S, say_duration, seconds

MOST_LINES = 8
"""More lines than this cannot be told apart in one chart; then they become one band."""
SECONDS_DIGITS = 6
PREFIX = "outlier_"
DURING = " during slow steps"


def exhibits_of_series(
    series: Sequence[StepSeries], *, batch_size: int | None
) -> tuple[Exhibit, ...]:
    """Return all exhibits; none without steps."""
    if not series:
        return ()
    during = merge([item.during_outliers for item in series])
    return (
        _steps(series, batch_size),
        _histogram(series),
        _over_time(series),
        *pace_over_time(series, batch_size),
        _marks(series),
        _outliers(series),
        _above_median(series),
        *_intervals(series),
        *exhibits_of_breakdown(during, with_others=False, prefix=PREFIX, during=DURING),
        *compared_functions(
            f"{PREFIX}functions",
            merge([item.functions for item in series]),
            merge([item.other_functions for item in series]),
            title="Functions in slow steps and in the others",
            caption=(
                "Workers and phases with too many slow steps. Each event counts once on a side, "
                "with its full length; largest increase of the share first."
            ),
        ),
    )


def _steps(series: Sequence[StepSeries], batch_size: int | None) -> Exhibit:
    def column(
        name: str, unit: str, get: Callable[[StepSeries], object]
    ) -> tuple[str, str, list[object]]:
        return name, unit, [get(item) for item in series]

    def judged(item: StepSeries, value: float | None) -> float | None:
        return value if item.judgement else None

    samples: list[ColumnSpec] = []
    if batch_size is not None:
        samples = [column("samples_per_s", "/s", lambda item: samples_per_s(item, batch_size))]
    return exhibit(
        "steps",
        ExhibitKind.TABLE,
        title="Step durations by worker and phase",
        caption=(
            "Statistics include the outliers. Steps per second are counted from the first to the "
            "last step, with the time between them. A series with too few steps is not judged "
            "and has no threshold."
        ),
        columns=[
            column("worker", "", lambda item: item.worker),
            column("phase", "", lambda item: phase_word(item.phase)),
            column("count", "", lambda item: item.n_steps),
            column("steps_per_s", "/s", steps_per_s),
            *samples,
            column("mean_s", "s", lambda item: item.stats.mean_s),
            column("max_s", "s", lambda item: item.stats.max_s),
            column("p99_s", "s", lambda item: item.stats.p99_s),
            column("p95_s", "s", lambda item: item.stats.p95_s),
            column("p50_s", "s", lambda item: item.stats.p50_s),
            column("min_s", "s", lambda item: item.stats.min_s),
            column("stddev_s", "s", lambda i: i.judgement.stddev_s if i.judgement else None),
            column("threshold_s", "s", lambda i: i.judgement.threshold_s if i.judgement else None),
            column("outliers", "", lambda item: judged(item, int(item.outliers.step.size))),
            column("above_twice_median", "", lambda item: item.n_above_median),
        ],
    )


def _histogram(series: Sequence[StepSeries]) -> Exhibit:
    bins = bin_together([item.normal for item in series])
    edges_s = bins.edge_ns / NS_PER_S
    starts, ends = edges_s[:-1].tolist(), edges_s[1:].tolist()
    counts = [row.tolist() for row in bins.counts]
    n_outliers = [int(item.outliers.step.size) for item in series]
    caption = "All steps of each worker and phase."
    if any(n_outliers):
        longest_s = max(float(item.stats.max_s) for item in series if item.outliers.step.size)
        starts.append(float(edges_s[-1]))
        ends.append(float(edges_s[-1] + (edges_s[-1] - edges_s[-2])))
        counts = [[*row, extra] for row, extra in zip(counts, n_outliers, strict=True)]
        caption = (
            f"The last bin is an overflow bin: it holds {say_times(sum(n_outliers), 'outlier')}, "
            f"the longest of {say_duration(longest_s)}."
        )
    columns: list[ColumnSpec] = [("bin_start", "s", starts), ("bin_end", "s", ends)]
    columns += [(name, "steps", row) for name, row in zip(_line_names(series), counts, strict=True)]
    return exhibit(
        "step_histogram",
        ExhibitKind.HISTOGRAM,
        title="How long steps take",
        caption=caption,
        columns=columns,
    )


def _marks(series: Sequence[StepSeries]) -> Exhibit:
    """Return at what time which step began: of one worker, as all count the same steps."""
    shown = preferred(list(series))
    n_marks = shown.marks.step.size
    thinned = "" if n_marks == shown.n_steps else f" {n_marks:,} of {shown.n_steps:,} steps."
    return exhibit(
        "step_numbers",
        ExhibitKind.SERIES,
        title="Step numbers over time",
        caption=f"When the steps of {shown.worker} ({phase_word(shown.phase)}) began.{thinned}",
        columns=[
            ("time_s", "s", shown.marks.start_ns / NS_PER_S),
            ("step", "", shown.marks.step),
        ],
    )


def _over_time(series: Sequence[StepSeries]) -> Exhibit:
    lines = [item.buckets for item in series]
    names = _line_names(series)
    caption = ""
    if len(lines) > MOST_LINES:
        caption = f"Minimum, mean and maximum over the {len(lines)} workers and phases. "
        lines, names = [join_lines(lines)], ["all workers"]
    over_time = lay_over(lines)
    n_steps = sum(item.n_steps for item in series)
    n_intervals = over_time.time_ns.size
    caption += (
        f"{say_times(n_steps, 'step')} in {say_times(n_intervals, 'interval')}; each keeps its "
        "shortest, mean and longest step."
    )
    columns: list[ColumnSpec] = [("time_s", "s", over_time.time_ns / NS_PER_S)]
    for row, name in enumerate(names):
        columns += [
            (f"{name}_min", "s", np.round(over_time.low[row], SECONDS_DIGITS)),
            (f"{name}_mean", "s", np.round(over_time.mean[row], SECONDS_DIGITS)),
            (f"{name}_max", "s", np.round(over_time.high[row], SECONDS_DIGITS)),
        ]
    return exhibit(
        "step_series",
        ExhibitKind.BAND,
        title="Step durations over time",
        caption=caption,
        columns=columns,
    )


def _outliers(series: Sequence[StepSeries]) -> Exhibit:
    return _slow_table(
        "outliers",
        [(item, item.outliers) for item in series],
        title="Outlier steps",
        caption="Steps longer than the threshold of their worker and phase.",
    )


def _above_median(series: Sequence[StepSeries]) -> Exhibit:
    n_all = sum(item.n_above_median for item in series)
    n_shown = sum(int(item.above_median.step.size) for item in series)
    rest = f" The {n_shown:,} longest of {n_all:,} are listed." if n_shown < n_all else ""
    return _slow_table(
        "median_outliers",
        [(item, item.above_median) for item in series],
        title=f"Steps of more than {MEDIAN_FACTOR} times the median",
        caption=f"Another definition than the rule's; a step of exactly that is normal.{rest}",
    )


def _intervals(series: Sequence[StepSeries]) -> Iterator[Exhibit]:
    """Yield when the outliers were, nothing without any."""
    found = [
        Interval(
            node=item.worker.rpartition("-")[0],
            device=item.worker,
            what=f"{phase_word(item.phase)} step {step}, outlier",
            start_s=seconds(start_ns),
            end_s=seconds(start_ns + duration_ns),
        )
        for item in series
        for step, start_ns, duration_ns in zip(
            item.outliers.step.tolist(),
            item.outliers.start_ns.tolist(),
            item.outliers.duration_ns.tolist(),
            strict=True,
        )
    ]
    if found:
        yield intervals_exhibit(found, title="When outlier steps ran")


def _slow_table(
    exhibit_id: str, parts: Sequence[tuple[StepSeries, SlowSteps]], *, title: str, caption: str
) -> Exhibit:
    rows = [
        (
            item.worker,
            phase_word(item.phase),
            step,
            start_ns / NS_PER_S,
            duration_ns / NS_PER_S,
            round(duration_ns / NS_PER_S / item.stats.p50_s, 2) if item.stats.p50_s else None,
        )
        for item, slow in parts
        for step, start_ns, duration_ns in zip(
            slow.step.tolist(), slow.start_ns.tolist(), slow.duration_ns.tolist(), strict=True
        )
    ]
    heads = (
        ("worker", ""),
        ("phase", ""),
        ("step", ""),
        ("start_s", "s"),
        ("duration_s", "s"),
        ("factor_of_median", ""),
    )
    return exhibit(
        exhibit_id,
        ExhibitKind.TABLE,
        title=title,
        caption=caption,
        columns=[
            (name, unit, [row[place] for row in rows]) for place, (name, unit) in enumerate(heads)
        ],
    )


def _line_names(series: Sequence[StepSeries]) -> list[str]:
    """Name lines by what differs; phases in full where two of them end in the same word."""
    words = {item.phase: phase_word(item.phase) for item in series}
    if len(words) == 1:
        return [item.worker for item in series]
    if len(set(words.values())) < len(words):
        words = {phase: phase for phase in words}
    if len({item.worker for item in series}) == 1:
        return [words[item.phase] for item in series]
    return [f"{item.worker} {words[item.phase]}" for item in series]
