"""The time budget of GPUs whose kernels were traced: exact, over the recorded steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reportgen.facts.idle import (
    HOST_LATE,
    IN_LAUNCH_CALL,
    KERNEL_GAP,
    WAITING,
    HostCause,
    causes_of,
    gaps_in,
    totals_by_cause,
)
from reportgen.profile.trace import RankTrace
from reportgen.results import Exhibit, ExhibitKind, Finding, Severity, exhibit
from reportgen.rules.base import Presentation
from reportgen.rules.budget.words import LEAST_TOLD_PCT, SHARES, TABLE, usd_of
from reportgen.rules.kernels.device_time import DeviceUnions, time_in, unions_of
from reportgen.rules.kernels.saying import pct_of, say_ns, say_window
from reportgen.rules.kernels.windows import Window, headline, windows_of
from reportgen.units import NS_PER_S, percentages, say_pct


class KernelPart(StrEnum):
    """What a GPU's time went into, as kernels tell it."""

    COMPUTE = "compute"
    EXPOSED_COMMUNICATION = "exposed_communication"
    MEMORY = "memory_operations"
    CPU_INPUT = "cpu_input"
    HOST_BLOCKED = "host_blocked"
    HOST_LATE = "host_late"
    LAUNCH = "launch"
    KERNEL_GAP = "kernel_gap"
    WAITING = "waiting"
    UNEXPLAINED = "unexplained"


