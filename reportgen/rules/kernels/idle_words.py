"""IdleTime in words: a row per cause, and the causes that cost enough to act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reportgen.results import Exhibit, ExhibitKind, Finding, Where, exhibit
from reportgen.rules.kernels.host_activity import HostCause
from reportgen.rules.kernels.idle import (
    HOST_LATE,
    IN_LAUNCH_CALL,
    KERNEL_GAP,
    LAUNCH_NOT_RECORDED,
    SMALL_GAP,
    TAIL,
    WAITING,
)
from reportgen.rules.kernels.idle_faults import FAULTS, LOADER, Fault
from reportgen.rules.kernels.idle_start import of_a_start, start_of
from reportgen.rules.kernels.idle_stretches import DeviceStretches, place_of, stretches_exhibit
from reportgen.rules.kernels.saying import pct_of, say_ns, say_window
from reportgen.rules.kernels.time_shares import time_shares
from reportgen.rules.kernels.windows import Window, WindowKind
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.units import NS_PER_US, say_pct

TABLE, SHARES = "idle_causes", "idle_shares"
BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdle:
    """Why one device was idle in one window: ns by cause; with ``busy_ns`` they fill it.

    Attributes:
        long: its long idle stretches.
    """

    rank: int
    node: str
    device: int
    window: Window
    busy_ns: int
    cause_ns: Mapping[str, int]
    long: DeviceStretches


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From which share of the window on idling is a fault, or a start, percent."""

    loader_pct: float
    cause_pct: float
    start_pct: float


def table_of(rows: Sequence[DeviceIdle]) -> Exhibit:
    """Return every cause of every device and window, exact."""
    flat = [(row, cause, time_ns) for row in rows for cause, time_ns in row.cause_ns.items()]
    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Idle time by rank, device, window and cause",
        caption=(
            "Each gap is split by the call that launched the operation after it: before the call "
            "the host was late, for the reason that its thread was busy with; inside it; after "
            f"it a kernel_gap (less than {SMALL_GAP}) or waiting. The rows of one window "
            "add up to its idle time; tail is after the last operation."
        ),
        columns=[
            ("rank", "", [row.rank for row, _, _ in flat]),
            ("device", "", [row.device for row, _, _ in flat]),
            ("window", "", [row.window.kind.value for row, _, _ in flat]),
            ("cause", "", [cause for _, cause, _ in flat]),
            ("time_us", "us", [time_ns / NS_PER_US for _, _, time_ns in flat]),
        ],
    )


def headline_rows(rows: Sequence[DeviceIdle]) -> list[DeviceIdle]:
    """Return a row per device: of the steps where there are any, else of all GPU work."""
    with_steps = {row.rank for row in rows if row.window.kind is WindowKind.STEPS}
    return [
        row for row in rows if row.rank not in with_steps or row.window.kind is WindowKind.STEPS
    ]


def totals_ns(rows: Sequence[DeviceIdle]) -> dict[str, int]:
    """Return busy time and each cause that occurs, added up over devices; they fill the windows."""
    names = dict.fromkeys(cause for row in rows for cause in row.cause_ns)
    totals = {name: sum(row.cause_ns.get(name, 0) for row in rows) for name in names}
    busy = {BUSY: sum(row.busy_ns for row in rows)}
    return busy | {name: time_ns for name, time_ns in totals.items() if time_ns > 0}


def exhibits_of(rows: Sequence[DeviceIdle]) -> tuple[Exhibit, ...]:
    """Return the shares of the headline window and the table; nothing without GPU operations."""
    told = headline_rows(rows)
    if not told:
        return ()
    totals = totals_ns(told)
    shares = time_shares(
        SHARES,
        {_words(name): time_ns for name, time_ns in totals.items()},
        title="Why the GPUs idled",
        caption=f"Shares of {_window(told)}.",
    )
    n_ranks = len({row.rank for row in told})
    stretches = stretches_exhibit([row.long for row in told], n_ranks=n_ranks, words=_NAMES)
    return (shares, *stretches, table_of(rows))


