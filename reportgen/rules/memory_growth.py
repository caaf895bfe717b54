"""Jumps and trend of one GPU's memory activity: the measurement of GPUMemoryIncrease."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats
from reportgen.results import JsonValue
from reportgen.rules.declare import patience, percentage, window
from reportgen.rules.maths.minutes import minutes_of
from reportgen.rules.maths.quantiles import Box, box_of, percentiles, present_values
from reportgen.rules.maths.runs import runs_of
from reportgen.rules.maths.trends import Trend, trend_of
from reportgen.rules.violations import LastViolation, box_member
from reportgen.units import NS_PER_MINUTE

HUNDREDTHS = 100
"""Files hold two decimals, so sums of hundredths are exact and decide without rounding."""
LEVEL_PCT = 95.0
"""A minute's level is its 95th percentile: what the load reaches, whatever it does between."""
RECORD_PCT = 99.0
"""The height a history reached more than once in a hundred samples."""
IDLE_LEVEL_PCT = 1.0
"""Below this a GPU has not begun to work: the first rise is its start. Source: ours."""
LOAD_RISE_PCT = 10.0
"""A jump that comes with this much more GPU utilization is more load, no leak. Source: ours."""
TREND_MINUTES = 8
"""Fewer minutes at work tell no trend. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    increase: float = percentage(5, "a jump is an increase by more than this many points")
    patience: int = patience()
    window: int = window(10, minimum=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Neighbouring violations of one GPU, seen as one event.

    Attributes:
        start_ns, end_ns: first and last violating sample.
        n_violations: how many samples violated.
        largest_increase_pct: the largest increase among them.
        level_before_pct: 95th percentile of the minute before.
        record_before_pct: 99th percentile of all that was before.
        level_after_pct: median of the minute after, ``None`` when the job ends too soon.
        use_change_pct: change of the median GPU utilization, ``None`` when unknown.
        is_lasting: it reached a new height and stayed there, and it was neither the start of the
            work nor a rise of the load.
    """

    start_ns: int
    end_ns: int
    n_violations: int
    largest_increase_pct: float
    level_before_pct: float
    record_before_pct: float
    level_after_pct: float | None
    use_change_pct: float | None
    is_lasting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrowth:
    """Memory activity of one GPU.

    Attributes:
        minute_ns, level_pct: start and level of each minute with samples.
        trend: of the levels at work, per minute; ``None`` with too few minutes.
        n_violations, violation: by AWS's definition.
        largest_increase_pct: the largest increase of any judged sample; ``None`` without one.
    """

    node: str
    gpu: str
    n_samples: int
    box: Box
    max_pct: float
    minute_ns: NDArray[np.int64]
    level_pct: Floats
    trend: Trend | None
    n_violations: int
    largest_increase_pct: float | None
    violation: LastViolation | None
    episodes: tuple[Episode, ...]


def measure_growth(
    node: str,
    gpu: str,
    *,
    time_ns: NDArray[np.int64],
    values: Floats,
    use: Floats,
    params: Params,
) -> MemoryGrowth:
    """Measure one GPU.

    Args:
        time_ns, values: (n,) samples of memory activity, n >= 1, sorted, without NaN.
        use: (n,) GPU utilization at the same ticks, NaN where absent.
    """
    minutes = minutes_of(time_ns)
    first = np.concatenate(([0], minutes.stop[:-1]))
    level = np.array(
        [
            percentiles(values[low:high], (LEVEL_PCT,))[0]
            for low, high in zip(first.tolist(), minutes.stop.tolist(), strict=True)
        ]
    )
    increases, is_violation = increases_of(values, params)
    rows = np.flatnonzero(is_violation)
    judged = increases[params.patience :]
    return MemoryGrowth(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        minute_ns=minutes.start_ns,
        level_pct=level,
        trend=_trend(level) if values.size > params.patience else None,
        n_violations=rows.size,
        largest_increase_pct=float(np.nanmax(judged)) if np.isfinite(judged).any() else None,
        violation=_violation(gpu, time_ns, values, increases, rows),
        episodes=_episodes(time_ns, values, use, increases, rows, params),
    )


