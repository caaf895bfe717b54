"""BatchSize: CPU, GPU and GPU memory all have room, so a batch could be larger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reportgen import results
from reportgen.arrays import Mask
from reportgen.facts import usage
from reportgen.facts.distributions import Box, box_of
from reportgen.facts.samples import present_values, training_loop_ns
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.results import Role, Severity
from reportgen.rules import kit
from reportgen.rules.aws.aws_batch_size import CPU, Params, violations_of
from reportgen.rules.aws.details import MEMORY_SUFFIX, Violations, counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import device_label, format_place, format_places, write

HOST_BOUND_FROM_PCT = 50.0
"""From this share of bottleneck ticks on the host comes first: CPUBottleneck's threshold."""

ABOUT = About(
    checks="""Whether the batch could be larger, because CPU, GPU and GPU memory are all not fully
        used. Whether the batch is too large is not checked: see “Memory in use”, if recorded.""",
    reading="""The 95th percentiles of the samples of the CPU, of each GPU and of its memory in the
        working time are compared with their thresholds. A larger batch is possible if all three are
        below. GPU memory is the activity of the memory controller here, not the allocated memory.
        The counters are SageMaker's, which looks once a minute at the latest samples.""",
    advice="""Raise the batch size step by step while watching the allocated GPU memory; if the
        model cannot use more, take a smaller instance.""",
    section=results.Section(id="batch-size", title="Batch size", order=200),
    is_quiet=True,
    has_counters=True,
)
_ALLOCATED = """GPU memory is the activity of the memory controller here; {allocated:pct} of the
    memory was allocated (95th percentile)."""
_MEMORY = """GPU memory is the activity of the memory controller here: whether a larger batch fits,
    only the allocated memory shows."""
LARGER = kit.Message(
    id="BATCH-1",
    cause=results.Cause.GPU_UNDERUSED,
    severity=Severity.WARNING,
    title="The batch could be larger: {place} reaches only {measured:pct}",
    text="""In the working time of the node no resource of {place} was fully used: the 95th
        percentiles were {measured:pct} (GPU), {gpu.memory.work_p95_pct:pct} (GPU memory) and
        {gpu.cpu.work_p95_pct:pct} (CPU).{concerned} {memory}""",
    advice="""Raise the batch size step by step while watching the allocated GPU memory, or use a
        smaller instance.""",
    exhibit="head_room",
)


@kit.row
class Resource:
    """Use of ``cpu``, ``gpu1`` or ``gpu1_memory`` over the whole job, and in the working time."""

    node: str = kit.col()
    name: str = kit.col(name="resource")
    work_p95_pct: float = kit.col("%", digits=2)
    threshold_pct: float = kit.col("%")
    p50_pct: float = kit.derived(lambda resource: resource.box.p50, "%", digits=2)
    p95_pct: float = kit.derived(lambda resource: resource.box.p95, "%", digits=2)
    max_pct: float = kit.col("%", digits=2)
    n_samples: int = kit.col(name="samples")
    role: Role
    box: Box


@kit.row
class GpuRoom:
    """The resources of a GPU: its use, its memory, and the cores of its node.

    Attributes:
        host_bound_pct: share of the node's ticks with an idle GPU and a busy or waiting core.
        allocated_pct: 95th percentile of its memory that was allocated, ``None`` if not recorded.
        start_ns, end_ns: the working time of the node.
    """

    node: str
    gpu: str
    is_used: bool
    use: Resource
    memory: Resource
    cpu: Resource
    host_bound_pct: float
    allocated_pct: float | None
    start_ns: int
    end_ns: int

    @property
    def has_room(self) -> bool:
        """Return whether none of them is fully used, nor the allocated memory."""
        every = (self.use, self.memory, self.cpu)
        is_free = (self.allocated_pct or 0.0) < self.memory.threshold_pct
        return is_free and all(each.work_p95_pct < each.threshold_pct for each in every)


@kit.row
class NodeRoom:
    """One node: ``n_gpus`` have samples of utilization, ``gpus`` also of memory.

    ``resources`` are the CPU, then each GPU and its memory. ``n_enough`` samples must be exceeded.
    """

    n_ticks: int
    n_enough: int
    n_gpus: int
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    aws: Violations


def measure(part: NodeProfile, params: Params) -> NodeRoom:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    cores = usage.samples_of(system, usage.cores_mean_pct(system))
    is_at_work = _at_work(part)
    work_ns = system.tick_ns[is_at_work]
    are_used = usage.used_gpus(system.columns_of(kind)).tolist()
    is_used = dict(zip(system.names(kind), are_used, strict=True))

    def resource(name: str, samples: usage.Samples, role: Role, limit_pct: float) -> Resource:
        inside = samples.values[is_at_work[samples.is_there]]
        p95 = np.percentile(inside if inside.size else samples.values, 95)
        return Resource(
            node=part.node,
            name=name,
            work_p95_pct=float(np.round(p95, usage.PERCENT_DIGITS)),
            threshold_pct=float(limit_pct),
            max_pct=float(samples.values.max()),
            n_samples=samples.values.size,
            role=role,
            box=box_of(samples.values),
        )

    resources, gpus = [], []
    if cores.values.size:
        resources.append(resource(CPU, cores, Role.CPU, params.cpu_threshold_p95))
    for name, use, memory in _gpus(system, cores):
        room = GpuRoom(
            node=part.node,
            gpu=name,
            is_used=is_used[name],
            use=resource(name, use, Role.GPU, params.gpu_threshold_p95),
            memory=resource(
                name + MEMORY_SUFFIX, memory, Role.GPU_MEMORY, params.gpu_memory_threshold_p95
            ),
            cpu=resources[0],
            host_bound_pct=usage.host_bound_pct(system),
            allocated_pct=_allocated_pct(system, name),
            start_ns=int(work_ns[0]),
            end_ns=int(work_ns[-1]),
        )
        resources += [room.use, room.memory]
        gpus.append(room)
    return NodeRoom(
        n_ticks=system.n_ticks,
        n_enough=usage.enough_samples(params.patience, system.tick_ns),
        n_gpus=sum(1 for _ in usage.samples_by_gpu(system, kind)),
        gpus=tuple(gpus),
        resources=tuple(resources),
        aws=violations_of(part.node, cores, _gpus(system, cores), params),
    )


