"""How much of their memory GPUs and hosts use in samples, and how near the limit is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen import results
from reportgen.arrays import Floats
from reportgen.facts.resample import MAX_BUCKETS, TimeBuckets, align, bucket_by_time
from reportgen.facts.trend import AGREEMENT_FROM, trend_of
from reportgen.facts.usage import while_at_work
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules import kit
from reportgen.rules.base import Outcome
from reportgen.text import device_label
from reportgen.units import NS_PER_S, seconds

HOST = "host"
_REST = "chosen: the rest is what a larger batch or one more loader process takes"
_STAYS_PCT = 50.0
"""Memory that is above a limit in more than half of the samples stays there: a peak of one batch is
no state of the job."""
HOST_NEAR_LIMIT = kit.Message(
    id="ROOM-1",
    cause=results.Cause.MEMORY_LIMIT,
    severity=results.Severity.WARNING,
    title="{device.node} uses up to {measured:pct} of its memory",
    text="""In {device.above_pct:pct} of the samples more than {threshold:pct} of
        {of_limit} was in use. At the limit the system kills processes of the
        job.{concerned}""",
    advice="""Use fewer loader processes or a shorter prefetch queue, look for data that are kept
        for all epochs, or take an instance with more memory.""",
    exhibit="memory_in_use",
)
GPU_FULL = kit.Message(
    id="ROOM-2",
    title="GPU memory is nearly full: {place} uses {measured:pct}",
    text="""In {device.above_pct:pct} of the samples more than {threshold:pct} of
        {device.limit_gb:.1f} GB was allocated. Part of this may be memory that the framework holds
        for later use. A larger batch will probably not fit.{concerned}""",
    advice="""Nothing to do while the job runs without out-of-memory errors. If it fails with one,
        use a smaller batch or gradient checkpointing, or shard the optimizer's state.""",
    exhibit="memory_in_use",
)
GPU_GROWS = kit.Message(
    id="ROOM-4",
    cause=results.Cause.MEMORY_GROWTH,
    severity=results.Severity.WARNING,
    title="GPU memory grows over the whole job: {place} up to {device.max_pct:pct}",
    text="""After the start, the {part} part of {of_limit} of {place} rises from {growth.first:pct}
        to {growth.last:pct} (medians of the first and the last of {parts} equal parts of the time).
        It rises in both halves of the time, and steadily: Kendall's tau of the parts is
        {growth.agreement:.2f} (1 if each part is higher than the one before). At the limit
        {end}.{concerned}""",
    advice="""Find tensors that are kept beyond a step (losses in lists, hooks, caches): record a
        memory snapshot of two steps far apart, and compare what is alive.""",
    unit="points",
    exhibit="memory_in_use",
)
HOST_GROWS = replace(
    GPU_GROWS,
    title="Host memory grows over the whole job: {place} up to {device.max_pct:pct}",
    advice="""Look for what the script or its loader processes keep for all epochs: results in
        lists, a cache of the data, logs that are not written out.""",
)
GPU_ROOM = kit.Message(
    id="ROOM-3",
    title="GPU memory is not fully used: {place} uses at most {measured:pct}",
    text="""At most {device.max_gb:.1f} GB of {device.limit_gb:.1f} GB was allocated; no other GPU
        of the job used a larger share.""",
    advice="Try a larger batch, or a smaller GPU.",
    exhibit="memory_in_use",
)


