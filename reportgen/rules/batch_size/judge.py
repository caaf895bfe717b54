"""What BatchSize says: one finding, whose weight depends on what else the node shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from reportgen.rules.aws.details import (
    MEMORY_SUFFIX,
    box_of_numbers,
    entries_of,
    last_timestamp_s,
    violation_details,
)
from reportgen.rules.base import Outcome
from reportgen.rules.batch_size.measure import (
    CPU,
    GpuRoom,
    NodeRoom,
    Params,
    Resource,
)
from reportgen.rules.kit import Message, boxes, longest_minutes, reason_to_skip, table
from reportgen.text import device_label, format_place, format_places, part_of, plural

HOST_BOUND_FROM_PCT = 50.0
"""From this share of bottleneck ticks on the host comes first: CPUBottleneck's threshold."""

_MEMORY = (
    "GPU memory is memory-controller activity, so whether a larger batch fits must be seen in the "
    "allocated memory."
)
LARGER = Message(
    id="BATCH-1",
    severity=Severity.WARNING,
    title="The batch could be larger: {place} reaches only {measured:pct}",
    text=(
        "In {gpu.roomy_ns.size:n} of {gpu.judged_minutes:count judged minute} {place} had room: "
        "its 95th percentiles over {window:count sample} reached at most {measured:pct} (GPU) and "
        "{gpu.memory_p95_pct:pct} (GPU memory), the node's CPU had {gpu.cpu_p95_pct:pct} in the "
        "last window. This concerns {concerned} ({places}). " + _MEMORY
    ),
    advice=(
        "Raise the batch size step by step while watching the allocated GPU memory, or use a "
        "smaller instance."
    ),
    exhibit="head_room",
)
IMPORTED = replace(
    LARGER,
    title="The batch could be larger: {places} had room",
    text=(
        "{n_minutes:count minute} (summed over GPUs) had CPU, GPU and GPU memory below "
        "{threshold:pct} at the 95th percentile of the last {window:count sample}. " + _MEMORY
    ),
    advice="Raise the batch size step by step, or use a smaller instance.",
    exhibit="boxes",
)


def _but(message: Message, title: str, why: str, advice: str, causes: Sequence[str]) -> Message:
    """Return a message of room that asks for something else than a larger batch."""
    return replace(
        message,
        severity=Severity.INFO,
        title=title,
        text=message.text.replace(_MEMORY, why + _MEMORY),
        advice=advice,
        causes=tuple(causes),
    )


NEVER_USED = _but(
    LARGER,
    "{place} has room because it is never used",
    "No batch size changes that. ",
    "Use this GPU first (see GPU utilization), or take an instance without it.",
    ["GPU-1"],
)
ONLY_EDGES = _but(
    LARGER,
    "Room for a larger batch only before the work begins or after it ends",
    "While it works the GPU itself has no such room. ",
    "Nothing to do.",
    [],
)
HOST_BOUND = _but(
    LARGER,
    "{place} has room, but it waits for the host",
    "In {gpu.host_bound_pct:pct} of the ticks a GPU idled while a CPU core was busy or waited for "
    "I/O, so a larger batch would wait as well. ",
    "Relieve the CPU or I/O bottleneck first, then judge the batch size again.",
    ["DL-1", "DL-2", "DL-5", "CPU-1", "IO-1"],
)
UNEVEN = _but(
    LARGER,
    "{place} has room, but {busy} {n_busy:verb have/has} not",
    "{busy} {n_busy:verb have/has} no room, so the work is shared unevenly. ",
    "Share the work evenly between the GPUs first, then judge the batch size again.",
    ["STRAG-1", "BAL-1"],
)
IMPORTED_NEVER_USED = _but(
    IMPORTED,
    "Only GPUs that the job never uses have room for a larger batch",
    "",
    "Use these GPUs or take an instance without them; a larger batch changes neither.",
    ["GPU-1"],
)
IMPORTED_FOR_A_TIME = _but(
    IMPORTED,
    "Room for a larger batch for a time only: {places}",
    "Their median over the whole job is above that. ",
    "See when they idled: before the first and after the last step nothing is to do.",
    [],
)


