"""Jumps and trend of one GPU's memory activity: the measurement of GPUMemoryIncrease."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.minutes import minutes_of
from reportgen.facts.trend import Trend, trend_of
from reportgen.profile.system import Floats
from reportgen.results import JsonValue
from reportgen.rules.memory.episodes import (
    IDLE_LEVEL_PCT,
    Episode,
    Params,
    episodes_of,
    levels_of,
)
from reportgen.rules.saying.violations import LastViolation, box_member

HUNDREDTHS = 100
"""Files hold two decimals, so sums of hundredths are exact and decide without rounding."""
TREND_MINUTES = 8
"""Fewer minutes at work tell no trend. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrowth:
    """Memory activity of one GPU.

    Attributes:
        minute_ns, level_pct: start and level of each minute with samples.
        trend: of the levels at work, per minute; ``None`` with too few minutes.
        use_trend: the same of GPU utilization, ``None`` where it is unknown.
        n_violations, violation: by AWS's definition.
        largest_increase_pct: the largest increase of any judged sample; ``None`` without one.
        n_episodes, n_lasting: all episodes, and those that last.
        episodes: at most ``MAX_EPISODES``: lasting ones first, then the largest; in order of time.
    """

    node: str
    gpu: str
    n_samples: int
    box: Box
    max_pct: float
    minute_ns: NDArray[np.int64]
    level_pct: Floats
    trend: Trend | None
    use_trend: Trend | None
    n_violations: int
    largest_increase_pct: float | None
    violation: LastViolation | None
    n_episodes: int
    n_lasting: int
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
    level = levels_of(values, minutes)
    increases, is_violation = increases_of(values, params)
    rows = np.flatnonzero(is_violation)
    judged = increases[params.patience :]
    n_episodes, n_lasting, episodes = episodes_of(time_ns, values, use, increases, rows, params)
    return MemoryGrowth(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        minute_ns=minutes.start_ns,
        level_pct=level,
        trend=_trend(level) if values.size > params.patience else None,
        use_trend=_use_trend(time_ns, use),
        n_violations=rows.size,
        largest_increase_pct=float(np.nanmax(judged)) if np.isfinite(judged).any() else None,
        violation=_violation(gpu, time_ns, values, increases, rows),
        n_episodes=n_episodes,
        n_lasting=n_lasting,
        episodes=episodes,
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


def _trend(level: Floats) -> Trend | None:
    at_work = np.flatnonzero(level >= IDLE_LEVEL_PCT)
    if at_work.size == 0:
        return None
    working = level[at_work[0] : at_work[-1] + 1]
    return trend_of(working) if working.size >= TREND_MINUTES else None


def _use_trend(time_ns: NDArray[np.int64], use: Floats) -> Trend | None:
    is_known = ~np.isnan(use)
    if not is_known.any():
        return None
    return _trend(levels_of(use[is_known], minutes_of(time_ns[is_known])))
