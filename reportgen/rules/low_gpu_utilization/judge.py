"""What LowGPUUtilization concludes: the fault of each GPU, its weight and what to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from reportgen.facts.gpu_use import UNTOUCHED_PCT
from reportgen.profile.system import Instants
from reportgen.results import Counters, Details, Exhibit, Finding, Role, Severity, Where
from reportgen.rules.base import Outcome
from reportgen.rules.kit import (
    Message,
    boxes,
    fault_severity,
    longest_minutes,
    reason_to_skip,
    table,
)
from reportgen.rules.low_gpu_utilization import texts
from reportgen.rules.low_gpu_utilization.measure import (
    FaultyMinutes,
    GpuUse,
    NodeGpus,
    Params,
    Verdict,
    verdict_of,
)
from reportgen.rules.saying.boxes import NamedBox
from reportgen.rules.saying.violations import entries_of, last_timestamp_s, violation_details
from reportgen.text import device_label, format_place, format_places, part_of
from reportgen.units import seconds

RARE_RATIO = 0.1
"""A fault in less than a tenth of the judged minutes is mentioned, but no warning."""
HOST_BUSY_PCT = 70.0
"""From this mean of all cores on the host has no room: BatchSize's threshold."""
HOST_BOUND_RATIO = 0.3
"""From this share of idle samples with a busy or waiting core on the host is named first: idle
samples meet such a core by chance as well, but hardly in every third."""

LOW, SWINGS = attrgetter("low"), attrgetter("fluctuating")

Place = tuple[str, str]
Entry = tuple[str, str, dict[str, float]]
"""Node, GPU and numbers of an entry in SageMaker's details."""


