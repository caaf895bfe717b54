"""BatchSize: CPU, GPU and GPU memory all have room, so a batch could be larger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen import results
from reportgen.arrays import Instants, Mask
from reportgen.facts import usage
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.samples import training_loop_ns, work_range
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.results import Role, Severity
from reportgen.rules import kit
from reportgen.rules.aws.aws_batch_size import (
    CPU,
    Series,
    all_below,
    minutes_with_room,
    violations_of,
)
from reportgen.rules.aws.details import MEMORY_SUFFIX, Violations, counted
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import device_label, format_place, format_places, part_of, plural, write

ACTIVE_RATIO = 0.2
"""A window in which a GPU did nothing at all in more than four of five samples says nothing about
its batch."""
HOST_BOUND_FROM_PCT = 50.0
"""From this share of bottleneck ticks on the host comes first: CPUBottleneck's threshold."""

ABOUT = About(
    checks="""Whether the batch could be larger, because CPU, GPU and GPU memory are all not fully
        used. Whether the batch is too large is not checked: see “Memory in use”, if recorded.""",
    reading="""Once a minute the 95th percentiles of the latest samples of the CPU, of each GPU and
        of its memory are compared with their thresholds. A larger batch is possible if all three
        are below. GPU memory is the activity of the memory controller here, not the allocated
        memory.""",
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
    text=(
        "In {gpu.roomy_ns.size:n} of {gpu.judged_minutes:count check} (once a minute, of the "
        "latest samples, at most {window:n}) {place} was not fully used: its 95th percentiles were "
        "at most {measured:pct} (GPU) and {gpu.memory_p95_pct:pct} (GPU memory); that of the "
        "node's CPU was {gpu.cpu_p95_pct:pct} in the last check. This concerns {concerned} "
        "({places}). {memory}"
    ),
    advice="""Raise the batch size step by step while watching the allocated GPU memory, or use a
        smaller instance.""",
    exhibit="head_room",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    cpu_threshold_p95: float = kit.percentage(70, "the CPU has room when its p95 is below this")
    gpu_threshold_p95: float = kit.percentage(70, "a GPU has room when its p95 is below this")
    gpu_memory_threshold_p95: float = kit.percentage(
        70, "GPU memory has room when its p95 is below this"
    )
    patience: int = kit.patience()
    window: int = kit.window(500)

    @property
    def limits_pct(self) -> Mapping[Role, float]:
        """Return the thresholds of CPU, GPU and GPU memory, in this order."""
        limits = (self.cpu_threshold_p95, self.gpu_threshold_p95, self.gpu_memory_threshold_p95)
        return dict(zip((Role.CPU, Role.GPU, Role.GPU_MEMORY), limits, strict=True))


def _role(resource: str) -> Role:
    if resource == CPU:
        return Role.CPU
    return Role.GPU_MEMORY if resource.endswith(MEMORY_SUFFIX) else Role.GPU


@kit.row
class Resource:
    """Use of ``cpu``, ``gpu1`` or ``gpu1_memory`` over the whole job."""

    node: str = kit.col()
    name: str = kit.col(name="resource")
    last_window_p95_pct: float = kit.col("%", digits=2)
    threshold_pct: float = kit.col("%")
    p50_pct: float = kit.derived(lambda resource: resource.box.p50, "%", digits=2)
    p95_pct: float = kit.derived(lambda resource: resource.box.p95, "%", digits=2)
    max_pct: float = kit.col("%", digits=2)
    n_samples: int = kit.col(name="samples")
    box: Box


@kit.row
class GpuRoom:
    """Minutes in which a node had room beside one GPU.

    Attributes:
        roomy_ns: starts of those of the judged minutes with room everywhere that do not owe it to
            an idle start or end.
        gpu_p95_pct, memory_p95_pct: highest window percentiles in the minutes with room.
        cpu_p95_pct: of the node in the last window.
        host_bound_pct: share of the node's ticks with an idle GPU and a busy or waiting core.
        allocated_pct: 95th percentile of its memory that was allocated, ``None`` if not recorded.
    """

    node: str
    gpu: str
    is_used: bool
    last_ns: int
    judged_minutes: int
    roomy_ns: Instants
    gpu_p95_pct: float
    memory_p95_pct: float
    cpu_p95_pct: float
    host_bound_pct: float
    allocated_pct: float | None = None


@kit.row
class NodeRoom:
    """One node: ``n_gpus`` have samples of utilization, ``gpus`` also of memory.

    ``resources`` are the CPU, then each GPU and its memory.
    """

    node: str
    n_ticks: int
    n_gpus: int
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    aws: Violations


def measure(part: NodeProfile, params: Params) -> NodeRoom:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    cpu = usage.samples_of(system, usage.cores_mean_pct(system))
    sampled, with_memory = (
        [gpu for gpu, _ in usage.samples_by_gpu(system, each)]
        for each in (kind, SeriesKind.GPU_MEMORY)
    )
    judged = [gpu for gpu in sampled if gpu in with_memory and cpu.values.size]
    series = _SeriesOfGpus(system=system, cpu=cpu, gpus=judged)
    are_used = usage.used_gpus(system.columns_of(kind)).tolist()
    is_used = dict(zip(system.names(kind), are_used, strict=True))
    gpus = []
    for gpu, its in series.items():
        gpus.append(_room(part, gpu, its, params, is_used=is_used[gpu]))
    return NodeRoom(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(sampled),
        gpus=tuple(gpus),
        resources=tuple(_resources(part.node, series, params)),
        aws=violations_of(part.node, cpu, series, params),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeriesOfGpus(Mapping[str, Series]):
    """The series of each GPU, read when they are asked for: of all GPUs a week has 160 MB."""

    system: SystemTable
    cpu: usage.Samples
    gpus: Sequence[str]

    def __getitem__(self, gpu: str) -> Series:
        use, memory = (
            usage.samples_of(
                self.system,
                self.system.columns_of(kind)[self.system.names(kind).index(gpu)],
            )
            for kind in (SeriesKind.GPU_UTILIZATION, SeriesKind.GPU_MEMORY)
        )
        return {CPU: self.cpu, gpu: use, gpu + MEMORY_SUFFIX: memory}

    def __iter__(self) -> Iterator[str]:
        return iter(self.gpus)

    def __len__(self) -> int:
        return len(self.gpus)


def _resources(node: str, series: _SeriesOfGpus, params: Params) -> Iterator[Resource]:
    if series.cpu.values.size:
        yield _resource(node, CPU, series.cpu, params)
    for its in series.values():
        for name, samples in its.items():
            if name != CPU:
                yield _resource(node, name, samples, params)


def _resource(node: str, name: str, samples: usage.Samples, params: Params) -> Resource:
    return Resource(
        node=node,
        name=name,
        last_window_p95_pct=_last_p95(samples, params),
        threshold_pct=float(params.limits_pct[_role(name)]),
        max_pct=float(samples.values.max()),
        n_samples=samples.values.size,
        box=box_of(samples.values),
    )


def _last_p95(samples: usage.Samples, params: Params) -> float:
    return float(percentiles(samples.values[-params.window :], (95,))[0])


def _room(part: NodeProfile, gpu: str, series: Series, params: Params, *, is_used: bool) -> GpuRoom:
    """Find the minutes in which CPU, GPU and GPU memory had room while the GPU was at work."""
    cpu, use, _ = series.values()
    room = minutes_with_room(series, params)
    is_at_work = _is_at_work(part, series, room.stops, params)
    return GpuRoom(
        node=part.node,
        gpu=gpu,
        is_used=is_used,
        last_ns=int(use.time_ns[-1]),
        judged_minutes=room.n_judged,
        roomy_ns=room.start_ns[is_at_work],
        gpu_p95_pct=float(room.p95_pct[1][is_at_work].max(initial=0.0)),
        memory_p95_pct=float(room.p95_pct[2][is_at_work].max(initial=0.0)),
        cpu_p95_pct=_last_p95(cpu, params),
        host_bound_pct=usage.host_bound_pct(part.system),
        allocated_pct=_allocated_pct(part.system, gpu),
    )


def _allocated_pct(system: SystemTable, gpu: str) -> float | None:
    used, total = (
        next(
            (
                column
                for name, column in zip(system.names(kind), system.each(kind), strict=True)
                if name == gpu
            ),
            None,
        )
        for kind in (SeriesKind.GPU_USED_BYTES, SeriesKind.GPU_TOTAL_BYTES)
    )
    if used is None or total is None or not np.nanmax(total, initial=0.0) > 0:
        return None
    known = used[np.isfinite(used)]
    return float(100 * percentiles(known, (95,))[0] / np.nanmax(total)) if known.size else None


def _is_at_work(part: NodeProfile, series: Series, stops: Instants, params: Params) -> Mask:
    """Return (m,) whether the windows have room by what of them lies in the working range alone."""
    (_, use, _), size = series.values(), params.window
    work = work_range(
        use.time_ns,
        use.values,
        idle_below=usage.IDLE_BELOW_PCT,
        loop_ns=training_loop_ns(part.spans),
    )
    found = np.zeros(stops.size, dtype=bool)
    bounds = usage.windows_at_work(stops, work, window=size)
    for at, (end, first, stop) in enumerate(zip(stops.tolist(), *bounds, strict=True)):
        is_active = (use.values[end - size : end] > 0).mean() >= ACTIVE_RATIO
        if is_active and stop > first:
            edges = np.array([use.time_ns[first], use.time_ns[stop - 1] + 1])
            inside = [its.values[slice(*its.before(edges))] for its in series.values()]
            found[at] = stop - first == size or (
                all(values.size for values in inside)
                and bool(all_below([percentiles(its, (95,)) for its in inside], params)[0])
            )
    return found


def judge(nodes: Sequence[NodeRoom], params: Params) -> Outcome:
    """Count (GPU, minute) pairs with room and say what they mean."""
    gpus = kit.concat(node.gpus for node in nodes)
    n_samples = max((node.resources[0].n_samples for node in nodes if node.resources), default=0)
    missing = kit.reason_to_skip(
        n_ticks=sum(node.n_ticks for node in nodes),
        n_gpus=sum(node.n_gpus for node in nodes),
        n_samples=n_samples,
        patience=max(params.patience, params.window),
    )
    if missing is None and not gpus:
        missing = kit.too_few("GPU memory was not sampled.")
    counts = {
        "gpus_with_room": sum(1 for gpu in gpus if gpu.roomy_ns.size),
        "judged_gpu_minutes": sum(gpu.judged_minutes for gpu in gpus),
    }
    return Outcome(
        missing=missing,
        **counted([node.aws for node in nodes]),
        findings=[None if missing else _finding(gpus, params)],
        exhibits=_exhibits(nodes, params) if gpus else [],
        metrics=counts if gpus else {},
    )


def _exhibits(nodes: Sequence[NodeRoom], params: Params) -> Iterator[results.Exhibit]:
    resources = [item for node in nodes for item in node.resources]
    window = plural(params.window, "sample")
    caption = f"95th percentiles of the last {window} of the job and of the whole job."
    title = "Use of each resource, and its threshold"
    yield kit.table("head_room", resources, Resource, title=title, caption=caption)
    labels = [device_label(item.node, item.name, n_nodes=len(nodes)) for item in resources]
    yield kit.boxes(
        "boxes",
        [(label, its.box, its.max_pct) for label, its in zip(labels, resources, strict=True)],
        title="CPU, GPU and GPU memory over the whole job",
        unit="%",
        row_roles=[_role(item.name) for item in resources],
    )


def _finding(gpus: Sequence[GpuRoom], params: Params) -> results.Finding | None:
    """Return that a batch may be larger, if the used GPUs have room and none waits for its host.

    Where the allocated memory was recorded, it decides whether there is room for more.
    """
    used = [gpu for gpu in gpus if gpu.is_used and gpu.judged_minutes]
    limit_pct = params.gpu_memory_threshold_p95
    found = [gpu for gpu in used if gpu.roomy_ns.size and (gpu.allocated_pct or 0.0) < limit_pct]
    worst = min(found, key=lambda gpu: gpu.gpu_p95_pct, default=None)
    if worst is None or len(found) < len(used) or worst.host_bound_pct > HOST_BOUND_FROM_PCT:
        return None
    return LARGER.finding(
        measured=worst.gpu_p95_pct,
        threshold=params.gpu_threshold_p95,
        where=kit.longest_minutes(worst.node, worst.gpu, worst.roomy_ns, last_ns=worst.last_ns),
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        window=params.window,
        concerned=part_of(len(found), len(gpus), "GPU"),
        places=format_places([(gpu.node, gpu.gpu) for gpu in found]),
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