def increases_of(values: Floats, params: Params) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the increase at each sample, and whether it is a violation.

    The increase is the mean of the last ``window`` samples less the mean of the
    ``window - 1`` samples that end two before the newest.

    Args:
        values: (n,) float64 percentages without NaN.

    Returns:
        (n,) float64 increases, NaN where fewer than ``window + 2`` samples exist, and (n,) bool.

    Source: oracle §5.
    """
    window = params.window
    n_first = window + 1
    increases = np.full(values.size, np.nan)
    is_violation = np.zeros(values.size, dtype=bool)
    if values.size <= n_first:
        return increases, is_violation
    total = np.concatenate(([0], np.cumsum(np.rint(values * HUNDREDTHS).astype(np.int64))))
    end = np.arange(n_first, values.size) + 1
    newer = total[end] - total[end - window]
    older = total[end - 2] - total[end - 1 - window]
    scaled = newer * (window - 1) - older * window
    unit = HUNDREDTHS * window * (window - 1)
    increases[n_first:] = scaled / unit
    is_violation[n_first:] = (scaled > params.increase * unit) & (end > params.patience)
    return increases, is_violation


def _violation(
    gpu: str,
    time_ns: NDArray[np.int64],
    values: Floats,
    increases: Floats,
    rows: NDArray[np.int64],
) -> LastViolation | None:
    if rows.size == 0:
        return None
    last = int(rows[-1])
    history = values[: last + 1]
    box = box_member(box_of(history))
    head: dict[str, JsonValue] = {
        "increase": float(increases[last]),
        "gpu_max": float(history.max()),
        "p05": float(percentiles(history, (5,))[0]),
    }
    return LastViolation(
        first_ns=int(time_ns[rows[0]]),
        last_ns=int(time_ns[last]),
        members={gpu: {**head, **box}},
    )


def _episodes(
    time_ns: NDArray[np.int64],
    values: Floats,
    use: Floats,
    increases: Floats,
    rows: NDArray[np.int64],
    params: Params,
) -> tuple[Episode, ...]:
    if rows.size == 0:
        return ()
    per_minute = _samples_per_minute(time_ns, params.window)
    runs = runs_of(rows, max_step=params.window - 1)
    found = []
    for first, last in zip(runs.first.tolist(), runs.last.tolist(), strict=True):
        start, end = int(rows[first]), int(rows[last])
        # The newest two samples of the first violation made it; the load before ends there.
        before = slice(max(0, start - 1 - per_minute), start - 1)
        after = slice(end + 1, end + 1 + per_minute)
        found.append(
            _episode(
                (int(time_ns[start]), int(time_ns[end])),
                n_violations=last - first + 1,
                largest_pct=float(increases[rows[first] : end + 1].max()),
                levels=(values[before], values[after]),
                uses=(use[before], use[after]),
                record_pct=float(percentiles(values[: start - 1], (RECORD_PCT,))[0]),
                params=params,
            )
        )
    return tuple(found)


def _episode(
    span_ns: tuple[int, int],
    *,
    n_violations: int,
    largest_pct: float,
    levels: tuple[Floats, Floats],
    uses: tuple[Floats, Floats],
    record_pct: float,
    params: Params,
) -> Episode:
    before, after = levels
    is_known = after.size >= params.window
    after_pct = float(np.median(after)) if is_known else None
    change = _change(*uses)
    is_lasting = (
        after_pct is not None
        and record_pct >= IDLE_LEVEL_PCT
        and after_pct - record_pct > params.increase
        and (change is None or change < LOAD_RISE_PCT)
    )
    return Episode(
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        n_violations=n_violations,
        largest_increase_pct=largest_pct,
        level_before_pct=float(percentiles(before, (LEVEL_PCT,))[0]),
        record_before_pct=record_pct,
        level_after_pct=after_pct,
        use_change_pct=change,
        is_lasting=is_lasting,
    )


def _change(before: Floats, after: Floats) -> float | None:
    earlier, later = present_values(before), present_values(after)
    if earlier.size == 0 or later.size == 0:
        return None
    return float(np.median(later) - np.median(earlier))


def _samples_per_minute(time_ns: NDArray[np.int64], window: int) -> int:
    step_ns = float(np.median(np.diff(time_ns)))
    return max(window, round(NS_PER_MINUTE / step_ns))


def _trend(level: Floats) -> Trend | None:
    at_work = np.flatnonzero(level >= IDLE_LEVEL_PCT)
    if at_work.size == 0:
        return None
    working = level[at_work[0] : at_work[-1] + 1]
    return trend_of(working) if working.size >= TREND_MINUTES else None