def judge(nodes: Sequence[NodeRoom], params: Params) -> Outcome:
    """Count (GPU, minute) pairs with room and say what they mean."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    violations = sum(gpu.roomy_ns.size for gpu in gpus)
    n_samples = max((node.resources[0].n_samples for node in nodes if node.resources), default=0)
    counts = {
        "gpus_with_room": sum(1 for gpu in gpus if gpu.n_roomy_at_work),
        "judged_gpu_minutes": sum(gpu.judged_minutes for gpu in gpus),
    }
    return Outcome(
        missing=_reason(nodes, n_samples, params),
        counters=Counters(rule_triggered=violations, violations=violations, datapoints=n_samples),
        details=violation_details((node.node, node.violations) for node in nodes),
        findings=[_finding(gpus, params)] if violations else [],
        exhibits=_exhibits(nodes, params) if gpus else [],
        metrics=counts if gpus else {},
    )


def _reason(nodes: Sequence[NodeRoom], n_samples: int, params: Params) -> Reason | None:
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=n_samples,
        patience=max(params.patience, params.window),
    )
    if reason is None and not any(node.gpus for node in nodes):
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="GPU memory was not sampled.")
    return reason


def _exhibits(nodes: Sequence[NodeRoom], params: Params) -> Iterator[Exhibit]:
    resources = [item for node in nodes for item in node.resources]
    caption = f"95th percentile of the last {plural(params.window, 'sample')} against its "
    caption += "threshold, and of the whole job."
    yield table("head_room", resources, Resource, title="Room of each resource", caption=caption)
    labels = [device_label(item.node, item.name, n_nodes=len(nodes)) for item in resources]
    yield boxes(
        "boxes",
        [(label, its.box, its.max_pct) for label, its in zip(labels, resources, strict=True)],
        title="CPU, GPU and GPU memory over the whole job",
        unit="%",
        row_roles=[_role(item.name) for item in resources],
    )


def _role(resource: str) -> Role:
    if resource == CPU:
        return Role.CPU
    return Role.GPU_MEMORY if resource.endswith(MEMORY_SUFFIX) else Role.GPU


def _finding(gpus: Sequence[GpuRoom], params: Params) -> Finding:
    at_work = [gpu for gpu in gpus if gpu.n_roomy_at_work]
    found = at_work or [gpu for gpu in gpus if gpu.roomy_ns.size]
    found = [gpu for gpu in found if gpu.is_used] or found
    worst = min(found, key=lambda gpu: gpu.gpu_p95_pct)
    busy = [gpu for gpu in gpus if gpu.is_used and gpu.judged_minutes and not gpu.roomy_ns.size]
    message = UNEVEN if busy else LARGER
    if not worst.is_used:
        message = NEVER_USED
    elif not at_work:
        message = ONLY_EDGES
    elif worst.host_bound_pct > HOST_BOUND_FROM_PCT:
        message = HOST_BOUND
    return message.finding(
        measured=worst.gpu_p95_pct,
        threshold=params.gpu_threshold_p95,
        where=longest_minutes(worst.node, worst.gpu, worst.roomy_ns, last_ns=worst.last_ns),
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        window=params.window,
        concerned=part_of(len(found), len(gpus), "GPU"),
        places=format_places([(gpu.node, gpu.gpu) for gpu in found]),
        busy=format_places([(gpu.node, gpu.gpu) for gpu in busy]),
        n_busy=len(busy),
    )


def from_details(counters: Counters, details: Details, params: Params) -> Outcome:
    """Return the finding and boxes from what SageMaker wrote."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Outcome()
    n_nodes = len({node for node, *_ in entries})
    gpus = [(node, name, its) for node, name, its in entries if _role(name) is Role.GPU]
    message = IMPORTED if gpus else IMPORTED_NEVER_USED
    if gpus and min(its.get("p50", 0.0) for *_, its in gpus) >= params.gpu_threshold_p95:
        message = IMPORTED_FOR_A_TIME
    finding = message.finding(
        measured=None,
        threshold=params.gpu_threshold_p95,
        where=Where(start_s=last_timestamp_s(details)),
        n_minutes=counters.rule_triggered,
        window=params.window,
        places=format_places([(node, gpu) for node, gpu, _ in gpus]),
    )
    shown, roles = [], []
    for node, name, numbers in entries:
        label = device_label(node, name, n_nodes=n_nodes)
        if (box := box_of_numbers(label, numbers)) is not None:
            shown.append(box)
            roles.append(_role(name))
    title = "CPU, GPU and GPU memory"
    return Outcome(
        findings=[finding],
        exhibits=[boxes("boxes", shown, title=title, unit="%", row_roles=roles)],
    )
