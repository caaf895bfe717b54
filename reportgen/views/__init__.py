"""The report's sections and charts: what the notebook's cells call.

Each section takes the saved report (``reportgen.load``) and shows itself at the end of a cell.
"""

from reportgen.views.parts import exhibit, figure, frame
from reportgen.views.sections import (
    appendix,
    batch_size,
    cpu_bottlenecks,
    data_loading,
    data_quality,
    framework,
    gpu_memory,
    gpu_time,
    gpu_utilization,
    header,
    initialization,
    io_bottlenecks,
    job_summary,
    network_bottlenecks,
    operators,
    other_rules,
    rule_section,
    rules_summary,
    step_durations,
    system_usage,
    timeline,
    workload_balance,
)

__all__ = [
    "appendix",
    "batch_size",
    "cpu_bottlenecks",
    "data_loading",
    "data_quality",
    "exhibit",
    "figure",
    "frame",
    "framework",
    "gpu_memory",
    "gpu_time",
    "gpu_utilization",
    "header",
    "initialization",
    "io_bottlenecks",
    "job_summary",
    "network_bottlenecks",
    "operators",
    "other_rules",
    "rule_section",
    "rules_summary",
    "step_durations",
    "system_usage",
    "timeline",
    "workload_balance",
]
