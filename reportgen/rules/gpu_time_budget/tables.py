"""The parts of GPUTimeBudget, their measurements, and the exhibits that show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reportgen.facts.device_busy import Window
from reportgen.facts.idle import IN_LAUNCH_CALL, KERNEL_GAP, WAITING, HostCause
from reportgen.results import Exhibit, ExhibitKind, PackedTable, Role
from reportgen.rules import kit
from reportgen.rules.kit import MOST_INTERVALS, col, derived, row, table
from reportgen.text import format_duration, format_ns, plural
from reportgen.units import NS_PER_S, S_PER_HOUR, percentages

USD_DIGITS = 4
"""A short job's part costs less than a cent, and would be nothing."""


class Part(StrEnum):
    """Parts of a GPU's time."""

    INITIALIZATION = "initialization"
    BUSY_HIGH = "busy_high"
    BUSY_PARTIAL = "busy_partial"
    STRAGGLER = "straggler"
    IO_WAIT = "io_wait"
    NETWORK = "network"
    CPU_INPUT = "cpu_input"
    BETWEEN_STEPS = "between_steps"
    NEVER_USED = "never_used"
    UNEXPLAINED = "unexplained"
    FINALIZATION = "finalization"
    NOT_MEASURED = "not_measured"
    COMPUTE = "compute"
    EXPOSED_COMMUNICATION = "exposed_communication"
    MEMORY = "memory_operations"
    HOST_BLOCKED = "host_blocked"
    HOST_LATE = "host_late"
    LAUNCH = "launch"
    KERNEL_GAP = "kernel_gap"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that one kind of recording shows, in the order in which they are reported."""

    order: tuple[Part, ...]
    busy: tuple[Part, ...]
    idle: tuple[Part, ...]


SAMPLED = Parts(
    order=tuple(Part)[: tuple(Part).index(Part.COMPUTE)],
    busy=(Part.BUSY_HIGH, Part.BUSY_PARTIAL),
    idle=(
        Part.STRAGGLER,
        Part.IO_WAIT,
        Part.NETWORK,
        Part.CPU_INPUT,
        Part.BETWEEN_STEPS,
        Part.NEVER_USED,
        Part.UNEXPLAINED,
    ),
)
_TRACED_BUSY = (Part.COMPUTE, Part.EXPOSED_COMMUNICATION, Part.MEMORY)
PART_OF_CAUSE = {
    HostCause.DATALOADER: Part.CPU_INPUT,
    HostCause.SYNC: Part.HOST_BLOCKED,
    HostCause.COPY: Part.HOST_BLOCKED,
    HostCause.ALLOC: Part.HOST_BLOCKED,
    HostCause.OPTIMIZER: Part.HOST_LATE,
    HostCause.AUTOGRAD: Part.HOST_LATE,
    HostCause.PYTHON: Part.HOST_LATE,
    HostCause.OTHER: Part.HOST_LATE,
    IN_LAUNCH_CALL: Part.LAUNCH,
    KERNEL_GAP: Part.KERNEL_GAP,
    WAITING: Part.WAITING,
}
_TRACED_IDLE = (*dict.fromkeys(PART_OF_CAUSE.values()), Part.UNEXPLAINED)
TRACED = Parts(order=(*_TRACED_BUSY, *_TRACED_IDLE), busy=_TRACED_BUSY, idle=_TRACED_IDLE)
_PARTS_OF_ROLE = {
    Role.START: (Part.INITIALIZATION,),
    Role.WARNING: (Part.STRAGGLER,),
    Role.IO: (Part.IO_WAIT, Part.WAITING),
    Role.NETWORK: (Part.NETWORK, Part.EXPOSED_COMMUNICATION),
    Role.CPU: (Part.CPU_INPUT, Part.HOST_BLOCKED, Part.HOST_LATE),
    Role.IDLE: (
        *(Part.BETWEEN_STEPS, Part.NEVER_USED, Part.UNEXPLAINED),
        *(Part.NOT_MEASURED, Part.KERNEL_GAP),
    ),
    Role.OTHER: (Part.FINALIZATION,),
    Role.MEMORY: (Part.MEMORY,),
}
ROLES = {part: role for role, parts in _PARTS_OF_ROLE.items() for part in parts}
"""Roles of parts; all others are work of the GPU itself, or its launch."""


def _name(item: IdleStretch) -> str:
    return f"idle {format_ns(item.end_ns - item.start_ns)}, {item.cause.replace('_', ' ')}"


@row
class IdleStretch:
    """One GPU that idles without a pause, from its first idle sample to the next that is not.

    Attributes:
        cause: the part that took most of it, ``cause_ns`` of its time.
    """

    lane: str = derived(lambda item: kit.lane_of(item.node, item.device))
    name: str = derived(_name)
    node: str = col()
    device: str = col()
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    duration_ns: int = derived(
        lambda item: item.end_ns - item.start_ns, "s", name="duration_s", per=NS_PER_S
    )
    cause: Part = col()
    cause_pct: float = derived(lambda item: 100 * item.cause_ns / item.duration_ns, "%", digits=1)
    cause_ns: int


@row
class GpuBudget:
    """One GPU: ns of each part that occurs, in order.

    Attributes:
        n_stretches, stretches_ns: how many long idle stretches, and their sum.
        worked_ns: how long it was above 10 % before the loop, and after it.
        unused_ns: of the parts, the share without utilization: a partly busy GPU is idle in
        between.
    """

    node: str
    device: str
    part_ns: Mapping[Part, int]
    n_stretches: int = 0
    stretches_ns: int = 0
    worked_ns: Mapping[Part, int] = field(default_factory=dict)
    unused_ns: Mapping[Part, int] = field(default_factory=dict)


@row
class Budget:
    """One node, or one rank whose kernels were traced.

    Attributes:
        has_steps: whether the loop is that of its steps, not the time of its GPU activity.
        stretches: the longest stretches in which one of its GPUs idles within the loop.
        window: of the rank, ``None`` for a node and without GPU operations.
        data: the parts of each GPU step by step, or block by block.
    """

    node: str
    is_traced: bool
    gpus: tuple[GpuBudget, ...] = ()
    n_ticks: int = 0
    has_steps: bool = False
    stretches: tuple[IdleStretch, ...] = ()
    window: Window | None = None
    data: tuple[PackedTable, ...] = ()


@row
class PartTime:
    """One part of one GPU's time; its share is that of all GPUs."""

    node: str = col()
    device: str = col()
    part: Part = col()
    time_ns: int = col("s", name="gpu_s", per=NS_PER_S)
    pct: float = col("%")
    usd: float | None = col("USD")


