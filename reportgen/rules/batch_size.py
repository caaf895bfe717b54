"""BatchSize: CPU, GPU and GPU memory all have room, so a batch could be larger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Floats, Instants, Mask
from reportgen.facts import usage
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.samples import minutes_of, training_loop_ns, window_percentiles, work_range
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Role, Severity
from reportgen.rules import kit
from reportgen.rules.aws import details as aws
from reportgen.rules.base import About, Need, Outcome, Rule
from reportgen.text import device_label, format_place, format_places, part_of, plural
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"
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
        "({places}). " + _MEMORY
    ),
    advice="""Raise the batch size step by step while watching the allocated GPU memory, or use a
        smaller instance.""",
    exhibit="head_room",
)


def _but(message: kit.Message, title: str, advice: str, *, why: str = "") -> kit.Message:
    """Return a message of room that asks for something else than a larger batch."""
    text = message.text.replace(_MEMORY, why + _MEMORY)
    return replace(message, severity=Severity.INFO, title=title, text=text, advice=advice)


NEVER_USED = _but(
    LARGER,
    "{place} could take a larger batch, but it is never used",
    "Use this GPU first (see GPU utilization), or take an instance without it.",
    why="No batch size changes that. ",
)
ONLY_EDGES = _but(
    LARGER,
    "GPUs are not fully used only before the work begins or after it ends",
    "Nothing to do.",
    why="While the GPU works, it is well used. ",
)
HOST_BOUND = _but(
    LARGER,
    "{place} is not fully used, but it waits for the host",
    "Remove the CPU or I/O bottleneck first, then check the batch size again.",
    why=(
        "In {gpu.host_bound_pct:pct} of the samples a GPU was idle while a CPU core was busy or "
        "waited for I/O, so a larger batch would wait as well. "
    ),
)
UNEVEN = _but(
    LARGER,
    "{place} is not fully used, but {busy} {n_busy:verb are/is}",
    "Share the work evenly between the GPUs first, then check the batch size again.",
    why="{busy} {n_busy:verb are/is} well used, so the work is shared unevenly. ",
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
    return Role.GPU_MEMORY if resource.endswith(aws.MEMORY_SUFFIX) else Role.GPU


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
        roomy_ns: starts of those of the judged minutes with room everywhere.
        n_roomy_at_work: how many of them do not owe it to an idle start or end.
        gpu_p95_pct, memory_p95_pct: highest window percentiles in the minutes with room.
        cpu_p95_pct: of the node in the last window.
        host_bound_pct: share of the node's ticks with an idle GPU and a busy or waiting core.
    """

    node: str
    gpu: str
    is_used: bool
    last_ns: int
    judged_minutes: int
    roomy_ns: Instants
    n_roomy_at_work: int
    gpu_p95_pct: float
    memory_p95_pct: float
    cpu_p95_pct: float
    host_bound_pct: float


@kit.row
class NodeRoom:
    """One node: ``n_gpus`` have samples of utilization, ``gpus`` also of memory.

    ``resources`` are the CPU, then each GPU and its memory; ``violations`` the newest of each GPU.
    """

    node: str
    n_ticks: int
    n_gpus: int
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    violations: tuple[aws.LastViolation, ...]


Series = Mapping[str, usage.Samples]
"""The mean of the cores, one GPU, and its memory, by the name of the resource."""


def measure(part: NodeProfile, params: Params) -> NodeRoom:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    cpu = usage.samples_of(system, usage.cores_mean_pct(system))
    uses, memories = (
        dict(usage.samples_by_gpu(system, each)) for each in (kind, SeriesKind.GPU_MEMORY)
    )
    series = {
        gpu: {CPU: cpu, gpu: uses[gpu], gpu + aws.MEMORY_SUFFIX: memories[gpu]}
        for gpu in uses
        if gpu in memories and cpu.values.size
    }
    every = {CPU: cpu} if cpu.values.size else {}
    for its in series.values():
        every |= its
    are_used = usage.used_gpus(system.matrix(kind)).tolist()
    is_used = dict(zip(system.names(kind), are_used, strict=True))
    gpus = []
    for gpu, its in series.items():
        gpus.append(_room(part, gpu, its, params, is_used=is_used[gpu]))
    return NodeRoom(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(uses),
        gpus=tuple(gpus),
        resources=tuple(_resource(part.node, *item, params) for item in every.items()),
        violations=tuple(_violations(gpus, series)),
    )


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
    """Find the minutes in which the 95th percentiles of CPU, GPU and GPU memory had room.

    A minute is judged after more samples than ``patience`` (CPU) and than ``window`` (all three).
    """
    cpu, use, _ = series.values()
    start_ns = minutes_of(use.time_ns).start_ns
    stops = np.array([samples.before(start_ns + NS_PER_MINUTE) for samples in series.values()])
    is_judged = (stops[0] > params.patience) & (stops.min(axis=0) > params.window)
    stops = stops[:, is_judged]
    p95 = [
        window_percentiles(samples.values, stop, window=params.window, points_pct=(95,))[:, 0]
        for samples, stop in zip(series.values(), stops, strict=True)
    ]
    is_roomy = _all_below(p95, params)
    return GpuRoom(
        node=part.node,
        gpu=gpu,
        is_used=is_used,
        last_ns=int(use.time_ns[-1]),
        judged_minutes=int(is_judged.sum()),
        roomy_ns=start_ns[is_judged][is_roomy],
        n_roomy_at_work=_n_roomy_at_work(part, series, stops[1][is_roomy], params),
        gpu_p95_pct=float(p95[1][is_roomy].max(initial=0.0)),
        memory_p95_pct=float(p95[2][is_roomy].max(initial=0.0)),
        cpu_p95_pct=_last_p95(cpu, params),
        host_bound_pct=usage.host_bound_pct(part.system),
    )


