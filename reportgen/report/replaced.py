"""Findings that older reports have and new ones do not: what holds their numbers now."""

from __future__ import annotations

from collections.abc import Mapping

REPLACED: Mapping[str, str] = {
    **dict.fromkeys(
        ("SYS-1", "SYS-2", "SYS-3", "SYS-4", "SYS-6"),
        "OverallSystemUsage.usage and the metrics of OverallSystemUsage",
    ),
    "ACT-3": "GpuActivity.active_time and the metric gpu_active_ratio",
    "GPU-3": "GPUTimeBudget.budget, the first bar of the page, and the metrics of GPUTimeBudget",
    "KERN-2": "KernelTime.top_by_time; KERN-3 names kernels that a setting avoids",
    "LAUNCH-1": "LaunchLatency.launch_latency and its metrics",
    "OPER-1": "OperatorTime.top_by_self_time",
    "POWER-2": "GPUPower.gpu_power, column at_power_limit_pct",
    "POWER-4": "GPUPower.energy and the metric gpu_energy_per_step_j",
    "POWER-5": "GPUPower.energy and the metric gpu_energy_idle_kj",
    "PREC-2": "KernelPrecision.precision_shares and the metrics of KernelPrecision",
    "QUEUE-1": "LaunchLatency.queue_depth and the metric queue_max",
    "STEPT-2": "StepTime.step_times and the metric step_p50_us",
}
"""Ids of findings that said what an exhibit beside them shows, and that exhibit."""


_RULES = {"launchqueue": "LaunchLatency", "devicememory": "MemoryInUse"}
"""Rules that are part of another one."""


def said_of(name: str) -> str:
    """Return a sentence on what replaced a finding or a rule; empty for any other name."""
    now = REPLACED.get(name.upper())
    if now:
        return f"{name.upper()} is no finding any more: see {now}."
    rule = _RULES.get(name.partition(".")[0].lower())
    return f"{name.partition('.')[0]} is part of {rule}." if rule else ""
