"""Which section shows which rule, and how sections, exhibits and findings link to each other."""

from __future__ import annotations

from reportgen.report import Report
from reportgen.results import About, Finding, RuleId, RuleResult, Status
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import anchor_of

ALL_CHECKS_ID = "rules-summary"

SECTION_OF_RULE: dict[str, str] = {
    "OverallSystemUsage": "system-usage",
    "GPUTimeBudget": "gpu-time",
    "OverallFrameworkMetrics": "framework",
    "StepOutlier": "step-durations",
    "StepPeriodicity": "step-periodicity",
    "LowGPUUtilization": "gpu-utilization",
    "LoadBalancing": "workload-balance",
    "Dataloader": "data-loading",
    "PythonFunctions": "python-functions",
    "BatchSize": "batch-size",
    "CPUBottleneck": "cpu-bottlenecks",
    "IOBottleneck": "io-bottlenecks",
    "NetworkBottleneck": "network-bottlenecks",
    "GPUMemoryIncrease": "gpu-memory",
    "MaxInitializationTime": "initialization",
    "GPUActivity": "gpu-activity",
    "IdleTime": "idle-time",
    "KernelTime": "kernels",
    "KernelPrecision": "kernels",
    "OperatorTime": "traced-operators",
    "Collectives": "communication",
    "MemoryOperations": "device-memory",
    "DeviceMemory": "device-memory",
    "StepTime": "steps",
    "LaunchLatency": "launches",
    "LaunchQueue": "launches",
    "HostThreads": "host-threads",
    "Annotations": "annotations",
}
_KERNELS = RuleId("GPUActivity")
_SYSTEM = RuleId("OverallSystemUsage")
_OPERATORS = "operator"


def section_id_of(rule_id: str) -> str:
    """Return the anchor of the section that shows a rule; each unknown rule has its own."""
    return SECTION_OF_RULE.get(rule_id) or anchor_of("rule", rule_id)


def link_of(rule_id: str, finding: Finding, report: Report) -> str:
    """Return where a finding's evidence stands: its exhibit if there is one, else its section."""
    result = report.results.get(RuleId(rule_id))
    if finding.exhibit and result and result.exhibit(finding.exhibit):
        return f"#{anchor_of(rule_id, finding.exhibit)}"
    return f"#{section_id_of(rule_id)}"


def has_kernels(report: Report) -> bool:
    """Return whether kernel traces with GPU operations were read: the page has a dashboard."""
    entry = report.rules.get(_KERNELS)
    return entry is not None and entry.status in {Status.OK, Status.TRIGGERED}


def is_of_traces(report: Report) -> bool:
    """Return whether kernel traces are all there is: what was recorded is not the whole job."""
    return _KERNELS in report.rules and _SYSTEM not in report.rules


def context_of(rule_id: str, report: Report) -> ChartContext:
    """Return what a rule's charts must know."""
    return ChartContext(rule_id=rule_id, is_unix=report.job.clock == "unix")


def about_of(result: RuleResult | None) -> About:
    """Return the rule in its own words; empty ones where they are not at hand."""
    return result.about if result and result.about else About(checks="", reading="", advice="")


def title_of(rule_id: str, report: Report) -> str:
    """Return a rule's title, or its id where its words are not at hand."""
    return about_of(report.results.get(RuleId(rule_id))).title or rule_id


def is_about_operators(exhibit_id: str | None) -> bool:
    """Return whether an exhibit belongs to the section on operators."""
    return exhibit_id is not None and _OPERATORS in exhibit_id
