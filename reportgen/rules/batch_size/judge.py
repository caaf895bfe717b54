"""What BatchSize says: one finding, whose weight depends on what else the node shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    Finding,
    Reason,
    ReasonCode,
    Role,
    Severity,
    Where,
)
from reportgen.rules.base import Outcome
from reportgen.rules.batch_size.measure import (
    CPU,
    MEMORY_SUFFIX,
    GpuRoom,
    NodeRoom,
    Params,
    Resource,
)
from reportgen.rules.kit import Message, boxes, longest_minutes, reason_to_skip, table
from reportgen.rules.saying.boxes import NamedBox
from reportgen.rules.saying.violations import entries_of, last_timestamp_s, violation_details
from reportgen.text import device_label, format_place, format_places, part_of, write

HOST_BOUND_FROM_RATIO = 0.5
"""From this share of bottleneck ticks on the host comes first: CPUBottleneck's threshold."""

_ROOM = (
    "In {gpu.roomy_ns.size:n} of {gpu.judged_minutes:count judged minute} {place} had room: its "
    "95th percentiles over {window:count sample} reached at most {measured:pct} (GPU) and "
    "{gpu.memory_p95_pct:pct} (GPU memory), the node's CPU had {cpu:pct} in the last window. This "
    "concerns {concerned} ({places}). "
)
_IMPORTED_ROOM = (
    "{n_minutes:count minute} (summed over GPUs) had CPU, GPU and GPU memory below {threshold:pct} "
    "at the 95th percentile of the last {window:count sample}. "
)
_MEMORY = (
    "GPU memory is memory-controller activity, so whether a larger batch fits must be seen in the "
    "allocated memory."
)
LARGER = Message(
    id="BATCH-1",
    severity=Severity.WARNING,
    title="The batch could be larger: {place} reaches only {measured:pct}",
    text=_ROOM + _MEMORY,
    advice=(
        "Raise the batch size step by step while watching the allocated GPU memory, or use a "
        "smaller instance."
    ),
    exhibit="head_room",
)
NEVER_USED = replace(
    LARGER,
    severity=Severity.INFO,
    title="{place} has room because it is never used",
    text=_ROOM + "No batch size changes that. " + _MEMORY,
    advice="Use this GPU first (see GPU utilization), or take an instance without it.",
    causes=("GPU-1",),
)
ONLY_EDGES = replace(
    NEVER_USED,
    title="Room for a larger batch only before the work begins or after it ends",
    text=_ROOM + "While it works the GPU itself has no such room. " + _MEMORY,
    advice="Nothing to do.",
    causes=(),
)
HOST_BOUND = replace(
    NEVER_USED,
    title="{place} has room, but it waits for the host",
    text=(
        _ROOM + "In {host_bound:pct} of the ticks a GPU idled while a CPU core was busy or waited "
        "for I/O, so a larger batch would wait as well. " + _MEMORY
    ),
    advice="Relieve the CPU or I/O bottleneck first, then judge the batch size again.",
    causes=("DL-1", "DL-2", "DL-5", "CPU-1", "IO-1"),
)
UNEVEN = replace(
    NEVER_USED,
    title="{place} has room, but {busy} {n_busy:verb have/has} not",
    text=(
        _ROOM + "{busy} {n_busy:verb have/has} no room, so the work is shared unevenly. " + _MEMORY
    ),
    advice="Share the work evenly between the GPUs first, then judge the batch size again.",
    causes=("STRAG-1", "BAL-1"),
)
IMPORTED = replace(
    LARGER,
    title="The batch could be larger: {places} had room",
    text=_IMPORTED_ROOM + _MEMORY,
    advice="Raise the batch size step by step, or use a smaller instance.",
    exhibit="boxes",
)
IMPORTED_FOR_A_TIME = replace(
    IMPORTED,
    severity=Severity.INFO,
    title="Room for a larger batch for a time only: {places}",
    text=_IMPORTED_ROOM + "Their median over the whole job is above that. " + _MEMORY,
    advice="See when they idled: before the first and after the last step nothing is to do.",
)
IMPORTED_NEVER_USED = replace(
    IMPORTED,
    severity=Severity.INFO,
    title="Only GPUs that the job never uses have room for a larger batch",
    advice="Use these GPUs or take an instance without them; a larger batch changes neither.",
    causes=("GPU-1",),
)