N_PARTS, N_START_PARTS, LEAST_IN_PART = 16, 2, 2
"""The job in equal parts; the first ones hold its start, in which a framework fills its cache.
Memory hardly scatters, but one sample may be that of a peak."""
GROWS_FROM_POINTS = 10.0
"""Caches of batches of unequal length grow by less; chosen: a tenth of the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How allocated memory grew after the start: levels of the first and last part, and a trend."""

    first: float
    last: float
    rise: float
    agreement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Thresholds at which memory is nearly full, has room, or grows."""

    host_pct: float = kit.percentage(90, "a host that uses more memory is reported", source=_REST)
    gpu_full_pct: float = kit.percentage(
        95, "a GPU that stays above this is nearly full", source=_REST
    )
    gpu_room_pct: float = kit.percentage(
        50, "GPUs that never reach this have room", source="chosen: twice the batch may fit"
    )
    threshold_growth_pct: float = kit.share_limit(
        5.0,
        "memory that grows in every step is a fault if it grows at least this much over the steps",
    )


@kit.row
class DeviceMemory:
    """The memory of one GPU or host over the job."""

    node: str = kit.col()
    device: str = kit.col()
    limit_gb: float | None = kit.col("GB", digits=2, role=results.Role.MEMORY)
    mean_pct: float = kit.col("%", digits=2, role=results.Role.MEMORY)
    max_pct: float = kit.col("%", digits=2, role=results.Role.MEMORY)
    max_gb: float | None = kit.col("GB", digits=2, role=results.Role.MEMORY)
    above_pct: float = kit.col("%", digits=2, name="samples_above_limit_pct")
    highest_ns: int
    growth: Growth | None
    curve: TimeBuckets


def measure(part: NodeProfile, params: Params) -> tuple[DeviceMemory, ...]:
    """Measure every GPU of a node, then the node itself; empty where bytes were not recorded."""
    return (*_gpus(part, params), *_host(part, params))


def _gpus(part: NodeProfile, params: Params) -> Iterator[DeviceMemory]:
    system, kind = part.system, SeriesKind.GPU_USED_BYTES
    for name, used in zip(system.names(kind), system.each(kind), strict=True):
        total = system.column_of(SeriesKind.GPU_TOTAL_BYTES, name)
        if total is None or np.isnan(used).all() or np.isnan(total).all():
            continue
        limit = float(np.nanmax(total))
        if limit > 0:
            used_pct = np.minimum(100 * used / limit, 100.0)
            yield _device(part, name, used_pct, limit_bytes=limit, above=params.gpu_full_pct)


def _host(part: NodeProfile, params: Params) -> Iterator[DeviceMemory]:
    """Yield the memory of a host; where its bytes are unknown only if it is full or grows."""
    used_bytes = part.system.matrix(SeriesKind.HOST_MEMORY_BYTES)
    used_pct = part.system.matrix(SeriesKind.HOST_MEMORY)
    if not used_pct.size or np.isnan(used_pct[:, 0]).all():
        return
    limit = None
    if used_bytes.size:
        is_known = np.isfinite(used_bytes[:, 0]) & (used_pct[:, 0] > 0)
        if is_known.any():
            limit = float(np.median(100 * used_bytes[is_known, 0] / used_pct[is_known, 0]))
    found = _device(part, HOST, used_pct[:, 0], limit_bytes=limit, above=params.host_pct)
    # What a job loads before it works is no growth.
    at_work = used_pct[while_at_work(part.system), 0]
    found = replace(found, growth=_growth(at_work[np.isfinite(at_work)]))
    if limit is not None or found.growth or found.max_pct > params.host_pct:
        yield found


def _device(
    part: NodeProfile, name: str, used_pct: Floats, *, limit_bytes: float | None, above: float
) -> DeviceMemory:
    known = used_pct[~np.isnan(used_pct)]
    max_pct = float(known.max())
    return DeviceMemory(
        node=part.node,
        device=name,
        limit_gb=None if limit_bytes is None else limit_bytes / 1e9,
        mean_pct=float(known.mean()),
        max_pct=max_pct,
        max_gb=None if limit_bytes is None else max_pct / 100 * limit_bytes / 1e9,
        above_pct=100 * float((known > above).mean()),
        growth=_growth(known),
        highest_ns=int(part.system.tick_ns[np.nanargmax(used_pct)]),
        curve=bucket_by_time(
            part.system.tick_ns, used_pct, least_width_ns=part.system.interval_ns or 1
        ),
    )


def _growth(used_pct: Floats) -> Growth | None:
    """Return how (n,) samples grew; ``None`` where both halves after the start did not rise.

    Memory that a cache fills rises at first and then stays; a leak goes on.
    """
    if used_pct.size < N_PARTS * LEAST_IN_PART:
        return None
    levels = np.array([float(np.median(part)) for part in np.array_split(used_pct, N_PARTS)])
    levels = levels[N_START_PARTS:]
    halves = [trend_of(half) for half in np.array_split(levels, 2)]
    trend = trend_of(levels)
    is_steady = all(4 * half.rise >= trend.rise for half in halves)
    if trend.rise < GROWS_FROM_POINTS or trend.agreement < AGREEMENT_FROM or not is_steady:
        return None
    first, last = float(levels[0]), float(levels[-1])
    return Growth(first=first, last=last, rise=trend.rise, agreement=trend.agreement)


def judge(devices: Sequence[DeviceMemory], params: Params) -> Outcome:
    """Report hosts near their limit, and GPUs that are full or have room; at least one device."""
    gpus = [device for device in devices if device.device != HOST]
    hosts = [device for device in devices if device.device == HOST]
    return Outcome(
        findings=_findings(gpus, hosts, params),
        exhibits=[
            kit.table(
                "memory_in_use",
                devices,
                DeviceMemory,
                title="Memory in use",
                caption="“samples above” are those above the threshold of a GPU or a host.",
            ),
            _curves(gpus or hosts),
        ],
        metrics={"gpu_memory_max_pct": _highest(gpus), "host_memory_max_pct": _highest(hosts)},
    )


def _highest(devices: Sequence[DeviceMemory]) -> float | None:
    return round(max(device.max_pct for device in devices), 4) if devices else None


def _findings(
    gpus: Sequence[DeviceMemory], hosts: Sequence[DeviceMemory], params: Params
) -> Iterator[results.Finding]:
    near = [host for host in hosts if host.max_pct > params.host_pct]
    full = [gpu for gpu in gpus if gpu.above_pct > _STAYS_PCT]
    growing = [gpu for gpu in gpus if gpu.growth]
    room = gpus if not growing and all(gpu.max_pct < params.gpu_room_pct for gpu in gpus) else ()
    swelling = [host for host in hosts if host.growth]
    for message, rising, every in ((GPU_GROWS, growing, gpus), (HOST_GROWS, swelling, hosts)):
        if not rising:
            continue
        worst = max(rising, key=lambda device: device.growth.rise if device.growth else 0.0)
        assert worst.growth is not None
        is_gpu, end = worst.device != HOST, "the system kills processes of the job"
        is_soon = worst.growth.last + worst.growth.rise >= 100  # in a job that is twice as long
        yield message.finding(
            measured=round(worst.growth.rise, 2),
            threshold=GROWS_FROM_POINTS,
            where=results.Where(node=worst.node, device=worst.device if is_gpu else None),
            severity=results.Severity.WARNING if is_soon or is_gpu else results.Severity.INFO,
            device=worst,
            growth=worst.growth,
            parts=N_PARTS - N_START_PARTS,
            place=_label(worst, every) if is_gpu else worst.node,
            part="allocated" if is_gpu else "used",
            end="an allocation fails and the job ends" if is_gpu else end,
            of_limit=_limit(worst),
            concerned=kit.concerning(len(rising), len(every), "GPU" if is_gpu else "node"),
        )
    for message, limit_pct, found, every, noun in (
        (HOST_NEAR_LIMIT, params.host_pct, near, hosts, "node"),
        (GPU_FULL, params.gpu_full_pct, full, gpus, "GPU"),
        (GPU_ROOM, params.gpu_room_pct, room, gpus, "GPU"),
    ):
        if not found:
            continue
        worst = max(found, key=lambda device: device.max_pct)
        device = None if worst.device == HOST else worst.device
        yield message.finding(
            measured=worst.max_pct,
            threshold=limit_pct,
            where=results.Where(node=worst.node, device=device, start_s=seconds(worst.highest_ns)),
            device=worst,
            place=_label(worst, every),
            of_limit=_limit(worst),
            concerned=kit.concerning(len(found), len(every), noun),
        )


def _limit(device: DeviceMemory) -> str:
    return "the memory" if device.limit_gb is None else f"{device.limit_gb:.1f} GB"


def _label(gpu: DeviceMemory, gpus: Sequence[DeviceMemory]) -> str:
    return device_label(gpu.node, gpu.device, n_nodes=len({item.node for item in gpus}))


def _curves(devices: Sequence[DeviceMemory]) -> results.Exhibit:
    shown = sorted(devices, key=lambda device: -device.max_pct)[: kit.MOST_LINES]
    aligned = align([device.curve for device in shown], cells=MAX_BUCKETS)
    lines = [
        (_label(device, shown), "%", np.round(aligned.high[index], 2))
        for index, device in enumerate(shown)
    ]
    which = " {shown} of {every}, with the highest use."
    rest = kit.left_out(which, shown=len(shown), every=len(devices))
    return results.exhibit(
        "memory_over_time",
        results.ExhibitKind.SERIES,
        title="Memory in use over time",
        caption=f"Each point is the highest sample of its interval.{rest}",
        columns=[
            *kit.floats(("time_s", "s", aligned.time_ns / NS_PER_S)),
            *kit.floats(*lines, role=results.Role.GPU_MEMORY),
        ],
        role=results.Role.MEMORY,
    )