def findings_of(rows: Sequence[DeviceIdle], limits: Limits) -> tuple[Finding, ...]:
    """Return a finding per fault that costs at least its share of the headline window."""
    told = headline_rows(rows)
    found = []
    for fault in FAULTS:
        limit_pct = limits.loader_pct if fault is LOADER else limits.cause_pct
        share_pct = _share_pct(told, fault)
        if told and share_pct > 0 and share_pct >= limit_pct:
            found.append(_finding(fault, rows, told, limit_pct))
    devices = [(row.node, row.long) for row in told]
    start = start_of(devices, limit_pct=limits.start_pct, words=_NAMES)
    return (start, *map(of_a_start, found)) if start else tuple(found)


def _finding(
    fault: Fault, rows: Sequence[DeviceIdle], told: Sequence[DeviceIdle], limit_pct: float
) -> Finding:
    share_pct = _share_pct(told, fault)
    worst = max(told, key=lambda row: _share_pct([row], fault))
    lost_ns = sum(_lost_ns(row, fault) for row in told)
    return Finding(
        id=fault.id,
        severity=fault_severity(share_pct / 100),
        title=f"{fault.title}: {say_pct(share_pct)} of the time",
        text=(
            f"For {say_ns(lost_ns)}, {say_pct(share_pct)} of {_window(told)}, the GPU was "
            f"idle: {fault.meaning}."
            f"{_of_other_window(rows, fault)}{_of_worst(told, worst, fault)}"
        ),
        advice=fault.advice,
        where=_place_of(worst, fault),
        measured=round(share_pct, 4),
        threshold=limit_pct,
        unit="%",
        estimate=estimate_of(share_pct / 100),
        exhibit=SHARES,
        causes=fault.due_to,
    )


def _place_of(row: DeviceIdle, fault: Fault) -> Where:
    """Return the device, and when its longest stretch of this fault was, if any is long."""
    own = [stretch for stretch in row.long.stretches if stretch.cause in fault.causes]
    if not own:
        return Where(node=row.node, device=f"gpu{row.device}")
    return place_of(row.node, row.long, max(own, key=lambda stretch: stretch.length_ns))


def _of_other_window(rows: Sequence[DeviceIdle], fault: Fault) -> str:
    """Say the share of the time between GPU operations too, where steps are the headline."""
    has_steps = {row.rank for row in rows if row.window.kind is WindowKind.STEPS}
    others = [row for row in rows if row.rank in has_steps and row.window.kind is WindowKind.GPU]
    if not others:
        return ""
    return f" It is {say_pct(_share_pct(others, fault))} of {_window(others)}."


def _of_worst(told: Sequence[DeviceIdle], worst: DeviceIdle, fault: Fault) -> str:
    if len(told) == 1:
        return ""
    return f" Most on {worst.node}: {say_pct(_share_pct([worst], fault))}."


def _share_pct(rows: Sequence[DeviceIdle], fault: Fault) -> float:
    return pct_of(
        sum(_lost_ns(row, fault) for row in rows), sum(row.window.length_ns for row in rows)
    )


def _lost_ns(row: DeviceIdle, fault: Fault) -> int:
    return sum(row.cause_ns.get(cause, 0) for cause in fault.causes)


def _window(rows: Sequence[DeviceIdle]) -> str:
    return say_window([row.window for row in rows])


def _words(cause: str) -> str:
    return _NAMES.get(cause, cause)


_NAMES = {
    BUSY: "GPU busy",
    f"{HOST_LATE}{HostCause.DATALOADER}": "host late: data loader",
    f"{HOST_LATE}{HostCause.SYNC}": "host late: synchronizing call",
    f"{HOST_LATE}{HostCause.COPY}": "host late: copying call",
    f"{HOST_LATE}{HostCause.OPTIMIZER}": "host late: optimizer",
    f"{HOST_LATE}{HostCause.AUTOGRAD}": "host late: autograd",
    f"{HOST_LATE}{HostCause.ALLOC}": "host late: allocating call",
    f"{HOST_LATE}{HostCause.PYTHON}": "host late: Python",
    f"{HOST_LATE}{HostCause.OTHER}": "host late: operators and other",
    IN_LAUNCH_CALL: "in the launch call",
    KERNEL_GAP: "gap between kernels",
    WAITING: "waiting though launched",
    LAUNCH_NOT_RECORDED: "launch not recorded",
    TAIL: "after the last operation",
}
