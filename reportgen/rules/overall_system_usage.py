"""OverallSystemUsage: how much of each node's resources was used; never triggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from reportgen.profile import NodeProfile
from reportgen.results import (
    Counters,
    Details,
    JsonValue,
    Place,
    RuleId,
    RuleResult,
    Section,
    TimelineTrack,
    Track,
)
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.rules.usage import words
from reportgen.rules.usage.active import active_shares
from reportgen.rules.usage.exhibits import exhibits_of
from reportgen.rules.usage.nodes import NodeUsage, Quantity, Usage, measure_usage
from reportgen.rules.usage.recording import recording_readings

ID = RuleId("OverallSystemUsage")
ABOUT = About(
    checks="How much of GPU, CPU, memory, I/O and network each node used.",
    reading=(
        "Statistics of every sampling instant: CPU and I/O wait are means over the cores, GPU and "
        "GPU memory means over the GPUs, network is what the training container received plus "
        "transmitted. GPU memory is the activity of the memory controller."
    ),
    advice="Choose the instance by the resource that is used up; the others show what is paid for.",
    section=Section(id="system-usage", title="System usage", order=10),
    has_counters=True,
)
DECIMALS = 2
"""AWS rounds to two decimals. Source: rules-spec §10."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """This rule has no parameters."""


def measure(part: NodeProfile, params: Params) -> NodeUsage:  # noqa: ARG001 - a rule's signature
    """Measure one node."""
    return measure_usage(part.node, part.system, part.spans)


def judge(measurements: Sequence[NodeUsage], params: Params) -> RuleResult:
    """Write down the statistics of every node and read them."""
    nodes = tuple(measurements)
    counters = Counters(datapoints=max((node.n_cpu_samples for node in nodes), default=0))
    details: Details = {
        quantity.value: {
            node.node: _statistics(usage) for node in nodes if (usage := node.usage(quantity))
        }
        for quantity in Quantity
    }
    n_ticks = sum(node.n_ticks for node in nodes)
    return conclude(
        ID,
        params=params,
        reason=reason_to_skip(n_ticks=n_ticks, n_gpus=None, n_samples=n_ticks, patience=0),
        counters=counters,
        details=details,
        metrics=_metrics(nodes),
        presentation=present(counters, details, params, nodes),
    )


def present(
    counters: Counters,  # noqa: ARG001 - a rule's signature
    details: Details,
    params: Params,  # noqa: ARG001 - a rule's signature
    context: tuple[NodeUsage, ...] | None,
) -> Presentation:
    """Read the statistics; ``context`` is what was measured on each node, in node order."""
    rows = words.usage_rows(details)
    if not rows:
        return Presentation()
    recordings = [(node.node, node.recording) for node in context or () if node.recording]
    absent, when_absent = recording_readings(recordings)
    return Presentation(
        findings=(*words.findings_of(rows), *absent),
        exhibits=(
            words.usage_table(rows, context),
            *when_absent,
            *active_shares(context or ()),
            *exhibits_of(context or ()),
        ),
    )


def _statistics(usage: Usage) -> dict[str, JsonValue]:
    return {
        "max": _rounded(usage.largest),
        "p99": _rounded(usage.p99),
        "p95": _rounded(usage.p95),
        "p50": _rounded(usage.p50),
        "min": _rounded(usage.smallest),
    }


def _rounded(value: float) -> JsonValue:
    """Round as AWS does: what is not positive is the integer 0."""
    return float(np.round(value, DECIMALS)) if value > 0 else 0


def _metrics(nodes: Sequence[NodeUsage]) -> dict[str, float | int | None]:
    found: dict[str, float | int | None] = {}
    for name, quantity, pick, join in _METRICS:
        values = [pick(usage) for node in nodes if (usage := node.usage(quantity))]
        if values:
            found[name] = round(join(values), 4)
    for name, is_gpu in (("gpu", True), ("cpu", False)):
        counts = [
            device.job for node in nodes for device in node.devices if device.is_gpu is is_gpu
        ]
        n_samples = sum(item.n_samples for item in counts)
        if n_samples:
            found[f"{name}_samples"] = n_samples
            found[f"{name}_zero_ratio"] = round(sum(item.n_zero for item in counts) / n_samples, 6)
            found[f"{name}_below_50_ratio"] = round(
                sum(item.n_below_half for item in counts) / n_samples, 6
            )
    return found


_METRICS: tuple[
    tuple[str, Quantity, Callable[[Usage], float], Callable[[list[float]], float]], ...
] = (
    ("gpu_mean_pct", Quantity.GPU, lambda usage: usage.mean, fmean),
    ("gpu_p95_pct", Quantity.GPU, lambda usage: usage.p95, fmean),
    ("gpu_memory_mean_pct", Quantity.GPU_MEMORY, lambda usage: usage.mean, fmean),
    ("cpu_mean_pct", Quantity.CPU, lambda usage: usage.mean, fmean),
    ("cpu_p95_pct", Quantity.CPU, lambda usage: usage.p95, fmean),
    ("io_wait_mean_pct", Quantity.IO_WAIT, lambda usage: usage.mean, fmean),
    ("host_memory_max_pct", Quantity.HOST_MEMORY, lambda usage: usage.largest, max),
    ("network_mean_bytes_per_s", Quantity.NETWORK, lambda usage: usage.mean, fmean),
    ("network_max_bytes_per_s", Quantity.NETWORK, lambda usage: usage.largest, max),
)


def _curves(title: str, order: int) -> Place:
    """Return the place of curves that stand in the timeline alone; 20 are the steps there."""
    return Place(
        timeline=TimelineTrack(kind=Track.PANEL, title=title, order=order, is_only_here=True)
    )


RULE = Rule(
    id=ID,
    title="System usage",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    folded=("sample_counts",),
    places={
        "device_heatmap": Place(timeline=TimelineTrack(kind=Track.BELOW, is_only_here=True)),
        "gpu_over_time": _curves("GPU utilization", 10),
        "gpu_memory_over_time": _curves("GPU memory activity", 30),
        "cpu_over_time": _curves("CPU utilization, mean of the cores", 40),
        "io_wait_over_time": _curves("I/O wait, mean of the cores", 50),
        "host_memory_over_time": _curves("Host memory", 60),
        "network_over_time": _curves("Network", 70),
    },
)
