"""The report's sections and charts: what the notebook's cells call.

Each section takes the saved report (``reportgen.load``) and shows itself at the end of a cell.
"""

from reportgen.views.parts import exhibit, figure, frame
from reportgen.views.sections.closing import appendix, data_quality
from reportgen.views.sections.dashboard import gpu_dashboard
from reportgen.views.sections.kernels import (
    annotated_ranges,
    communication,
    device_memory,
    gpu_activity,
    host_threads,
    idle_time,
    kernels,
    launches,
    not_recorded,
    steps,
    traced_operators,
)
from reportgen.views.sections.opening import findings, header, job_summary
from reportgen.views.sections.rule import rule_section
from reportgen.views.sections.rules_summary import rules_summary
from reportgen.views.sections.timeline import timeline
from reportgen.views.sections.topics import (
    batch_size,
    cpu_bottlenecks,
    data_loading,
    framework,
    gpu_memory,
    gpu_time,
    gpu_utilization,
    initialization,
    io_bottlenecks,
    network_bottlenecks,
    operators,
    other_rules,
    python_functions,
    step_durations,
    step_periodicity,
    system_usage,
    workload_balance,
)

__all__ = [
    "annotated_ranges",
    "appendix",
    "batch_size",
    "communication",
    "cpu_bottlenecks",
    "data_loading",
    "data_quality",
    "device_memory",
    "exhibit",
    "figure",
    "findings",
    "frame",
    "framework",
    "gpu_activity",
    "gpu_dashboard",
    "gpu_memory",
    "gpu_time",
    "gpu_utilization",
    "header",
    "host_threads",
    "idle_time",
    "initialization",
    "io_bottlenecks",
    "job_summary",
    "kernels",
    "launches",
    "network_bottlenecks",
    "not_recorded",
    "operators",
    "other_rules",
    "python_functions",
    "rule_section",
    "rules_summary",
    "step_durations",
    "step_periodicity",
    "steps",
    "system_usage",
    "timeline",
    "traced_operators",
    "workload_balance",
]
