"""SageMaker's LowGPUUtilization: what it counts and writes, from the same samples as our rule."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from reportgen.facts.distributions import box_of
from reportgen.facts.samples import minutes_of, window_percentiles
from reportgen.facts.usage import IDLE_BELOW_PCT, PERCENT_DIGITS, Samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules.aws.details import Found, Violations
from reportgen.rules.kit import patience, percentage, window


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold_p95: float = percentage(70, "under-used when the 95th percentile is below this")
    threshold_p5: float = percentage(
        IDLE_BELOW_PCT, "fluctuating when the 5th percentile is below this"
    )
    window: int = window(500)
    patience: int = patience()


def violations_of(part: NodeProfile, params: Params) -> Violations:
    """Count the (GPU, minute) pairs of a node whose newest window is low or fluctuates."""
    by_gpu = dict(samples_by_gpu(part.system, SeriesKind.GPU_UTILIZATION))
    return Violations(
        node=part.node,
        n_samples=max((series.values.size for series in by_gpu.values()), default=0),
        found=tuple(
            found for gpu, series in by_gpu.items() if (found := _of_gpu(gpu, series, params))
        ),
    )


def _of_gpu(gpu: str, series: Samples, params: Params) -> Found | None:
    values, minutes = series.values, minutes_of(series.time_ns)
    is_judged = minutes.stop > params.patience
    stops = minutes.stop[is_judged]
    points = window_percentiles(values, stops, window=params.window, points_pct=(95, 5))
    p95, p5 = np.round(points, PERCENT_DIGITS).T
    is_low = p95 < params.threshold_p95
    is_found = is_low | ((p95 > params.threshold_p95) & (p5 < params.threshold_p5))
    if not is_found.any():
        return None
    history = values[: stops[is_found][-1]]
    last_p95, last_p5 = np.percentile(history[-params.window :], (95, 5)).tolist()
    peaks = {"gpu_max": float(history.max()), "gpu_95": last_p95, "gpu_5": last_p5}
    return minutes.start_ns[is_judged][is_found], {gpu: {**peaks, **asdict(box_of(history))}}
