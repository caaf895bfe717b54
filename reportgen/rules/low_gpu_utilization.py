"""LowGPUUtilization: a GPU that is under-used, or that swings between busy and idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.samples import mean_over
from reportgen.profile import NodeId, NodeProfile, SeriesKind
from reportgen.results import Counters, Details, RuleId, RuleResult, Section
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.bottlenecks.host_load import is_host_hot
from reportgen.rules.gpu import use_imported, use_words
from reportgen.rules.gpu.use import GpuUse, Params, measure_gpu
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.rules.saying.violations import violation_details

ID = RuleId("LowGPUUtilization")
ABOUT = About(
    checks="Whether a GPU is under-used, or swings between busy and idle.",
    reading=(
        "Every minute the last samples of each GPU are judged: under-used when even the 95th "
        "percentile is low, fluctuating when the 95th percentile is high but the 5th is close to "
        "zero. Utilization is the share of the time in which at least one kernel ran."
    ),
    advice=(
        "Remove what the GPU waits for (data loading, CPU, I/O, synchronisation) first; when it "
        "waits for nothing, give it more work with a larger batch, or use a smaller GPU."
    ),
    section=Section(id="gpu-utilization", title="GPU utilization", order=160),
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: how many ticks it has and how each of its GPUs was used."""

    node: NodeId
    n_ticks: int
    gpus: tuple[GpuUse, ...]


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure every GPU of a node; a GPU without a single sample does not exist."""
    system = part.system
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    hot = is_host_hot(system) if matrix.size else np.empty(0, dtype=bool)
    host_pct = mean_over(system.matrix(SeriesKind.CPU_UTILIZATION))
    loop_ns = training_loop_ns(part.spans)
    gpus = []
    for column, gpu in enumerate(system.names(SeriesKind.GPU_UTILIZATION)):
        is_sampled = ~np.isnan(matrix[:, column])
        if is_sampled.any():
            gpus.append(
                measure_gpu(
                    part.node,
                    gpu,
                    time_ns=system.tick_ns[is_sampled],
                    values=matrix[is_sampled, column],
                    is_host_hot=hot[is_sampled],
                    host_pct=host_pct[is_sampled],
                    loop_ns=loop_ns,
                    params=params,
                )
            )
    return Measurement(node=part.node, n_ticks=system.n_ticks, gpus=tuple(gpus))


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count the violations of all nodes and say what they mean."""
    gpus = tuple(gpu for node in measurements for gpu in node.gpus)
    violations = sum(gpu.minutes.n_violations for gpu in gpus)
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
            n_gpus=len(gpus),
            n_samples=counters.datapoints,
            patience=params.patience,
        ),
        counters=counters,
        details=details,
        metrics=_metrics(gpus),
        presentation=present(counters, details, params, gpus),
    )


def present(
    counters: Counters, details: Details, params: Params, context: tuple[GpuUse, ...] | None
) -> Presentation:
    """Say what was found; ``context`` is the use of each GPU of the job, in node order."""
    if context is None:
        return use_imported.present_details(counters, details, params)
    return use_words.present_gpus(counters, context, params)


def _metrics(gpus: Sequence[GpuUse]) -> dict[str, float | int | None]:
    if not gpus:
        return {}
    return {
        "gpu_count": len(gpus),
        "gpu_mean_pct": round(float(np.mean([gpu.mean_pct for gpu in gpus])), 4),
        "gpu_work_mean_pct": round(float(np.mean([gpu.work_mean_pct for gpu in gpus])), 4),
        "gpu_work_p95_min_pct": round(min(gpu.work_p95_pct for gpu in gpus), 4),
        "gpu_idle_ratio": round(float(np.mean([gpu.idle_ratio for gpu in gpus])), 6),
    }


RULE = Rule(
    id=ID,
    title="GPU utilization",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
