"""SageMaker's BatchSize: what it counts and writes, from the same samples as our rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from reportgen.arrays import Instants
from reportgen.facts.distributions import box_of
from reportgen.facts.samples import minutes_of, window_percentiles
from reportgen.facts.usage import PERCENT_DIGITS, Samples
from reportgen.results import JsonValue
from reportgen.rules.aws.details import MEMORY_SUFFIX, Violations
from reportgen.rules.kit import patience, percentage, window
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    cpu_threshold_p95: float = percentage(70, "the CPU has room when its p95 is below this")
    gpu_threshold_p95: float = percentage(70, "a GPU has room when its p95 is below this")
    gpu_memory_threshold_p95: float = percentage(
        70, "GPU memory has room when its p95 is below this"
    )
    patience: int = patience()
    window: int = window(500)


def violations_of(
    node: str, cpu: Samples, gpus: Iterable[tuple[str, Samples, Samples]], params: Params
) -> Violations:
    """Count the (GPU, minute) pairs of a node with room; ``gpus`` are names, uses and memories."""
    found = []
    for gpu, use, memory in gpus:
        start_ns = _minutes_with_room(cpu, use, memory, params)
        if start_ns.size:
            boxes = {gpu: _box(use, start_ns[-1]), gpu + MEMORY_SUFFIX: _box(memory, start_ns[-1])}
            found.append((start_ns, boxes))
    last_ns = max((start_ns[-1] for start_ns, _ in found), default=0)
    return Violations(
        node=node,
        n_samples=cpu.values.size,
        found=tuple((start_ns, {CPU: _box(cpu, last_ns), **boxes}) for start_ns, boxes in found),
    )


def _minutes_with_room(cpu: Samples, use: Samples, memory: Samples, params: Params) -> Instants:
    """Return the starts of minutes in which CPU, GPU and GPU memory are all below their limits.

    A minute is judged after more samples than ``patience`` (CPU) and than ``window`` (all three).
    """
    start_ns, series = minutes_of(use.time_ns).start_ns, (cpu, use, memory)
    limits = (params.cpu_threshold_p95, params.gpu_threshold_p95, params.gpu_memory_threshold_p95)
    stops = np.array([samples.before(start_ns + NS_PER_MINUTE) for samples in series])
    is_judged = (stops[0] > params.patience) & (stops.min(axis=0) > params.window)
    start_ns, has_room = start_ns[is_judged], np.ones(int(is_judged.sum()), dtype=np.bool_)
    for samples, stop, limit in zip(series, stops[:, is_judged], limits, strict=True):
        p95 = window_percentiles(samples.values, stop, window=params.window, points_pct=(95,))
        has_room &= np.round(p95[:, 0], PERCENT_DIGITS) < limit
    return np.asarray(start_ns[has_room])


def _box(samples: Samples, minute_ns: int) -> JsonValue:
    """Return the box of all samples up to the end of a minute."""
    return asdict(box_of(samples.values[samples.time_ns < minute_ns + NS_PER_MINUTE]))