def _at_work(part: NodeProfile) -> Mask:
    """Return (n_ticks,) whether a tick lies in the working time of a node: its loop, if known.

    A few recorded steps with too few samples to judge are no loop.
    """
    tick_ns, loop_ns = part.system.tick_ns, training_loop_ns(part.spans)
    in_loop = (tick_ns >= loop_ns[0]) & (tick_ns <= loop_ns[1]) if loop_ns else None
    is_known = in_loop is not None and in_loop.sum() > usage.LEAST_LONG
    return in_loop if in_loop is not None and is_known else usage.while_at_work(part.system)


def _gpus(
    system: SystemTable, cores: usage.Samples
) -> Iterator[tuple[str, usage.Samples, usage.Samples]]:
    """Yield use and memory of each GPU that can be judged, read one after the other.

    All of them at once have 160 MB in a week.
    """
    for name, use in usage.samples_by_gpu(system, SeriesKind.GPU_UTILIZATION):
        column = system.column_of(SeriesKind.GPU_MEMORY, name)
        if column is not None and not np.isnan(column).all() and cores.values.size:
            yield name, use, usage.samples_of(system, column)


def _allocated_pct(system: SystemTable, gpu: str) -> float | None:
    used, total = (
        system.column_of(kind, gpu)
        for kind in (SeriesKind.GPU_USED_BYTES, SeriesKind.GPU_TOTAL_BYTES)
    )
    if used is None or total is None or not np.nanmax(total, initial=0.0) > 0:
        return None
    known = present_values(used)
    return float(100 * np.percentile(known, 95) / np.nanmax(total)) if known.size else None


def judge(nodes: Sequence[NodeRoom], _params: Params) -> Outcome:
    """Count (GPU, minute) pairs with room and say what they mean."""
    gpus = kit.concat(node.gpus for node in nodes)
    missing = kit.reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=max((node.resources[0].n_samples for node in nodes if node.resources), default=0),
        patience=min((node.n_enough for node in nodes), default=0),
    )
    if missing is None and not gpus:
        missing = kit.not_sampled("GPU memory was not sampled.")
    return Outcome(
        missing=missing,
        **counted([node.aws for node in nodes]),
        findings=[None if missing else _finding(gpus)],
        exhibits=_exhibits(nodes) if gpus else [],
        metrics={"gpus_with_room": sum(gpu.has_room for gpu in gpus)} if gpus else {},
    )


def _exhibits(nodes: Sequence[NodeRoom]) -> Iterator[results.Exhibit]:
    resources = [item for node in nodes for item in node.resources]
    caption = """The columns “work …” are of the working time of the node, the others of the whole
        job."""
    title = "Use of each resource, and its threshold"
    yield kit.table("head_room", resources, Resource, title=title, caption=caption)
    labels = [device_label(item.node, item.name, n_nodes=len(nodes)) for item in resources]
    yield kit.boxes(
        "boxes",
        [(label, item.box, item.max_pct) for label, item in zip(labels, resources, strict=True)],
        title="CPU, GPU and GPU memory over the whole job",
        unit="%",
        row_roles=[item.role for item in resources],
    )


def _finding(gpus: Sequence[GpuRoom]) -> results.Finding | None:
    """Return that a batch may be larger, if the used GPUs have room and none waits for its host."""
    used = [gpu for gpu in gpus if gpu.is_used]
    worst = min(used, key=lambda gpu: gpu.use.work_p95_pct, default=None)
    is_possible = all(gpu.has_room for gpu in used)
    if worst is None or not is_possible or worst.host_bound_pct > HOST_BOUND_FROM_PCT:
        return None
    places = format_places([(gpu.node, gpu.gpu) for gpu in used])
    return LARGER.finding(
        measured=worst.use.work_p95_pct,
        threshold=worst.use.threshold_pct,
        where=kit.stretch(worst.node, worst.gpu, worst.start_ns, worst.end_ns),
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        concerned=kit.concerning(len(used), len(gpus), "GPU", more=f" ({places})"),
        memory=write(_MEMORY)
        if worst.allocated_pct is None
        else write(_ALLOCATED, allocated=worst.allocated_pct),
    )


RULE = Rule(
    id=results.RuleId("BatchSize"),
    title="Batch size",
    about=ABOUT,
    needs=(Need.SYSTEM,),
    params=Params,
    measure=measure,
    judge=judge,
)
