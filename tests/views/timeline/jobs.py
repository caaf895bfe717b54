"""Reports with a time axis, made by the rules from built nodes."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.profile import NodeProfile
from reportgen.report import JobSummary, Report
from reportgen.rules import (
    gpu_time_budget,
    overall_framework_metrics,
    overall_system_usage,
    step_outlier,
)
from reportgen.units import iso_utc
from tests.builders import START_S, Row, node_profile, ns
from tests.rules.samples import run
from tests.views.reports import report_of

STEP = "Step:ModeKeys.TRAIN"
RULES = (
    overall_system_usage.RULE,
    gpu_time_budget.RULE,
    overall_framework_metrics.RULE,
    step_outlier.RULE,
)


def training_node(
    gpu_pct: Sequence[float], *, name: str = "algo-1", n_gpus: int = 2, interval_s: float = 0.5
) -> NodeProfile:
    """Return a node that makes a step each second, fetching in its first quarter."""
    columns = {f"gpu{at}": list(gpu_pct) for at in range(n_gpus)}
    columns["cpu0"] = [30.0] * len(gpu_pct)
    duration_s = len(gpu_pct) * interval_s
    rows: list[Row] = []
    for step in range(int(duration_s) - 20):
        start_s = START_S + 10 + step
        rows.append((STEP, STEP, start_s, start_s + 0.9, {"step": step}))
        rows.append(("DataLoaderIter", "GetNext", start_s, start_s + 0.25))
        rows.append(("Forward", "net", start_s + 0.25, start_s + 0.8))
    return node_profile(columns, node=name, interval_s=interval_s, rows=rows, worker=f"{name}-27")


def training_report(
    *nodes: NodeProfile, duration_s: float = 300.0, usd_per_gpu_hour: float | None = None
) -> Report:
    """Return the report of some nodes, one of five minutes if none are given."""
    parts = nodes or (training_node([80.0] * 600),)
    settings = {"GPUTimeBudget": {"usd_per_gpu_hour": usd_per_gpu_hour}}
    results = tuple(run(rule, *parts, **settings.get(rule.id, {})) for rule in RULES)
    return report_of(
        results,
        nodes=tuple(part.node for part in parts),
        summary=JobSummary(
            start_time=_at(0),
            end_time=_at(duration_s),
            job_duration_in_seconds=duration_s,
            training_loop_start=_at(10),
            training_loop_end=_at(duration_s - 10),
        ),
    )


def _at(time_s: float) -> str:
    return iso_utc(ns(START_S + time_s))
