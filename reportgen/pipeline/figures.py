"""The few numbers of a report by which many jobs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reportgen.report import Figures, JobStatus
from reportgen.results import ReasonCode, RuleId, RuleResult

_S_PER_HOUR = 3600
_US_PER_S = 1e6
_BUDGET, _STEPS, _TRACED_STEPS = map(RuleId, ("GPUTimeBudget", "StepOutlier", "StepTime"))


def figures_of(results: Sequence[RuleResult], *, status: JobStatus) -> Figures:
    """Return the figures of a job's results."""
    by_id = {result.id: result for result in results}
    budget, traced = _metrics(by_id, _BUDGET), _metrics(by_id, _TRACED_STEPS)
    traced_s = traced.get("step_p50_us")
    idle = budget.get("gpu_idle_ratio")
    gpu_s = _gpu_seconds(by_id.get(_BUDGET))
    return Figures(
        data=data_of(by_id),
        status=status,
        step_p50_s=(
            _metrics(by_id, _STEPS).get("step_p50_s") if traced_s is None else traced_s / _US_PER_S
        ),
        gpu_busy_ratio=budget.get("gpu_busy_ratio"),
        wasted_gpu_hours=None if idle is None or gpu_s is None else idle * gpu_s / _S_PER_HOUR,
        wasted_usd=budget.get("gpu_idle_usd"),
    )


def data_of(results: Mapping[RuleId, RuleResult]) -> str:
    """Return what was recorded of a job, the richest kind."""
    reasons = {result.reason.code for result in results.values() if result.reason is not None}
    if ReasonCode.IMPORTED in reasons:
        return "results of SageMaker's rules"
    if _TRACED_STEPS in results:
        return "kernel traces"
    steps = results.get(_STEPS)
    return "framework events" if steps is not None and steps.data else "system metrics"


def _metrics(results: Mapping[RuleId, RuleResult], rule_id: RuleId) -> Mapping[str, float]:
    result = results.get(rule_id)
    metrics = result.metrics if result is not None else {}
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def _gpu_seconds(budget: RuleResult | None) -> float | None:
    """Return the time of all GPUs that the budget divides."""
    exhibits = budget.exhibits if budget is not None else ()
    for exhibit in exhibits:
        if exhibit.id == "budget":
            (time_s,) = (column.values for column in exhibit.columns if column.name == "gpu_s")
            return sum(value for value in time_s if isinstance(value, float))
    return None