def judge(nodes: Sequence[NodeRoom], params: Params) -> Outcome:
    """Count (GPU, minute) pairs with room and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    violations = sum(gpu.roomy_ns.size for gpu in gpus)
    counters = Counters(
        rule_triggered=violations,
        violations=violations,
        datapoints=max((node.n_cpu_samples for node in nodes), default=0),
    )
    if not gpus:
        return Outcome(missing=_reason(nodes, counters, params), counters=counters)
    return Outcome(
        missing=_reason(nodes, counters, params),
        counters=counters,
        details=violation_details((node.node, node.violations) for node in nodes),
        findings=[_finding(nodes, params)] if violations else [],
        exhibits=_exhibits(nodes, params),
        metrics={
            "gpus_with_room": sum(1 for gpu in gpus if gpu.n_roomy_at_work),
            "judged_gpu_minutes": sum(gpu.judged_minutes for gpu in gpus),
        },
    )


def _reason(nodes: Sequence[NodeRoom], counters: Counters, params: Params) -> Reason | None:
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=counters.datapoints,
        patience=max(params.patience, params.window),
    )
    if reason is None and not any(node.gpus for node in nodes):
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="GPU memory was not sampled.")
    return reason


def _exhibits(nodes: Sequence[NodeRoom], params: Params) -> tuple[Exhibit, ...]:
    resources = [item for node in nodes for item in node.resources]
    caption = write(
        "95th percentile of the last {window:count sample} against its threshold, and of the whole "
        "job.",
        window=params.window,
    )
    named = [
        (device_label(item.node, item.name, n_nodes=len(nodes)), item.box, item.max_pct)
        for item in resources
    ]
    return (
        table("head_room", resources, Resource, title="Room of each resource", caption=caption),
        boxes(
            "boxes",
            named,
            title="CPU, GPU and GPU memory over the whole job",
            unit="%",
            row_roles=[_role(item.name) for item in resources],
        ),
    )


def _role(resource: str) -> Role:
    if resource == CPU:
        return Role.CPU
    return Role.GPU_MEMORY if resource.endswith(MEMORY_SUFFIX) else Role.GPU


def _finding(nodes: Sequence[NodeRoom], params: Params) -> Finding:
    every = [(node, gpu) for node in nodes for gpu in node.gpus]
    at_work = [pair for pair in every if pair[1].n_roomy_at_work]
    found = at_work or [pair for pair in every if pair[1].roomy_ns.size]
    found = [pair for pair in found if pair[1].is_used] or found
    node, worst = min(found, key=lambda pair: pair[1].gpu_p95_pct)
    busy = [
        (its.node, gpu.gpu)
        for its, gpu in every
        if gpu.is_used and gpu.judged_minutes and not gpu.roomy_ns.size
    ]
    return _message(node, worst, is_only_edges=not at_work, is_uneven=bool(busy)).finding(
        measured=worst.gpu_p95_pct,
        threshold=params.gpu_threshold_p95,
        where=longest_minutes(node.node, worst.gpu, worst.roomy_ns, last_ns=worst.last_ns),
        gpu=worst,
        place=format_place(node.node, worst.gpu),
        window=params.window,
        cpu=node.resources[0].last_window_p95_pct,
        concerned=part_of(len(found), len(every), "GPU"),
        places=format_places([(its.node, gpu.gpu) for its, gpu in found]),
        host_bound=100 * node.host_bound_ratio,
        busy=format_places(busy),
        n_busy=len(busy),
    )


def _message(node: NodeRoom, worst: GpuRoom, *, is_only_edges: bool, is_uneven: bool) -> Message:
    """Return what the room means: not every room asks for a larger batch."""
    if not worst.is_used:
        return NEVER_USED
    if is_only_edges:
        return ONLY_EDGES
    if node.host_bound_ratio > HOST_BOUND_FROM_RATIO:
        return HOST_BOUND
    return UNEVEN if is_uneven else LARGER


def from_details(counters: Counters, details: Details, params: Params) -> Outcome:
    """Return the finding and boxes from what SageMaker wrote."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Outcome()
    n_nodes = len({node for node, *_ in entries})
    gpus = [
        (node, device, numbers.get("p50", 0.0))
        for node, device, numbers in entries
        if _role(device) is Role.GPU
    ]
    message = IMPORTED
    if not gpus:
        message = IMPORTED_NEVER_USED
    elif min(median for *_, median in gpus) >= params.gpu_threshold_p95:
        message = IMPORTED_FOR_A_TIME
    finding = message.finding(
        measured=None,
        threshold=params.gpu_threshold_p95,
        where=Where(start_s=last_timestamp_s(details)),
        n_minutes=counters.rule_triggered,
        window=params.window,
        places=format_places([(node, device) for node, device, _ in gpus]),
    )
    shown, roles = [], []
    for node, device, numbers in entries:
        label = device_label(node, device, n_nodes=n_nodes)
        if (box := NamedBox.from_numbers(label, numbers)) is not None:
            shown.append((label, box.box, box.largest))
            roles.append(_role(device))
    title = "CPU, GPU and GPU memory"
    return Outcome(
        findings=[finding],
        exhibits=[boxes("boxes", shown, title=title, unit="%", row_roles=roles)],
    )
