"""What SageMaker's StepOutlier counts and writes of the steps of each worker and phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reportgen.arrays import Floats, Integers, Mask
from reportgen.facts.breakdown import Breakdown
from reportgen.facts.samples import minutes_of
from reportgen.facts.steps import PhaseSteps
from reportgen.facts.trend import deviation_threshold_ns, mean_and_deviation_ns
from reportgen.merging import merge
from reportgen.results import Counters, Details
from reportgen.rules.aws.breakdown import breakdown_details
from reportgen.rules.aws.details import Counted
from reportgen.units import NS_PER_S

STATISTICS = ("mean", "max", "p99", "p95", "p50", "min")
"""In AWS's order."""
BINS = 100
STDDEV_DIGITS = 2
"""AWS rounds ``stddev`` in its JSON; the exhibits have all digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedSteps:
    """What AWS's rule keeps of a worker and phase; nothing exists of one with too few steps.

    Attributes:
        entry: its entry in the details.
        n_outliers: steps above the threshold at the end of the job.
        minute_ns, minute_outliers: when it was judged, and how many outliers there were then.
    """

    entry: Details
    n_outliers: int
    minute_ns: Integers
    minute_outliers: Integers


def counted_series(
    steps: PhaseSteps,
    is_outlier: Mask,
    stats_s: Mapping[str, float],
    *,
    stddev: float,
    min_steps: int,
) -> CountedSteps | None:
    """Return what AWS keeps of a series, of which (n,) steps are outliers; ``None`` if too few."""
    minute_ns, minute_outliers = outliers_by_minute(
        steps.end_ns, steps.duration_ns, stddev=stddev, min_steps=min_steps
    )
    if not minute_ns.size:
        return None
    outliers, normal = steps.where(is_outlier), steps.where(~is_outlier)
    outliers = outliers.where(np.lexsort((outliers.duration_ns, outliers.start_ns, outliers.step)))
    bin_count, bin_edge_s = np.histogram(normal.duration_ns / NS_PER_S, bins=BINS)
    _, deviation_ns = mean_and_deviation_ns(steps.duration_ns)
    entry: Details = {
        "step_stats": {**stats_s},
        "number_of_outliers": outliers.n_steps,
        "phase": steps.phase,
        "stddev": round(deviation_ns / NS_PER_S, STDDEV_DIGITS),
        "probs": bin_count.tolist(),
        "binedges": bin_edge_s.tolist(),
        "step_numbers": [str(step) for step in outliers.step.tolist()],
    }
    return CountedSteps(
        entry=entry,
        n_outliers=outliers.n_steps,
        minute_ns=minute_ns,
        minute_outliers=minute_outliers,
    )


def counted_steps(
    series: Sequence[CountedSteps],
    entries: Mapping[str, Any],
    during: Sequence[Breakdown],
    minute_ns: Integers,
    *,
    n_steps: int,
    n_outliers: int,
) -> Counted:
    """Return AWS's counters and details.

    Args:
        series: what it keeps of each worker and phase.
        entries: the entry of each worker.
        during: what ran in outliers.
        minute_ns: the minutes with new steps of the job.
        n_steps: all steps.
        n_outliers: more of them in a series are a violation.
    """
    n_judged = sum(_triggers(item, minute_ns, n_outliers) for item in series)
    details: Details = {"step_details": dict(entries)}
    if n_judged:
        every = merge([Breakdown(), *during])
        details |= breakdown_details(every, with_others=False, phases_first=True)
    counters = Counters(
        rule_triggered=n_judged,
        violations=sum(one.n_outliers for one in series if one.n_outliers > n_outliers),
        datapoints=n_steps,
    )
    return {"counters": counters, "details": details}


def _triggers(series: CountedSteps, minute_ns: Integers, n_outliers: int) -> int:
    """Return in how many minutes with new steps of the job a series has too many outliers.

    A series that got nothing new in a minute is judged with what it had (docs/rules.md).
    """
    latest = np.searchsorted(series.minute_ns, minute_ns, side="right") - 1
    counts = series.minute_outliers[latest[latest >= 0]]
    return int(np.count_nonzero(counts > n_outliers))


def outliers_by_minute(
    end_ns: Integers, duration_ns: Integers, *, stddev: float, min_steps: int
) -> tuple[Integers, Integers]:
    """Judge a growing series after each minute in which events ended, once it has enough of them.

    Returns:
        (m,) int64 starts of the minutes in which the series was judged, and (m,) int64 how many
        events so far were above the threshold of that minute.
    """
    order = np.lexsort((duration_ns, end_ns))
    duration = duration_ns[order]
    minutes = minutes_of(end_ns[order])
    is_judged = minutes.stop > min_steps
    stops = minutes.stop[is_judged]
    if stops.size == 0:
        return stops, stops
    thresholds = _thresholds_ns(duration, stops, stddev)
    thresholds[-1] = deviation_threshold_ns(duration, stddev)
    high = np.flatnonzero(duration > thresholds.min())
    counts = [
        int(np.count_nonzero(duration[high[: np.searchsorted(high, stop)]] > threshold))
        for stop, threshold in zip(stops, thresholds, strict=True)
    ]
    return minutes.start_ns[is_judged], np.array(counts, dtype=np.int64)


def _thresholds_ns(duration: Integers, stops: Integers, stddev: float) -> Floats:
    """Return the threshold over the first ``stop`` durations for each stop, in one pass."""
    centre = int(np.median(duration))
    shifted = duration - centre
    mean = np.cumsum(shifted)[stops - 1] / stops
    mean_square = np.cumsum(np.square(shifted.astype(np.float64)))[stops - 1] / stops
    variance = np.maximum(mean_square - np.square(mean), 0.0)
    return np.asarray(centre + mean + stddev * np.sqrt(variance))
