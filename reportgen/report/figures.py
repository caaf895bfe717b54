"""The few numbers of a report by which many jobs are compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reportgen.report.model import Figures, JobStatus, Setup
from reportgen.report.steps import cycle_ns, training_tables
from reportgen.report.summary import DataKind
from reportgen.results import RuleId, RuleResult
from reportgen.results.packed_columns import unpack
from reportgen.units import NS_PER_S, S_PER_HOUR, US_PER_S

_BUDGET, _STEPS, _TRACED_STEPS, _EFFICIENCY = map(
    RuleId, ("GPUTimeBudget", "StepOutlier", "StepTime", "Efficiency")
)


def figures_of(
    results: Mapping[RuleId, RuleResult], *, data: DataKind, setup: Setup, status: JobStatus
) -> Figures:
    """Return the figures of a job's results."""
    budget, steps = _metrics(results, _BUDGET), _metrics(results, _STEPS)
    p50_s, steps_per_s = steps.get("step_p50_s"), steps.get("steps_per_s")
    traced = _metrics(results, _TRACED_STEPS)
    traced_us, on_gpu_us = traced.get("step_p50_us"), traced.get("step_gpu_span_p50_us")
    tables = training_tables(results.values())
    medians_s = [float(np.median(cycle_ns(unpack(table)))) / NS_PER_S for table in tables]
    period_s = float(np.median(medians_s)) if medians_s else None
    if traced_us:  # the periods of a trace hold the time between its steps
        p50_s, steps_per_s = traced_us / US_PER_S, US_PER_S / traced_us
        period_s = p50_s
    samples = setup.samples_per_step
    idle = budget.get("gpu_idle_ratio")
    gpu_s = _gpu_seconds(results.get(_BUDGET))
    return Figures(
        data=data.value,
        status=status,
        step_p50_s=p50_s,
        step_period_p50_s=period_s,
        step_gpu_span_p50_s=None if on_gpu_us is None else on_gpu_us / US_PER_S,
        steps_per_s=steps_per_s,
        samples_per_s=samples * steps_per_s if samples and steps_per_s else None,
        gpu_busy_ratio=budget.get("gpu_busy_ratio"),
        mfu_ratio=_metrics(results, _EFFICIENCY).get("mfu_ratio"),
        wasted_gpu_hours=None if idle is None or gpu_s is None else idle * gpu_s / S_PER_HOUR,
        wasted_usd=budget.get("gpu_idle_usd"),
    )


def asked_batch_size(results: Mapping[RuleId, RuleResult]) -> int | None:
    """Return the batch size passed as a parameter, which takes precedence over a recorded one."""
    size = results[_STEPS].params.get("batch_size") if _STEPS in results else None
    return size if isinstance(size, int) else None


def _metrics(results: Mapping[RuleId, RuleResult], rule_id: RuleId) -> Mapping[str, float]:
    result = results.get(rule_id)
    metrics = result.metrics if result is not None else {}
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def _gpu_seconds(budget: RuleResult | None) -> float | None:
    """Return the time of all GPUs that the budget divides."""
    exhibit = budget.exhibit("budget") if budget is not None else None
    if exhibit is None:
        return None
    (time_s,) = (column.values for column in exhibit.columns if column.name == "gpu_s")
    return sum(value for value in time_s if isinstance(value, float))
