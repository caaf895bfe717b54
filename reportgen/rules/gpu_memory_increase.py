"""GPUMemoryIncrease: memory activity that jumps, or climbs over the whole job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.profile import NodeId, NodeProfile, SeriesKind
from reportgen.results import (
    Counters,
    Details,
    Place,
    Role,
    RuleId,
    RuleResult,
    Section,
    TimelineTrack,
    Track,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.memory import words
from reportgen.rules.memory.episodes import Params
from reportgen.rules.memory.growth import MemoryGrowth, measure_growth
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.rules.saying.violations import violation_details

ID = RuleId("GPUMemoryIncrease")
ABOUT = About(
    checks="Whether GPU memory activity jumps suddenly, or climbs minute by minute.",
    reading=(
        "A trigger is one sample at which the mean of the newest samples exceeds the mean just "
        "before by more than the threshold; neighbouring triggers are one episode. The metric is "
        "the activity of the memory controller, not allocated bytes, so it follows the load; "
        "only an episode that reaches a new height and stays there speaks of growth."
    ),
    advice=(
        "Log the allocated memory at each step; if it grows, look for tensors kept alive between "
        "steps, or use gradient checkpointing."
    ),
    section=Section(id="gpu-memory", title="GPU memory", order=240),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: how many ticks it has and how the memory activity of its GPUs developed."""

    node: NodeId
    n_ticks: int
    n_gpus: int
    gpus: tuple[MemoryGrowth, ...]


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure every GPU of a node that has samples of memory activity."""
    system = part.system
    memory = system.matrix(SeriesKind.GPU_MEMORY)
    use_names = system.names(SeriesKind.GPU_UTILIZATION)
    use = system.matrix(SeriesKind.GPU_UTILIZATION)
    unknown = np.full(system.n_ticks, np.nan)
    gpus = []
    for column, gpu in enumerate(system.names(SeriesKind.GPU_MEMORY)):
        is_sampled = ~np.isnan(memory[:, column])
        if is_sampled.any():
            its_use = use[:, use_names.index(gpu)] if gpu in use_names else unknown
            gpus.append(
                measure_growth(
                    part.node,
                    gpu,
                    time_ns=system.tick_ns[is_sampled],
                    values=memory[is_sampled, column],
                    use=its_use[is_sampled],
                    params=params,
                )
            )
    n_gpus = len({*use_names, *(gpu.gpu for gpu in gpus)})
    return Measurement(node=part.node, n_ticks=system.n_ticks, n_gpus=n_gpus, gpus=tuple(gpus))


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count the violations of all nodes, and say which of them speak of growth."""
    gpus = tuple(gpu for node in measurements for gpu in node.gpus)
    violations = sum(gpu.n_violations for gpu in gpus)
    counters = Counters(
        rule_triggered=violations,
        violations=violations,
        datapoints=max((gpu.n_samples for gpu in gpus), default=0),
    )
    details = violation_details(
        (node.node, [gpu.violation for gpu in node.gpus if gpu.violation]) for node in measurements
    )
    return conclude(
        ID,
        params=params,
        reason=reason_to_skip(
            n_ticks=sum(node.n_ticks for node in measurements),
            n_gpus=sum(node.n_gpus for node in measurements),
            n_samples=counters.datapoints,
            patience=params.patience,
        ),
        counters=counters,
        details=details,
        metrics=_metrics(gpus),
        presentation=present(counters, details, params, gpus),
    )


def present(
    counters: Counters,
    details: Details,
    params: Params,
    context: tuple[MemoryGrowth, ...] | None,
) -> Presentation:
    """Say what grew; ``context`` is the memory activity of each GPU, in node order."""
    if context is None:
        return words.present_details(counters, details, params)
    return words.present_gpus(context, params)


def _metrics(gpus: Sequence[MemoryGrowth]) -> dict[str, float | int | None]:
    if not gpus:
        return {}
    slopes = [gpu.trend.slope for gpu in gpus if gpu.trend]
    return {
        "memory_episodes": sum(gpu.n_episodes for gpu in gpus),
        "memory_lasting_episodes": sum(gpu.n_lasting for gpu in gpus),
        "memory_trend_max_pct_per_min": round(max(slopes), 6) if slopes else None,
    }


RULE = Rule(
    id=ID,
    title="GPU memory",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("intervals",),
    places={
        "intervals": Place(
            timeline=TimelineTrack(
                kind=Track.LANE, title="Jumps of GPU memory", role=Role.GPU_MEMORY
            )
        )
    },
)
