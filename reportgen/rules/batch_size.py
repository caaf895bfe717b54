"""BatchSize: CPU, GPU and GPU memory all have room, so a batch could be larger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.distributions import box_of
from reportgen.profile import NodeId, NodeProfile, SeriesKind
from reportgen.results import Counters, Details, Reason, ReasonCode, RuleId, RuleResult, Section
from reportgen.rules.base import About, Need, Presentation, Rule
from reportgen.rules.bottlenecks.host_load import GPU_LOW_PCT, is_host_hot, low_used_gpus, used_gpus
from reportgen.rules.gpu import head_room_words
from reportgen.rules.gpu.head_room import (
    CPU,
    MEMORY_SUFFIX,
    GpuRoom,
    Params,
    Samples,
    cpu_samples,
    gpu_columns,
    measure_room,
    resource_of,
)
from reportgen.rules.gpu.head_room_words import NodeRoom
from reportgen.rules.saying.verdict import conclude, reason_to_skip
from reportgen.rules.saying.violations import LastViolation, box_member, violation_details

ID = RuleId("BatchSize")
ABOUT = About(
    checks="Whether CPU, GPU and GPU memory all have room, so that a batch could be larger.",
    reading=(
        "Every minute the 95th percentiles of the last samples of CPU, each GPU and its memory "
        "are compared with their thresholds; there is room when all three are below. GPU memory "
        "here is the activity of the memory controller, not what is allocated."
    ),
    advice=(
        "Raise the batch size step by step while watching the allocated GPU memory; if the model "
        "cannot use more, take a smaller instance."
    ),
    section=Section(id="batch-size", title="Batch size", order=200),
    is_quiet=True,
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node.

    Attributes:
        n_ticks, n_cpu_samples: sampling instants, and those with a CPU sample.
        n_gpus: GPUs with samples of utilization.
        violations: the newest violation of each GPU, the node's CPU included.
        room: what the words are made of.
    """

    node: NodeId
    n_ticks: int
    n_cpu_samples: int
    n_gpus: int
    violations: tuple[LastViolation, ...]
    room: NodeRoom


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system = part.system
    cpu = cpu_samples(system)
    uses = gpu_columns(system, SeriesKind.GPU_UTILIZATION)
    memories = gpu_columns(system, SeriesKind.GPU_MEMORY)
    both = [gpu for gpu in uses if gpu in memories and cpu.values.size]
    loop_ns = training_loop_ns(part.spans)
    matrix = system.matrix(SeriesKind.GPU_UTILIZATION)
    is_used = dict(
        zip(system.names(SeriesKind.GPU_UTILIZATION), used_gpus(matrix).tolist(), strict=True)
    )
    rooms = tuple(
        measure_room(
            gpu,
            is_used=is_used[gpu],
            cpu=cpu,
            use=uses[gpu],
            memory=memories[gpu],
            loop_ns=loop_ns,
            params=params,
        )
        for gpu in both
    )
    named = [(CPU, cpu)] if cpu.values.size else []
    for gpu in both:
        named += [(gpu, uses[gpu]), (gpu + MEMORY_SUFFIX, memories[gpu])]
    is_bottleneck = (low_used_gpus(system, below=GPU_LOW_PCT) > 0) & is_host_hot(system)
    return Measurement(
        node=part.node,
        n_ticks=system.n_ticks,
        n_cpu_samples=cpu.values.size,
        n_gpus=len(uses),
        violations=_with_cpu(rooms, cpu),
        room=NodeRoom(
            node=part.node,
            gpus=rooms,
            resources=tuple(resource_of(name, item, params.window) for name, item in named),
            host_bound_ratio=float(is_bottleneck.mean()) if system.n_ticks else 0.0,
        ),
    )


def _with_cpu(rooms: Sequence[GpuRoom], cpu: Samples) -> tuple[LastViolation, ...]:
    stop_ns = max((room.stop_ns for room in rooms), default=0)
    if not stop_ns:
        return ()
    history = cpu.values[cpu.time_ns < stop_ns]
    cpu_member = {CPU: box_member(box_of(history))}
    return tuple(
        LastViolation(
            first_ns=room.violation.first_ns,
            last_ns=room.violation.last_ns,
            members={**cpu_member, **room.violation.members},
        )
        for room in rooms
        if room.violation
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count (GPU, minute) pairs with room and say what they mean."""
    rooms = tuple(node.room for node in measurements)
    violations = sum(gpu.roomy_ns.size for room in rooms for gpu in room.gpus)
    counters = Counters(
        rule_triggered=violations,
        violations=violations,
        datapoints=max((node.n_cpu_samples for node in measurements), default=0),
    )
    details = violation_details((node.node, node.violations) for node in measurements)
    gpus = [gpu for room in rooms for gpu in room.gpus]
    return conclude(
        ID,
        params=params,
        reason=_reason(measurements, counters, params),
        counters=counters,
        details=details,
        metrics={
            "gpus_with_room": sum(1 for gpu in gpus if gpu.n_roomy_at_work),
            "judged_gpu_minutes": sum(gpu.judged_ns.size for gpu in gpus),
        }
        if gpus
        else {},
        presentation=present(counters, details, params, rooms),
    )


def _reason(
    measurements: Sequence[Measurement], counters: Counters, params: Params
) -> Reason | None:
    reason = reason_to_skip(
        n_ticks=sum(node.n_ticks for node in measurements),
        n_gpus=sum(node.n_gpus for node in measurements),
        n_samples=counters.datapoints,
        patience=max(params.patience, params.window),
    )
    if reason is None and not any(node.room.gpus for node in measurements):
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="GPU memory was not sampled.")
    return reason


def present(
    counters: Counters, details: Details, params: Params, context: tuple[NodeRoom, ...] | None
) -> Presentation:
    """Say where there is room; ``context`` is what was measured on each node, in node order."""
    if context is None:
        return head_room_words.present_details(counters, details, params)
    return head_room_words.present_rooms(counters, context, params)


RULE = Rule(
    id=ID,
    title="Batch size",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
)
