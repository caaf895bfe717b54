"""Results of SageMaker's rules about GPUs that another rule shows to be never used."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.results import Details, JsonValue, RuleId
from reportgen.rules.aws.details import IDLE_GPUS, MEMORY_SUFFIX

GpuUse = Mapping[str, Mapping[str, bool]]
"""Node to GPU to whether the job uses it."""

_IDLE_BINS = 5
"""The first bins of AWS's workload histograms, 0 to 10 %."""
_COMPLETE_RATIO = 0.95
"""Histograms that lack more samples than this had some at 99 and 100 %, which AWS drops: a GPU
that lacks a few may have been sampled for a shorter time."""


def gpu_use(balance: Details, n_samples: int) -> GpuUse:
    """Return which GPUs a job uses, from the workloads that LoadBalancing wrote.

    Nothing of a job that uses no GPU at all, or where there are no histograms.
    """
    found: dict[str, dict[str, bool]] = {}
    for node, entry in balance.items():
        loads = entry.get("workloads") if isinstance(entry, dict) else None
        if isinstance(loads, dict):
            found[node] = {gpu: _is_used(bins, n_samples) for gpu, bins in loads.items()}
    return found if any(any(gpus.values()) for gpus in found.values()) else {}


def _is_used(bins: JsonValue, n_samples: int) -> bool:
    counts = [count for count in bins if isinstance(count, int)] if isinstance(bins, list) else []
    return any(counts[_IDLE_BINS:]) or sum(counts) < _COMPLETE_RATIO * n_samples


def felt_details(rule_id: RuleId, details: Details, use: GpuUse) -> Details:
    """Return the details of which the findings of a rule are made.

    Of the GPUs that idle at a bottleneck, and of those with room for a batch, the unused ones are
    left out; LowGPUUtilization learns of the GPUs that it does not name. The rest is as it was.
    """
    if not use:
        return details
    if rule_id in ("CPUBottleneck", "IOBottleneck"):
        return _felt_bottlenecks(details, use)
    if rule_id == "BatchSize":
        return {node: _without(entry, use.get(node, {})) for node, entry in details.items()}
    if rule_id == "LowGPUUtilization" and details:
        return details | {
            node: {**{gpu: {} for gpu in gpus}, **entry}
            for node, gpus in use.items()
            if isinstance(entry := details.get(node, {}), dict)
        }
    return details


def _felt_bottlenecks(details: Details, use: GpuUse) -> Details:
    """Take as many idle GPUs off each bottleneck as every node has unused ones."""
    bottlenecks = details.get("bottlenecks")
    if not isinstance(bottlenecks, dict):
        return details
    n_unused = min(sum(not is_used for is_used in gpus.values()) for gpus in use.values())
    felt = {moment: _less_idle(entry, n_unused) for moment, entry in bottlenecks.items()}
    return {**details, "bottlenecks": felt}


def _less_idle(entry: JsonValue, n_unused: int) -> JsonValue:
    n_idle = entry.get(IDLE_GPUS) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(n_idle, int):
        return entry
    return {**entry, IDLE_GPUS: max(n_idle - n_unused, 0)}


def _without(entry: JsonValue, gpus: Mapping[str, bool]) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    return {
        name: box for name, box in entry.items() if gpus.get(name.removesuffix(MEMORY_SUFFIX), True)
    }