BUSY = (KernelPart.COMPUTE, KernelPart.EXPOSED_COMMUNICATION, KernelPart.MEMORY)
_OF_CAUSE = {
    f"{HOST_LATE}{HostCause.DATALOADER}": KernelPart.CPU_INPUT,
    f"{HOST_LATE}{HostCause.SYNC}": KernelPart.HOST_BLOCKED,
    f"{HOST_LATE}{HostCause.COPY}": KernelPart.HOST_BLOCKED,
    f"{HOST_LATE}{HostCause.ALLOC}": KernelPart.HOST_BLOCKED,
    f"{HOST_LATE}{HostCause.OPTIMIZER}": KernelPart.HOST_LATE,
    f"{HOST_LATE}{HostCause.AUTOGRAD}": KernelPart.HOST_LATE,
    f"{HOST_LATE}{HostCause.PYTHON}": KernelPart.HOST_LATE,
    f"{HOST_LATE}{HostCause.OTHER}": KernelPart.HOST_LATE,
    IN_LAUNCH_CALL: KernelPart.LAUNCH,
    KERNEL_GAP: KernelPart.KERNEL_GAP,
    WAITING: KernelPart.WAITING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBudget:
    """One device: ns of each part; together they are its window."""

    device: str
    window: Window
    part_ns: Mapping[KernelPart, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBudget:
    """One rank; no devices without GPU operations."""

    node: str
    devices: tuple[DeviceBudget, ...]


def rank_budget(trace: RankTrace, also: str | None = None) -> RankBudget:
    """Split the headline window of each device of a rank.

    ``also`` finds further names of communication, a regular expression.
    """
    windows = windows_of(trace)
    devices = [_device(trace, unions, headline(windows)) for unions in unions_of(trace, also)]
    return RankBudget(node=trace.node, devices=tuple(devices))


def _device(trace: RankTrace, unions: DeviceUnions, window: Window) -> DeviceBudget:
    time = time_in(unions, window, rank=trace.rank)
    parts = dict.fromkeys(KernelPart, 0)
    parts[KernelPart.COMPUTE] = time.compute_ns
    parts[KernelPart.EXPOSED_COMMUNICATION] = time.exposed_communication_ns
    parts[KernelPart.MEMORY] = time.busy_ns - time.kernel_ns
    for cause, cause_ns in totals_by_cause(
        causes_of(trace, gaps_in(trace, unions, window)), window
    ).items():
        parts[_OF_CAUSE.get(cause, KernelPart.UNEXPLAINED)] += cause_ns
    return DeviceBudget(device=f"gpu{unions.device}", window=window, part_ns=parts)


def totals_ns(ranks: Sequence[RankBudget]) -> dict[KernelPart, int]:
    """Return the time of each part over all devices, every part in order."""
    devices = [device for rank in ranks for device in rank.devices]
    return {part: sum(item.part_ns[part] for item in devices) for part in KernelPart}


def metrics_of_kernels(
    ranks: Sequence[RankBudget], usd_per_gpu_hour: float | None
) -> dict[str, float | int | None]:
    """Return the ratios of the windows of all devices, and with a price what they cost."""
    totals = totals_ns(ranks)
    every = sum(totals.values())
    idle = tuple(part for part in KernelPart if part not in BUSY)
    groups = {"gpu_busy": BUSY, "gpu_idle": idle} | {part.value: (part,) for part in KernelPart}
    if every <= 0:
        return {}
    costs: dict[str, float | int | None] = {}
    if usd_per_gpu_hour is not None:
        idle_ns = sum(totals[part] for part in idle)
        costs["gpu_usd"] = _usd(every, usd_per_gpu_hour)
        costs["gpu_idle_usd"] = _usd(idle_ns, usd_per_gpu_hour)
    return {
        f"{name}_ratio": round(sum(totals[part] for part in parts) / every, 6)
        for name, parts in groups.items()
    } | costs


def _usd(time_ns: int, usd_per_gpu_hour: float | None) -> float | None:
    return usd_of(time_ns, usd_per_gpu_hour)


def present_kernels(ranks: Sequence[RankBudget], usd_per_gpu_hour: float | None) -> Presentation:
    """Return the reading, the bar and the table, which say that they are from kernels."""
    totals = {part: time_ns for part, time_ns in totals_ns(ranks).items() if time_ns > 0}
    if not totals:
        return Presentation()
    return Presentation(
        findings=_findings(ranks, totals),
        exhibits=(_shares(ranks, totals), _table(ranks, usd_per_gpu_hour)),
    )


def _shares(ranks: Sequence[RankBudget], totals: Mapping[KernelPart, int]) -> Exhibit:
    return exhibit(
        SHARES,
        ExhibitKind.SHARES,
        title="What the GPUs' time went into",
        caption=f"Computed from kernels, exact. Shares of {_window(ranks)}.",
        columns=[
            ("part", "", [part.value for part in totals]),
            ("gpu_s", "s", [time_ns / NS_PER_S for time_ns in totals.values()]),
            ("pct", "%", percentages(list(totals.values()))),
        ],
    )


def _table(ranks: Sequence[RankBudget], usd_per_gpu_hour: float | None) -> Exhibit:
    rows = [
        (rank.node, item.device, part, time_ns)
        for rank in ranks
        for item in rank.devices
        for part, time_ns in item.part_ns.items()
        if time_ns > 0
    ]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="GPU time by node, GPU and part",
        caption=(
            "Computed from kernels. Shares are of the windows of all GPUs and add up to 100 %; "
            "kernel traces do not tell how hot the cores were."
        ),
        columns=[
            ("node", "", [row[0] for row in rows]),
            ("device", "", [row[1] for row in rows]),
            ("part", "", [row[2].value for row in rows]),
            ("gpu_s", "s", [row[3] / NS_PER_S for row in rows]),
            ("pct", "%", percentages([row[3] for row in rows])),
            ("usd", "USD", [_usd(row[3], usd_per_gpu_hour) for row in rows]),
            ("cpu_hot_gpu_s", "s", [None for _ in rows]),
        ],
    )


def _findings(ranks: Sequence[RankBudget], totals: Mapping[KernelPart, int]) -> tuple[Finding, ...]:
    told = {part: time_ns for part, time_ns in totals.items() if part in _MEANING}
    if not told:
        return ()
    part = max(told, key=lambda item: told[item])
    every = sum(totals.values())
    share_pct = pct_of(told[part], every)
    if share_pct < LEAST_TOLD_PCT:
        return ()
    meaning, advice = _MEANING[part]
    busy_pct = pct_of(sum(totals.get(item, 0) for item in BUSY), every)
    return (
        Finding(
            id="GPU-3",
            severity=Severity.INFO,
            title=f"The most GPU time without compute went by {meaning}: {say_pct(share_pct)}",
            text=(
                f"{say_ns(told[part])} of GPU time, {say_pct(share_pct)} of {_window(ranks)}; the "
                f"GPUs were busy {say_pct(busy_pct)}. Computed from kernels."
            ),
            advice=advice,
            measured=round(share_pct, 4),
            unit="%",
            exhibit=SHARES,
            causes=_CAUSES.get(part, ()),
        ),
    )


def _window(ranks: Sequence[RankBudget]) -> str:
    return say_window([item.window for rank in ranks for item in rank.devices])


_MEANING: dict[KernelPart, tuple[str, str]] = {
    KernelPart.EXPOSED_COMMUNICATION: (
        "in communication with nothing computed beside it",
        "See whether it is transfer or waiting for a late rank, then overlap it.",
    ),
    KernelPart.MEMORY: (
        "in copies and memsets",
        "Copy less, from pinned memory, and on a stream of its own.",
    ),
    KernelPart.CPU_INPUT: (
        "idle while the host waited for a batch",
        "Use more loader workers, prefetch, or move preprocessing off the training process.",
    ),
    KernelPart.HOST_BLOCKED: (
        "idle while the host was in synchronizing, copying or allocating calls",
        "Remove .item() and synchronization from the loop, pin memory, keep shapes steady.",
    ),
    KernelPart.HOST_LATE: (
        "idle because the host was too slow to launch",
        "Launch less and larger: larger batches, torch.compile, CUDA graphs.",
    ),
    KernelPart.LAUNCH: (
        "idle inside launch calls",
        "Replay the step as a CUDA graph, or fuse small kernels.",
    ),
    KernelPart.KERNEL_GAP: (
        "in short gaps between kernels",
        "Fuse small kernels, enlarge the batch, or use CUDA graphs.",
    ),
    KernelPart.WAITING: (
        "waiting although work was launched",
        "Look at waits between streams and for other ranks.",
    ),
    KernelPart.UNEXPLAINED: (
        "idle for no reason that the trace shows",
        "Record a few steps more, so that the launches are in the trace.",
    ),
}
_CAUSES: dict[KernelPart, tuple[str, ...]] = {
    KernelPart.EXPOSED_COMMUNICATION: ("COMM-1", "ACT-1"),
    KernelPart.MEMORY: ("COPY-1", "COPY-2"),
    KernelPart.CPU_INPUT: ("IDLE-1",),
    KernelPart.HOST_BLOCKED: ("IDLE-2", "IDLE-3", "IDLE-4", "COPY-1"),
    KernelPart.HOST_LATE: ("IDLE-5", "KERN-1"),
    KernelPart.LAUNCH: ("IDLE-6", "KERN-1"),
    KernelPart.KERNEL_GAP: ("IDLE-7", "KERN-1"),
    KernelPart.WAITING: ("IDLE-8", "COMM-1"),
}
"""The findings that look closer at a part."""
