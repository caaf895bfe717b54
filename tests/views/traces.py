"""Saved reports of kernel traces made by hand: the exhibits of the dashboard, few and readable."""

from __future__ import annotations

from reportgen.report import Report
from reportgen.results import (
    Exhibit,
    ExhibitKind,
    ReasonCode,
    Role,
    RuleResult,
    Severity,
    Status,
    exhibit,
)
from tests.views import reports

SECTIONS = (
    "annotations", "communication", "device-memory", "findings", "gpu-activity", "at-a-glance",
    "host-threads", "idle-time", "kernels", "launches", "not-recorded", "steps", "traced-operators",
)  # fmt: skip
"""The sections of a page of kernel traces."""

LONG_NAME = f"void at::native::kernel<{'Functor, ' * 1_000}float>(int)"
NO_COLLECTIVES = "No kernel communicates with other GPUs."


def time_shares(exhibit_id: str, title: str, parts: dict[str, float]) -> Exhibit:
    """Return shares of a time in µs."""
    total = sum(parts.values()) or 1.0
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title=title,
        caption="Shares of the recorded steps (100 µs).",
        columns=[
            ("part", "", list(parts)),
            ("time_us", "us", list(parts.values())),
            ("pct", "%", [100 * value / total for value in parts.values()]),
        ],
    )


def ranking(exhibit_id: str = "top_by_time") -> Exhibit:
    """Return two kernels and the rest: one with a name of 9 kB, one that communicates."""
    return exhibit(
        exhibit_id,
        ExhibitKind.SHARES,
        title="Kernels by time",
        caption="Shares of the time of all kernels (50 µs). Showing 2 of 312.",
        columns=[
            ("part", "", ["kernel Functor", "ncclKernel_AllReduce", "others (310 kernels)"]),
            ("time_us", "us", [20.0, 5.0, 25.0]),
            ("pct", "%", [40.0, 10.0, 50.0]),
            ("full_name", "", [LONG_NAME, "ncclKernel_AllReduce(ncclDevComm*)", None]),
            ("category", "", ["compute", "communication", None]),
        ],
        row_roles=[Role.GPU, Role.NETWORK, Role.OTHER],
    )


def utilization(*names: str) -> Exhibit:
    """Return the curves of some GPUs, ten bins of 100 µs."""
    start_s = reports.START_S
    return reports.drawn(
        ExhibitKind.SERIES,
        ("time_s", "s", [start_s + at / 10_000 for at in range(10)]),
        *((name, "%", [50.0] * 10) for name in names),
        exhibit_id="utilization",
        title="GPU utilization over time: 50.0 % on average",
    )


def activity(*more: Exhibit, curves: tuple[str, ...] = ("gpu0",)) -> RuleResult:
    """Return the result that a dashboard needs."""
    split = {"compute": 40.0, "exposed communication": 10.0, "idle": 50.0}
    return reports.result(
        "GPUActivity",
        Status.OK,
        exhibits=(
            time_shares("active_time", "GPU active time", {"active": 50.0, "idle": 50.0}),
            utilization(*curves),
            time_shares("activity_split", "Work of the GPUs", split),
            *more,
        ),
    )


def idle() -> RuleResult:
    """Return a job whose GPU waits for its data loader, with two faults."""
    parts = {"GPU busy": 50.0, "waits for the data loader": 40.0, "gap between kernels": 10.0}
    causes = exhibit(
        "idle_causes",
        ExhibitKind.TABLE,
        title="Idle time by rank",
        columns=[("rank", "", [0]), ("cause", "", ["host_late:dataloader"])],
    )
    found = [
        reports.finding("IDLE-1", Severity.WARNING, "The GPU waits for the data loader: 40.0 %"),
        reports.finding("IDLE-2", Severity.WARNING, "Short gaps take 10.0 %"),
    ]
    return reports.result(
        "IdleTime",
        Status.TRIGGERED,
        exhibits=(time_shares("idle_shares", "Why the GPUs idled", parts), causes),
        findings=tuple(found),
    )


def kernel_time() -> RuleResult:
    """Return the ranking of kernels and their table."""
    table = exhibit(
        "kernels",
        ExhibitKind.TABLE,
        title="All kernels",
        columns=[("name", "", [LONG_NAME]), ("sum_us", "us", [20.0])],
    )
    return reports.result("KernelTime", Status.OK, exhibits=(ranking(), table))


def traced_report(*more: RuleResult, curves: tuple[str, ...] = ("gpu0",)) -> Report:
    """Return the report of one rank without communication."""
    collectives = reports.skipped("Collectives", ReasonCode.NO_EVENTS, NO_COLLECTIVES)
    return reports.report_of(
        (activity(curves=curves), idle(), kernel_time(), collectives, *more), nodes=("rank 0",)
    )


def cpu_report(*more: RuleResult) -> Report:
    """Return the report of a trace without GPU operations."""
    text = "The trace holds no GPU operations."
    rules = ("GPUTimeBudget", "GPUActivity", "IdleTime", "KernelTime", "KernelPrecision")
    return reports.report_of(
        (*(reports.skipped(rule_id, ReasonCode.NO_GPU, text) for rule_id in rules), *more),
        nodes=("rank 0",),
    )
