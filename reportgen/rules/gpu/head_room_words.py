"""What BatchSize says: one finding, whose weight depends on what else the node tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import Presentation
from reportgen.rules.gpu.head_room import CPU, MEMORY_SUFFIX, GpuRoom, Params, Resource
from reportgen.rules.saying.boxes import NamedBox, boxes_exhibit
from reportgen.rules.saying.places import longest_minutes
from reportgen.rules.saying.violations import entries_of, last_timestamp_s
from reportgen.rules.saying.wording import label, say_of, say_place, say_places, say_times
from reportgen.units import say_pct

FINDING = "BATCH-1"
TABLE = "head_room"
HOST_BOUND_FROM_RATIO = 0.5
"""From this share of bottleneck ticks the host comes first. Source: CPUBottleneck's threshold."""
MEMORY_REMARK = (
    "GPU memory is memory-controller activity, so whether a larger batch fits must be seen in the "
    "allocated memory."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """Room on one node.

    Attributes:
        gpus: the minutes with room, GPU by GPU.
        resources: ``cpu``, then each GPU and its memory.
        host_bound_ratio: share of ticks with an idle GPU and a busy or waiting core.
    """

    node: str
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    host_bound_ratio: float


def present_rooms(counters: Counters, rooms: Sequence[NodeRoom], params: Params) -> Presentation:
    """Return the finding and exhibits from measurements."""
    if not any(room.gpus for room in rooms):
        return Presentation()
    boxes = [
        NamedBox(
            name=label(room.node, item.name, n_nodes=len(rooms)),
            box=item.box,
            largest=item.max_pct,
        )
        for room in rooms
        for item in room.resources
    ]
    return Presentation(
        findings=(_finding(rooms, params),) if counters.rule_triggered else (),
        exhibits=(
            _table(rooms, params),
            boxes_exhibit(
                "boxes", boxes, title="CPU, GPU and GPU memory over the whole job", unit="%"
            ),
        ),
    )


def present_details(counters: Counters, details: Details, params: Params) -> Presentation:
    """Return the finding and boxes from AWS's JSON alone."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Presentation()
    n_nodes = len({node for node, *_ in entries})
    named = [
        NamedBox.from_numbers(label(node, device, n_nodes=n_nodes), numbers)
        for node, device, numbers in entries
    ]
    gpus = [(node, device) for node, device, _ in entries if _is_gpu(device)]
    medians = [its.get("p50", 0.0) for _, device, its in entries if _is_gpu(device)]
    busy_mostly = min(medians, default=0.0) >= params.gpu_threshold_p95
    severity, title, why, advice = _weigh_imported(gpus, busy_mostly=busy_mostly)
    finding = Finding(
        id=FINDING,
        severity=severity,
        title=title,
        text=(
            f"{say_times(counters.rule_triggered, 'minute')} (summed over GPUs) had CPU, GPU and "
            f"GPU memory below {say_pct(params.gpu_threshold_p95)} at the 95th percentile of the "
            f"last {say_times(params.window, 'sample')}. {why}{MEMORY_REMARK}"
        ),
        advice=advice,
        where=Where(start_s=last_timestamp_s(details)),
        threshold=float(params.gpu_threshold_p95),
        unit="%",
        exhibit="boxes",
        causes=() if gpus else ("GPU-1",),
    )
    boxes = [box for box in named if box is not None]
    return Presentation(
        findings=(finding,),
        exhibits=(boxes_exhibit("boxes", boxes, title="CPU, GPU and GPU memory", unit="%"),),
    )


def _is_gpu(device: str) -> bool:
    return device != CPU and not device.endswith(MEMORY_SUFFIX)


def _weigh_imported(
    gpus: Sequence[tuple[str, str]], *, busy_mostly: bool
) -> tuple[Severity, str, str, str]:
    """Return severity, title, reason and advice; ``gpus`` are those that the job uses."""
    if not gpus:
        return (
            Severity.INFO,
            "Only GPUs that the job never uses have room for a larger batch",
            "",
            "Use these GPUs or take an instance without them; a larger batch changes neither.",
        )
    if busy_mostly:
        return (
            Severity.INFO,
            f"Room for a larger batch for a time only: {say_places(gpus)}",
            "Their median over the whole job is above that. ",
            "See when they idled: before the first and after the last step nothing is to do.",
        )
    return (
        Severity.WARNING,
        f"The batch could be larger: {say_places(gpus)} had room",
        "",
        "Raise the batch size step by step, or use a smaller instance.",
    )


def _finding(rooms: Sequence[NodeRoom], params: Params) -> Finding:
    roomy = [(room, gpu) for room in rooms for gpu in room.gpus if gpu.n_roomy_at_work]
    found = roomy or [(room, gpu) for room in rooms for gpu in room.gpus if gpu.roomy_ns.size]
    found = [pair for pair in found if pair[1].is_used] or found
    room, worst = min(found, key=lambda pair: pair[1].gpu_p95_pct)
    n_gpus = sum(len(item.gpus) for item in rooms)
    cpu = room.resources[0].last_window_p95_pct
    names = say_places([(its.node, gpu.gpu) for its, gpu in found])
    severity, title, why, advice, causes = _weigh(room, worst, rooms, is_only_edges=not roomy)
    return Finding(
        id=FINDING,
        severity=severity,
        title=title,
        text=(
            f"In {worst.roomy_ns.size:,} of {say_times(worst.judged_ns.size, 'judged minute')} "
            f"{say_place(room.node, worst.gpu)} had room: its 95th percentiles over "
            f"{say_times(params.window, 'sample')} reached at most "
            f"{say_pct(worst.gpu_p95_pct)} (GPU) and {say_pct(worst.memory_p95_pct)} "
            f"(GPU memory), the node's CPU had {say_pct(cpu)} in the last window. This "
            f"concerns {say_of(len(found), n_gpus, 'GPU')} ({names}). "
            f"{why}{MEMORY_REMARK}"
        ),
        advice=advice,
        where=longest_minutes(room.node, worst.gpu, worst.roomy_ns, last_ns=worst.last_ns),
        measured=round(worst.gpu_p95_pct, 4),
        threshold=float(params.gpu_threshold_p95),
        unit="%",
        exhibit=TABLE,
        causes=causes,
    )


def _weigh(
    room: NodeRoom, worst: GpuRoom, rooms: Sequence[NodeRoom], *, is_only_edges: bool
) -> tuple[Severity, str, str, str, tuple[str, ...]]:
    """Return severity, title, reason, advice, causes: not every room asks for a larger batch."""
    place = say_place(room.node, worst.gpu)
    if not worst.is_used:
        return (
            Severity.INFO,
            f"{place} has room because it is never used",
            "No batch size changes that. ",
            "Use this GPU first (see GPU utilization), or take an instance without it.",
            ("GPU-1",),
        )
    if is_only_edges:
        return (
            Severity.INFO,
            "Room for a larger batch only before the work begins or after it ends",
            "While it works the GPU itself has no such room. ",
            "Nothing to do.",
            (),
        )
    if room.host_bound_ratio > HOST_BOUND_FROM_RATIO:
        return (
            Severity.INFO,
            f"{place} has room, but it waits for the host",
            (
                f"In {say_pct(100 * room.host_bound_ratio)} of the ticks a GPU idled while a CPU "
                "core was busy or waited for I/O, so a larger batch would wait as well. "
            ),
            "Relieve the CPU or I/O bottleneck first, then judge the batch size again.",
            ("DL-1", "DL-2", "DL-5", "CPU-1", "IO-1"),
        )
    busy = [
        (its.node, gpu.gpu)
        for its in rooms
        for gpu in its.gpus
        if gpu.is_used and gpu.judged_ns.size and not gpu.roomy_ns.size
    ]
    if busy:
        return (
            Severity.INFO,
            f"{place} has room, but {say_places(busy)} {_has(busy)} not",
            f"{say_places(busy)} {_has(busy)} no room, so the work is shared unevenly. ",
            "Share the work evenly between the GPUs first, then judge the batch size again.",
            ("STRAG-1", "BAL-1"),
        )
    return (
        Severity.WARNING,
        f"The batch could be larger: {place} reaches only {say_pct(worst.gpu_p95_pct)}",
        "",
        (
            "Raise the batch size step by step while watching the allocated GPU memory, or use a "
            "smaller instance."
        ),
        (),
    )


def _has(names: Sequence[object]) -> str:
    return "has" if len(names) == 1 else "have"


def _threshold(name: str, params: Params) -> float:
    if name == CPU:
        return params.cpu_threshold_p95
    is_memory = name.endswith(MEMORY_SUFFIX)
    return params.gpu_memory_threshold_p95 if is_memory else params.gpu_threshold_p95


def _table(rooms: Sequence[NodeRoom], params: Params) -> Exhibit:
    rows = [(room.node, item) for room in rooms for item in room.resources]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Room of each resource",
        caption=(
            f"95th percentile of the last {say_times(params.window, 'sample')} against its "
            "threshold, and of the whole job."
        ),
        columns=[
            ("node", "", [node for node, _ in rows]),
            ("resource", "", [item.name for _, item in rows]),
            ("last_window_p95_pct", "%", [round(item.last_window_p95_pct, 2) for _, item in rows]),
            ("threshold_pct", "%", [float(_threshold(item.name, params)) for _, item in rows]),
            ("p50_pct", "%", [round(item.box.p50, 2) for _, item in rows]),
            ("p95_pct", "%", [round(item.box.p95, 2) for _, item in rows]),
            ("max_pct", "%", [round(item.max_pct, 2) for _, item in rows]),
            ("samples", "", [item.n_samples for _, item in rows]),
        ],
    )
