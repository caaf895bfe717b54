"""What the rules over kernel traces say alike: reasons, windows, devices, round numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportgen.results import Counters, Reason, ReasonCode, RuleId, RuleResult
from reportgen.rules.base import Presentation, param
from reportgen.rules.kernels.windows import Window, WindowKind
from reportgen.rules.saying.verdict import conclude
from reportgen.units import NS_PER_S, say_duration

OURS = "ours"
TOP = 15
"""So many are told apart in charts; the tables are complete. Source: seed 002."""


def top_k() -> Any:
    """Declare how many of the largest are shown one by one."""
    return param(
        TOP,
        unit="",
        meaning="how many of the largest are shown one by one; the rest is one sector",
        source="SageMaker Profiler's dashboards show 15",
        minimum=1,
        maximum=1000,
        is_whole=True,
    )


def share_limit(default: float, meaning: str) -> Any:
    """Declare from which share of a window on something is a fault."""
    return param(default, unit="%", meaning=meaning, source=OURS, minimum=0, maximum=100)


def reason_without_gpu(*, n_ranks: int, n_ops: int) -> Reason | None:
    """Return why there is nothing to look at, ``None`` when there are GPU operations."""
    if n_ranks == 0:
        return Reason(code=ReasonCode.NO_EVENTS, text="No kernel trace was given.")
    if n_ops == 0:
        return Reason(code=ReasonCode.NO_GPU, text="The trace holds no GPU operations.")
    return None


def result_of(
    rule_id: RuleId,
    *,
    params: Any,
    reason: Reason | None,
    presentation: Presentation,
    metrics: dict[str, float | int | None],
) -> RuleResult:
    """Return the result of a rule without an AWS counterpart: zero counters, no details."""
    return conclude(
        rule_id,
        params=params,
        reason=reason,
        counters=Counters(),
        details={},
        metrics=metrics,
        presentation=presentation,
    )


def say_ns(time_ns: float) -> str:
    """Write a duration in ns for people."""
    return say_duration(time_ns / NS_PER_S)


def say_window(windows: Sequence[Window]) -> str:
    """Name a window and its length: ``the steps (1.07 s)``; several ranks: the range of lengths."""
    lengths = [window.length_ns for window in windows]
    kinds = {window.kind for window in windows}
    if kinds == {WindowKind.STEPS}:
        name = "the recorded steps"
    elif kinds == {WindowKind.GPU}:
        name = "the time from the first to the last GPU operation"
    else:
        name = "each rank's window"
    return f"{name} ({say_range(lengths)})"


def say_range(lengths_ns: Sequence[float]) -> str:
    """Write durations of several ranks: ``12.5 ms to 19.9 ms, by rank``; equal ones once."""
    low, high = say_ns(min(lengths_ns)), say_ns(max(lengths_ns))
    return low if low == high else f"{low} to {high}, by rank"


def say_device(rank: int, device: int, *, n_ranks: int) -> str:
    """Name a device: ``gpu0``, or ``rank 3 gpu3`` when there are several ranks."""
    return f"gpu{device}" if n_ranks == 1 else f"rank {rank} gpu{device}"


def pct_of(part: float, whole: float) -> float:
    """Return a share in percent, 0 of nothing."""
    return 100 * part / whole if whole > 0 else 0.0


def ratio_of(part: float, whole: float) -> float | None:
    """Return a share for the metrics, ``None`` of nothing."""
    return round(part / whole, 6) if whole > 0 else None
