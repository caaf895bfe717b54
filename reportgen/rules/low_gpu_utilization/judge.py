"""What LowGPUUtilization concludes: the fault of each GPU, its weight and what to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen.facts.gpu_use import used_gpus
from reportgen.results import Counters, Details, Exhibit, Finding, Role, Severity, Where
from reportgen.rules.aws.details import (
    box_of_numbers,
    entries_of,
    last_timestamp_s,
    violation_details,
)
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
    GpuUse,
    NodeGpus,
    Params,
    Verdict,
)
from reportgen.text import device_label, format_place, format_places, part_of
from reportgen.units import seconds

RARE_RATIO = 0.1
"""A fault in less than a tenth of the judged minutes is mentioned, but no warning."""
HOST_BUSY_PCT = 70.0
"""From this mean of all cores on the host has no room: BatchSize's threshold."""
HOST_BOUND_RATIO = 0.3
"""From this share of idle samples with a busy or waiting core on the host is named first: idle
samples meet such a core by chance as well, but hardly in every third."""

Place = tuple[str, str]
Entry = tuple[str, str, dict[str, float]]
"""Node, GPU and numbers of an entry in SageMaker's details."""


def judge(nodes: Sequence[NodeGpus], params: Params) -> Outcome:
    """Count the violations of all nodes and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    violations = sum(gpu.aws_violations for gpu in gpus)
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


def _findings(gpus: Sequence[GpuUse], params: Params) -> Iterator[Finding]:
    low, swings, edges = (
        [gpu for gpu in gpus if gpu.verdict is verdict]
        for verdict in (Verdict.UNDER_USED, Verdict.FLUCTUATING, Verdict.EDGES)
    )
    if low:
        yield _under_used(low, gpus, params)
    if swings:
        yield _fluctuating(swings, gpus, params)
    if edges and not low and not swings:
        yield _edges(edges, gpus, params)


def _under_used(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> Finding:
    worst = min(gpus, key=lambda gpu: gpu.low.lowest_pct)
    judged = [(gpu.node, gpu.gpu, gpu.max_pct) for gpu in every if gpu.judged_minutes]
    unused = _never_used(judged, idle_below=params.threshold_p5)
    busy = [(gpu.node, gpu.gpu) for gpu in every if gpu.verdict is Verdict.FINE]
    message, values, where = texts.UNDER_USED, dict[str, Any](), None
    if unused:
        message, values = _as_unused(message, unused, judged)
    elif edge := worst.edge:
        message = texts.BEGAN_LATE if edge.is_start else texts.STOPPED
        start_s, end_s = seconds(edge.start_ns), seconds(edge.end_ns)
        where = Where(node=worst.node, device=worst.gpu, start_s=start_s, end_s=end_s)
    elif _waits_for_host(worst):
        message = replace(message, advice=texts.RELIEVE_HOST)
    elif busy:
        message = replace(message, advice=texts.SHARE_WORK)
        values = {"busy": format_places(busy), "n_busy": len(busy)}
    elif (worst.host_mean_pct or 0.0) >= HOST_BUSY_PCT:
        message = replace(message, advice=texts.RELIEVE_CPU)
    can_win = len(unused) < len(judged)
    return _finding(message, worst, gpus, every, params, where=where, can_win=can_win, **values)


def _fluctuating(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> Finding:
    worst = max(gpus, key=lambda gpu: (gpu.idle_ratio, gpu.fluctuating.work_ns.size))
    message = texts.FLUCTUATING
    if _waits_for_host(worst):
        message = replace(message, advice=texts.RELIEVE_HOST)
    return _finding(message, worst, gpus, every, params)


def _finding(
    message: Message,
    worst: GpuUse,
    gpus: Sequence[GpuUse],
    every: Sequence[GpuUse],
    params: Params,
    *,
    where: Where | None = None,
    can_win: bool = True,
    **values: Any,
) -> Finding:
    """Return what a message says of the GPUs with one fault, and of the worst of them."""
    is_low = message.id == texts.UNDER_USED.id
    fault, *faults = (gpu.low if is_low else gpu.fluctuating for gpu in (worst, *gpus))
    shares = (its.work_ns.size / gpu.judged_minutes for its, gpu in zip(faults, gpus, strict=True))
    wasted = 1 - float(np.mean([gpu.work_mean_pct for gpu in every])) / 100
    others = [(gpu.node, gpu.gpu) for gpu in gpus if gpu is not worst]
    also = f" (also {format_places(others)})" if others else ""
    return message.finding(
        measured=fault.lowest_pct,
        threshold=params.threshold_p95 if is_low else params.threshold_p5,
        where=where or longest_minutes(worst.node, worst.gpu, fault.work_ns, last_ns=worst.last_ns),
        severity=Severity.INFO if max(shares) < RARE_RATIO else fault_severity(wasted),
        share=wasted if can_win else None,
        gpu=worst,
        fault=fault,
        params=params,
        hot=100 * (worst.hot_when_idle_ratio or 0.0),
        concerned=part_of(len(gpus), len(every), "GPU") + also,
        **values,
    )


def _edges(gpus: Sequence[GpuUse], every: Sequence[GpuUse], params: Params) -> Finding:
    worst = max(gpus, key=lambda gpu: gpu.aws_violations)
    is_low = worst.low.start_ns.size >= worst.fluctuating.start_ns.size
    minutes_ns = np.sort(np.concatenate([worst.low.start_ns, worst.fluctuating.start_ns]))
    return replace(texts.EDGES, id=(texts.UNDER_USED if is_low else texts.FLUCTUATING).id).finding(
        measured=worst.work_p95_pct,
        threshold=params.threshold_p95,
        where=longest_minutes(worst.node, worst.gpu, minutes_ns, last_ns=worst.last_ns),
        gpu=worst,
        params=params,
        concerned=part_of(len(gpus), len(every), "GPU"),
    )


def _waits_for_host(gpu: GpuUse) -> bool:
    share = gpu.hot_when_idle_ratio
    return share is not None and share >= HOST_BOUND_RATIO and gpu.idle_ratio >= RARE_RATIO


def _never_used(gpus: Sequence[tuple[str, str, float]], *, idle_below: float) -> list[Place]:
    """Return those of (node, GPU, largest use) that the job does not use."""
    is_used = used_gpus(np.array([[most for *_, most in gpus]]), above=idle_below).tolist()
    return [gpu[:2] for gpu, used in zip(gpus, is_used, strict=True) if not used]


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
        box_of_numbers(device_label(node, gpu, n_nodes=n_nodes), numbers, largest="gpu_max")
        for node, gpu, numbers in entries
    ]
    shown = [box for box in named if box]
    findings = [_imported_low(low, entries, details, params)] if low else []
    if swings:
        message, threshold = texts.IMPORTED_FLUCTUATING, params.threshold_p5
        findings.append(_imported(message, swings, "gpu_5", threshold, details, params))
    title = "GPU utilization"
    return Outcome(
        findings=findings, exhibits=[boxes("boxes", shown, title=title, unit="%", role=Role.GPU)]
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
    severity = Severity.INFO if is_brief else fault_severity(share)
    can_win = len(unused) < len(known)
    values |= {"severity": severity, "share": share if can_win else None}
    return _imported(message, found, "gpu_95", params.threshold_p95, details, params, **values)


def _imported(
    message: Message,
    found: Sequence[Entry],
    field: str,
    threshold: float,
    details: Details,
    params: Params,
    **values: Any,
) -> Finding:
    """Return what a message says of the entries of SageMaker's details with one fault."""
    node, gpu, numbers = min(found, key=lambda entry: entry[2][field])
    return message.finding(
        measured=numbers[field],
        threshold=threshold,
        where=Where(node=node, device=gpu, start_s=last_timestamp_s(details)),
        place=format_place(node, gpu),
        params=params,
        affected=format_places([(its_node, its_gpu) for its_node, its_gpu, _ in found]),
        **values,
    )