def _all_below(p95: Sequence[Floats], params: Params) -> Mask:
    limits = np.array(list(params.limits_pct.values()))[:, None]
    return np.asarray((np.round(p95, usage.PERCENT_DIGITS) < limits).all(axis=0))


def _n_roomy_at_work(part: NodeProfile, series: Series, stops: Instants, params: Params) -> int:
    """Judge again with only those samples of each window that lie in the GPU's working range."""
    (_, use, _), size = series.values(), params.window
    work = work_range(
        use.time_ns,
        use.values,
        idle_below=usage.IDLE_BELOW_PCT,
        loop_ns=training_loop_ns(part.spans),
    )
    n_roomy = 0
    bounds = usage.windows_at_work(stops, work, window=size)
    for end, first, stop in zip(stops.tolist(), *bounds, strict=True):
        is_active = (use.values[end - size : end] > 0).mean() >= ACTIVE_RATIO
        if is_active and stop - first == size:
            n_roomy += 1
        elif is_active and stop > first:
            edges = np.array([use.time_ns[first], use.time_ns[stop - 1] + 1])
            inside = [its.values[slice(*its.before(edges))] for its in series.values()]
            if all(values.size for values in inside):
                n_roomy += int(_all_below([percentiles(its, (95,)) for its in inside], params)[0])
    return n_roomy


def _violations(
    gpus: Sequence[GpuRoom], series: Mapping[str, Series]
) -> Iterator[aws.LastViolation]:
    """Yield what SageMaker keeps of each GPU's newest minute with room: boxes up to its end."""
    roomy = [gpu for gpu in gpus if gpu.roomy_ns.size]
    last_ns = max((int(gpu.roomy_ns[-1]) for gpu in roomy), default=0)
    for gpu in roomy:
        first_ns, own_last_ns = int(gpu.roomy_ns[0]), int(gpu.roomy_ns[-1])
        members = {}
        for name, its in series[gpu.gpu].items():
            end_ns = (last_ns if name == CPU else own_last_ns) + NS_PER_MINUTE
            members[name] = aws.box_member(box_of(its.values[its.time_ns < end_ns]))
        yield aws.LastViolation(first_ns=first_ns, last_ns=own_last_ns, members=members)


def judge(nodes: Sequence[NodeRoom], params: Params) -> Outcome:
    """Count (GPU, minute) pairs with room and say what they mean."""
    gpus = kit.concat(node.gpus for node in nodes)
    violations = sum(gpu.roomy_ns.size for gpu in gpus)
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
        "gpus_with_room": sum(1 for gpu in gpus if gpu.n_roomy_at_work),
        "judged_gpu_minutes": sum(gpu.judged_minutes for gpu in gpus),
    }
    return Outcome(
        missing=missing,
        counters=results.Counters(
            rule_triggered=violations, violations=violations, datapoints=n_samples
        ),
        details=aws.violation_details((node.node, node.violations) for node in nodes),
        findings=[_finding(gpus, params)] if violations else [],
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


def _finding(gpus: Sequence[GpuRoom], params: Params) -> results.Finding:
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
        where=kit.longest_minutes(worst.node, worst.gpu, worst.roomy_ns, last_ns=worst.last_ns),
        gpu=worst,
        place=format_place(worst.node, worst.gpu),
        window=params.window,
        concerned=part_of(len(found), len(gpus), "GPU"),
        places=format_places([(gpu.node, gpu.gpu) for gpu in found]),
        busy=format_places([(gpu.node, gpu.gpu) for gpu in busy]),
        n_busy=len(busy),
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
