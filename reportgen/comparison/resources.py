"""The use of the machines by both runs, and the cost of a thousand steps."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.comparison.changes import metric_change
from reportgen.comparison.model import MetricChange, StepDifference, UsageChange
from reportgen.comparison.runs import Run, rows_of
from reportgen.report import Setup
from reportgen.results import RuleId
from reportgen.units import S_PER_HOUR

_POINTS = ("p5", "p50", "p95")
_STEPS = 1000

Key = tuple[str, str]
Points = tuple[float | None, ...]


def usage_changes(before: Run, after: Run) -> tuple[UsageChange, ...]:
    """Return the percentiles of each resource of each node, side by side.

    Nodes are matched by their names; the only node of a job is that of the other whatever its name.
    """
    sides = [_usage(run) for run in (before, after)]
    if all(len({node for _, node in side}) == 1 for side in sides):
        sides = [{(metric, ""): points for (metric, _), points in side.items()} for side in sides]
    unknown: tuple[str, Points] = ("", (None, None, None))
    return tuple(
        UsageChange(
            metric=metric,
            node=node,
            unit=(sides[1].get((metric, node)) or sides[0][metric, node])[0],
            before=sides[0].get((metric, node), unknown)[1],
            after=sides[1].get((metric, node), unknown)[1],
        )
        for metric, node in dict.fromkeys([*sides[0], *sides[1]])
    )


def _usage(run: Run) -> Mapping[Key, tuple[str, Points]]:
    columns = ("metric", "node", "unit", *_POINTS)
    return {
        (str(metric), str(node)): (
            str(unit),
            tuple(float(point) if isinstance(point, int | float) else None for point in points),
        )
        for metric, node, unit, *points in rows_of(run, "OverallSystemUsage", "usage", *columns)
    }


def samples_per_s(run: Run, mean_s: float) -> float | None:
    """Return the samples of all ranks by the second; ``None`` where no batch size is known."""
    samples = (run.report.setup or Setup()).samples_per_step
    return samples / mean_s if samples and mean_s else None


def samples_ratio(step: StepDifference) -> float | None:
    """Return the samples of a step before by those of one after, ``None`` where these are unknown.

    1 where the batch size did not change.
    """
    rates = step.before_samples_per_s, step.after_samples_per_s
    if rates[0] is None or rates[1] is None:
        return None
    return rates[0] * step.before_mean_s / (rates[1] * step.after_mean_s)


def cost_changes(before: Run, after: Run, step: StepDifference | None) -> tuple[MetricChange, ...]:
    """Return money and energy of a thousand steps, as far as price and power are recorded."""
    times_s = (None, None) if step is None else (step.before_mean_s, step.after_mean_s)
    rows = (
        ("USD per 1,000 steps", "USD", [*map(_usd, (before, after), times_s)]),
        ("energy of the GPUs per 1,000 steps", "kJ", [*map(_energy_kj, (before, after))]),
    )
    return tuple(metric_change(*row) for row in rows if row[2] != [None, None])


def _usd(run: Run, mean_s: float | None) -> float | None:
    budget = run.report.results.get(RuleId("GPUTimeBudget"))
    usd_per_hour = budget.params.get("usd_per_gpu_hour") if budget is not None else None
    n_gpus = (run.report.setup or Setup()).n_gpus or len(run.budget)
    if not isinstance(usd_per_hour, int | float) or mean_s is None or not n_gpus:
        return None
    return usd_per_hour / S_PER_HOUR * n_gpus * mean_s * _STEPS


def _energy_kj(run: Run) -> float | None:
    """Return the energy of a thousand steps: joules per step are kilojoules of a thousand."""
    power = run.report.results.get(RuleId("GPUPower"))
    joules = power.metrics.get("gpu_energy_per_step_j") if power is not None else None
    return float(joules) if joules is not None else None