def judge(nodes: Sequence[NodeGpus], params: Params) -> Outcome:
    """Count the violations of all nodes and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    violations = sum(gpu.n_violations for gpu in gpus)
    n_samples = max((gpu.n_samples for gpu in gpus), default=0)
    return Outcome(
        missing=reason_to_skip(
            n_ticks=sum(node.n_ticks for node in nodes),
            n_gpus=len(gpus),
            n_samples=n_samples,
            patience=params.patience,
        ),
        counters=Counters(rule_triggered=violations, violations=violations, datapoints=n_samples),
        details=violation_details(
            (node.node, [gpu.violation for gpu in node.gpus if gpu.violation]) for node in nodes
        ),
        findings=_findings(gpus, params) if violations else (),
        exhibits=_exhibits(gpus) if gpus else (),
        metrics=_metrics(gpus) if gpus else {},
    )


def _metrics(gpus: Sequence[GpuUse]) -> dict[str, float | int | None]:
    return {
        "gpu_count": len(gpus),
        "gpu_mean_pct": round(float(np.mean([gpu.mean_pct for gpu in gpus])), 4),
        "gpu_work_mean_pct": round(float(np.mean([gpu.work_mean_pct for gpu in gpus])), 4),
        "gpu_work_p95_min_pct": round(min(gpu.work_p95_pct for gpu in gpus), 4),
        "gpu_idle_ratio": round(float(np.mean([gpu.idle_ratio for gpu in gpus])), 6),
    }


def _exhibits(gpus: Sequence[GpuUse]) -> tuple[Exhibit, ...]:
    n_nodes = len({gpu.node for gpu in gpus})
    named = [
        (device_label(gpu.node, gpu.gpu, n_nodes=n_nodes), gpu.box, gpu.max_pct) for gpu in gpus
    ]
    caption = (
        "Mean and percentiles over the whole job; 'at work' leaves out what lies before and after "
        "the training loop (without step events: the idle start and end)."
    )
    title = "GPU utilization over the whole job"
    return (
        table("utilization", gpus, GpuUse, title="Use of each GPU", caption=caption),
        boxes("boxes", named, title=title, unit="%", role=Role.GPU),
    )


def _findings(gpus: Sequence[GpuUse], params: Params) -> list[Finding]:
    by_verdict: dict[Verdict, list[GpuUse]] = {}
    for gpu in gpus:
        by_verdict.setdefault(verdict_of(gpu), []).append(gpu)
    finders = {Verdict.UNDER_USED: _under_used, Verdict.FLUCTUATING: _fluctuating}
    found = [
        find(by_verdict[verdict], gpus, params)
        for verdict, find in finders.items()
        if verdict in by_verdict
    ]
    if not found and Verdict.EDGES in by_verdict:
        return [_edges(by_verdict[Verdict.EDGES], len(gpus), params)]
    return found


def _under_used(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> Finding:
    worst = min(gpus, key=lambda gpu: gpu.low.lowest_pct)
    judged = [(gpu.node, gpu.gpu, gpu.max_pct) for gpu in every if gpu.judged_minutes]
    unused = _never_used(judged, idle_below=params.threshold_p5)
    busy = [(gpu.node, gpu.gpu) for gpu in every if verdict_of(gpu) is Verdict.FINE]
    edge, host_pct = worst.edge, worst.host_mean_pct
    message, values, where = texts.UNDER_USED, dict[str, Any](), None
    if unused:
        message, values = _as_unused(message, unused, judged)
    elif edge:
        message = texts.BEGAN_LATE if edge.is_start else texts.STOPPED
        values = {"edge_pct": 100 * edge.ratio, "edge_ns": edge.end_ns - edge.start_ns}
        span_s = {"start_s": seconds(edge.start_ns), "end_s": seconds(edge.end_ns)}
        where = Where(node=worst.node, device=worst.gpu, **span_s)
    elif _waits_for_host(worst):
        message = replace(message, advice=texts.RELIEVE_HOST)
    elif busy:
        message = replace(message, advice=texts.SHARE_WORK)
        values = {"busy": format_places(busy), "n_busy": len(busy)}
    elif host_pct is not None and host_pct >= HOST_BUSY_PCT:
        message = replace(message, advice=texts.RELIEVE_CPU)
    threshold, wins = params.threshold_p95, len(unused) < len(judged)
    return _finding(
        message,
        worst,
        gpus,
        every,
        params,
        LOW,
        where=where,
        threshold=threshold,
        wins=wins,
        **values,
    )


def _fluctuating(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> Finding:
    worst = max(gpus, key=lambda gpu: (gpu.idle_ratio, gpu.fluctuating.work_ns.size))
    message = texts.FLUCTUATING
    if _waits_for_host(worst):
        message = replace(message, advice=texts.RELIEVE_HOST)
    return _finding(message, worst, gpus, every, params, SWINGS, threshold=params.threshold_p5)


def _finding(
    message: Message,
    worst: GpuUse,
    gpus: Sequence[GpuUse],
    every: Sequence[GpuUse],
    params: Params,
    fault_of: Callable[[GpuUse], FaultyMinutes],
    *,
    threshold: float,
    where: Where | None = None,
    wins: bool = True,
    **values: Any,
) -> Finding:
    """Return what a message says of the GPUs with one fault, and of the worst of them."""
    fault = fault_of(worst)
    wasted = 1 - float(np.mean([gpu.work_mean_pct for gpu in every])) / 100
    is_rare = max(fault_of(gpu).work_ns.size / gpu.judged_minutes for gpu in gpus) < RARE_RATIO
    others = [(gpu.node, gpu.gpu) for gpu in gpus if gpu is not worst]
    also = f" (also {format_places(others)})" if others else ""
    return message.finding(
        measured=fault.lowest_pct,
        threshold=threshold,
        where=where or _longest(worst, fault.work_ns),
        severity=Severity.INFO if is_rare else fault_severity(wasted),
        share=wasted if wins else None,
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        idle=100 * worst.idle_ratio,
        hot=100 * (worst.hot_when_idle_ratio or 0),
        n_bad=fault.work_ns.size,
        window=params.window,
        threshold_p95=params.threshold_p95,
        concerned=part_of(len(gpus), len(every), "GPU") + also,
        **values,
    )


def _edges(gpus: Sequence[GpuUse], n_gpus: int, params: Params) -> Finding:
    worst = max(gpus, key=lambda gpu: gpu.n_violations)
    is_low = worst.low.start_ns.size >= worst.fluctuating.start_ns.size
    minutes_ns = np.sort(np.concatenate([worst.low.start_ns, worst.fluctuating.start_ns]))
    message = texts.EDGES if is_low else replace(texts.EDGES, id=texts.FLUCTUATING.id)
    return message.finding(
        measured=worst.work_p95_pct,
        threshold=params.threshold_p95,
        where=_longest(worst, minutes_ns),
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        n_bad=worst.n_violations,
        window=params.window,
        concerned=part_of(len(gpus), n_gpus, "GPU"),
    )


def _longest(gpu: GpuUse, minutes_ns: Instants) -> Where:
    return longest_minutes(gpu.node, gpu.gpu, minutes_ns, last_ns=gpu.last_ns)


def _waits_for_host(gpu: GpuUse) -> bool:
    share = gpu.hot_when_idle_ratio
    return share is not None and share >= HOST_BOUND_RATIO and gpu.idle_ratio >= RARE_RATIO


def _never_used(gpus: Sequence[tuple[str, str, float]], *, idle_below: float) -> list[Place]:
    """Return those of (node, GPU, largest use) that never reach ``idle_below``.

    Where no GPU does, those that run nothing at all.
    """
    limit = idle_below if any(most >= idle_below for *_, most in gpus) else UNTOUCHED_PCT
    return [(node, gpu) for node, gpu, most in gpus if most < limit]


def _as_unused(
    message: Message, unused: Sequence[Place], gpus: Sequence[tuple[str, str, float]]
) -> tuple[Message, dict[str, Any]]:
    """Return a message with title and advice for GPUs that are never used, and their values."""
    used_nodes = {node for node, gpu, _ in gpus if (node, gpu) not in unused}
    nodes = list(dict.fromkeys(node for node, _ in unused if node not in used_nodes))
    is_all = len(unused) == len(gpus)
    title = texts.NONE_USED if is_all and len(gpus) > 1 else texts.NEVER_USED
    advice = texts.USE_ANY if is_all else texts.USE_NODES if nodes else texts.USE_ALL
    which = part_of(len(unused), len(gpus), "GPU")
    return replace(message, title=title, advice=advice, causes=()), {
        "which": which[0].upper() + which[1:],
        "n_unused": len(unused),
        "n_gpus": len(gpus),
        "unused": format_places(unused),
        "nodes": nodes,
    }


def from_details(counters: Counters, details: Details, params: Params) -> Outcome:
    """Say what the last violation left in a result of SageMaker."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Outcome()
    low = [entry for entry in entries if entry[2].get("gpu_95", 100.0) < params.threshold_p95]
    rest = [entry for entry in entries if entry not in low]
    swings = [entry for entry in rest if entry[2].get("gpu_5", 100.0) < params.threshold_p5]
    n_nodes = len({node for node, *_ in entries})
    named = [
        NamedBox.from_numbers(device_label(node, gpu, n_nodes=n_nodes), numbers, "gpu_max")
        for node, gpu, numbers in entries
    ]
    shown = [(box.name, box.box, box.largest) for box in named if box]
    return Outcome(
        findings=[
            _imported_low(low, entries, details, params) if low else None,
            _imported_swings(swings, details, params) if swings else None,
        ],
        exhibits=[boxes("boxes", shown, title="GPU utilization", unit="%", role=Role.GPU)],
    )


