"""How one GPU was used, minute by minute: the measurement of LowGPUUtilization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import WorkRange, idle_edges, work_range
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.minutes import minutes_of, window_percentiles
from reportgen.profile.system import Floats
from reportgen.results import JsonValue
from reportgen.rules.declare import patience, percentage, window
from reportgen.rules.saying.violations import LastViolation, box_member

WORK_WINDOW_RATIO = 0.2
"""A window tells nothing when less than a fifth of it lies in the working range. Source: ours."""
PERCENT_DIGITS = 9
"""Percentiles are compared after rounding, so that the order of a sum decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold_p95: float = percentage(70, "under-used when the 95th percentile is below this")
    threshold_p5: float = percentage(10, "fluctuating when the 5th percentile is below this")
    window: int = window(500)
    patience: int = patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMinutes:
    """The minutes in which a GPU was judged.

    Attributes:
        start_ns: (m,) int64, start of each judged minute.
        is_low, is_fluctuating: (m,) bool by AWS's definition, over the last window.
        is_low_at_work, is_fluctuating_at_work: the same, only over the samples of the window
            that lie in the GPU's working range.
        p95_pct, p5_pct: (m,) of those samples, NaN where too few of them exist.
    """

    start_ns: NDArray[np.int64]
    is_low: NDArray[np.bool_]
    is_fluctuating: NDArray[np.bool_]
    is_low_at_work: NDArray[np.bool_]
    is_fluctuating_at_work: NDArray[np.bool_]
    p95_pct: Floats
    p5_pct: Floats

    @property
    def n_violations(self) -> int:
        """Return the number of violations as AWS counts them."""
        return int((self.is_low | self.is_fluctuating).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """Use of one GPU.

    Attributes:
        n_samples: its samples; ``n_work_samples`` of them in its working range.
        box, mean_pct, p5_pct, max_pct: over its whole history.
        work_mean_pct, work_p5_pct, work_p95_pct: over its working range.
        idle_ratio: share of the working range below ``threshold_p5``.
        hot_when_idle_ratio: share of those idle samples in which a CPU core was busy or waited
            for I/O; ``None`` without idle samples.
        idle_before, idle_after: how many samples of the working range lie before its first work
            and after its last.
        first_ns, last_ns: times of its oldest and newest sample.
        first_work_ns, last_work_ns: when it first and last worked.
        host_mean_pct: mean use of the node's cores over the working range, ``None`` without.
        minutes: what was judged.
        violation: the newest violation by AWS's definition.
    """

    node: str
    gpu: str
    n_samples: int
    n_work_samples: int
    box: Box
    mean_pct: float
    p5_pct: float
    max_pct: float
    work_mean_pct: float
    work_p5_pct: float
    work_p95_pct: float
    idle_ratio: float
    hot_when_idle_ratio: float | None
    idle_before: int
    idle_after: int
    first_ns: int
    first_work_ns: int
    last_work_ns: int
    host_mean_pct: float | None
    last_ns: int
    minutes: JudgedMinutes
    violation: LastViolation | None


class Verdict(StrEnum):
    """What is wrong with a GPU."""

    UNDER_USED = "under-used"
    FLUCTUATING = "fluctuating"
    EDGES = "idle only at start or end"
    FINE = "fine"
    NOT_JUDGED = "not judged"


def verdict_of(gpu: GpuUse) -> Verdict:
    """Return what is wrong with a GPU: the condition that held in more minutes at work."""
    minutes = gpu.minutes
    if minutes.start_ns.size == 0:
        return Verdict.NOT_JUDGED
    low, fluctuating = minutes.is_low_at_work.sum(), minutes.is_fluctuating_at_work.sum()
    if low and low >= fluctuating:
        return Verdict.UNDER_USED
    if fluctuating:
        return Verdict.FLUCTUATING
    return Verdict.EDGES if minutes.n_violations else Verdict.FINE


def measure_gpu(
    node: str,
    gpu: str,
    *,
    time_ns: NDArray[np.int64],
    values: Floats,
    is_host_hot: NDArray[np.bool_],
    host_pct: Floats,
    loop_ns: tuple[int, int] | None,
    params: Params,
) -> GpuUse:
    """Measure one GPU.

    Args:
        time_ns, values, is_host_hot: (n,) of its samples, n >= 1, sorted by time, without NaN.
        host_pct: (n,) mean use of the node's cores, NaN where absent.
        loop_ns: the training loop, if known.
    """
    work = work_range(time_ns, values, idle_below=params.threshold_p5, loop_ns=loop_ns)
    working = values[work.first : work.stop]
    is_idle = working < params.threshold_p5
    hot = is_host_hot[work.first : work.stop][is_idle]
    before, after = idle_edges(working, idle_below=params.threshold_p5)
    host = host_pct[work.first : work.stop]
    host = host[~np.isnan(host)]
    minutes, stops = _judged_minutes(time_ns, values, work, params)
    work_p5, work_p95 = percentiles(working, (5, 95)).tolist()
    return GpuUse(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        n_work_samples=work.n_samples,
        box=box_of(values),
        mean_pct=float(values.mean()),
        p5_pct=float(percentiles(values, (5,))[0]),
        max_pct=float(values.max()),
        work_mean_pct=float(working.mean()),
        work_p5_pct=work_p5,
        work_p95_pct=work_p95,
        idle_ratio=float(is_idle.mean()),
        hot_when_idle_ratio=float(hot.mean()) if hot.size else None,
        idle_before=before,
        idle_after=after,
        first_ns=int(time_ns[0]),
        first_work_ns=int(time_ns[work.first + before]),
        last_work_ns=int(time_ns[work.stop - 1 - after]),
        host_mean_pct=float(host.mean()) if host.size else None,
        last_ns=int(time_ns[-1]),
        minutes=minutes,
        violation=_last_violation(gpu, values, minutes, stops, params.window),
    )


def _judged_minutes(
    time_ns: NDArray[np.int64], values: Floats, work: WorkRange, params: Params
) -> tuple[JudgedMinutes, NDArray[np.int64]]:
    every = minutes_of(time_ns)
    is_judged = every.stop > params.patience
    stops = every.stop[is_judged]
    plain = _percentile_pair(values, stops, params.window)
    at_work = plain.copy()
    first, stop = np.maximum(stops - params.window, work.first), np.minimum(stops, work.stop)
    for row in np.flatnonzero((first > stops - params.window) | (stop < stops)).tolist():
        if stop[row] - first[row] >= WORK_WINDOW_RATIO * params.window:
            at_work[row] = percentiles(values[first[row] : stop[row]], (95, 5))
        else:
            at_work[row] = np.nan
    is_low, is_fluctuating = _conditions(plain, params)
    is_low_at_work, is_fluctuating_at_work = _conditions(at_work, params)
    judged = JudgedMinutes(
        start_ns=every.start_ns[is_judged],
        is_low=is_low,
        is_fluctuating=is_fluctuating,
        is_low_at_work=is_low_at_work,
        is_fluctuating_at_work=is_fluctuating_at_work,
        p95_pct=at_work[:, 0],
        p5_pct=at_work[:, 1],
    )
    return judged, stops


def _percentile_pair(values: Floats, stops: NDArray[np.int64], window: int) -> Floats:
    return window_percentiles(values, stops, window=window, points_pct=(95, 5))


def _conditions(pairs: Floats, params: Params) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which (p95, p5) rows are under-used, and which fluctuate. Source: oracle §3."""
    p95, p5 = np.round(pairs, PERCENT_DIGITS).T
    is_low = p95 < params.threshold_p95
    return is_low, (p95 > params.threshold_p95) & (p5 < params.threshold_p5)


def _last_violation(
    gpu: str,
    values: Floats,
    minutes: JudgedMinutes,
    stops: NDArray[np.int64],
    window: int,
) -> LastViolation | None:
    rows = np.flatnonzero(minutes.is_low | minutes.is_fluctuating)
    if rows.size == 0:
        return None
    last = rows[-1]
    history = values[: stops[last]]
    gpu_95, gpu_5 = percentiles(history[-window:], (95, 5)).tolist()
    peaks: Mapping[str, JsonValue] = {
        "gpu_max": float(history.max()),
        "gpu_95": gpu_95,
        "gpu_5": gpu_5,
    }
    return LastViolation(
        first_ns=int(minutes.start_ns[rows[0]]),
        last_ns=int(minutes.start_ns[last]),
        members={gpu: {**peaks, **box_member(box_of(history))}},
    )