def usd_of(time_ns: int, usd_per_gpu_hour: float | None) -> float | None:
    """Return the cost of some GPU time, ``None`` without a price."""
    if usd_per_gpu_hour is None:
        return None
    return round(time_ns / NS_PER_S / S_PER_HOUR * usd_per_gpu_hour, USD_DIGITS)


def bar_of(totals: Mapping[Part, int], *, caption: str) -> Exhibit:
    """Return the first picture of a report: all GPU time by part."""
    roles = ROLES | ({Part.CPU_INPUT: Role.IO} if Part.COMPUTE in totals else {})
    return kit.ranking(
        "budget",
        [(part.value, time_ns) for part, time_ns in totals.items()],
        title="Where the GPUs' time went",
        caption=caption,
        amount=("gpu_s", "s"),
        per=NS_PER_S,
        roles=[roles.get(part, Role.GPU) for part in totals],
    )


def table_of(gpus: Sequence[GpuBudget], *, usd_per_gpu_hour: float | None, caption: str) -> Exhibit:
    """Return a row per GPU and part."""
    every = [(gpu, part, time_ns) for gpu in gpus for part, time_ns in gpu.part_ns.items()]
    shares = percentages([time_ns for *_, time_ns in every])
    rows = [
        PartTime(
            node=gpu.node,
            device=gpu.device,
            part=part,
            time_ns=time_ns,
            pct=pct,
            usd=usd_of(time_ns, usd_per_gpu_hour),
        )
        for (gpu, part, time_ns), pct in zip(every, shares, strict=True)
    ]
    title = "GPU time by node, GPU and part"
    return table("gpu_time_budget", rows, PartTime, title=title, caption=caption)


def stretch_exhibits(nodes: Sequence[Budget], *, least_idle_s: float) -> Iterator[Exhibit]:
    """Yield the longest stretches; nothing without any."""
    every = [stretch for node in nodes for stretch in node.stretches]
    every.sort(key=lambda item: (-item.duration_ns, item.start_ns, item.node, item.device))
    shown = sorted(every[:MOST_INTERVALS], key=lambda item: (item.start_ns, item.node, item.device))
    if not shown:
        return
    gpus = [gpu for node in nodes for gpu in node.gpus]
    n_all = sum(gpu.n_stretches for gpu in gpus)
    caption = f"""Within the training loop, a GPU was at 10 % or less for at least
        {format_duration(least_idle_s)} {plural(n_all, "time")}: {
        format_ns(sum(gpu.stretches_ns for gpu in gpus))
    } of GPU time in all."""
    rest = f" The {len(shown):,} longest are listed." if len(shown) < n_all else ""
    yield table(
        "idle_stretches",
        shown,
        IdleStretch,
        title="Long idle intervals of GPUs",
        caption=f"""{caption}{rest} The cause is the part that took most of an interval; its share
            of the interval is cause_pct.""",
        drawn_as=ExhibitKind.SPANS,
        role=Role.IDLE,
    )
