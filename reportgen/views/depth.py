"""Which exhibits wait behind a fold: what says again, or in more detail, what the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from reportgen.report import Report
from reportgen.results import Exhibit, RuleId, Status
from reportgen.views.blocks import Block
from reportgen.views.exhibits import exhibit_blocks
from reportgen.views.outline import context_of
from reportgen.views.status import is_applicable
from reportgen.views.values import shorten

DEEPER: Mapping[str, tuple[str, ...]] = {
    "Annotations": ("histogram_*",),
    "CPUBottleneck": ("intervals",),
    "Collectives": ("waits",),
    "Dataloader": ("batch_functions", "workers"),
    "GPUMemoryIncrease": ("intervals",),
    "GPUTimeBudget": ("gpu_time_budget", "intervals"),
    "IOBottleneck": ("intervals",),
    "KernelPrecision": ("precision",),
    "LaunchLatency": ("slowest_launches",),
    "MaxInitializationTime": ("phases",),
    "NetworkBottleneck": ("intervals",),
    "OverallFrameworkMetrics": (
        "cpu_operator_bars",
        "function_time",
        "gpu_operator_bars",
        "gpu_operators_by_device",
        "overhead",
    ),
    "OverallSystemUsage": ("sample_counts",),
    "StepOutlier": ("intervals", "median_outliers", "step_series"),
    "StepPeriodicity": ("intervals",),
}
"""Exhibits by rule, as patterns of their ids: lanes and panels of the timeline as charts of their
own, the numbers of a picture as a table, what only few readers ask for. Source: ours."""
QUIET = frozenset(
    {
        "BatchSize",
        "CPUBottleneck",
        "GPUMemoryIncrease",
        "IOBottleneck",
        "LoadBalancing",
        "MaxInitializationTime",
        "NetworkBottleneck",
    }
)
"""Rules that look for a fault and nothing else: without one few readers ask how they looked."""
_MOST_NAMED = 4


def blocks_of(exhibits: Sequence[Exhibit], rule_id: str, report: Report) -> list[Block]:
    """Return exhibits of a rule in their order, those of more depth behind one fold at the end.

    A rule that does not apply to the job, or looked for a fault in vain, has nothing that most
    readers need; any other shows something.
    """
    context = context_of(rule_id, report)
    is_telling = is_applicable(rule_id, report) and not _is_quiet(rule_id, report)
    patterns = DEEPER.get(rule_id, ()) if is_telling else ("*",)
    deeper = [item for item in exhibits if any(fnmatchcase(item.id, one) for one in patterns)]
    shown = [item for item in exhibits if not any(item is other for other in deeper)]
    if is_telling and not shown:
        return exhibit_blocks(deeper, context)
    words = _words_of(deeper)
    folded = [replace(block, fold=words) for block in exhibit_blocks(deeper, context)]
    return [*exhibit_blocks(shown, context), *folded]


def _words_of(deeper: Sequence[Exhibit]) -> str:
    """Name what waits behind a fold; titles may hold commas."""
    named = [shorten(item.title).text for item in deeper[:_MOST_NAMED]]
    n_more = len(deeper) - len(named)
    return f"More: {' · '.join([*named, f'{n_more} more'] if n_more else named)}"


def _is_quiet(rule_id: str, report: Report) -> bool:
    """Return whether a rule that looks for a fault found nothing to tell."""
    has_findings = any(item.rule == rule_id for item in report.findings)
    return (
        rule_id in QUIET and report.rules[RuleId(rule_id)].status is Status.OK and not has_findings
    )
