"""The rules that read kernel traces, in the order of the report."""

from __future__ import annotations

from reportgen.rules import annotations as annotations_rule
from reportgen.rules import (
    collectives,
    device_memory,
    gpu_activity,
    host_threads,
    idle_time,
    kernel_precision,
    kernel_time,
    launch_latency,
    launch_queue,
    memory_operations,
    operator_time,
    step_time,
)
from reportgen.rules.base import AnyRule

TRACE_RULES: tuple[AnyRule, ...] = (
    gpu_activity.RULE,
    idle_time.RULE,
    kernel_time.RULE,
    kernel_precision.RULE,
    operator_time.RULE,
    memory_operations.RULE,
    step_time.RULE,
    collectives.RULE,
    launch_latency.RULE,
    launch_queue.RULE,
    annotations_rule.RULE,
    host_threads.RULE,
    device_memory.RULE,
)