def _imported_low(
    found: Sequence[Entry], entries: Sequence[Entry], details: Details, params: Params
) -> Finding:
    known = [(node, gpu, numbers.get("gpu_max", 100.0)) for node, gpu, numbers in entries]
    unused = _never_used(known, idle_below=params.threshold_p5)
    is_brief = all(its.get("p50", 0.0) >= params.threshold_p95 for *_, its in found)
    share = len(unused) / len(known) if unused else None
    message = texts.IMPORTED_FOR_A_TIME if is_brief else texts.IMPORTED_LOW
    message, values = _as_unused(message, unused, known) if unused else (message, {})
    return message.finding(
        **_imported_values(found, "gpu_95", details, params),
        threshold=params.threshold_p95,
        severity=Severity.INFO if is_brief else fault_severity(share),
        share=share if len(unused) < len(known) else None,
        **values,
    )


def _imported_swings(found: Sequence[Entry], details: Details, params: Params) -> Finding:
    return texts.IMPORTED_FLUCTUATING.finding(
        **_imported_values(found, "gpu_5", details, params),
        threshold=params.threshold_p5,
        severity=fault_severity(None),
    )


def _imported_values(
    found: Sequence[Entry], field: str, details: Details, params: Params
) -> dict[str, Any]:
    """Return what a finding says of the entries of SageMaker's details with one fault."""
    node, gpu, numbers = min(found, key=lambda entry: entry[2][field])
    return {
        "measured": numbers[field],
        "where": Where(node=node, device=gpu, start_s=last_timestamp_s(details)),
        "place": format_place(node, gpu),
        "window": params.window,
        "affected": format_places([(its_node, its_gpu) for its_node, its_gpu, _ in found]),
    }
