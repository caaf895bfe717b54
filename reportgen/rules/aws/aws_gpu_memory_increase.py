"""SageMaker's GPUMemoryIncrease: what it counts and writes, from the same samples as our rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from reportgen.arrays import Floats, Mask
from reportgen.facts.distributions import box_of
from reportgen.facts.usage import Samples
from reportgen.rules.aws.details import Found, Violations
from reportgen.rules.kit import patience, percentage, window

HUNDREDTHS = 100
"""Files hold two decimals, so sums of hundredths are exact and decide without rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    increase: float = percentage(5, "a jump is an increase by more than this many points")
    patience: int = patience()
    window: int = window(10, minimum=2)


def violations_of(node: str, gpus: Iterable[tuple[str, Samples]], params: Params) -> Violations:
    """Count the (GPU, sample) pairs of a node whose newest mean exceeds the one before it."""
    by_gpu = dict(gpus)
    return Violations(
        node=node,
        n_samples=max((samples.values.size for samples in by_gpu.values()), default=0),
        found=tuple(
            found for gpu, samples in by_gpu.items() if (found := _of_gpu(gpu, samples, params))
        ),
    )


def increases_of(values: Floats, params: Params) -> tuple[Floats, Mask]:
    """Return the increase at each sample, and whether it is a violation (docs/rules.md).

    The increase is the mean of the last ``window`` samples less the mean of the ``window - 1``
    samples that end two before the newest.

    Returns:
        (n,) float64 increases, NaN where fewer than ``window + 2`` samples exist, and (n,) bool.
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


def _of_gpu(gpu: str, samples: Samples, params: Params) -> Found | None:
    increases, is_violation = increases_of(samples.values, params)
    rows = np.flatnonzero(is_violation)
    if not rows.size:
        return None
    history = samples.values[: rows[-1] + 1]
    entry = {
        "increase": float(increases[rows[-1]]),
        "gpu_max": float(history.max()),
        "p05": float(np.percentile(history, 5)),
        **asdict(box_of(history)),
    }
    return samples.time_ns[rows], {gpu: entry}
